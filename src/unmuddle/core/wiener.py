"""Noise that is spread over all cells: how much of it there is, and the linear filter that takes it out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy import linalg

from unmuddle.core.prox import Array

LOWEST = 0.2
"""Share of the spectrum, from below, that is taken to be noise alone."""

QUIET, USUAL = 0.5, 4.0
"""Directions of less gain tell how noisy a new row is; made-up directions that say: as noisy as the others."""

WIDTHS = 3.0
"""Of the law of the largest eigenvalue of noise, by which one must be larger to stand out: its hundredth part begins at
two."""

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
    def of(cls, mean: Array, covariance: Array, rows: Array, *, alike: bool = False) -> Self:
        """For rows of this mean and covariance, the noise measured on the rows themselves.

        Columns that have nothing to do with each other look like noise alone. So a filter that leaves less of these
        rows than it errs by in judging how noisy each is lets everything pass, if no direction stands out. Where noise
        is ``alike`` in all columns, one column that varies more than others does.
        """
        centred = rows - rows.mean(axis=0)
        spectrum = linalg.eigvalsh(centred.T @ centred / len(rows), check_finite=False)
        noise = noise_variance(spectrum, len(rows))
        variances, directions = linalg.eigh(covariance, check_finite=False)
        gains = np.maximum(1.0 - noise / np.maximum(variances, np.finfo(float).tiny), 0.0)
        found = cls(mean, directions, gains, noise)
        left = found.apply(rows)
        lost = np.sum((found.adapt(rows) - left) ** 2) > np.sum((left - mean) ** 2)
        if lost and not (stands_out(centred, noise) if alike else stands_out(_standardised(centred), 1.0)):
            return replace(found, gains=np.ones_like(gains))
        return found

    @property
    def is_idle(self) -> bool:
        """Whether everything passes."""
        return bool(np.all(self.gains == 1.0))

    def apply(self, rows: Array) -> Array:
        """The rows without the noise."""
        filtered: Array = self.mean + ((rows - self.mean) @ self.directions * self.gains) @ self.directions.T
        return filtered

    def adapt(self, rows: Array) -> Array:
        """New rows without the noise, each taken to be as noisy as it is: one that is clean stays as it is."""
        shares = self.shares(rows)[:, None]
        adapted: Array = shares * self.apply(rows) + (1.0 - shares) * rows
        return adapted

    def shares(self, rows: Array) -> Array:
        """How noisy each row is, from 0 for clean to 1 for as noisy as those that the filter was made for.

        Told by its length in directions that are more noise than signal; where there are few of these, a row is taken
        to be like the others.
        """
        quiet = self.gains < QUIET
        if not (self.noise > 0 and quiet.any()):
            return np.ones(len(rows))
        squares = ((rows - self.mean) @ self.directions[:, quiet]) ** 2 / self.noise
        lengths, clean = np.mean(squares * (1.0 - self.gains[quiet]), axis=1), np.mean(self.gains[quiet])
        shares: Array = np.clip((lengths - clean) / (1.0 - clean), 0.0, 1.0)
        count = int(quiet.sum())
        return (count * shares + USUAL) / (count + USUAL)

    @property
    def rank(self) -> int:
        """Number of directions that are kept at least in part."""
        return int((self.gains > 0).sum())


def stands_out(centred: Array, noise: float) -> bool:
    """Whether the largest eigenvalue of the covariance is beyond that of white noise by more than chance.

    That ends at ``(1 + sqrt(d / n))^2``, with the width of Tracy and Widom's law.
    """
    n, d = centred.shape
    largest = float(linalg.norm(centred, 2, check_finite=False)) ** 2 / n
    width = (n**-0.5 + d**-0.5) ** (1 / 3) / (n**0.5 + d**0.5)
    return bool(largest > noise * (1.0 + np.sqrt(d / n)) ** 2 * (1.0 + WIDTHS * width))


def _standardised(centred: Array) -> Array:
    spread = centred.std(axis=0)
    return centred / np.where(spread > 0, spread, 1.0)


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
