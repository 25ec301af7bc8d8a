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
    """Columns as ``(x - centre) / scale``."""

    centre: Array
    scale: Array

    def apply(self, X: Array) -> Array:
        """User's units to scaled ones."""
        return (X - self.centre) / self.scale

    def undo(self, X: Array) -> Array:
        """Scaled units to the user's."""
        return self.undo_difference(X) + self.centre

    def undo_difference(self, E: Array) -> Array:
        """The same for a difference of rows."""
        return E * self.scale


def no_scaling(X: Array) -> Scaling:
    """Leave the columns alone."""
    return Scaling(np.zeros(X.shape[1]), np.ones(X.shape[1]))


def standard_scaling(X: Array) -> Scaling:
    """Mean and standard deviation; constant columns are only centred."""
    size = _largest(X)
    unit = X / size  # squares of very large or small numbers would leave the floating-point range
    centre = unit.mean(axis=0)
    return Scaling(centre * size, _positive(unit.std(axis=0), unit) * size)


def robust_scaling(X: Array) -> Scaling:
    """Median and median absolute deviation; where that is 0 the standard deviation, else 1."""
    size = _largest(X)
    unit = X / size
    centre = np.median(unit, axis=0)
    spread = MAD_TO_DEVIATION * np.median(np.abs(unit - centre), axis=0)
    deviation = _positive(unit.std(axis=0), unit)
    negligible = spread <= 1e-8 * deviation
    return Scaling(centre * size, np.where(negligible, deviation, spread) * size)


SCALINGS = {"standard": standard_scaling, "robust": robust_scaling, None: no_scaling}


def _largest(X: Array) -> Array:
    """Largest entry of each column; columns of next to nothing count as zeros, for their inverse would overflow."""
    size = np.abs(X).max(axis=0)
    return np.where(size > SMALLEST, size, 1.0)


def _positive(deviation: Array, unit: Array) -> Array:
    """Replace the deviation of constant columns, which is rounding error at most, by 1."""
    constant = deviation <= 10 * np.finfo(float).eps * np.sqrt(len(unit))
    return np.where(constant, 1.0, deviation)
