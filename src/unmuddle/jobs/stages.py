"""Which stage a job is in, how far it is, and how long each took."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

STAGES = ("read", "scale", "recover", "tune", "cross-fit", "write")
"""In the order of time: features are recovered before anything is tuned on them."""


@dataclass(frozen=True)
class Pace:
    """The share of a stage that is done, and the seconds that it took."""

    done: float = 0.0
    seconds: float = 0.0

    def left(self, since: float) -> float | None:
        """Seconds to go if the rest goes as what is done, ``since`` seconds later; None where that is not known.

        >>> Pace(done=0.25, seconds=10.0).left(since=4.0)
        26.0
        """
        if not 0.0 < self.done < 1.0:
            return None
        left = self.seconds * (1.0 / self.done - 1.0) - since
        return left if left > 0.0 else None


@dataclass
class Stages:
    """A clock for each stage; ``on_stage`` is told when one begins and how far it is.

    A report that nothing is done sets the pace anew: what comes before the first countable step says nothing of the
    steps.
    """

    on_stage: Callable[[str, Pace], None] = field(default=lambda stage, pace: None)
    seconds: dict[str, float] = field(default_factory=dict)
    _begun: tuple[str, float] | None = None
    _counted_from: float = 0.0

    def reach(self, stage: str, done: float = 0.0) -> None:
        """Note what share of the stage is done; a stage that is new ends the one that was."""
        now = perf_counter()
        if self._begun is None or self._begun[0] != stage:
            self.end()
            self._begun = stage, now
        if done == 0.0:
            self._counted_from = now
        self.on_stage(stage, Pace(done, now - self._counted_from))

    def end(self) -> dict[str, float]:
        """Seconds of all stages so far, the last one included."""
        if self._begun is not None:
            stage, since = self._begun
            self.seconds[stage] = self.seconds.get(stage, 0.0) + perf_counter() - since
            self._begun = None
        return {stage: round(seconds, 3) for stage, seconds in self.seconds.items()}
