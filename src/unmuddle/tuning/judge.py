"""One setting on every fold: solved loosely from a start nearby, judged by the noisy labels that were held out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.admm import ADMM
from unmuddle.core.norms import Norm
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.core.prox import Array
from unmuddle.core.result import Solution
from unmuddle.tuning.folds import Rows
from unmuddle.tuning.record import Setting, Trial
from unmuddle.tuning.wishes import Scale

ITERATIONS, TOL = 120, 1e-2
"""Enough to rank settings. After 40 iterations large alphas have not yet shrunk what they will shrink, and look good."""

MARGIN = 0.01
"""Credit for the margin by which a label is predicted, beside 1 for predicting it: it breaks ties."""

FLAT = 0.02
"""Scores that vary by less than this part of the labels are on their way to a collapse."""

Pose = Callable[[Rows, Norm, Norm, Lambdas], Problem]
"""Poses the problem on some of the rows."""


@dataclass(frozen=True)
class Judged:
    """A trial, the credit of every held-out row, and the solution of each fold to start the next from."""

    trial: Trial
    credit: Array
    solutions: tuple[Solution, ...]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which held-out rows had their given label predicted."""
        return self.credit > 0.5

    @property
    def is_useful(self) -> bool:
        """Whether it may be chosen."""
        return self.trial.status == "ranked"


@dataclass(frozen=True)
class Court:
    """The folds, and how a problem is posed and measured on them."""

    scale: Scale
    codes: Rows
    folds: list[tuple[Rows, Rows]]
    pose: Pose

    def judge(self, setting: Setting, near: Judged | None = None) -> Judged:
        """Solve on every fold, from the solutions of a setting nearby if there is one."""
        began, parts, solutions, status = perf_counter(), list[Array](), list[Solution](), "ranked"
        for i, (learn, held) in enumerate(self.folds):
            start = near.solutions[i] if near is not None and near.is_useful else None
            problem = self.pose(learn, *self.scale.norms(setting), self.scale.lambdas_of_part(setting, learn))
            solution = _solve(problem, start)
            scores = problem.predict(self.scale.features[held], solution.point.Z, solution.point.b)
            status = status if status != "ranked" else _status(solution, scores, self.scale.labels[held])
            parts.append(credit(scores, self.codes[held]))
            solutions.append(_slim(solution))
        every = np.concatenate(parts)
        trial = Trial(
            setting, self.scale.lambdas(setting), float(every.mean()), float(every.std() / np.sqrt(len(every))),
            perf_counter() - began, status,
        )  # fmt: skip
        return Judged(trial, every, tuple(solutions))


def credit(scores: Array, codes: Rows) -> Array:
    """1 for every row whose given class has the highest score, and a small part of the margin, from -1 to 1."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    margin = scores[rows, codes] - others.max(axis=1)
    return (margin > 0) + MARGIN * np.clip(np.nan_to_num(margin), -1.0, 1.0)


def _solve(problem: Problem, start: Solution | None) -> Solution:
    usable = start is not None and not problem.label_norm.fixes_zero and start.point.X.dtype == problem.features.dtype
    solver = ADMM(start=start) if usable and start is not None else ADMM()
    return solver.solve(problem, ITERATIONS, TOL)


def _status(solution: Solution, scores: Array, labels: Array) -> str:
    if not solution.finite or not np.isfinite(scores).all():
        return "not finite"
    spread = np.linalg.norm(scores - scores.mean(axis=0))
    return "collapsed" if spread <= FLAT * np.linalg.norm(labels - labels.mean(axis=0)) else "ranked"


def _slim(solution: Solution) -> Solution:
    return replace(solution, E_f=solution.E_f[:0], E_l=solution.E_l[:0])
