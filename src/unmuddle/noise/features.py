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


def spoil_cells(X: NDArray[np.float64], rate: float, size: float, rng: np.random.Generator) -> NoisyFeatures:
    """Pick exactly ``round(rate * cells)`` cells and shift each up or down by ``size``; X should be standardised.

    >>> spoiled = spoil_cells(np.zeros((10, 10)), 0.05, 4.0, np.random.default_rng(0))
    >>> int(spoiled.changed.sum()), np.unique(np.abs(spoiled.values)).tolist()
    (5, [0.0, 4.0])
    """
    changed = np.zeros(X.shape, dtype=bool)
    changed.flat[rng.permutation(X.size)[: round(rate * X.size)]] = True
    values = X.copy()
    values[changed] += size * rng.choice([-1.0, 1.0], changed.sum())
    return NoisyFeatures(values, changed)
