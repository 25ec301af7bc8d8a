"""Ridge regression on a Gaussian kernel of a few landmarks, with the prediction for each row left out in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from unmuddle.core.prox import Array

WIDTHS = (0.5, 1.0, 2.0, 4.0)
"""Inverse widths of the kernel, in units of the median squared distance."""

PENALTIES = np.logspace(2, -3, 11)
"""Ridge penalties, from smooth to rough."""

RANK = 1e-8
"""Eigenvalues of the kernel below this share of the largest are left out."""

CERTAIN = 1e-6
"""Least share of a row that its own label leaves to the others."""


@dataclass(frozen=True)
class KernelMap:
    """Rows to features whose inner products are the kernel, exact on the landmarks."""

    landmarks: Array
    gamma: float
    root: Array

    def apply(self, X: Array) -> Array:
        """Features of rows."""
        mapped: Array = np.exp(-self.gamma * squared_distances(X, self.landmarks)) @ self.root
        return mapped


@dataclass(frozen=True)
class Ridge:
    """A fitted ridge regression on a kernel, and what it says of each training row without that row's label."""

    kernel: KernelMap
    centre: Array
    coefficients: Array
    base: Array
    left_out: Array

    def predict(self, X: Array) -> Array:
        """Scores of the classes, near probabilities but not bound to be."""
        scores: Array = (self.kernel.apply(X) - self.centre) @ self.coefficients + self.base
        return scores


def ridge_path(X: Array, Q: Array, landmarks: Array, weights: Array | None = None) -> Iterator[Ridge]:
    """All widths and penalties, from smooth to rough within each width."""
    distances = squared_distances(X, landmarks)
    apart = distances[distances > 1e-9 * distances.max(initial=1e-300)]
    middle = float(np.median(apart)) if apart.size else 1.0
    w = np.ones(len(X)) if weights is None else weights
    base = w @ Q / w.sum()
    among = squared_distances(landmarks, landmarks)
    for width in WIDTHS:
        gamma = width / middle
        root = _inverse_root(np.exp(-gamma * among))
        kernel = KernelMap(landmarks, gamma, root)
        features = np.exp(-gamma * distances) @ root
        centre = w @ features / w.sum()
        features -= centre
        values, vectors = linalg.eigh((features * w[:, None]).T @ features, check_finite=False)
        rotated = features @ vectors
        against = rotated.T @ ((Q - base) * w[:, None])
        for penalty in PENALTIES:
            inverse = 1.0 / (np.maximum(values, 0.0) + penalty)
            inner = inverse[:, None] * against
            own = np.minimum(w * (1.0 / w.sum() + rotated**2 @ inverse), 1.0 - CERTAIN)[:, None]
            left_out = (rotated @ inner + base - own * Q) / (1.0 - own)
            yield Ridge(kernel, centre, vectors @ inner, base, left_out)


def squared_distances(X: Array, Z: Array) -> Array:
    """Squared distances between rows."""
    squares = np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - 2.0 * X @ Z.T
    return np.maximum(squares, 0.0)


def _inverse_root(kernel: Array) -> Array:
    values, vectors = linalg.eigh(kernel, check_finite=False)
    kept = values > RANK * values[-1]
    root: Array = vectors[:, kept] / np.sqrt(values[kept])
    return root
