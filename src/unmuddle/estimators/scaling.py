"""Bring columns to a common scale, and results back to the user's units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmuddle.core.prox import Array

MAD_TO_DEVIATION = 1.4826
"""A normal sample's standard deviation over its median absolute deviation."""

SMALLEST = 1e-305
"""Columns below this size are as good as zero."""


@dataclass(frozen=True)
class Scaling:
    """Columns as ``(x - centre) / scale``, in the precision of the data; scale and centre are representable in it."""

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
    size = _largest(X)
    unit = X / size  # squares of very large or small numbers would leave the floating-point range
    centre = unit.mean(axis=0, dtype=np.float64)
    return _scaling(centre * size, _positive(unit.std(axis=0, dtype=np.float64), unit) * size, X)


def robust_scaling(X: Array) -> Scaling:
    """Median and median absolute deviation; where that is 0 the standard deviation, else 1."""
    size = _largest(X)
    unit = X / size
    centre = np.median(unit, axis=0)
    spread = MAD_TO_DEVIATION * np.median(np.abs(unit - centre), axis=0)
    deviation = _positive(unit.std(axis=0, dtype=np.float64), unit)
    negligible = spread <= 1e-8 * deviation
    return _scaling(centre * size, np.where(negligible, deviation, spread) * size, X)


SCALINGS = {"standard": standard_scaling, "robust": robust_scaling, None: no_scaling}


def _scaling(centre: Array, scale: Array, X: Array) -> Scaling:
    """Rounded to the precision of the data, so that doing and undoing use the same numbers."""
    return Scaling(*(array.astype(X.dtype).astype(np.float64) for array in (centre, scale)))


def _largest(X: Array) -> Array:
    """Largest entry of each column; columns of next to nothing count as zeros, for their inverse would overflow."""
    size = np.maximum(X.max(axis=0), -X.min(axis=0))
    return np.where(size > max(SMALLEST, float(np.finfo(X.dtype).tiny)), size, 1.0).astype(X.dtype)


def _positive(deviation: Array, unit: Array) -> Array:
    """Replace the deviation of constant columns, which is rounding error at most, by 1."""
    constant = deviation <= 10 * max(float(np.finfo(unit.dtype).eps), float(np.finfo(float).eps) * np.sqrt(len(unit)))
    return np.where(constant, 1.0, deviation)
