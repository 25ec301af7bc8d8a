"""Is a point stationary? Answered from the point and two multipliers, with no help from the solver.

A point (X, Z, b) is stationary if multipliers M1 (features) and M4 (labels) exist with

===============  ==================================================================================
features         ``M1 + M4 Z^T`` is a subgradient of ``|X|_*``
projection       ``X^T M4`` is a subgradient of ``l1 |Z|_*``
feature_noise    ``M1`` is a subgradient of ``l2 R`` at ``E_f = X~ - X``
label_noise      ``-M4`` is a subgradient of ``l3 L(Y~ - B) + box(B)`` at ``B = X Z + 1 b^T``
intercept        ``1^T M4 = 0``
box              ``0 <= B <= 1``
fixed            ``E_f = 0`` or ``E_l = 0`` where a norm decrees it
===============  ==================================================================================

A subgradient G of a nuclear norm has spectral norm at most 1 and ``<G, X> = |X|_*``: two numbers. For the other two
terms G is a subgradient of f at E exactly if ``E = prox_f(E + t G)`` for any t > 0, so the measure is how far that
proximal step moves; t brings G to the size of the data. Nothing is compared with zero, so a residual of 1e-9 is
seen as 1e-9, and any norm that has a prox has a certificate. The paper's M2 and M3, M5 follow: ``M3 = -X^T M4``,
``M5 = -M4 Z^T``, and M2 exists by the label condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from unmuddle.core.blocks import Workers, row_workers, tiles
from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array
from unmuddle.core.result import Point, Solution, Status
from unmuddle.core.spectrum import Spectrum, singular_values

COLLAPSED_BELOW = 1e-6
"""Scores that vary by less than this, relative to the labels, are no scores."""


@dataclass(frozen=True)
class Certificate:
    """How far a point is from stationary: one number for each condition, all relative, 0 is perfect."""

    features: float
    projection: float
    feature_noise: float
    label_noise: float
    intercept: float
    box: float
    fixed: float
    tol: float = 1e-3

    @property
    def conditions(self) -> dict[str, float]:
        """Every condition by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "tol"}

    @property
    def worst(self) -> float:
        """The largest violation; NaN counts as infinite."""
        return max(np.inf if np.isnan(value) else value for value in self.conditions.values())

    @property
    def satisfied(self) -> bool:
        """Whether every condition holds to within ``tol``."""
        return self.worst <= self.tol

    def __str__(self) -> str:
        verdict = "stationary" if self.satisfied else "not stationary"
        name = max(self.conditions, key=lambda condition: self.conditions[condition])
        return f"{verdict} at {self.tol:g}: worst condition {name} = {self.worst:.1e}"


def certify(problem: Problem, point: Point, tol: float = 1e-3) -> Certificate:
    """Measure every condition at a point."""
    t = feature_step(problem, float(np.linalg.norm(point.M1)))
    with row_workers(*problem.features.shape) as workers:
        return certify_rows(
            problem, (point.Z, point.b, point.M4), lambda rows: (point.X[rows], point.M1[rows]), t, workers, tol
        )


def certify_rows(
    problem: Problem,
    small: tuple[Array, Array, Array],
    large: Callable[[slice], tuple[Array, Array]],
    t: float,
    workers: Workers,
    tol: float,
    X_values: Array | None = None,
) -> Certificate:
    """The same where X and M1 are given by row blocks, and Z, b, M4 as they are.

    A solver that knows the singular values of X may give them, to save time while it iterates.
    """
    Z, b, M4 = small

    def measure(rows: slice) -> tuple[Any, ...]:
        X, M1 = (array.astype(np.float64, copy=False) for array in large(rows))
        E = problem.features[rows] - X
        E_square, stepped = _square(problem.seen(E, rows)), t * M1
        stepped += E
        E -= problem.prox_feature_error(stepped, t, rows)
        G = np.matmul(M4[rows], Z.T, out=stepped)
        G += M1
        spectra = [Spectrum.of(A, problem.features.shape) for A in ((G,) if X_values is not None else (G, X))]
        return float(np.vdot(G, X)), _square(E), E_square, X.T @ M4[rows], [X @ Z + b], *spectra

    inner, moved, E, XM4, B_rows, G, *X = workers.total_of_tiles(measure, problem.features.shape[1])
    B, size = np.concatenate(B_rows), float(np.linalg.norm(problem.features)) or 1.0
    l1, fixed = problem.lambdas.projection, problem.feature_norm.fixes_zero
    return Certificate(
        features=_nuclear_gap(G.singular_values(), X[0].singular_values() if X_values is None else X_values, inner),
        projection=_nuclear_gap(singular_values(XM4 / l1), singular_values(Z), float(np.vdot(XM4 / l1, Z))),
        feature_noise=0.0 if fixed and problem.missing is None else float(np.sqrt(moved)) / size,
        label_noise=_label_noise(problem, B, M4),
        intercept=_intercept(problem, M4),
        box=_relative(B - problem.project_labels(B), problem.labels),
        fixed=max(float(np.sqrt(E)) / size if fixed else 0.0, _fixed_labels(problem, B)),
        tol=tol,
    )


def judge(problem: Problem, solution: Solution, tol: float) -> tuple[Certificate, Status]:
    """The certificate of a solution and the status that follows from it."""
    with np.errstate(over="ignore", invalid="ignore"):  # a point on the verge of overflow is judged all the same
        certificate = certify(problem, solution.point, tol)
    if is_collapsed(problem, solution.point) and (certificate.satisfied or solution.finite):
        return certificate, Status.COLLAPSED
    if certificate.satisfied:
        return certificate, Status.CONVERGED
    if not solution.finite:
        return certificate, Status.NON_FINITE
    return certificate, Status.MAX_ITER if solution.out_of_iterations else Status.STALLED


def is_collapsed(problem: Problem, point: Point) -> bool:
    """Whether every row has the same scores ``X Z``, or nearly so next to the labels."""
    scores = point.X @ point.Z
    return bool(np.linalg.norm(scores - scores.mean(axis=0)) <= COLLAPSED_BELOW * np.linalg.norm(problem.labels))


def _nuclear_gap(G: Array, X: Array, inner: float) -> float:
    """How far G is from a subgradient of the nuclear norm at X: excess of ``|G|_2`` over 1, lack of alignment.

    From the singular values of both and ``<G, X>``.
    """
    size = float(X.sum())
    misaligned = 1.0 - inner / size if size > 0 else 0.0
    return max(float(G.max(initial=0.0)) - 1.0, misaligned, 0.0)


def feature_step(problem: Problem, M1_norm: float) -> float:
    """The t that brings M1 to the size of the data."""
    return _ratio(float(np.linalg.norm(problem.features)), M1_norm, otherwise=1.0 / problem.lambdas.features)


def step_feature_error(problem: Problem, point: Point) -> Array:
    """Where a proximal step takes ``E_f = X~ - X``: nowhere if the point is stationary, up to exact zeros."""
    t, E = feature_step(problem, float(np.linalg.norm(point.M1))), np.empty_like(problem.features)
    for rows in tiles(slice(0, len(E)), E.shape[1]):
        E[rows] = problem.prox_feature_error(problem.features[rows] - point.X[rows] + t * point.M1[rows], t, rows)
    return E


def _label_noise(problem: Problem, B: Array, M4: Array) -> float:
    if problem.label_norm.fixes_zero and problem.label_weights is None:
        return 0.0
    t = _ratio(float(np.linalg.norm(problem.labels)), float(np.linalg.norm(M4)), otherwise=1.0 / problem.lambdas.labels)
    return _relative(B - problem.prox_recovered_labels(B - t * M4, t), problem.labels)


def _intercept(problem: Problem, M4: Array) -> float:
    if not problem.intercept:
        return 0.0
    return _relative(M4.sum(axis=0), M4) / np.sqrt(len(M4))


def _fixed_labels(problem: Problem, B: Array) -> float:
    if not problem.label_norm.fixes_zero:
        return 0.0
    return _relative((problem.labels - B)[problem.labelled], problem.labels)


def _ratio(above: float, below: float, otherwise: float) -> float:
    return above / below if above > 0 and below > 0 else otherwise


def _relative(part: Array, whole: Array) -> float:
    size = float(np.linalg.norm(whole))
    return float(np.linalg.norm(part)) / size if size > 0 else float(np.linalg.norm(part))


def _square(block: Array) -> float:
    return float(np.vdot(block, block))
