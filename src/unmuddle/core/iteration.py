"""One iteration of the default solver: small matrices first, then one pass over the rows.

With copies K of X and J of Z the problem is split into two blocks (docs/solver.md derives what follows)::

    first       X, Z, B             one proximal map each; that of B is taken exactly, with the box
    second      E_f; K, J, b        a proximal map; least squares, bilinear in K and J: K, then J and b, then K again
    subject to  X~ = X + E_f (M1),  X = K (M5),  Z = J (M3),  B = K J + 1 b^T (M4)

with penalties mx, mx, mz and my. K is updated last, so ``M5 = -M4 J^T`` at all times, and K is X plus rank 2c. So J and
b follow from the Gram matrix of S alone, before X is formed: X, E_f and K are made and used up tile by tile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from unmuddle.core.blocks import Scratch, Workers, tiles
from unmuddle.core.penalties import Balance, Penalties, is_time_to_balance, spread
from unmuddle.core.problem import Problem
from unmuddle.core.prox import TINY, Array, threshold_singular_values
from unmuddle.core.result import Point
from unmuddle.core.sides import Recovery, Side, copy_weights, side_of
from unmuddle.core.spectrum import spectral_norm
from unmuddle.core.state import State

RELAX = 1.6
"""Over-relaxation: E_f, J and b see X, Z and B overshot by this factor. K sees X as it is, or it would not be X plus
low rank."""


@dataclass(frozen=True)
class Iteration:
    """The iteration for one problem."""

    problem: Problem
    workers: Workers
    side: Side
    scratch: Scratch
    feature_size: float
    label_size: float

    @classmethod
    def of(cls, problem: Problem, workers: Workers) -> Iteration:
        """The iteration for a problem, with work arrays for each thread."""
        X, scratch = problem.features, Scratch(3, problem.features.shape[1], problem.features.dtype)
        return cls(problem, workers, side_of(X.shape, workers), scratch, _norm(X) or 1.0, _norm(problem.labels) or 1.0)

    def begin(self, J: Array, b: Array, penalty: Penalties, balance: Balance, point: Point | None = None) -> State:
        """The state whose copies are the data and the given projection, or a point with its multipliers."""
        X, (n, c) = self.problem.features, self.problem.labels.shape
        S, U, KJ, C = np.empty_like(X), np.zeros_like(X), np.empty((n, c)), np.empty((n, c))
        M4 = np.zeros((n, c)) if point is None else point.M4
        M3 = np.zeros_like(J) if point is None else -(point.X.T @ point.M4).astype(np.float64, copy=False)

        def fill(block: slice) -> tuple[Any, ...]:
            for rows in tiles(block, X.shape[1]):
                K = X[rows] if point is None else point.X[rows]
                if point is not None:
                    U[rows] = X[rows] - K + point.M1[rows] / penalty.x
                E = self.problem.prox_feature_error(U[rows], 1 / penalty.x, rows)
                S[rows] = (X[rows] + U[rows] - 2 * E + K + M4[rows] @ J.T / penalty.x) / 2
                KJ[rows] = K @ J + b
            _, C[block] = self.target_labels(block, KJ[block], M4[block], penalty.y)
            return self.side.block_sums(S[block], _columns(C[block], M4[block]))

        sums = self.side.all_sums(S, self.workers.total(fill))
        return State(S, U, KJ, M4, C, J, b, M3, sums, penalty, balance)

    def target_labels(self, block: slice, KJ: Array, M4: Array, my: float) -> tuple[float, Array]:
        """How far B is from ``K J + 1 b^T``, squared, and C."""
        gap = self.problem.prox_recovered_labels(KJ - M4 / my, 1 / my, block) - KJ
        return _square(gap), KJ + RELAX * gap + M4 / my

    def recover(self, s: State) -> Recovery:
        """X by singular value thresholding of S, as a function of rows."""
        return self.side.recover(s, 1 / (2 * s.penalty.x))

    def project(self, s: State) -> Array:
        """Z by singular value thresholding."""
        mz = s.penalty.z
        return threshold_singular_values(s.J - s.M3 / mz, self.problem.lambdas.projection / mz).matrix

    def step(self, s: State, *, hold: bool = False) -> None:
        """Advance a state by one iteration; ``hold`` leaves projection and intercept alone, a convex problem."""
        mz = s.penalty.z
        Z, found = self.project(s), self.recover(s)
        relaxed = s.J + RELAX * (Z - s.J)
        J, b, M3 = s.J, s.b, s.M3
        if not hold:
            J, b = self.side.fit(found, s, relaxed + s.M3 / mz, self.problem.intercept)
            M3 = s.M3 + mz * (relaxed - J)
        residuals = {
            "residual_projection": _norm(Z - s.J) / max(_norm(Z), _norm(s.J), TINY),
            "dual_projection": mz * _norm(J - s.J) / max(_norm(M3), TINY),
        }
        following = self.move_penalties(s, found)
        residuals |= self.pass_over_rows(s, found, J, b, following)
        s.J, s.b, s.M3, s.penalty, s.rank = J, b, M3, following, len(found.squares)
        s.residuals.update(residuals)
        s.n_iter += 1

    def move_penalties(self, s: State, found: Recovery) -> Penalties:
        """The penalties of the next iteration, from the residuals of the last one."""
        if not is_time_to_balance(s.n_iter + 1):
            return s.penalty
        s.balance.spread = spread(found.squares)
        return s.balance.move(s.penalty, s.residuals, spectral_norm(s.M4.T @ s.M4) ** 0.5)

    def pass_over_rows(self, s: State, found: Recovery, J: Array, b: Array, following: Penalties) -> dict[str, float]:
        """Everything that goes by rows: E_f, K, both multipliers, the next B, and with them the next S."""
        given, (mx, my, _) = self.problem.features, s.penalty
        W, dtype = copy_weights(J, mx / my), given.dtype
        WJ, JJ, J_rows = W @ J, s.J.T @ J / mx, J.astype(dtype, copy=False)
        low = np.vstack([(1 / mx + 1 / following.x) * J.T, -s.J.T / mx]).astype(dtype, copy=False)
        KJ, M4, C = np.empty_like(s.KJ), np.empty_like(s.M4), np.empty_like(s.C)
        measured = is_time_to_balance(s.n_iter + 2)

        def update(block: slice) -> tuple[Any, ...]:
            sizes = np.zeros(4)
            for rows in tiles(block, given.shape[1]):
                X_out, E, gap = self.scratch.take(rows)
                X, U, S = found.rows(rows, X_out), s.U[rows], s.S[rows]
                TJ = X @ J_rows - s.M4[rows] @ JJ
                KJ[rows] = TJ + (s.C[rows] - b - TJ) @ WJ + b
                M4[rows] = my * (s.C[rows] - KJ[rows])
                self.problem.prox_feature_error(U, 1 / mx, rows, out=E)
                if measured:
                    sizes[1] += _square(X + given[rows] - 2 * S + U - 2 * E + M4[rows] @ (J.T / mx))  # K - K_old
                np.subtract(given[rows], X, out=gap)
                gap -= E
                sizes[0] += _square(gap)
                gap *= RELAX
                U += gap
                E_old = E.copy() if measured else E
                self.problem.prox_feature_error(U, 1 / mx, rows, out=E)
                sizes[2] += _square(E - E_old) if measured else 0.0
                if measured or following.x != mx:
                    U -= E
                    sizes[3] += _square(U)
                    U *= mx / following.x
                    U += E
                np.matmul(np.hstack([M4[rows], s.M4[rows]]).astype(dtype, copy=False), low, out=S)
                S += X
                S += given[rows]
                S += U
                E *= 2.0
                S -= E
                S *= 0.5
            label_gap, C[block] = self.target_labels(block, KJ[block], M4[block], following.y)
            return sizes, label_gap, *self.side.block_sums(s.S[block], _columns(C[block], M4[block]))

        sizes, label_gap, *sums = self.workers.total(update)
        gap, copy_change, error_change, M1 = np.sqrt(np.asarray(sizes))
        copy_gap = _product_norm(np.hstack([M4 - s.M4, s.M4]), np.hstack([J, J - s.J])) / mx
        residuals = {
            "residual_features": max(float(gap), copy_gap) / self.feature_size,
            "residual_labels": float(np.sqrt(label_gap)) / self.label_size,
            "dual_labels": my * _norm(KJ - s.KJ) / max(_norm(M4), TINY),
        }
        if measured:
            residuals["dual_features"] = float(max(copy_change, error_change) / max(M1, TINY))
        s.sums = self.side.all_sums(s.S, tuple(sums))
        s.KJ, s.M4, s.C = KJ, M4, C
        return residuals


def _columns(C: Array, M4: Array) -> Array:
    """``[C, M4, 1]``."""
    return np.hstack([C, M4, np.ones((len(C), 1))])


def _product_norm(A: Array, B: Array) -> float:
    """``|A B^T|_F`` of two thin matrices."""
    return float(np.sqrt(max(float(np.vdot(A.T @ A, B.T @ B)), 0.0)))


def _square(block: Array) -> float:
    return float(np.vdot(block, block))


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix))
