"""A plan: methods x datasets x noises x trials, as plain data, and the seeds that follow from its names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from unmuddle.errors import InvalidParameterError

SPEC = re.compile(r"(?P<kind>[\w-]+)(?:\((?P<settings>[^()]*)\))?")


class Noise(NamedTuple):
    """Feature noise and label noise, each as words: ``gaussian(sigma=0.2)``, ``uniform(rate=0.3)``."""

    features: str
    labels: str

    def __str__(self) -> str:
        return f"{self.features} {self.labels}"


class Cell(NamedTuple):
    """One thing to run: its own name is all that its randomness depends on.

    ``setting`` is the place of a setting in the list that a tuned method offers, ``"tune"`` the run that tries them
    all on a noisy hold-out, and empty for a method that has no such list.
    """

    method: str
    dataset: str
    noise: Noise
    trial: int
    setting: str = ""

    def __str__(self) -> str:
        return " | ".join(
            filter(None, (self.method, self.dataset, str(self.noise), f"trial {self.trial}", self.setting))
        )

    @property
    def key(self) -> tuple[str, ...]:
        """The cell in a store."""
        return (self.method, self.dataset, *self.noise, str(self.trial), self.setting)


@dataclass(frozen=True)
class Block:
    """Every method on every dataset under every noise; those in ``hindsight`` at every setting they offer."""

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    noises: tuple[Noise, ...]
    trials: int
    hindsight: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Cell]:
        return (
            Cell(method, dataset, noise, trial)
            for dataset in self.datasets
            for noise in self.noises
            for trial in range(self.trials)
            for method in self.methods
        )


@dataclass(frozen=True)
class Plan:
    """Blocks of cells in the order in which they are run."""

    name: str
    blocks: tuple[Block, ...]

    def __iter__(self) -> Iterator[Cell]:
        return iter(dict.fromkeys(cell for block in self.blocks for cell in block))

    @property
    def in_hindsight(self) -> set[Cell]:
        """Cells to be fitted at every setting, so that the best can be told afterwards."""
        return {cell for block in self.blocks for cell in block if cell.method in block.hindsight}


def parse(spec: str) -> tuple[str, dict[str, float]]:
    """The kind of a noise and its settings.

    >>> parse("gaussian(sigma=0.2)")
    ('gaussian', {'sigma': 0.2})
    >>> parse("none")
    ('none', {})
    """
    match = SPEC.fullmatch(spec)
    try:
        pairs = [pair.split("=") for pair in (match["settings"] or "").split(",") if pair] if match else []
        settings = {name.strip(): float(value) for name, value in pairs}
    except ValueError:
        match = None
    if match is None:
        raise InvalidParameterError(f"noise must read like 'gaussian(sigma=0.2)' or 'none'; got {spec!r}.")
    return match["kind"], settings


def seed(*names: object) -> int:
    """A seed that depends on these names alone, on every machine: 64 bits of their hash.

    >>> seed("wine", 0) == seed("wine", 0), seed("wine", 0) == seed("wine", 1)
    (True, False)
    """
    digest = hashlib.sha256("\x1f".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:8], "little")
