"""One setting on every fold: solved loosely, judged by the noisy labels that were held out.

Every solve starts from the data, as the fit does. From the solution of another setting it ends at another stationary
point, often a better one, and the score would then promise what the fit does not find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.admm import ADMM
from unmuddle.core.norms import Norm
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.core.prox import Array
from unmuddle.core.result import Solution
from unmuddle.tuning.folds import Rows
from unmuddle.tuning.record import RANKED, Setting, Trial
from unmuddle.tuning.wishes import Scale

ITERATIONS, TOL = 60, 1e-2
"""Enough to rank settings."""

MARGIN = 0.01
"""Credit for the margin by which a label is predicted, beside 1 for predicting it: it breaks ties."""

FLAT = 0.02
"""Scores that vary by less than this part of the labels are on their way to a collapse."""

Pose = Callable[[Rows, Norm, Norm, Lambdas], Problem]
"""Poses the problem on some of the rows."""


@dataclass(frozen=True)
class Judged:
    """A trial and the credit of every held-out row."""

    trial: Trial
    credit: Array

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
    codes: Rows
    folds: list[tuple[Rows, Rows]]
    pose: Pose

    def judge(self, setting: Setting) -> Judged:
        """Solve on every fold."""
        began, parts, statuses = perf_counter(), list[Array](), list[str]()
        for learn, held in self.folds:
            problem = self.pose(learn, *self.scale.norms(setting), self.scale.lambdas_of_part(setting, learn))
            solution = ADMM().solve(problem, ITERATIONS, TOL)
            scores = problem.predict(self.scale.features[held], solution.point.Z, solution.point.b)
            parts.append(credit(scores, self.codes[held]))
            statuses.append(_status(solution, scores, self.scale.labels[held]))
        every = np.concatenate(parts)
        error = float(every.std() / np.sqrt(len(every)))
        status = next((status for status in statuses if status != RANKED), RANKED)
        seconds = perf_counter() - began
        return Judged(Trial(setting, self.scale.lambdas(setting), float(every.mean()), error, seconds, status), every)


def credit(scores: Array, codes: Rows) -> Array:
    """1 for every row whose given class has the highest score, and a small part of the margin, from -1 to 1."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    margin = scores[rows, codes] - others.max(axis=1)
    return (margin > 0) + MARGIN * np.clip(np.nan_to_num(margin), -1.0, 1.0)


def _status(solution: Solution, scores: Array, labels: Array) -> str:
    if not solution.finite or not np.isfinite(scores).all():
        return "not finite"
    spread = np.linalg.norm(scores - scores.mean(axis=0))
    return "collapsed" if spread <= FLAT * np.linalg.norm(labels - labels.mean(axis=0)) else RANKED
