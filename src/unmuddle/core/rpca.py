"""Robust PCA by the inexact augmented Lagrangian method (Candes et al. 2011; Lin, Chen and Ma 2010).

Minimise ``|L|_* + weight |S|_1`` subject to ``M = L + S``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmuddle.core.prox import Array, prox_l1, spectral_norm, threshold_quickly
from unmuddle.core.result import OnStep, Trace, ignore

FIRST_PENALTY, GROWTH, LARGEST_PENALTY = 1.25, 1.5, 1e7
"""Lin's schedule: the first penalty times ``|M|_2``, its growth, and the limit as a multiple of the first."""


@dataclass(frozen=True)
class Decomposition:
    """A matrix as low rank plus sparse; ``objective`` is the value of the convex program."""

    low_rank: Array
    sparse: Array
    objective: float
    n_iter: int
    converged: bool
    trace: Trace


def decompose(
    M: Array, weight: float, max_iter: int = 1000, tol: float = 1e-7, on_step: OnStep = ignore
) -> Decomposition:
    """Split M until the residual is ``tol`` of its size; one sweep over L and S for each step of the multiplier."""
    size = float(np.linalg.norm(M))
    if size == 0:
        return Decomposition(np.zeros_like(M), np.zeros_like(M), 0.0, 0, True, Trace([]))
    largest = spectral_norm(M)
    L, Y = np.zeros_like(M), M / max(largest, float(np.abs(M).max()) / weight)
    mu, limit = FIRST_PENALTY / largest, LARGEST_PENALTY * FIRST_PENALTY / largest
    records = list[dict[str, float]]()
    for n_iter in range(1, max_iter + 1):
        S = prox_l1(M - L + Y / mu, weight / mu)
        L, singular_values = threshold_quickly(M - S + Y / mu, 1 / mu)
        residual = M - L - S
        Y = Y + mu * residual
        objective = float(singular_values.sum() + weight * np.abs(S).sum())
        records.append({"residual": float(np.linalg.norm(residual)) / size, "objective": objective, "mu": mu})
        on_step(n_iter, records[-1])
        mu = min(GROWTH * mu, limit)
        if records[-1]["residual"] < tol:
            break
    return Decomposition(L, S, objective, n_iter, records[-1]["residual"] < tol, Trace(records))
