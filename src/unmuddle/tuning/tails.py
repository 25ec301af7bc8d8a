"""Which feature norm suits the noise: from the tails of what a low rank does not explain."""

from __future__ import annotations

import numpy as np

from unmuddle.core.prox import Array, Mask
from unmuddle.core.scales import FAR

GROSS = 5.0
"""Robust deviations from which a residual is gross: of normal residuals 6 in 10 million are."""

GROSS_SHARE = 0.01
"""Share of gross cells from which squares would be led astray."""

ROWS = 1500
"""Rows that are looked at, at most."""

ROUNDS = 10
"""Times that missing cells are filled from the low-rank part."""


def feature_norm_of(features: Array, level: float, missing: Mask | None = None) -> tuple[str, float]:
    """The name of the norm, and the share of gross cells that decided.

    Squares for cells whose residuals have light tails, Huber's function for those with heavy ones.
    """
    step = -(-len(features) // ROWS)
    share = gross_share(features[::step], level, None if missing is None else missing[::step])
    return ("huber" if share > GROSS_SHARE else "frobenius"), share


def gross_share(features: Array, level: float, missing: Mask | None = None) -> float:
    """Share of the cells seen that are further from the low-rank part than any normal noise would take them.

    Singular values are lowered by those of pure noise of that level, once with far cells pulled in.
    """
    X = np.asarray(features, dtype=np.float64)
    if missing is not None:
        X = np.where(missing, np.nan, X)[:, ~missing.all(axis=0)]
    X = X - _median(X)
    reach = FAR * _spread(X)
    residual = X - _low_rank(np.clip(X, -reach, reach), level * (np.sqrt(X.shape[0]) + np.sqrt(X.shape[1])))
    spread = 1.4826 * _median(np.abs(residual))
    residual, spread = residual[:, spread > 0], spread[spread > 0]  # mostly zero: no tails to speak of
    seen = np.count_nonzero(~np.isnan(residual))
    return float(np.count_nonzero(np.abs(residual) > GROSS * spread) / seen) if seen else 0.0


def _low_rank(X: Array, noise: float) -> Array:
    """Singular values lowered by ``noise``; missing cells are filled from the result, and all is done again."""
    gone = np.isnan(X)
    low = np.zeros_like(X)
    for _ in range(ROUNDS if gone.any() else 1):
        U, s, Vt = np.linalg.svd(np.where(gone, low, X), full_matrices=False)
        low = (U * np.maximum(s - noise, 0.0)) @ Vt
    return low


def _median(X: Array) -> Array:
    median: Array = (np.nanmedian if np.isnan(X).any() else np.median)(X, axis=0)
    return median


def _spread(X: Array) -> Array:
    spread = 1.4826 * _median(np.abs(X))
    return np.where(spread > 0, spread, np.nanmax(np.abs(X), axis=0))
