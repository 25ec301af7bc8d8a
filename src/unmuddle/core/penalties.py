"""The penalties of the default solver: how they follow the residuals, and the floors that keep it stable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array

FLOORS = (4.0, 1024.0)
"""First and highest factor of the stability floor ``mx (my s2 + mz) >= factor |M4|_2^2``; it doubles on a stall."""

CEILING = 1e3
"""Highest feature penalty, over the first one, that the floor may ask for when the label multiplier runs away."""

LABEL_PENALTY, SETTLED = (0.1, 2.0, 3.0, 30.0), 1e-2
"""Lowest, first and highest label penalty over lambda 3, and the highest once all residuals are below SETTLED.
Without a limit B = Y~ is memorised early on and all else freezes; with it labels are the last to converge."""

EVERY, RATIO, FACTOR, AHEAD = 10, (3.0, 5.0), 1.5, 0.3
"""Iterations between balancings; ratio of residuals that calls for one, usually and where labels are fixed; what a
penalty then moves by; the part of the largest residual below which a group is far enough ahead to be left alone."""

HARD = 30.0
"""Stands in for lambda 3 where labels are fixed, over the size that rows of their multiplier have on average."""

PATIENCE = 5
"""Balancings without progress after which the floors rise."""


class Penalties(NamedTuple):
    """Weights of the squared constraints: features (twice), labels, projection."""

    x: float
    y: float
    z: float


@dataclass
class Balance:
    """Moves penalties towards equal primal and dual residuals, none below its floor, and raises floors on a stall.

    ``label_weight`` is lambda 3 or what stands in for it, ``spread`` the s2 of the stability floor, and ``first`` the
    feature penalty at the start.
    """

    label_weight: float
    spread: float
    first: float
    ratio: float = RATIO[0]
    floor: float = FLOORS[0]
    projection_floor: float = 0.0
    lowest: float = np.inf
    idle: int = 0

    def move(self, penalty: Penalties, residuals: Mapping[str, float], M4_norm: float) -> Penalties:
        """The penalties for the next iterations."""
        x, y, z = (
            self.balance(value, residuals[f"residual_{name}"], residuals[f"dual_{name}"], max(residuals.values()))
            for value, name in zip(penalty, ("features", "labels", "projection"), strict=True)
        )
        highest = LABEL_PENALTY[2] if max(residuals.values()) > SETTLED else LABEL_PENALTY[3]
        y = min(max(y, LABEL_PENALTY[0] * self.label_weight), highest * self.label_weight)
        return self.lift(Penalties(x, y, max(z, self.projection_floor)), M4_norm)

    def balance(self, penalty: float, primal: float, dual: float, largest: float) -> float:
        """Move a penalty, unless its residuals are alike or both far ahead of the others."""
        if primal > max(self.ratio * dual, AHEAD * largest):
            return penalty * FACTOR
        return penalty / FACTOR if dual > max(self.ratio * primal, AHEAD * largest) else penalty

    def lift(self, penalty: Penalties, M4_norm: float) -> Penalties:
        """The feature penalty must outweigh the label multiplier: ``mx (my s2 + mz) >= floor |M4|_2^2``."""
        x, y, z = penalty
        floor = self.floor * M4_norm**2 / (y * self.spread + z)
        return Penalties(max(x, min(floor, CEILING * self.first)), y, z)

    def notice(self, penalty: Penalties, residuals: Mapping[str, float]) -> None:
        """Raise the floors when the constraints have not been met better, by a tenth, for some time: it cycles."""
        now = max(value for name, value in residuals.items() if name.startswith("residual"))
        self.idle = 0 if now < 0.9 * self.lowest else self.idle + 1
        self.lowest = min(self.lowest, now)
        if self.idle >= PATIENCE:
            self.idle, self.lowest = 0, now
            self.floor = min(2 * self.floor, FLOORS[1])
            self.projection_floor = 2 * max(self.projection_floor, penalty.z)


def first_penalties(problem: Problem, eigenvalues: Array, J_norm: float) -> tuple[Penalties, Balance]:
    """Penalties of the size of what they stand against, from the eigenvalues of the centred ``X~^T X~``."""
    (n, c), l1, largest = problem.labels.shape, problem.lambdas.projection, max(float(eigenvalues.max()), 1e-300)
    weight = HARD * l1 * np.sqrt(c / (n * largest)) if problem.label_norm.fixes_zero else problem.lambdas.labels
    penalty = Penalties(
        x=4 / np.sqrt(largest), y=LABEL_PENALTY[1] * weight, z=l1 / max(J_norm, 1e-3 * np.sqrt(n / largest))
    )
    balance = Balance(weight, spread(eigenvalues), penalty.x, RATIO[problem.label_norm.fixes_zero])
    return balance.lift(penalty, weight * np.sqrt(n)), balance


def is_time_to_balance(n_iter: int) -> bool:
    """Every ten iterations, later less often: penalties that keep changing keep the iteration from settling."""
    return n_iter % max(EVERY, n_iter // 100 * EVERY) == 0


def spread(eigenvalues: Array) -> float:
    """The median of the eigenvalues that exceed a thousandth of the largest."""
    largest = float(eigenvalues.max(initial=0.0))
    return float(np.median(eigenvalues[eigenvalues > 1e-3 * largest])) if largest > 0 else 1.0
