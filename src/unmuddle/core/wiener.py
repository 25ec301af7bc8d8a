"""Noise that is spread over all cells: how much of it there is, and the linear filter that takes it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import linalg

from unmuddle.core.prox import Array

LOWEST = 0.2
"""Share of the spectrum, from below, that is taken to be noise alone."""

POINTS = 4001
"""Grid on which the distribution of noise eigenvalues is summed up."""


@dataclass(frozen=True)
class Wiener:
    """The map ``mean + V diag(gain) V^T (x - mean)``: every direction shrunk by its share of noise."""

    mean: Array
    directions: Array
    gains: Array
    noise: float
    """Variance of the noise in a cell."""

    @classmethod
    def of(cls, mean: Array, covariance: Array, rows: Array) -> Self:
        """For rows of this mean and covariance, the noise measured on the rows themselves."""
        centred = rows - rows.mean(axis=0)
        spectrum = linalg.eigvalsh(centred.T @ centred / len(rows), check_finite=False)
        noise = noise_variance(spectrum, len(rows))
        variances, directions = linalg.eigh(covariance, check_finite=False)
        gains = np.maximum(1.0 - noise / np.maximum(variances, np.finfo(float).tiny), 0.0)
        return cls(mean, directions, gains, noise)

    def apply(self, rows: Array) -> Array:
        """The rows without the noise."""
        filtered: Array = self.mean + ((rows - self.mean) @ self.directions * self.gains) @ self.directions.T
        return filtered

    @property
    def rank(self) -> int:
        """Number of directions that are kept at least in part."""
        return int((self.gains > 0).sum())


def noise_variance(spectrum: Array, n_rows: int) -> float:
    """Variance of white noise, from the lowest eigenvalues of a covariance matrix of so many rows.

    They are compared with the quantiles of noise alone (Marchenko and Pastur); the median ratio is the answer.
    """
    nonzero = np.sort(spectrum)[-min(n_rows, len(spectrum)) :]
    count = max(1, round(LOWEST * len(nonzero)))
    places = (np.arange(count) + 0.5) / len(nonzero)
    return float(max(0.0, np.median(nonzero[:count] / noise_quantiles(places, len(spectrum) / n_rows))))


def noise_quantiles(shares: Array, ratio: float) -> Array:
    """Quantiles of the nonzero eigenvalues of pure noise of variance 1, with so many columns for each row."""
    gamma = min(ratio, 1.0 / ratio)
    angles = np.linspace(0.0, np.pi, POINTS)  # x = 1 + gamma - 2 sqrt(gamma) cos(angle): no pole at gamma = 1
    x = 1 + gamma - 2 * np.sqrt(gamma) * np.cos(angles)
    middles = 0.5 * (angles[1:] + angles[:-1])
    masses = np.sin(middles) ** 2 / (1 + gamma - 2 * np.sqrt(gamma) * np.cos(middles))
    summed = np.concatenate([[0.0], np.cumsum(masses)])
    return np.interp(shares, summed / summed[-1], x) * max(ratio, 1.0)
