"""Which feature norm suits the noise: from the tails of what a low rank does not explain."""

from __future__ import annotations

import numpy as np

from unmuddle.core.prox import Array

GROSS = 5.0
"""Robust deviations from which a residual is gross: of normal residuals 6 in 10 million are."""

GROSS_SHARE = 0.01
"""Share of gross cells from which squares would be led astray."""

ROWS = 1500
"""Rows that are looked at, at most."""


def feature_norm_of(features: Array, level: float) -> tuple[str, float]:
    """The name of the norm, and the share of gross cells that decided.

    Squares for cells whose residuals have light tails, Huber's function for those with heavy ones.
    """
    share = gross_share(features[:: -(-len(features) // ROWS)], level)
    return ("huber" if share > GROSS_SHARE else "frobenius"), share


def gross_share(features: Array, level: float) -> float:
    """Share of cells that are further from the low-rank part than any normal noise would take them.

    Singular values are lowered by those of pure noise of that level, once with far cells pulled in.
    """
    X = np.asarray(features - np.median(features, axis=0), dtype=np.float64)
    near = np.clip(X, -3.5 * _spread(X), 3.5 * _spread(X))
    U, s, Vt = np.linalg.svd(near, full_matrices=False)
    noise = level * (np.sqrt(X.shape[0]) + np.sqrt(X.shape[1]))
    residual = X - (U * np.maximum(s - noise, 0.0)) @ Vt
    spread = 1.4826 * np.median(np.abs(residual), axis=0)
    seen = spread > 0  # columns that are mostly zero have no tails to speak of
    return float(np.mean(np.abs(residual[:, seen]) > GROSS * spread[seen])) if seen.any() else 0.0


def _spread(X: Array) -> Array:
    spread = 1.4826 * np.median(np.abs(X), axis=0)
    return np.where(spread > 0, spread, np.abs(X).max(axis=0))
