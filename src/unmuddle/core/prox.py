"""Proximal maps: ``prox_f(v, step)`` minimises ``step * f(x) + |x - v|_F**2 / 2``.

Each is checked in the tests against a numerical minimiser of that definition. ``out`` takes the result where memory
matters, and must not be the argument itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Mask = NDArray[np.bool_]

Step = float | Array
"""A number, or a column with a step of its own for every row."""

TINY = 1e-150
"""Stands in for zero where something is divided by it; its reciprocal is still far from overflow."""

LARGE = 200
"""Order from which on singular values are quicker by way of a Gram matrix."""


def prox_l1(entries: Array, step: Step, out: Array | None = None) -> Array:
    """Shrink every entry towards zero by ``step``: the prox of ``sum |x_ij|``.

    >>> prox_l1(np.array([[3.0, -0.5], [-2.0, 1.0]]), step=1.0)
    array([[ 2.,  0.],
           [-1.,  0.]])
    """
    out = np.clip(entries, -step, step, out=out)
    return np.subtract(entries, out, out=out)


def prox_l21(rows: Array, step: Step, out: Array | None = None) -> Array:
    """Shorten every row by ``step``: the prox of ``sum_i |x_i|_2``.

    >>> prox_l21(np.array([[3.0, 4.0], [0.3, 0.4]]), step=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """
    lengths = row_lengths(rows)
    return np.multiply(rows, np.maximum(1.0 - step / np.maximum(lengths, TINY), 0.0), out=out)


def prox_squared_frobenius(entries: Array, step: Step, out: Array | None = None) -> Array:
    """Divide by ``1 + 2 step``: the prox of ``|x|_F**2`` (no half).

    >>> prox_squared_frobenius(np.array([[3.0]]), step=1.0)
    array([[1.]])
    """
    return np.divide(entries, 1.0 + 2.0 * step, out=out)


def prox_huber(entries: Array, step: Step, delta: float, out: Array | None = None) -> Array:
    """The prox of Huber's function by entry: ``x**2 / (2 delta)`` up to ``delta``, then ``|x| - delta/2``.

    >>> prox_huber(np.array([[3.0, 1.0]]), step=1.0, delta=1.0)
    array([[2. , 0.5]])
    """
    out = np.multiply(entries, step / (delta + step), out=out)
    out = np.clip(out, -step, step, out=out)
    return np.subtract(entries, out, out=out)


def prox_huber_rows(rows: Array, step: Step, delta: float, out: Array | None = None) -> Array:
    """The prox of Huber's function of every row's length.

    >>> prox_huber_rows(np.array([[3.0, 4.0], [0.6, 0.8]]), step=1.0, delta=1.0)
    array([[2.4, 3.2],
           [0.3, 0.4]])
    """
    return np.multiply(rows, 1.0 - step / np.maximum(row_lengths(rows), delta + step), out=out)


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
    if min(matrix.shape) < LARGE or not _squares_well(matrix):
        U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
        kept = s > step
        return Thresholded((U[:, kept] * (s[kept] - step)) @ Vt[kept], s[kept] - step)
    if matrix.shape[0] < matrix.shape[1]:
        found, singular_values = threshold_singular_values(matrix.T, step)
        return Thresholded(found.T, singular_values)
    s, V = _right_singular(matrix, step)
    kept = s > step
    return Thresholded((matrix @ V[:, kept] * (1.0 - step / s[kept])) @ V[:, kept].T, s[kept] - step)


def _squares_well(matrix: Array) -> bool:
    """Whether a Gram matrix loses only what is made up for: double precision, and no entry too large or too small."""
    return matrix.dtype == np.float64 and bool(1e-100 < np.abs(matrix).max() < 1e100)


def _right_singular(matrix: Array, step: float) -> tuple[Array, Array]:
    """Singular values, falling, and right singular vectors of a tall matrix from its Gram matrix.

    That squares the condition number: values below a thousandth of the largest would be off by more than rounding. So
    if any of them may exceed ``step``, they are taken from the matrix once more, by the same way within the space that
    they span, where they are no longer small.
    """
    if not _squares_well(matrix):
        _, s, Vt = np.linalg.svd(matrix, full_matrices=False)
        return s, Vt.T
    eigenvalues, V = np.linalg.eigh(matrix.T @ matrix)
    s, V = np.sqrt(np.maximum(eigenvalues[::-1], 0.0)), V[:, ::-1]
    faint = s < 1e-3 * s[0]
    if faint.any() and s[faint][0] + 1e-7 * s[0] > step:
        s[faint], W = _right_singular(matrix @ V[:, faint], step)
        V = np.hstack([V[:, ~faint], V[:, faint] @ W])
    return s, V


def prox_nuclear(matrix: Array, step: float) -> Array:
    """The prox of the sum of singular values."""
    return threshold_singular_values(matrix, step).matrix


def row_lengths(rows: Array) -> Array:
    """Euclidean length of every row, as a column."""
    return np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
