"""Bring columns to a common scale, and results back to the user's units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from unmuddle.core.prox import Array

MAD_TO_DEVIATION = 1.4826
"""A normal sample's standard deviation over its median absolute deviation."""

SMALLEST = 1e-305
"""Columns below this size are as good as zero."""


class Statistics(NamedTuple):
    """Numpy's functions of columns."""

    mean: Callable[..., Any]
    std: Callable[..., Any]
    median: Callable[..., Any]
    max: Callable[..., Any]
    min: Callable[..., Any]
    quantile: Callable[..., Any]


OF_ALL = Statistics(np.mean, np.std, np.median, np.max, np.min, np.quantile)
OF_SEEN = Statistics(np.nanmean, np.nanstd, np.nanmedian, np.nanmax, np.nanmin, np.nanquantile)


@dataclass(frozen=True)
class Scaling:
    """Columns as ``(x - centre) / scale``, in the precision of the data; scale and centre are representable in it.

    Both come from the cells that are not missing (NaN); a column without any has centre 0 and scale 1.
    """

    centre: Array
    scale: Array

    def apply(self, X: Array) -> Array:
        """User's units to scaled ones."""
        scaled: Array = X - self.centre.astype(X.dtype)
        scaled /= self.scale.astype(X.dtype)
        return scaled

    def undo(self, X: Array) -> Array:
        """Scaled units to the user's."""
        rows = self.undo_difference(X)
        rows += self.centre.astype(X.dtype)
        return rows

    def undo_difference(self, E: Array) -> Array:
        """The same for a difference of rows."""
        rows: Array = E * self.scale.astype(E.dtype)
        return rows


def no_scaling(X: Array) -> Scaling:
    """Leave the columns alone."""
    return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))


def standard_scaling(X: Array) -> Scaling:
    """Mean and standard deviation; constant columns are only centred."""
    X, of = _statistics(X)
    size = _largest(X, of)
    unit = X / size  # squares of very large or small numbers would leave the floating-point range
    centre = of.mean(unit, axis=0, dtype=np.float64)
    return _scaling(centre * size, _positive(of.std(unit, axis=0, dtype=np.float64), unit) * size, X)


def robust_scaling(X: Array) -> Scaling:
    """Median and median absolute deviation; where that is 0 the standard deviation, else 1."""
    X, of = _statistics(X)
    size = _largest(X, of)
    unit = X / size
    centre = of.median(unit, axis=0)
    spread = MAD_TO_DEVIATION * of.median(np.abs(unit - centre), axis=0)
    deviation = _positive(of.std(unit, axis=0, dtype=np.float64), unit)
    negligible = spread <= 1e-8 * deviation
    return _scaling(centre * size, np.where(negligible, deviation, spread) * size, X)


INNER, INNER_TO_DEVIATION = (0.15, 0.85), 2.0729
"""The inner range of a column, and its width for a normal sample of deviation 1."""

SPIKED, LEAST = 0.5, 0.25
"""Shares of the standard deviation: what stands in for an empty inner range, and the least that a spread may be."""

GROSS, MOST = 20.0, (0.05, 0.95)
"""Spreads from the median beyond which cells are gross, and count as if they were no farther, unless more than a
twentieth of the cells is beyond on that side."""

EMPTY = 50.0
"""Rounding errors that a spread exceeds if it is one."""


def inner_scaling(X: Array) -> Scaling:
    """Median and inner range: a seventh of the cells may be wrong on either side.

    Where most of a column is one value and that range is empty, half the standard deviation; never less than a quarter
    of it, with gross cells brought nearer: else a few of them would hide all others.
    """
    X, of = _statistics(X)
    size = _largest(X, of)
    unit = X / size
    centre = of.median(unit, axis=0)
    low, high = of.quantile(unit, INNER, axis=0)
    spread = (high - low) / INNER_TO_DEVIATION
    there = spread > EMPTY * float(np.finfo(unit.dtype).eps) * np.maximum(np.abs(low), np.abs(high))
    ends, (least, most) = np.where(there, GROSS * spread, np.inf), of.quantile(unit, MOST, axis=0)
    near = np.clip(unit, np.minimum(least, centre - ends), np.maximum(most, centre + ends))
    deviation = of.std(near, axis=0, dtype=np.float64)
    deviation = np.where(there, deviation, _positive(deviation, unit))
    share = np.where(there, LEAST, SPIKED)
    return _scaling(centre * size, np.maximum(spread, share * deviation) * size, X)


FAR = 1e150
"""Cells that are larger are as large as that to a common scale: their squares can be added up."""


def common_scaling(X: Array) -> Scaling:
    """One number for all columns, which are not centred: their root mean square deviation."""
    size = float(np.sqrt(np.mean(np.clip(X, -FAR, FAR).var(axis=0)))) or 1.0
    return Scaling(np.zeros(X.shape[1]), np.full(X.shape[1], size))


SCALINGS = {"standard": standard_scaling, "robust": robust_scaling, None: no_scaling}


def _scaling(centre: Array, scale: Array, X: Array) -> Scaling:
    """Rounded to the precision of the data, so that doing and undoing use the same numbers."""
    return Scaling(*(array.astype(X.dtype).astype(np.float64) for array in (centre, scale)))


def _statistics(X: Array) -> tuple[Array, Statistics]:
    """The functions for data with or without NaN; a column of nothing else becomes one of zeros."""
    missing = np.isnan(X)
    return (np.where(missing.all(axis=0), X.dtype.type(0), X), OF_SEEN) if missing.any() else (X, OF_ALL)


def _largest(X: Array, of: Statistics) -> Array:
    """Largest entry of each column; columns of next to nothing count as zeros, for their inverse would overflow."""
    size = np.maximum(of.max(X, axis=0), -of.min(X, axis=0))
    return np.where(size > max(SMALLEST, float(np.finfo(X.dtype).tiny)), size, 1.0).astype(X.dtype)


def _positive(deviation: Array, unit: Array) -> Array:
    """Replace the deviation of constant columns, which is rounding error at most, by 1."""
    constant = deviation <= 10 * max(float(np.finfo(unit.dtype).eps), float(np.finfo(float).eps) * np.sqrt(len(unit)))
    return np.where(constant, 1.0, deviation)
