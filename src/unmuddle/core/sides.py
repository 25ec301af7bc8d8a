"""The two sides of a matrix: everything that depends on whether it has more rows or more columns.

A tall S is known by ``S^T S``, and X is a map on its rows. A wide S is known by ``S S^T``, and X is formed whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import linalg

from unmuddle.core.blocks import Workers
from unmuddle.core.prox import Array
from unmuddle.core.spectrum import Shrinkage, gram_of
from unmuddle.core.state import State


class RowsOf(Protocol):
    """X, tile by tile."""

    def __call__(self, rows: slice, out: Array | None = None) -> Array:
        """A row tile, in ``out`` if it must be computed and an array is given."""


@dataclass(frozen=True)
class Recovery:
    """X as a function of rows; the eigenvalues of ``X^T X``; for a tall X its Gram matrix, for a wide one X itself."""

    rows: RowsOf
    squares: Array
    whole: Array
    sums: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Side(ABC):
    """What the iteration asks of either side."""

    workers: Workers

    @abstractmethod
    def block_sums(self, S: Array, A: Array) -> tuple[Any, ...]:
        """What one row block adds to the sums, for ``A = [C, M4, 1]``."""

    @abstractmethod
    def all_sums(self, S: Array, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        """The sums, once all rows have been seen."""

    @abstractmethod
    def recover(self, s: State, step: float) -> Recovery:
        """X by singular value thresholding of S."""

    @abstractmethod
    def fit(self, found: Recovery, s: State, Z_target: Array, intercept: bool) -> tuple[Array, Array]:
        """K for the old J, and J and b for that K; uses up what was found.

        ``K = T + R W`` with ``T = X - M4 J^T / mx``, ``R = C - 1 b^T - T J`` and W of :func:`copy_weights`.
        """


@dataclass(frozen=True)
class Tall(Side):
    """At least as many rows as columns: small matrices are d x d."""

    def block_sums(self, S: Array, A: Array) -> tuple[Any, ...]:
        return gram_of(S), (S.T @ A.astype(S.dtype, copy=False)).astype(np.float64, copy=False), A.T @ A

    def all_sums(self, S: Array, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        return sums

    def recover(self, s: State, step: float) -> Recovery:
        return self.workers.factorise(_recover_rows, s.sums[0], s, step)

    def fit(self, found: Recovery, s: State, Z_target: Array, intercept: bool) -> tuple[Array, Array]:
        (mx, my, mz), J, (n, c), (_, XA, AA) = s.penalty, s.J, s.C.shape, found.sums
        left, M4 = found.whole, slice(c, 2 * c)
        # R = A r - X J,  K = X + [M4, R] Q
        r = np.vstack([np.eye(c), J.T @ J / mx, -s.b[None, :]])
        Q = np.vstack([-J.T / mx, copy_weights(J, mx / my)])
        XR, AR = XA @ r - left @ J, AA @ r - XA.T @ J
        RR = r.T @ AR - J.T @ XR
        X_low, A_low = np.hstack([XA[:, M4], XR]), np.hstack([AA[:, M4], AR])
        low_low = np.block([[AA[M4, M4], AR[M4]], [AR[M4].T, RR]])
        KC, k_sum, c_sum = XA[:, :c] + Q.T @ A_low[:c].T, XA[:, -1] + A_low[-1] @ Q, AA[-1, :c]
        wing, tail = X_low + Q.T @ (low_low / 2), Q
        if intercept:
            KC = KC - np.outer(k_sum, c_sum) / n
            wing, tail = np.column_stack([wing, -k_sum / (2 * n)]), np.vstack([tail, k_sum])
        half = wing @ tail  # the centred K^T K is X^T X + half + half^T
        left += half
        left += half.T
        left *= my
        left.flat[:: len(left) + 1] += mz
        J = self.workers.factorise(solve_positive, left, mz * Z_target + my * KC)
        return J, (c_sum - k_sum @ J) / n if intercept else s.b


@dataclass(frozen=True)
class Wide(Side):
    """More columns than rows: small matrices are n x n."""

    def block_sums(self, S: Array, A: Array) -> tuple[Any, ...]:
        return ()

    def all_sums(self, S: Array, sums: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.workers.factorise(gram_of, S.T),)

    def recover(self, s: State, step: float) -> Recovery:
        return self.workers.factorise(_recover_whole, s.sums[0], s, step)

    def fit(self, found: Recovery, s: State, Z_target: Array, intercept: bool) -> tuple[Array, Array]:
        return self.workers.factorise(_fit_wide, s.C, found.whole, s, Z_target, intercept)


def side_of(shape: tuple[int, int], workers: Workers) -> Side:
    """The side of a matrix of that shape."""
    return Tall(workers) if shape[0] >= shape[1] else Wide(workers)


def _recover_rows(gram: Array, s: State, step: float) -> Recovery:
    shrink = Shrinkage.of_gram(gram.astype(s.S.dtype, copy=False), step, s.rank).double()
    row_map, (_, SA, AA) = shrink.map(s.S.dtype), s.sums
    return Recovery(
        lambda rows, out=None: row_map(s.S[rows], out),
        shrink.singular_values**2,
        whole=shrink.gram(),
        sums=(None, shrink.times(SA), AA),
    )


def _recover_whole(gram: Array, s: State, step: float) -> Recovery:
    shrink, S = Shrinkage.of_gram(gram.astype(s.S.dtype, copy=False), step, s.rank).double(), s.S
    X = ((shrink.V * shrink.factors).astype(S.dtype) @ shrink.V.T.astype(S.dtype)) @ S
    return Recovery(lambda rows, out=None: X[rows], shrink.singular_values**2, whole=X)


def _fit_wide(C: Array, X: Array, s: State, Z_target: Array, intercept: bool) -> tuple[Array, Array]:
    """``J = Z + K^T (K K^T + mz / my I)^-1 (C - K Z)`` with centred K and C, where there is an intercept."""
    (mx, my, mz), J, b = s.penalty, s.J, s.b
    W, dtype = copy_weights(J, mx / my), X.dtype
    K = X - s.M4.astype(dtype) @ (J.T / mx).astype(dtype)
    K += (C - b - K @ J.astype(dtype)).astype(dtype) @ W.astype(dtype)
    centre, c_mean = (K.mean(axis=0), C.mean(axis=0)) if intercept else (np.zeros(K.shape[1], dtype), 0.0 * b)
    K -= centre
    right = C - c_mean - K @ Z_target.astype(dtype)
    J = Z_target + K.T @ solve_positive(gram_of(K.T) + mz / my * np.eye(len(K)), right).astype(dtype)
    return J, c_mean - centre @ J if intercept else b


def copy_weights(J: Array, ratio: float) -> Array:
    """W with ``K = T + (C - 1 b^T - T J) W``: a c x c system instead of the d x d one, by Woodbury."""
    return solve_positive(ratio * np.eye(J.shape[1]) + J.T @ J, J.T)


def solve_positive(left: Array, right: Array) -> Array:
    """Solve with a positive definite matrix by Cholesky, without the checks that cost more than a small system."""
    _, x, info = linalg.lapack.dposv(left, right)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return x
