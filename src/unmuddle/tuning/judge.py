"""One setting on every fold: solved loosely, judged by the noisy labels that were held out.

Every solve starts from the data, as the fit does. From the solution of another setting it ends at another stationary
point, often a better one, and the score would then promise what the fit does not find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.admm import ADMM
from unmuddle.core.norms import Norm, SquaredFrobenius
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.core.prox import Array
from unmuddle.core.result import Solution
from unmuddle.core.rowspace import row_basis
from unmuddle.tuning.given import Given, Rows
from unmuddle.tuning.record import RANKED, Setting, Trial
from unmuddle.tuning.wishes import Scale

ITERATIONS, TOL = 60, 1e-2
"""Enough to rank settings."""

MARGIN = 0.01
"""Credit for the margin by which a label is predicted, beside 1 for predicting it: it breaks ties."""

FLAT = 0.02
"""Scores that vary by less than this part of the labels are on their way to a collapse."""

Pose = Callable[[Given, Norm, Norm, Lambdas], Problem]
"""Poses the problem on what was given, or a part of it."""


@dataclass(frozen=True)
class Judged:
    """A trial, the credit of every held-out row, and the rows' weights: None if all are alike."""

    trial: Trial
    credit: Array
    weights: Array | None = None

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which held-out rows had their given label predicted."""
        return self.credit > 0.5

    @property
    def is_useful(self) -> bool:
        """Whether it may be chosen."""
        return self.trial.status == RANKED


@dataclass(frozen=True)
class Court:
    """The folds, and how a problem is posed and measured on them."""

    scale: Scale
    folds: list[tuple[Given, Given]]
    """What is learned from, and what is held out."""
    pose: Pose

    @classmethod
    def of(cls, scale: Scale, folds: list[tuple[Rows, Rows]], pose: Pose) -> Self:
        """From the rows of each fold."""
        given = scale.given
        return cls(scale, [(given.part(learn), given.part(held)) for learn, held in folds], pose)

    @property
    def weights(self) -> Array | None:
        """Weights of the held-out rows, fold after fold."""
        weights = [held.label_weights for _, held in self.folds if held.label_weights is not None]
        return np.concatenate(weights) if weights else None

    def judge(self, setting: Setting) -> Judged:
        """Solve on every fold."""
        began, parts, statuses = perf_counter(), list[Array](), list[str]()
        for part, judged in self.folds:
            problem = self.pose(part, *self.scale.norms(setting), self.scale.lambdas_of_part(setting, part))
            solution = ADMM().solve(problem, ITERATIONS, TOL)
            scores = problem.predict(_fill(judged, solution), solution.point.Z, solution.point.b)
            parts.append(credit(scores, judged.codes))
            statuses.append(_status(solution, scores, judged.labels))
        every = np.concatenate(parts)
        score, error = mean_and_error(every, self.weights)
        status = next((status for status in statuses if status != RANKED), RANKED)
        seconds = perf_counter() - began
        return Judged(Trial(setting, self.scale.lambdas(setting), score, error, seconds, status), every, self.weights)


def credit(scores: Array, codes: Rows) -> Array:
    """1 for every row whose given class has the highest score, and a small part of the margin, from -1 to 1."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    margin = scores[rows, codes] - others.max(axis=1)
    return (margin > 0) + MARGIN * np.clip(np.nan_to_num(margin), -1.0, 1.0)


def mean_and_error(values: Array, weights: Array | None) -> tuple[float, float]:
    """The mean with these weights, and its standard error."""
    w = np.ones(len(values)) if weights is None else weights
    mean = float(np.average(values, weights=w))
    return mean, float(np.linalg.norm(w * (values - mean)) / w.sum())


def _fill(given: Given, solution: Solution) -> Array:
    """Rows with missing cells from their closest points, as in prediction, but always by least squares: it is quick."""
    if given.missing is None or not given.missing.any() or not solution.finite:
        return given.features
    holed, rows = np.flatnonzero(given.missing.any(axis=1)), given.features.copy()
    missing = given.missing[holed]
    points = SquaredFrobenius().closest_by_seen(rows[holed], row_basis(solution.point.X), missing)
    rows[holed] = np.where(missing, points, rows[holed])
    return rows


def _status(solution: Solution, scores: Array, labels: Array) -> str:
    if not solution.finite or not np.isfinite(scores).all():
        return "not finite"
    spread = np.linalg.norm(scores - scores.mean(axis=0))
    return "collapsed" if spread <= FLAT * np.linalg.norm(labels - labels.mean(axis=0)) else RANKED
