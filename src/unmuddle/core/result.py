"""What a solver hands back: a point with its multipliers, how it got there, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import numpy as np

from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array


class Status(Enum):
    """How a solve ended. Only CONVERGED means a certified stationary point that is of use."""

    CONVERGED = "the certificate is satisfied"
    MAX_ITER = "the iterations ran out before the certificate was satisfied"
    STALLED = "the solver stopped by its own rule at a point that is not stationary"
    COLLAPSED = "every row gets the same scores"
    NON_FINITE = "the iterates overflowed; the best point before that is returned"


@dataclass(frozen=True)
class Point:
    """A point and the two multipliers that can prove it stationary."""

    X: Array
    Z: Array
    b: Array
    M1: Array
    M4: Array


class Trace(Mapping[str, Array]):
    """What was measured at every iteration, by name.

    >>> trace = Trace([{"mu": 1.0}, {"mu": 1.2}])
    >>> trace["mu"]
    array([1. , 1.2])
    """

    def __init__(self, records: list[dict[str, float]]) -> None:
        names = list(records[0]) if records else []
        self._columns = {name: np.array([record[name] for record in records]) for name in names}

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """The number of names; the number of iterations is the length of any column."""
        return len(self._columns)

    def __repr__(self) -> str:
        n_iter = len(next(iter(self._columns.values()), ()))
        return f"Trace({n_iter} iterations of {', '.join(self._columns) or 'nothing'})"


@dataclass(frozen=True)
class Solution:
    """What a solver found. ``E_f`` and ``E_l`` are its own errors, with exact zeros where the norms make them."""

    point: Point
    E_f: Array
    E_l: Array
    n_iter: int
    trace: Trace
    out_of_iterations: bool
    finite: bool


OnStep = Callable[[int, Mapping[str, float]], bool | None]
"""Called after every iteration with its number and what was measured; True asks the solver to stop."""


def ignore(n_iter: int, record: Mapping[str, float]) -> bool | None:
    """Report to nobody."""
    return None


class Solver(Protocol):
    """Anything that solves a problem: the algorithm and its settings are the object, the budget comes with the call."""

    def solve(
        self,
        problem: Problem,
        max_iter: int | None = None,
        tol: float | None = None,
        on_step: OnStep = ignore,
    ) -> Solution:
        """Find a point; ``None`` leaves the budget or the tolerance to the solver."""
