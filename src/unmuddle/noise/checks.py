"""Checks on what the noise is given; every message gives name, rule, value and remedy."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmuddle.checks import is_number
from unmuddle.errors import InvalidDataError, InvalidParameterError

Floats = NDArray[np.floating[Any]]
"""Single precision if it was given so, double otherwise."""


class Labels(NamedTuple):
    """The labels as given, their classes in sorted order, and the class number of every row."""

    values: NDArray[Any]
    classes: NDArray[Any]
    codes: NDArray[np.intp]


def check_rate(rate: float) -> float:
    """A share of all rows or cells.

    >>> check_rate(1)
    1.0
    """
    if not (is_number(rate) and 0 <= rate <= 1):
        raise InvalidParameterError(f"rate must be a number from 0 to 1; got {rate!r}. Give 30 % as 0.3.")
    return float(rate)


def check_amount(name: str, value: float) -> float:
    """How large a disturbance is: zero or more, and finite.

    >>> check_amount("sigma", 2)
    2.0
    """
    if not (is_number(value) and 0 <= value <= sys.float_info.max):
        raise InvalidParameterError(f"{name} must be a finite number of at least 0; got {value!r}.")
    return float(value)


def check_generator(rng: np.random.Generator) -> None:
    """Randomness comes from a Generator only, so that no draw depends on a hidden state."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameterError(
            f"rng must be a numpy.random.Generator; got {rng!r}. Make one with numpy.random.default_rng(seed)."
        )


def check_features(X: ArrayLike) -> Floats:
    """A finite matrix of floats; it may be the caller's own, so nobody writes to it.

    >>> check_features([[1, 2], [3, 4]]).dtype
    dtype('float64')
    """
    checked = _as_floats(X)
    if checked.ndim != 2 or checked.size == 0:
        raise InvalidDataError(
            f"X must be a matrix of at least one row and one column; got shape {checked.shape}. "
            "Make a single column with X.reshape(-1, 1)."
        )
    _check_finite(checked)
    return checked


def check_labels(y: ArrayLike) -> Labels:
    """One label for each row, of any kind that can be sorted.

    >>> check_labels(["b", "a", "b"]).codes
    array([1, 0, 1])
    """
    values = np.asarray(y)
    if values.ndim != 1 or values.size == 0:
        raise InvalidDataError(
            f"y must hold one label for each row, in one dimension; got shape {values.shape}. "
            "Flatten a single column with y.ravel()."
        )
    return Labels(values, *_sort_classes(values))


def check_alternatives(labels: Labels) -> None:
    """A label can be moved to another class only if there is one."""
    if len(labels.classes) < 2:
        raise InvalidDataError(
            f"y must hold at least 2 classes to move labels between them; got 1 class, {labels.classes[0]!r}, on all "
            f"{len(labels.values)} rows. Use rows of several classes."
        )


def check_same_rows(X: Floats, labels: Labels) -> None:
    """Features and labels must belong together."""
    if len(X) != len(labels.values):
        raise InvalidDataError(
            f"X and y must have as many rows; got {len(X)} in X and {len(labels.values)} in y. "
            "Give the rows that the labels belong to."
        )


def _as_floats(X: ArrayLike) -> Floats:
    try:
        given = np.asarray(X)
        if given.dtype.kind not in "biufO":
            raise TypeError(f"its type is {given.dtype}")
        return given if given.dtype in (np.float32, np.float64) else given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"X must be a dense matrix of numbers; {error}. Encode text as numbers, and use toarray() on sparse data."
        ) from error


def _check_finite(X: Floats) -> None:
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidDataError(
            f"X must hold finite numbers; {bad.sum()} cells are NaN or infinite, the first at row {row}, column "
            f"{column}. Impute them first; cells are removed last, after all other noise."
        )


def _sort_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        classes, codes = np.unique(y, return_inverse=True)
        missing = bool(np.not_equal(classes, classes).any())  # only NaN and its like differ from themselves
    except TypeError as error:
        raise InvalidDataError(
            f"y must hold labels that can be sorted; {error}. Give all of them one type and drop rows without a label."
        ) from error
    if missing:
        raise InvalidDataError("y must hold a label for every row; got NaN. Drop rows without a label.")
    return classes, codes
