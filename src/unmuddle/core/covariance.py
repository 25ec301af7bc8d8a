"""The covariance of rows of which cells are missing, shrunk by what held-out rows say."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from unmuddle.core.prox import Array

SHARES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02, 0.01, 0.0)
"""Of the weight of Ledoit and Wolf: theirs is best for all entries of a covariance together, and more than columns of
low rank leave of each other."""

SCATTER = 1e6
"""Times by which places of rows are stretched before their fractions split the rows by chance."""

RIDGE = 1e-6
"""Added to the covariance, so that constant columns can be inverted."""


def shrinkage(X: Array) -> float:
    """Ledoit and Wolf's weight of a multiple of the identity, for the covariance of centred rows."""
    n, d = X.shape
    covariance = X.T @ X / n
    size = np.sum(covariance**2) / d
    spread = size - (np.trace(covariance) / d) ** 2
    error = (np.mean(np.sum(X**2, axis=1) ** 2) / d - size) / n
    return float(min(1.0, max(0.0, error / spread))) if spread > 0 else 1.0


def split_rows(X: Array) -> tuple[Array, Array]:
    """Two halves as if at random, whatever the order of rows and columns.

    Equal rows are in one half, lest one should tell the other.
    """
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    first = np.modf(np.abs(np.sort(X, axis=1) @ direction) * SCATTER)[0] < 0.5
    return X[first], X[~first]


def choose_share(X: Array, missing: Array) -> float:
    """The share of Ledoit and Wolf's weight under which either half of the centred rows is likeliest by the other's.

    ``missing`` is what masked cells add to the products of all rows; each half has half of it.
    """
    halves = split_rows(X)
    if min(map(len, halves)) < 2:
        return SHARES[0]
    products = [(half.T @ half + missing * (len(half) / len(X))) / len(half) for half in halves]
    found = np.zeros(len(SHARES))
    for half, own, other in zip(halves, products, products[::-1], strict=True):
        values, V = linalg.eigh(own, check_finite=False)
        weights = np.multiply(SHARES, shrinkage(half))[:, None]
        spectrum = (1.0 - weights) * np.maximum(values, 0.0) + weights * values.mean() + RIDGE
        found -= np.sum(np.log(spectrum) + np.einsum("ij,ij->j", V, other @ V) / spectrum, axis=1)
    return SHARES[int(found.argmax())]


def shrunk_covariance(centred: Array, missing: Array | float, share: float = 1.0) -> Array:
    """Of centred rows, with that share of Ledoit and Wolf's weight; ``missing`` as in `choose_share`."""
    n, d = centred.shape
    covariance = (centred.T @ centred + missing) / n
    weight = share * shrinkage(centred)
    scale = np.trace(covariance) / d
    shrunk: Array = (1 - weight) * covariance + (weight * scale + RIDGE) * np.eye(d)
    return shrunk
