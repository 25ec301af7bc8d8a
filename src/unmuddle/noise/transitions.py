"""Label noise as a matrix: ``T[i, j]`` is the probability that a label of class i is given as class j."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmuddle.errors import InvalidParameterError
from unmuddle.noise.checks import check_rate

ROUNDING = 1e-8
"""How far the sum of a row of T may be from 1."""


def uniform_transition(rate: float, n_classes: int) -> NDArray[np.float64]:
    """A share ``rate`` of labels is drawn anew over all classes, the old one among them.

    >>> uniform_transition(0.5, 2)
    array([[0.75, 0.25],
           [0.25, 0.75]])
    """
    rate = check_rate(rate)
    _check_n_classes(n_classes, at_least=1)
    return (1 - rate) * np.eye(n_classes) + rate / n_classes


def flip_transition(rate: float, n_classes: int) -> NDArray[np.float64]:
    """A share ``rate`` of labels is moved to another class, all others equally likely.

    >>> flip_transition(0.5, 3)
    array([[0.5 , 0.25, 0.25],
           [0.25, 0.5 , 0.25],
           [0.25, 0.25, 0.5 ]])
    """
    rate = check_rate(rate)
    _check_n_classes(n_classes, at_least=2)
    return np.where(np.eye(n_classes, dtype=bool), 1 - rate, rate / (n_classes - 1))


def pair_transition(rate: float, n_classes: int) -> NDArray[np.float64]:
    """A share ``rate`` of labels is moved to the next class, from the last to the first.

    >>> pair_transition(0.25, 3)
    array([[0.75, 0.25, 0.  ],
           [0.  , 0.75, 0.25],
           [0.25, 0.  , 0.75]])
    """
    rate = check_rate(rate)
    _check_n_classes(n_classes, at_least=2)
    return (1 - rate) * np.eye(n_classes) + rate * np.roll(np.eye(n_classes), 1, axis=1)


def check_transition(T: ArrayLike, n_classes: int) -> NDArray[np.float64]:
    """A square matrix whose rows are probabilities over the classes.

    >>> check_transition([[1, 0], [0.5, 0.5]], 2).sum(axis=1)
    array([1., 1.])
    """
    matrix = _as_matrix(T)
    if matrix.shape != (n_classes, n_classes):
        raise InvalidParameterError(
            f"T must have a row and a column for each of the {n_classes} classes; got shape {matrix.shape}. "
            "Name the classes of T by classes= if some of them have no row in y."
        )
    _check_probabilities(matrix)
    return matrix


def _as_matrix(T: ArrayLike) -> NDArray[np.float64]:
    try:
        return np.asarray(T, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"T must be a matrix of numbers; got {T!r}. Make all its rows equally long."
        ) from error


def _check_probabilities(T: NDArray[np.float64]) -> None:
    if not (T >= 0).all():  # false for NaN too
        row, column = np.argwhere(~(T >= 0))[0]
        raise InvalidParameterError(
            f"T must hold probabilities of at least 0; got {T[row, column]:g} at row {row}, column {column}."
        )
    wrong = ~(np.abs(T.sum(axis=1) - 1) <= ROUNDING)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidParameterError(
            f"T must have rows that sum to 1; row {row} sums to {T[row].sum():g}. "
            "T[i, j] is the chance that class i is given as class j; transpose T if its columns sum to 1."
        )


def _check_n_classes(n_classes: int, at_least: int) -> None:
    if not isinstance(n_classes, Integral) or isinstance(n_classes, bool) or n_classes < at_least:
        raise InvalidParameterError(f"n_classes must be an integer of at least {at_least}; got {n_classes!r}.")
