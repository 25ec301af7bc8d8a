"""Natural sizes of the lambdas and of Huber's corner, from the noisy data alone."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

from unmuddle.core.norms import Norm
from unmuddle.core.problem import Lambdas, mean_label
from unmuddle.core.prox import Array, Mask, prox_nuclear
from unmuddle.core.spectrum import singular_values, spectral_norm

ALPHA, BETA, LABELS = 0.2, 1.0, 0.05
"""Default multiples: solver-safe on real and random data, not tuned for accuracy."""

LABEL_DELTA = np.sqrt(0.5)
"""Corner of Huber's function on label rows: half the length of a label that moved from one class to another."""

LEFT = 0.05
"""Least share of the size of lambda 1 that is left when features are shrunk."""

FAR = 3.5
"""Robust deviations beyond which a cell is set aside when the noise level is measured."""


def scale_lambdas(
    features: Array,
    labels: Array,
    feature_norm: Norm,
    label_norm: Norm,
    *,
    alpha: float = ALPHA,
    beta: float = BETA,
    label_weight: float = LABELS,
    missing: Mask | None = None,
    label_weights: Array | None = None,
) -> Lambdas:
    """Lambdas as multiples of the sizes at which their terms begin to matter.

    ``alpha`` near 1 makes the projection zero, ``beta`` = 1 is the scale of robust PCA, ``label_weight`` is lambda 3
    itself and sets how far labels may bend the features. ``missing`` and ``label_weights`` are those of ``Problem``.
    """
    return Lambdas(
        projection=alpha * projection_scale(features, labels, label_norm, label_weight, label_weights),
        features=beta * feature_norm.feature_weight(features.shape, noise_level(features), seen_share(missing)),
        labels=label_weight,
    )


def seen_share(missing: Mask | None) -> float:
    """The share of cells that are not missing; at least one cell counts as seen."""
    return 1.0 if missing is None else max(1.0 - float(missing.mean()), 1.0 / missing.size)


def projection_scale(
    features: Array,
    labels: Array,
    label_norm: Norm,
    label_weight: float,
    label_weights: Array | None = None,
    threshold: float = 0.0,
) -> float:
    """About the lambda 1 from which Z = 0 is stationary: the spectral norm of the label gradient there.

    X is the features there, or these with singular values lowered by a ``threshold``, as their own norm has it; but no
    less than a share of the size is left, for labels may bend features.
    """
    if label_norm.fixes_zero:
        return spectral_norm(features) or 1.0
    X, Y = features - features.mean(axis=0), labels - mean_label(labels, label_weights)
    Y = Y if label_weights is None else Y * label_weights[:, None]
    size = spectral_norm(X.T @ Y)
    if threshold > 0:
        size = max(spectral_norm(prox_nuclear(X, threshold).T @ Y), LEFT * size)
    return label_weight * (label_norm.label_slope * size or 1.0)


def noise_level(features: Array) -> float:
    """Standard deviation of the noise in a low-rank matrix, from its median singular value.

    Cells beyond 3.5 robust deviations of their column are set aside first: a few gross cells would inflate the result.
    Never below a thousandth of the data's own size, so that weights made from it stay finite. Missing cells count as 0.
    """
    X = features - np.median(features, axis=0)
    X = X[:, X.any(axis=0)]  # constant columns hold no noise
    if X.size == 0:
        return 1.0
    size = float(np.sqrt(np.mean(X**2)))
    spread = 1.4826 * np.median(np.abs(X), axis=0)
    inside = np.where((spread > 0) & (np.abs(X) > FAR * spread), 0.0, X)
    median = float(np.median(singular_values(inside)))
    return max(median / np.sqrt(max(X.shape) * marchenko_pastur_median(min(X.shape) / max(X.shape))), 1e-3 * size)


def marchenko_pastur_median(ratio: float) -> float:
    """The median of the Marchenko-Pastur law, that is of the eigenvalues of ``W^T W / n`` for pure unit noise.

    >>> round(marchenko_pastur_median(1.0), 4)
    0.6528
    """
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2

    def density(
        angle: float,
    ) -> float:  # substitution x = middle - radius cos(angle) removes the square-root ends
        radius = (high - low) / 2
        x = (high + low) / 2 - radius * np.cos(angle)
        return float((radius * np.sin(angle)) ** 2 / (2 * np.pi * ratio * max(x, 1e-300)))

    half = brentq(lambda angle: quad(density, 0, angle)[0] - 0.5, 0, np.pi)
    return float((high + low) / 2 - (high - low) / 2 * np.cos(half))
