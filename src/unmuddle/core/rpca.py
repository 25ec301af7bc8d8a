"""Robust PCA by the inexact augmented Lagrangian method (Candes et al. 2011; Lin, Chen and Ma 2010).

Minimise ``|L|_* + weight |S|_1`` subject to ``M = L + S``, where missing cells of S count for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from unmuddle.core.blocks import Workers, row_workers, tiles
from unmuddle.core.prox import TINY, Array, Mask, prox_l1
from unmuddle.core.result import OnStep, Trace, ignore
from unmuddle.core.spectrum import EXACT_SIZE, GRAM_RESOLUTION, Shrinkage, gram_of, spectral_norm

FIRST_PENALTY, GROWTH, LARGEST_PENALTY = 1.25, 1.5, 1e7
"""Lin's schedule: the first penalty times ``|M|_2``, its growth, and the limit as a multiple of the first."""

AHEAD, LAG = 0.3, 100.0
"""With missing cells the penalty grows only while the residual is above this part of the dual one, else it would freeze
them where they are; and the dual residual may be this many times the tolerance in the end."""


@dataclass(frozen=True)
class Decomposition:
    """A matrix as low rank plus sparse; ``objective`` is the value of the convex program."""

    low_rank: Array
    sparse: Array
    objective: float
    n_iter: int
    converged: bool
    trace: Trace

    def transposed(self) -> Decomposition:
        """The decomposition of the transposed matrix."""
        return replace(self, low_rank=self.low_rank.T, sparse=self.sparse.T)


def decompose(
    M: Array,
    weight: float,
    max_iter: int = 1000,
    tol: float = 1e-7,
    on_step: OnStep = ignore,
    missing: Mask | None = None,
) -> Decomposition:
    """Split M until the residual is ``tol`` of its size; one sweep over L and S for each step of the multiplier.

    M is 0 in ``missing`` cells; what S is there means nothing.
    """
    if not M.any():
        return Decomposition(np.zeros_like(M), np.zeros_like(M), 0.0, 0, True, Trace([]))
    if len(M) < M.shape[1]:
        turned = None if missing is None else np.ascontiguousarray(missing.T)
        return decompose(np.ascontiguousarray(M.T), weight, max_iter, tol, on_step, turned).transposed()
    with row_workers(*M.shape) as workers:
        return _Run(M, weight, workers, missing).go(max_iter, tol, on_step)


class _Run:
    """One solve, by one pass over row blocks an iteration.

    The target ``T = M - S + Y / mu`` of L and the sparse part S are all that is kept: ``Y + mu (M - L - S)`` is
    ``mu (T - L)``.
    """

    def __init__(self, M: Array, weight: float, workers: Workers, missing: Mask | None = None) -> None:
        self.M, self.weight, self.workers, self.missing = M, weight, workers, missing
        self.size, self.largest = float(np.linalg.norm(M)), spectral_norm(M)
        self.T, self.S = np.empty_like(M), np.empty_like(M)

    def go(self, max_iter: int, tol: float, on_step: OnStep) -> Decomposition:
        mu = FIRST_PENALTY / self.largest
        limit, records = LARGEST_PENALTY * mu, list[dict[str, float]]()
        scale = max(self.largest, float(np.abs(self.M).max()) / self.weight)
        shrink = self.shrinkage(self.begin(scale, mu), mu)
        for n_iter in range(1, max_iter + 1):
            following = min(GROWTH * mu, limit) if self.may_grow(records) else mu
            gram, gap, S_size, *dual = self.step(shrink, mu, following)
            objective = float(shrink.singular_values.sum()) + self.weight * S_size
            records.append({"residual": float(np.sqrt(gap)) / self.size, "objective": objective, "mu": mu})
            if dual:
                records[-1]["dual"] = float(np.sqrt(dual[0] / max(dual[1], TINY)))
            stop = on_step(n_iter, records[-1])
            mu, shrink = following, self.shrinkage(gram, following)
            converged = records[-1]["residual"] < tol and records[-1].get("dual", 0.0) < LAG * tol
            if stop or converged:
                break
        return self.finish(shrink, n_iter, converged, Trace(records))

    def may_grow(self, records: list[dict[str, float]]) -> bool:
        return self.missing is None or (bool(records) and records[-1]["residual"] > AHEAD * records[-1]["dual"])

    def begin(self, scale: float, mu: float) -> Array:
        """From L = 0 and ``Y = M / scale``."""

        def fill(block: slice) -> tuple[Any, ...]:
            for rows in tiles(block, self.M.shape[1]):
                V = self.M[rows] * (1 + 1 / (scale * mu))
                self.S[rows] = self.prox(V, self.weight / mu, rows)
                self.T[rows] = V - self.S[rows]
            return (gram_of(self.T[block]),)

        return self.workers.total(fill)[0]

    def step(self, shrink: Shrinkage, mu: float, following: float) -> tuple[Any, ...]:
        """L from T, the multiplier, and with the next penalty S and T; the Gram matrix of T, two sizes.

        With missing cells also how far S moved and how large the multiplier is, squared.
        """
        row_map, measured = shrink.map(self.M.dtype), self.missing is not None

        def update(block: slice) -> tuple[Any, ...]:
            gap = S_size = moved = Y_size = 0.0
            for rows in tiles(block, self.M.shape[1]):
                T, S = self.T[rows], self.S[rows]
                L, S_size = row_map(T), S_size + self.size_of(S, rows)
                T -= L  # Y / mu
                S_old, Y_size = (S.copy(), Y_size + float(np.vdot(T, T))) if measured else (S, Y_size)
                L -= self.M[rows]
                S += L
                gap += float(np.vdot(S, S))
                T *= mu / following
                T -= L  # M - L + Y / mu
                S[:] = self.prox(T, self.weight / following, rows)
                T += L
                T += self.M[rows]
                T -= S
                if measured:
                    S_old -= S
                    moved += float(np.vdot(S_old, S_old))
            return gram_of(self.T[block]), gap, S_size, *((moved, Y_size) if measured else ())

        return self.workers.total(update)

    def prox(self, V: Array, step: float, rows: slice) -> Array:
        """S for some rows: what is left of V, all of it in missing cells."""
        S = prox_l1(V, step)
        if self.missing is not None:
            np.copyto(S, V, where=self.missing[rows])
        return S

    def size_of(self, S: Array, rows: slice) -> float:
        """``|S|_1`` of some rows, without missing cells."""
        return float(np.abs(S).sum() if self.missing is None else np.abs(S).sum(where=~self.missing[rows]))

    def shrinkage(self, gram: Array, mu: float) -> Shrinkage:
        if self.M.size <= EXACT_SIZE or 1 / mu < np.sqrt(GRAM_RESOLUTION) * self.largest:
            return self.workers.factorise(Shrinkage.of_rows, self.T, 1 / mu)
        return self.workers.factorise(Shrinkage.of_gram, gram, 1 / mu)

    def finish(self, shrink: Shrinkage, n_iter: int, converged: bool, trace: Trace) -> Decomposition:
        """The next L, in the place of T."""
        row_map = shrink.map(self.M.dtype)

        def update(block: slice) -> None:
            for rows in tiles(block, self.M.shape[1]):
                self.T[rows] = row_map(self.T[rows])

        self.workers.map(update)
        objective = float(shrink.singular_values.sum() + self.weight * self.size_of(self.S, slice(None)))
        return Decomposition(self.T, self.S, objective, n_iter, converged, trace)
