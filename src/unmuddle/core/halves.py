"""The fall-back: the two convex halves of the problem in turn, where the joint iteration does not settle.

With Z and b held, X solves a convex problem; with X held, Z and b do. F never rises from one half to the next, so it
settles somewhere, though where labels or box are not smooth that need not be a stationary point: the certificate tells.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmuddle.core.blocks import Workers
from unmuddle.core.iteration import RELAX, Iteration
from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array, threshold_singular_values
from unmuddle.core.result import Point
from unmuddle.core.sides import solve_positive
from unmuddle.core.state import State

FEATURE_STEPS, PROJECTION_STEPS = 50, 200
"""Iterations on either half before it is the other's turn. Those on the projection are much cheaper."""


def fit_projection(problem: Problem, point: Point, penalty: tuple[float, float], workers: Workers) -> Point:
    """Minimise ``l1 |Z|_* + l3 L(Y~ - X Z - 1 b^T)`` over Z and b inside the box, by ADMM from a point."""
    X, (my, mz), n = point.X.astype(np.float64, copy=False), penalty, len(point.X)
    mean = problem.intercept * X.mean(axis=0)
    left = my * (X.T @ X - n * np.outer(mean, mean)) + mz * np.eye(X.shape[1])
    inverse = workers.factorise(solve_positive, left, np.eye(len(left)))
    J, b, M4 = point.Z, point.b, point.M4
    M3, XJ = -X.T @ M4, X @ point.Z + point.b
    for _ in range(PROJECTION_STEPS):
        B, Z = prox_both(problem, XJ - M4 / my, J - M3 / mz, my, mz)
        B, Z = XJ + RELAX * (B - XJ), J + RELAX * (Z - J)
        C = B + M4 / my
        J = inverse @ (mz * Z + M3 + my * (X.T @ C - np.outer(mean, C.sum(axis=0))))
        b = problem.intercept * (C.mean(axis=0) - mean @ J)
        XJ = X @ J + b
        M4, M3 = M4 + my * (B - XJ), M3 + mz * (Z - J)
    B, Z = prox_both(problem, XJ - M4 / my, J - M3 / mz, my, mz)
    return Point(point.X, Z, b, point.M1, M4 + my * (B - XJ))


def prox_both(problem: Problem, B: Array, Z: Array, my: float, mz: float) -> tuple[Array, Array]:
    """The proximal maps of recovered labels and projection."""
    Z = threshold_singular_values(Z, problem.lambdas.projection / mz).matrix
    return problem.prox_recovered_labels(B, 1 / my), Z


def alternate(iteration: Iteration, s: State, point: Point) -> State:
    """One round from a point: the projection, then features for that projection."""
    workers, (_, my, mz) = iteration.workers, s.penalty
    point = fit_projection(iteration.problem, point, (my, mz), workers)
    following = iteration.begin(point.Z, point.b, s.penalty, replace(s.balance), point)
    following.n_iter = s.n_iter
    del point  # its memory is needed now
    for _ in range(FEATURE_STEPS):
        iteration.step(following, hold=True)
    return following
