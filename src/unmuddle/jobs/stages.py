"""Which stage a job is in, and how long each took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

STAGES = ("read", "recover", "cross-fit", "write")


@dataclass
class Stages:
    """A clock for each stage; ``on_stage`` is told when one begins."""

    on_stage: Callable[[str], None] = field(default=lambda stage: None)
    seconds: dict[str, float] = field(default_factory=dict)
    _begun: tuple[str, float] | None = None

    def begin(self, stage: str) -> None:
        """End the stage that was, and begin this one."""
        self.end()
        self._begun = stage, perf_counter()
        self.on_stage(stage)

    def end(self) -> dict[str, float]:
        """Seconds of all stages so far, the last one included."""
        if self._begun is not None:
            stage, since = self._begun
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - since
            self._begun = None
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}
