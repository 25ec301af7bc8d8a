"""Noise on features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class NoisyFeatures(NamedTuple):
    """Features after noise, and which cells it changed."""

    values: NDArray[np.float64]
    changed: NDArray[np.bool_]


def add_gaussian(X: NDArray[np.float64], sigma: float, rng: np.random.Generator) -> NoisyFeatures:
    """Add normal noise of standard deviation ``sigma`` to every cell; X should be standardised.

    >>> noisy = add_gaussian(np.zeros((2000, 5)), 0.2, np.random.default_rng(0))
    >>> round(float(noisy.values.std()), 2)
    0.2
    """
    values = X + rng.normal(0.0, sigma, X.shape)
    return NoisyFeatures(values, values != X)
