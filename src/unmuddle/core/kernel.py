"""Ridge regression on a Gaussian kernel of a few landmarks, with the prediction for each row left out in closed form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

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


class Choice(NamedTuple):
    """What is chosen: an inverse width and a penalty."""

    width: float
    penalty: float


@dataclass(frozen=True)
class Ridge:
    """A fitted ridge regression on a kernel of landmarks."""

    landmarks: Array
    gamma: float
    coefficients: Array
    base: Array

    def predict(self, X: Array) -> Array:
        """Scores of the classes, near probabilities but not bound to be."""
        scores: Array = _kernel(squared_distances(X, self.landmarks), self.gamma) @ self.coefficients + self.base
        return scores


@dataclass(frozen=True)
class Spectrum:
    """Kernel features of weighted rows, centred and rotated so that every penalty is a division."""

    features: Array
    values: Array
    against: Array
    """Inner products with the centred targets."""
    base: Array
    to_kernel: Array
    """From these features back to weights of landmarks."""
    centre: Array

    def solve(self, penalty: float) -> Array:
        """Coefficients of the features."""
        return self.against / (self.values + penalty)[:, None]

    def leave_out(self, Q: Array, weights: Array, penalty: float) -> Array:
        """Predictions for each row by all others: the fit with its own label's share taken out."""
        own = weights * (1.0 / weights.sum() + self.features**2 @ (1.0 / (self.values + penalty)))
        own = np.minimum(own, 1.0 - CERTAIN)[:, None]
        left_out: Array = (self.features @ self.solve(penalty) + self.base - own * Q) / (1.0 - own)
        return left_out


def ridge_path(X: Array, Q: Array, landmarks: Array, weights: Array) -> Iterator[tuple[Choice, Array]]:
    """Every choice with what it predicts for each row from all others."""
    distances, among, middle = _measure(X, landmarks)
    for width in WIDTHS:
        spectrum = _decompose(distances, among, width / middle, Q, weights)
        for penalty in PENALTIES:
            yield Choice(width, float(penalty)), spectrum.leave_out(Q, weights, penalty)


def fit_ridge(X: Array, Q: Array, landmarks: Array, choice: Choice, weights: Array) -> tuple[Ridge, Array]:
    """One choice, and what it predicts for each row from all others; rows of weight 0 only get a prediction."""
    distances, among, middle = _measure(X, landmarks)
    gamma = choice.width / middle
    spectrum = _decompose(distances, among, gamma, Q, weights)
    solved = spectrum.solve(choice.penalty)
    coefficients = spectrum.to_kernel @ solved
    ridge = Ridge(landmarks, gamma, coefficients, spectrum.base - spectrum.centre @ solved)
    return ridge, spectrum.leave_out(Q, weights, choice.penalty)


def squared_distances(X: Array, Z: Array) -> Array:
    """Squared distances between rows."""
    squares = np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - 2.0 * X @ Z.T
    return np.maximum(squares, 0.0)


def _measure(X: Array, landmarks: Array) -> tuple[Array, Array, float]:
    """Distances to and among the landmarks, and their median where rows differ."""
    distances, among = squared_distances(X, landmarks), squared_distances(landmarks, landmarks)
    apart = distances[distances > 1e-9 * distances.max(initial=0.0)]
    return distances, among, float(np.median(apart)) if apart.size else 1.0


def _decompose(distances: Array, among: Array, gamma: float, Q: Array, weights: Array) -> Spectrum:
    root = _inverse_root(_kernel(among, gamma))
    features = _kernel(distances, gamma) @ root
    total = weights.sum()
    centre, base = weights @ features / total, weights @ Q / total
    features -= centre
    values, vectors = linalg.eigh((features * weights[:, None]).T @ features, check_finite=False)
    rotated = features @ vectors
    against = rotated.T @ ((Q - base) * weights[:, None])
    return Spectrum(rotated, np.maximum(values, 0.0), against, base, root @ vectors, centre @ vectors)


def _kernel(distances: Array, gamma: float) -> Array:
    return np.exp(-gamma * distances)


def _inverse_root(kernel: Array) -> Array:
    values, vectors = linalg.eigh(kernel, check_finite=False)
    kept = values > RANK * values[-1]
    root: Array = vectors[:, kept] / np.sqrt(values[kept])
    return root
