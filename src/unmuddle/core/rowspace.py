"""Row spaces of low-rank matrices, and the points of them that lie closest to given rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from unmuddle.core.prox import Array, Mask
from unmuddle.core.spectrum import EXACT_SIZE, double_gram

RANK_TOL = {np.dtype(np.float64): 1e-7, np.dtype(np.float32): 1e-5}
"""Singular values below this part of the largest are rounding and solver residue, not rank."""

MAX_ITER = 60
TOL = 1e-13
CENTRING_EXPONENT = 3
"""Mehrotra's: how fast the centring weight falls when the affine step does well."""

RIDGE = 1e-15
"""Part of its trace added to each system: where the closest point is not unique, it is singular in the limit."""

SMALLEST = 1e-290
"""Rows below this size are as good as zero; dividing by it would overflow."""

BLOCK_ENTRIES = 4_000_000
"""Rows are taken in blocks so that the largest work array has about this many entries."""


def row_basis(matrix: Array) -> Array:
    """An orthonormal basis of the row space, one vector a row."""
    tol = RANK_TOL[matrix.dtype]
    if matrix.size <= EXACT_SIZE or len(matrix) < matrix.shape[1]:
        _, s, Vt = np.linalg.svd(matrix.astype(np.float64, copy=False), full_matrices=False)
        return Vt[s > tol * s.max(initial=0.0)]
    squares, V = np.linalg.eigh(double_gram(matrix))
    return V.T[squares > tol**2 * squares.max(initial=0.0)][::-1]


def project(rows: Array, basis: Array) -> Array:
    """The orthogonal projection of every row onto the span of an orthonormal ``basis``."""
    return (rows @ basis.T) @ basis


def fit_seen(rows: Array, basis: Array, missing: Mask, closest: Callable[[Array, Array], Array]) -> Array:
    """For each row the point of the space that is ``closest`` by the cells that are not missing.

    Where these leave a choice it is the smallest such point: zero for a row without any. Rows with the same cells
    missing are fitted together, in the space cut to their columns.
    """
    points = np.empty(rows.shape)
    patterns, members = np.unique(missing, axis=0, return_inverse=True)
    order = np.argsort(members.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(members.ravel()))
    for pattern, at in zip(patterns, np.split(order, ends[:-1]), strict=True):
        points[at] = _fit_cut(rows[at], basis, ~pattern, closest) if pattern.any() else closest(rows[at], basis)
    return points


def _fit_cut(rows: Array, basis: Array, seen: Mask, closest: Callable[[Array, Array], Array]) -> Array:
    U, s, Vt = np.linalg.svd(basis[:, seen], full_matrices=False)
    kept = s > RANK_TOL[np.dtype(np.float64)]
    within = Vt[kept]
    positions = (closest(rows[:, seen], within) @ within.T) / s[kept]
    return positions @ U[:, kept].T @ basis


def fit_huber(rows: Array, basis: Array, delta: float) -> Array:
    """For each row x by itself, the point p in the span of ``basis`` that minimises Huber's function of ``x - p``.

    ``delta`` = 0 is the sum of absolute values. Solved in the dual: the slopes m maximise
    ``x.m - delta |m|^2 / 2`` subject to ``basis m = 0``, ``-1 <= m <= 1``, and the multiplier of the equality is
    the position in the basis. A primal-dual interior-point method finds both by a few r x r systems a row.
    """
    r, d = basis.shape
    if r in (0, d):
        return project(rows, basis)
    size = max(1, BLOCK_ENTRIES // (r * d))
    blocks = [
        _fit_block(rows[at : at + size].astype(np.float64, copy=False), basis, delta)
        for at in range(0, len(rows), size)
    ]
    return np.concatenate(blocks) if blocks else rows.copy()


@dataclass
class _Iterate:
    """Slopes m, position a, and multipliers p, q of ``m <= 1`` and ``-1 <= m``; a row each."""

    m: Array
    a: Array
    p: Array
    q: Array

    def take(self, rows: Array) -> _Iterate:
        return _Iterate(*(getattr(self, field.name)[rows] for field in fields(self)))

    def gap(self) -> Array:
        """Mean complementarity product of each row, as a column."""
        return np.mean(self.p * (1 - self.m) + self.q * (1 + self.m), axis=1, keepdims=True) / 2


def _fit_block(rows: Array, basis: Array, delta: float) -> Array:
    sizes = np.abs(rows).max(axis=1, keepdims=True)
    sizes = np.where(sizes > SMALLEST, sizes, 1.0)
    scaled, corners = rows / sizes, delta / sizes
    positions, active = np.zeros((len(rows), len(basis))), np.arange(len(rows))
    x, corner, now = scaled, corners, _start(scaled, basis)
    for _ in range(MAX_ITER):
        now = _advance(now, x, basis, corner)
        misfit = np.abs(x - corner * now.m - now.a @ basis - now.p + now.q).max(axis=1)
        going = np.maximum(now.gap()[:, 0], misfit) > TOL
        positions[active[~going]] = now.a[~going]
        active, x, corner, now = active[going], x[going], corner[going], now.take(going)
        if not len(active):
            break
    positions[active] = now.a
    return (positions @ basis) * sizes


def _start(x: Array, basis: Array) -> _Iterate:
    residual = x - project(x, basis)
    slack = np.abs(residual).mean(axis=1, keepdims=True) + 1e-8
    return _Iterate(
        m=np.zeros_like(x),
        a=x @ basis.T,
        p=np.maximum(residual, 0) + slack,
        q=np.maximum(-residual, 0) + slack,
    )


def _advance(now: _Iterate, x: Array, basis: Array, corner: Array) -> _Iterate:
    """One predictor-corrector step of each row, as long as its bounds allow."""
    weights = 1.0 / (corner + now.p / (1 - now.m) + now.q / (1 + now.m))
    factor = (basis * weights[:, None, :]) @ basis.T
    factor += RIDGE * np.trace(factor, axis1=1, axis2=2)[:, None, None] * np.eye(len(basis))
    misfit = x - corner * now.m - now.a @ basis - now.p + now.q

    def direction(centre_p: Array, centre_q: Array) -> _Iterate:
        right = misfit - centre_p / (1 - now.m) + centre_q / (1 + now.m)
        da = np.linalg.solve(factor, ((weights * right + now.m) @ basis.T)[:, :, None])[:, :, 0]
        dm = weights * (right - da @ basis)
        dp = (centre_p + now.p * dm) / (1 - now.m)
        dq = (centre_q - now.q * dm) / (1 + now.m)
        return _Iterate(dm, da, dp, dq)

    above, below = now.p * (1 - now.m), now.q * (1 + now.m)
    affine = direction(-above, -below)
    gap = now.gap()
    reached = _move(now, affine, 1.0).gap()
    target = gap * np.clip(reached / gap, 0, 1) ** CENTRING_EXPONENT
    corrected = direction(target - above + affine.m * affine.p, target - below - affine.m * affine.q)
    return _move(now, corrected, 0.995)


def _move(now: _Iterate, by: _Iterate, fraction: float) -> _Iterate:
    """Go along a direction, at most ``fraction`` of the way to the nearest bound and never beyond a full step."""

    def reach(value: Array, change: Array) -> Array:
        ratios = np.where(change < 0, -value / np.minimum(change, -1e-300), np.inf)
        return ratios.min(axis=1, keepdims=True)

    primal = np.minimum(1.0, fraction * np.minimum(reach(1 - now.m, -by.m), reach(1 + now.m, by.m)))
    dual = np.minimum(1.0, fraction * np.minimum(reach(now.p, by.p), reach(now.q, by.q)))
    step = np.minimum(primal, dual)
    return _Iterate(now.m + step * by.m, now.a + step * by.a, now.p + step * by.p, now.q + step * by.q)
