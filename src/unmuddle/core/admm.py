"""The default solver: two-block ADMM with penalties of their own for features, labels and projection.

With copies K of X and J of Z the problem is split into a block of proximal maps and a smooth one::

    proximal    X, E_f, Z, B        one prox each; that of B is taken exactly, with the box
    smooth      K, J, b             least squares, bilinear in K and J: K, then J and b, then K again
    subject to  X~ = K + E_f (M1),  X = K (M5),  Z = J (M3),  B = K J + 1 b^T (M4)

and penalties mx, mx, mz and my. Three facts make it quick (docs/solver.md derives them):

*  K is updated last in its block, so ``M5 = -(M1 + M4 J^T)`` at all times and is never stored.
*  K is T plus rank c, where T averages the two targets of K; J and b need the Gram matrix of T only.
*  The prox of |X|_* needs the Gram matrix of S = K - M5 / mx only: X = S V f V^T.

So an iteration is two passes over row blocks. What a pass returns is small; what is large stays in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from unmuddle.core.blocks import Workers, row_workers, tiles
from unmuddle.core.certificate import certify, step_feature_error
from unmuddle.core.penalties import LABEL_PENALTY, Balance, Penalties, is_time_to_balance, spread
from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array, spectral_norm, threshold_singular_values
from unmuddle.core.result import OnStep, Point, Solution, Trace, ignore
from unmuddle.errors import InvalidParameterError

MAX_ITER, TOL = 2000, 1e-4
RELAX = 1.6
"""Over-relaxation: the proximal block is overshot by this factor."""

RECHECK = (20, 25)
"""Iterations between two looks at the certificate, when the residuals are below the tolerance and when not; a look
costs more than an iteration."""


Found = tuple[Point, Array]
"""A point and its recovered labels B, inside the box."""


@dataclass
class State:
    """What passes from iteration to iteration. K, M1 and T are large, and changed in place."""

    K: Array
    M1: Array
    T: Array
    KJ: Array
    M4: Array
    J: Array
    b: Array
    Z: Array
    M3: Array
    gram: Array
    penalty: Penalties
    balance: Balance
    n_iter: int = 0
    residuals: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ADMM:
    """The default solver.

    Parameters
    ----------
    start : {"ridge", "zero"}
        Where the projection starts: ridge regression on the given data, or zero.
    n_blocks : int or None
        Number of row blocks; None makes blocks that fit the processor's cache.
    """

    start: str = "ridge"
    n_blocks: int | None = None

    def __post_init__(self) -> None:
        if self.start not in ("ridge", "zero"):
            raise InvalidParameterError(f"ADMM: start must be 'ridge' or 'zero'; got {self.start!r}.")
        if self.n_blocks is not None and not (isinstance(self.n_blocks, int) and self.n_blocks >= 1):
            raise InvalidParameterError(
                f"ADMM: n_blocks must be an integer of at least 1, or None; got {self.n_blocks!r}."
            )

    def solve(
        self, problem: Problem, max_iter: int | None = None, tol: float | None = None, on_step: OnStep = ignore
    ) -> Solution:
        """Iterate until the certificate of the current point is at most ``tol``."""
        max_iter, tol = MAX_ITER if max_iter is None else max_iter, TOL if tol is None else tol
        n, d = problem.features.shape
        with row_workers(n, d, self.n_blocks) as workers, np.errstate(over="ignore", invalid="ignore"):
            run = _Run(problem, workers, tol)
            try:
                state = start(problem, workers, self.start)
            except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
                return run.give_up()
            return run.go(state, max_iter, on_step)


def start(problem: Problem, workers: Workers, kind: str) -> State:
    """From the data: K = X~, the projection from ridge regression or zero."""
    X, Y = problem.features, problem.labels
    (n, d), c = X.shape, Y.shape[1]
    gram, cross, sums = workers.total(lambda r: (_gram(X[r]), X[r].T @ Y[r], X[r].sum(axis=0)))
    centre = problem.intercept * np.outer(sums, sums) / n
    b = problem.intercept * Y.mean(axis=0)
    eigenvalues = np.maximum(workers.factorise(linalg.eigvalsh, gram - centre), 0.0)
    largest = max(float(eigenvalues[-1]), 1e-300)
    J = np.zeros((d, c))
    if kind == "ridge":
        ridge = gram - centre + 1e-2 * largest * np.eye(d)
        J = workers.factorise(_solve_positive, ridge, cross - np.outer(sums, b))
    b = b - problem.intercept * sums / n @ J
    penalty, balance = first_penalties(problem, eigenvalues, spectral_norm(J))
    return State(
        K=X.copy(), M1=np.zeros_like(X), T=np.empty_like(X), KJ=X @ J + b, M4=np.zeros((n, c)), J=J, b=b,
        Z=J, M3=np.zeros((d, c)), gram=gram, penalty=penalty, balance=balance,
    )  # fmt: skip


def first_penalties(problem: Problem, eigenvalues: Array, J_norm: float) -> tuple[Penalties, Balance]:
    """Penalties of the size of what they stand against, from the eigenvalues of ``X~^T X~``."""
    (n, c), l1, largest = problem.labels.shape, problem.lambdas.projection, max(float(eigenvalues[-1]), 1e-300)
    free = problem.label_norm.fixes_zero
    weight = 3 * l1 * np.sqrt(c / (n * largest)) if free else problem.lambdas.labels
    penalty = Penalties(
        x=4 / np.sqrt(largest), y=LABEL_PENALTY[1] * weight, z=l1 / max(J_norm, 1e-3 * np.sqrt(n / largest))
    )
    balance = Balance(None if free else weight, spread(eigenvalues), first=penalty.x)
    return balance.lift(penalty, weight * np.sqrt(n)), balance


class _Run:
    """One solve: the problem, the workers, and what has been seen so far."""

    def __init__(self, problem: Problem, workers: Workers, tol: float) -> None:
        self.problem, self.workers, self.tol = problem, workers, tol
        self.records: list[dict[str, float]] = []
        self.feature_size = float(np.linalg.norm(problem.features)) or 1.0
        self.label_size = float(np.linalg.norm(problem.labels))

    def go(self, s: State, max_iter: int, on_step: OnStep) -> Solution:
        progress = _Progress()
        while s.n_iter < max_iter:
            if progress.wants_check(s, self.tol) and progress.keep_best(*self.look(s), s.n_iter) <= self.tol:
                break
            if not self.try_iterate(s):
                return self.give_up(progress.best)
            record = {**s.residuals, "mu_features": s.penalty.x, "mu_labels": s.penalty.y, "mu_projection": s.penalty.z}
            self.records.append(record)
            on_step(s.n_iter, record)
            if is_time_to_balance(s.n_iter):
                s.balance.notice(s.penalty, s.residuals)
        else:
            progress.keep_best(*self.look(s), s.n_iter)
        return self.solution(progress.best, s.n_iter >= max_iter) if progress.best else self.give_up()

    def try_iterate(self, s: State) -> bool:
        """One iteration, unless it leaves the finite numbers."""
        try:
            self.iterate(s)
        except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
            return False
        return bool(np.isfinite(list(s.residuals.values())).all())

    def give_up(self, best: Found | None = None) -> Solution:
        """The best point seen, or where nothing was seen yet, nothing learned and nothing changed."""
        X, B = self.problem.features, np.zeros_like(self.problem.labels)
        Z = np.zeros((X.shape[1], B.shape[1]))
        nothing = Point(X, Z, Z.sum(axis=0), np.zeros_like(X), B), B
        return self.solution(best or nothing, out_of_iterations=False, finite=False)

    def solution(self, best: Found, out_of_iterations: bool, finite: bool = True) -> Solution:
        point, B = best
        E_f, E_l = step_feature_error(self.problem, point), self.problem.labels - B
        return Solution(point, E_f, E_l, len(self.records), Trace(self.records), out_of_iterations, finite)

    def iterate(self, s: State) -> None:
        """The proximal block, the smooth block, the multipliers."""
        labels = self.update_labels_and_projection(s)
        sums = self.update_features(s, labels)
        J, b, W = self.fit_smooth_block(s, labels, sums)
        self.update_copies(s, labels, J, b, W)
        s.n_iter += 1

    def update_labels_and_projection(self, s: State) -> _Small:
        """B and Z by their proximal maps, and the targets they set for the smooth block."""
        my, mz = s.penalty.y, s.penalty.z
        B = self.problem.prox_recovered_labels(s.KJ - s.M4 / my, 1 / my)
        Z, _ = threshold_singular_values(s.J - s.M3 / mz, self.problem.lambdas.projection / mz)
        B_relaxed, Z_relaxed = s.KJ + RELAX * (B - s.KJ), s.J + RELAX * (Z - s.J)
        s.residuals["residual_labels"] = _norm(B - s.KJ) / self.label_size
        s.residuals["residual_projection"] = _norm(Z - s.J) / max(_norm(Z), _norm(s.J), 1e-300)
        s.Z = Z
        return _Small(B_relaxed, Z_relaxed, B_relaxed + s.M4 / my, Z_relaxed + s.M3 / mz)

    def update_features(self, s: State, labels: _Small) -> _Sums:
        """X and E_f by their proximal maps, never kept; T from them; M1 half-way. One pass."""
        mx, shrink = s.penalty.x, self.shrinkage(s)

        def update(block: slice) -> tuple[Any, ...]:
            squares = np.zeros(2)
            for rows in tiles(block, s.K.shape[1]):
                low = s.M4[rows] @ s.J.T
                low /= mx
                copy_gap, error_gap = self.feature_gaps(s, shrink, rows, low)
                squares += _square(copy_gap), _square(error_gap)
                T = np.add(copy_gap, error_gap, out=s.T[rows])
                T *= RELAX
                T -= low
                T *= 0.5
                T += s.K[rows]
                error_gap *= RELAX * mx
                s.M1[rows] += error_gap
            T = s.T[block]
            return _gram(T), T.T @ labels.C[block], T.sum(axis=0), *squares

        G, TC, t, copy, error = self.workers.total(update)
        s.residuals["residual_features"] = float(np.sqrt(max(copy, error))) / self.feature_size
        return _Sums(G, TC, t)

    def feature_gaps(self, s: State, shrink: _Shrinkage, rows: slice, low: Array) -> tuple[Array, Array]:
        """``X - K`` and ``X~ - K - E_f`` after the proximal maps of X and E_f."""
        mx, K = s.penalty.x, s.K[rows]
        M1 = s.M1[rows] / mx
        S = K + M1
        S += low
        X = shrink.apply(S)
        X -= K
        D = self.problem.features[rows] - K
        M1 += D
        D -= self.problem.prox_feature_error(M1, 1 / mx)
        return X, D

    def fit_smooth_block(self, s: State, labels: _Small, sums: _Sums) -> tuple[Array, Array, Array]:
        """K for the old J, then (J, b) for that K, in small matrices: K is ``T + R W`` with ``R = C - 1 b^T - T J``."""
        (mx, my, mz), (G, TC, t) = s.penalty, sums
        C, n, J, b = labels.C, len(labels.C), s.J, s.b
        CC, c_sum, W = C.T @ C, C.sum(axis=0), _copy_weights(s.J, mx, my)
        TR = TC - np.outer(t, b) - G @ J
        R1 = c_sum - n * b - J.T @ t
        RC = CC - np.outer(b, c_sum) - J.T @ TC
        RR = RC - np.outer(R1, b) - TR.T @ J
        TRW = TR @ W
        KK, KC, k_sum = G + TRW + TRW.T + W.T @ RR @ W, TC + W.T @ RC, t + R1 @ W
        if self.problem.intercept:
            KK, KC = KK - np.outer(k_sum, k_sum) / n, KC - np.outer(k_sum, c_sum) / n
        left, right = my * KK + mz * np.eye(len(G)), mz * labels.Z_target + my * KC
        J = self.workers.factorise(_solve_positive, left, right)
        if self.problem.intercept:
            b = (c_sum - k_sum @ J) / n
        if is_time_to_balance(s.n_iter + 1):
            s.balance.spread = spread(np.maximum(self.workers.factorise(linalg.eigvalsh, KK), 0.0))
        return J, b, _copy_weights(J, mx, my)

    def update_copies(self, s: State, labels: _Small, J: Array, b: Array, W: Array) -> None:
        """K, K J + 1 b^T and the multipliers; with them the Gram matrix of the next S. One pass."""
        mx, my, mz = s.penalty
        WJ = W @ J
        s.M3 = s.M3 + mz * (labels.Z_relaxed - J)
        dual_projection = mz * _norm(J - s.J) / max(_norm(s.M3), 1e-300)
        if is_time_to_balance(s.n_iter + 1):
            s.penalty = s.balance.move(s.penalty, s.residuals, spectral_norm(s.M4.T @ s.M4) ** 0.5)
        mx_next = s.penalty.x

        def update(block: slice) -> tuple[Any, ...]:
            squares = np.zeros(3)
            for rows in tiles(block, s.K.shape[1]):
                T, M1 = s.T[rows], s.M1[rows]
                TJ = T @ J
                R = labels.C[rows] - b - TJ
                KJ = TJ + R @ WJ + b
                label_change = _square(KJ - s.KJ[rows])
                s.M4[rows] += my * (labels.B_relaxed[rows] - KJ)
                s.KJ[rows] = KJ
                T += R @ W  # now the new K
                change = s.K[rows]
                change -= T
                feature_change = _square(change)
                change *= mx
                M1 += change
                squares += feature_change, label_change, _square(M1)
                S = np.add(M1, s.M4[rows] @ J.T, out=change)
                S /= mx_next
                S += T
            return _gram(s.K[block]), *squares

        s.gram, features, label_change, M1_size = self.workers.total(update)
        s.K, s.T = s.T, s.K
        s.J, s.b = J, b
        s.residuals["dual_features"] = mx * float(np.sqrt(features / max(M1_size, 1e-300)))
        s.residuals["dual_labels"] = my * float(np.sqrt(label_change)) / max(_norm(s.M4), 1e-300)
        s.residuals["dual_projection"] = dual_projection

    def look(self, s: State) -> tuple[Point, Array, float]:
        """The point that the proximal block makes of a state, its recovered labels, the worst of its certificate."""
        mx, my, shrink = s.penalty.x, s.penalty.y, self.shrinkage(s)
        B = self.problem.prox_recovered_labels(s.KJ - s.M4 / my, 1 / my)
        Z, _ = threshold_singular_values(s.J - s.M3 / s.penalty.z, self.problem.lambdas.projection / s.penalty.z)
        X, M1 = np.empty_like(s.K), np.empty_like(s.K)

        def compute(block: slice) -> None:
            for rows in tiles(block, X.shape[1]):
                copy_gap, error_gap = self.feature_gaps(s, shrink, rows, s.M4[rows] @ s.J.T / mx)
                X[rows] = s.K[rows] + copy_gap
                M1[rows] = s.M1[rows] + mx * error_gap

        self.workers.map(compute)
        point = Point(X=X, Z=Z, b=s.b, M1=M1, M4=s.M4 + my * (B - s.KJ))
        return point, B, certify(self.problem, point, self.tol).worst

    def shrinkage(self, s: State) -> _Shrinkage:
        return self.workers.factorise(_Shrinkage.of, s.gram, step=1 / s.penalty.x)


@dataclass(frozen=True)
class _Small:
    """Over-relaxed B and Z, and the targets ``C = B + M4 / my`` and ``Z + M3 / mz`` of the smooth block."""

    B_relaxed: Array
    Z_relaxed: Array
    C: Array
    Z_target: Array


class _Sums(NamedTuple):
    """``T^T T``, ``T^T C`` and ``1^T T``."""

    gram: Array
    cross: Array
    total: Array


@dataclass(frozen=True)
class _Shrinkage:
    """Singular value thresholding of S as a map on its rows, from the Gram matrix of S."""

    left: Array
    right: Array | None

    @classmethod
    def of(cls, gram: Array, step: float) -> _Shrinkage:
        eigenvalues, V = np.linalg.eigh(gram)
        s = np.sqrt(np.maximum(eigenvalues, 0.0))
        kept = s > step
        V, factors = V[:, kept], 1.0 - step / s[kept]
        if 2 * V.shape[1] > len(V):
            return cls((V * factors) @ V.T, None)
        return cls(V * factors, np.ascontiguousarray(V.T))

    def apply(self, S: Array) -> Array:
        return S @ self.left if self.right is None else (S @ self.left) @ self.right


class _Progress:
    """Decides when to look at the certificate, and keeps the best point."""

    def __init__(self) -> None:
        self.checked_at, self.best_worst = 0, np.inf
        self.best: Found | None = None

    def wants_check(self, s: State, tol: float) -> bool:
        since = s.n_iter - self.checked_at
        return bool(s.residuals) and (since >= RECHECK[1] or (since >= RECHECK[0] and max(_residuals(s)) <= tol))

    def keep_best(self, point: Point, B: Array, worst: float, n_iter: int) -> float:
        self.checked_at = n_iter
        if worst < self.best_worst or self.best is None:
            self.best_worst, self.best = worst, (point, B)
        return worst


def _residuals(s: State) -> list[float]:
    return list(s.residuals.values())


def _copy_weights(J: Array, mx: float, my: float) -> Array:
    """W with ``K = T + (C - 1 b^T - T J) W``: a c x c system instead of the d x d one, by Woodbury."""
    return _solve_positive(2 * mx / my * np.eye(J.shape[1]) + J.T @ J, J.T)


def _solve_positive(left: Array, right: Array) -> Array:
    """Solve with a positive definite matrix by Cholesky, without the checks that cost more than a small system."""
    _, x, info = linalg.lapack.dposv(left, right)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return x


def _gram(block: Array) -> Array:
    return (block.T @ block).astype(np.float64, copy=False)


def _square(block: Array) -> float:
    return float(np.vdot(block, block))


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix))
