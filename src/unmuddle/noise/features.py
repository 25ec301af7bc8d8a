"""Noise on features.

Sizes are in the units of X, so X should be standardised. Single precision stays as it is; all else becomes double.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmuddle.errors import InvalidParameterError
from unmuddle.noise.checks import Floats, check_amount, check_features, check_generator
from unmuddle.noise.picking import count_share, pick


class NoisyFeatures(NamedTuple):
    """Features after noise, the rows it picked, and the cells that really differ now.

    Noise that picks single cells has picked a row if it picked any cell of it.
    """

    values: Floats
    selected: NDArray[np.bool_]
    changed: NDArray[np.bool_]


def add_gaussian(X: ArrayLike, sigma: float, rng: np.random.Generator) -> NoisyFeatures:
    """Add normal noise of standard deviation ``sigma`` to every cell.

    >>> noisy = add_gaussian(np.zeros((2000, 5)), 0.2, np.random.default_rng(0))
    >>> round(float(noisy.values.std()), 2)
    0.2
    """
    X, sigma = check_features(X), check_amount("sigma", sigma)
    check_generator(rng)
    return _shift(X, rng.normal(0.0, sigma, X.shape), np.ones(len(X), dtype=bool))


def add_laplacian(X: ArrayLike, sigma: float, rng: np.random.Generator) -> NoisyFeatures:
    """Add Laplacian noise of standard deviation ``sigma``, that is of scale ``sigma / sqrt(2)``, to every cell.

    >>> noisy = add_laplacian(np.zeros((2000, 5)), 0.2, np.random.default_rng(0))
    >>> round(float(noisy.values.std()), 2)
    0.2
    """
    X, sigma = check_features(X), check_amount("sigma", sigma)
    check_generator(rng)
    return _shift(X, rng.laplace(0.0, sigma / np.sqrt(2.0), X.shape), np.ones(len(X), dtype=bool))


def spoil_cells(X: ArrayLike, rate: float, size: float, rng: np.random.Generator) -> NoisyFeatures:
    """Pick exactly ``round(rate * cells)`` cells and shift each up or down by ``size``.

    >>> spoiled = spoil_cells(np.zeros((10, 10)), 0.05, 4.0, np.random.default_rng(0))
    >>> int(spoiled.changed.sum()), np.unique(np.abs(spoiled.values)).tolist()
    (5, [0.0, 4.0])
    """
    X, size = check_features(X), check_amount("size", size)
    cells = pick(X.size, rate, rng).reshape(X.shape)
    shift = np.zeros(X.shape)
    shift[cells] = size * rng.choice([-1.0, 1.0], cells.sum())
    return _shift(X, shift, _rows_with(cells))


def swap_cells(X: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyFeatures:
    """Pick exactly ``round(rate * n)`` rows in each column and pass their values round in one random circle.

    No picked value stays in its place, and every column keeps its values as a whole. A count of 1 becomes 0, for one
    cell alone has nothing to be swapped with. Where equal values meet, a cell is picked but not changed.

    >>> swapped = swap_cells([[1], [2], [3], [4]], 0.5, np.random.default_rng(0))
    >>> int(swapped.changed.sum()), sorted(swapped.values.ravel().tolist())
    (2, [1.0, 2.0, 3.0, 4.0])
    """
    X = check_features(X)
    check_generator(rng)
    count = count_share(len(X), rate)
    values, cells = X.copy(), np.zeros(X.shape, dtype=bool)
    for column in range(X.shape[1] if count > 1 else 0):
        rows = rng.permutation(len(X))[:count]  # in random order, so the circle is random too
        values[rows, column] = X[np.roll(rows, 1), column]
        cells[rows, column] = True
    return NoisyFeatures(values, _rows_with(cells), values != X)


def spoil_rows(X: ArrayLike, rate: float, size: float, rng: np.random.Generator) -> NoisyFeatures:
    """Pick exactly ``round(rate * n)`` rows and shift each in a random direction, all directions equally likely.

    The shift has the Euclidean length ``size * sqrt(d)``: its cells are of ``size`` in the root mean square, so rows of
    any length are spoiled alike.

    >>> spoiled = spoil_rows(np.zeros((10, 4)), 0.2, 3.0, np.random.default_rng(0))
    >>> np.unique(np.linalg.norm(spoiled.values, axis=1).round(9)).tolist()
    [0.0, 6.0]
    """
    X, size = check_features(X), check_amount("size", size)
    rows = pick(len(X), rate, rng)
    directions = rng.normal(size=(rows.sum(), X.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    shift = np.zeros(X.shape)
    shift[rows] = size * np.sqrt(X.shape[1]) * directions
    return _shift(X, shift, rows)


def remove_cells(X: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyFeatures:
    """Pick exactly ``round(rate * cells)`` cells and make them NaN; a row or a column may lose all it has.

    >>> removed = remove_cells([[1, 2], [3, 4]], 0.25, np.random.default_rng(0))
    >>> int(np.isnan(removed.values).sum())
    1
    """
    X = check_features(X)
    cells = pick(X.size, rate, rng).reshape(X.shape)
    return NoisyFeatures(np.where(cells, X.dtype.type(np.nan), X), _rows_with(cells), cells)


def _rows_with(cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return np.logical_or.reduce(cells, axis=1)


def _shift(X: Floats, shift: NDArray[np.float64], selected: NDArray[np.bool_]) -> NoisyFeatures:
    with np.errstate(over="ignore"):
        values = (X + shift).astype(X.dtype, copy=False)
    if not np.isfinite(values).all():
        raise InvalidParameterError(
            f"noise must leave X finite; shifts of up to {np.abs(shift).max():g} are too large for {X.dtype}. "
            "Standardise X and give the noise a smaller size."
        )
    return NoisyFeatures(values, selected, values != X)
