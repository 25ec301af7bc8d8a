"""Power laws: the slope of a line through points on two logarithmic scales."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Slope(NamedTuple):
    """The exponent of a power law and its standard error, from the scatter about the line; NaN for two points."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f}" if np.isnan(self.error) else f"{self.value:.2f} ± {self.error:.2f}"


def fit_slope(x: ArrayLike, y: ArrayLike) -> Slope:
    """The exponent p of ``y = a x^p`` by least squares on logarithms.

    >>> str(fit_slope([1, 10, 100], [3, 300, 30000]))
    '2.00 ± 0.00'
    """
    u, v = np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float))
    if len(np.unique(u)) < 2:
        return Slope(np.nan, np.nan)
    u = u - u.mean()
    slope = float(u @ v / (u @ u))
    left = v - v.mean() - slope * u
    error = float(np.sqrt(left @ left / (len(u) - 2) / (u @ u))) if len(u) > 2 else np.nan
    return Slope(slope, error)
