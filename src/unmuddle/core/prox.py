"""Proximal maps: ``prox_f(v, step)`` minimises ``step * f(x) + |x - v|_F**2 / 2``.

Pure functions, each checked in the tests against a numerical minimiser of that definition.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

TINY = 1e-150
"""Stands in for zero where something is divided by it; its reciprocal is still far from overflow."""

EXACT_SIZE, GRAM_RESOLUTION = 1 << 17, 1e-13
"""Entries up to which singular values are computed directly; part of the largest square below which they are noise."""


def prox_l1(entries: Array, step: float) -> Array:
    """Shrink every entry towards zero by ``step``: the prox of ``sum |x_ij|``.

    >>> prox_l1(np.array([[3.0, -0.5], [-2.0, 1.0]]), step=1.0)
    array([[ 2.,  0.],
           [-1.,  0.]])
    """
    return entries - np.clip(entries, -step, step)


def prox_l21(rows: Array, step: float) -> Array:
    """Shorten every row by ``step``: the prox of ``sum_i |x_i|_2``.

    >>> prox_l21(np.array([[3.0, 4.0], [0.3, 0.4]]), step=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """
    lengths = row_lengths(rows)
    return rows * np.maximum(1.0 - step / np.maximum(lengths, TINY), 0.0)


def prox_squared_frobenius(entries: Array, step: float) -> Array:
    """Divide by ``1 + 2 step``: the prox of ``|x|_F**2`` (no half).

    >>> prox_squared_frobenius(np.array([[3.0]]), step=1.0)
    array([[1.]])
    """
    return entries / (1.0 + 2.0 * step)


def prox_huber(entries: Array, step: float, delta: float) -> Array:
    """The prox of Huber's function by entry: ``x**2 / (2 delta)`` up to ``delta``, then ``|x| - delta/2``.

    >>> prox_huber(np.array([[3.0, 1.0]]), step=1.0, delta=1.0)
    array([[2. , 0.5]])
    """
    return entries - np.clip(entries * (step / (delta + step)), -step, step)


def prox_huber_rows(rows: Array, step: float, delta: float) -> Array:
    """The prox of Huber's function of every row's length.

    >>> prox_huber_rows(np.array([[3.0, 4.0], [0.6, 0.8]]), step=1.0, delta=1.0)
    array([[2.4, 3.2],
           [0.3, 0.4]])
    """
    return rows * (1.0 - step / np.maximum(row_lengths(rows), delta + step))


def prox_box(entries: Array, lower: float | Array = 0.0, upper: float | Array = 1.0) -> Array:
    """The nearest point with ``lower <= x <= upper``, whatever the step.

    >>> prox_box(np.array([[-0.5, 0.5, 1.5]]))
    array([[0. , 0.5, 1. ]])
    """
    return np.clip(entries, lower, upper)


class Thresholded(NamedTuple):
    """A matrix after singular value thresholding, with the singular values that are left (all > 0)."""

    matrix: Array
    singular_values: Array


def threshold_singular_values(matrix: Array, step: float) -> Thresholded:
    """Lower every singular value by ``step``, none below zero: the prox of the nuclear norm.

    >>> found = threshold_singular_values(np.array([[3.0, 1.0], [1.0, 2.0]]), step=1.0)
    >>> np.round(found.matrix, 12)
    array([[2., 1.],
           [1., 1.]])
    """
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    kept = s > step
    shrunk = s[kept] - step
    return Thresholded((U[:, kept] * shrunk) @ Vt[kept], shrunk)


def threshold_quickly(matrix: Array, step: float) -> Thresholded:
    """The same through the smaller Gram matrix, where the matrix is large and the step within the Gram's resolution.

    ``A^T A = V s^2 V^T`` gives ``A V f V^T`` with ``f = max(1 - step / s, 0)``: two products in place of an SVD.
    """
    if matrix.size <= EXACT_SIZE:
        return threshold_singular_values(matrix, step)
    if len(matrix) < matrix.shape[1]:
        found, left = threshold_quickly(matrix.T, step)
        return Thresholded(found.T, left)
    squares, V = np.linalg.eigh(matrix.T @ matrix)
    s = np.sqrt(np.maximum(squares, 0.0))
    if step < np.sqrt(GRAM_RESOLUTION) * s[-1]:
        return threshold_singular_values(matrix, step)
    kept = s > step
    V, s = V[:, kept], s[kept]
    return Thresholded((matrix @ (V * (1.0 - step / s))) @ V.T, s[::-1] - step)


def prox_nuclear(matrix: Array, step: float) -> Array:
    """The prox of the sum of singular values."""
    return threshold_singular_values(matrix, step).matrix


def singular_values(matrix: Array) -> Array:
    """All singular values, largest first; of large matrices through the smaller Gram matrix.

    That halves the digits of those that are small next to the largest, and is much quicker. What is below its
    resolution is set to zero, lest hundreds of zeros add up to something.
    """
    if matrix.size <= EXACT_SIZE:
        return np.linalg.svd(matrix, compute_uv=False)
    squares = np.linalg.eigvalsh(matrix.T @ matrix if len(matrix) >= matrix.shape[1] else matrix @ matrix.T)[::-1]
    return np.sqrt(np.where(squares > GRAM_RESOLUTION * squares[0], squares, 0.0))


def nuclear_norm(matrix: Array) -> float:
    """The sum of the singular values."""
    return float(singular_values(matrix).sum())


def spectral_norm(matrix: Array) -> float:
    """The largest singular value."""
    return float(singular_values(matrix).max(initial=0.0))


def row_lengths(rows: Array) -> Array:
    """Euclidean length of every row, as a column."""
    return np.linalg.norm(rows, axis=1, keepdims=True)
