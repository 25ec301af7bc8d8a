"""Checks on parameters and data, once, at ``fit``; every message gives name, rule, value and remedy."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError, InvalidParameterError

LARGEST = 1e100
"""Entries beyond this overflow when they are squared and summed."""

SINGLE_LARGEST = 1e12
"""The same in single precision."""


def check_choice(name: str, value: Any, choices: Collection[Any]) -> None:
    """The value must be one of a few."""
    try:
        known = value in choices
    except TypeError:  # unhashable
        known = False
    if not known:
        listed = ", ".join(repr(choice) for choice in choices)
        raise InvalidParameterError(f"{name} must be one of {listed}; got {value!r}.")


def check_positive(name: str, value: Any, *, optional: bool = False, word: str | None = None) -> None:
    """The value must be a positive number whose square, and its inverse, are still finite; or a certain word."""
    if (optional and value is None) or (word is not None and isinstance(value, str) and value == word):
        return
    if _is_number(value) and 1 / LARGEST <= value <= LARGEST:
        return
    alternative = "" if not optional else " or None" if word is None else f", None or {word!r}"
    raise InvalidParameterError(
        f"{name} must be a positive number, from {1 / LARGEST:g} to {LARGEST:g}{alternative}; got {value!r}."
    )


def check_count(name: str, value: Any, *, optional: bool = False) -> None:
    """The value must be an integer of at least 1."""
    if optional and value is None:
        return
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return
    alternative = " or None" if optional else ""
    raise InvalidParameterError(f"{name} must be an integer of at least 1{alternative}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """The value must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameterError(f"{name} must be True or False; got {value!r}.")


def check_features(estimator: Any, X: Any, *, reset: bool, keep_single: bool = False) -> Array:
    """A finite float matrix, in memory of its own or the caller's (which nobody writes to).

    ``keep_single`` leaves single precision as it is; all else becomes double.
    """
    checked: Array = validate_data(
        estimator,
        X,
        reset=reset,
        dtype=[np.float64, np.float32] if keep_single else np.float64,
        order="C",
        ensure_all_finite=False,
        ensure_min_samples=2 if reset else 1,
    )
    _check_finite(estimator, checked)
    return checked


def check_scaled(X: Array) -> Array:
    """Scaled data must leave room for squares and sums; what is too small for squares as a whole is zero."""
    with np.errstate(invalid="ignore"):
        size = float(max(X.max(initial=0.0), -X.min(initial=0.0)))
    largest = LARGEST if X.dtype == np.float64 else SINGLE_LARGEST
    if not size <= largest:
        raise InvalidDataError(
            f"X is too large: after scaling its entries must be at most {largest:g} in size; the largest is {size:g}. "
            "Divide X by a constant, or use scale='standard' if it is None."
        )
    return X if size * largest > 1 else np.zeros_like(X)


def check_labels(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes, sorted, and the class number of every row."""
    if y is None:
        raise InvalidDataError(
            "y must hold a label for every row: fit requires y to be passed, but the target y is None."
        )
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise InvalidDataError(
            f"X and y must have as many rows; found input variables with inconsistent numbers of samples: "
            f"{n_rows} in X and {len(y)} in y."
        )
    _check_no_missing_label(y)
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidDataError(
            f"y must hold at least 2 classes; got 1 class, {classes[0]!r}, on all {n_rows} rows. "
            "A classifier needs an alternative to learn."
        )
    return classes, codes


def check_enough_columns(n_columns: int, n_classes: int, intercept: bool) -> None:
    """Labels without errors are a linear image of the features only if these have columns enough."""
    needed = n_classes - intercept
    if n_columns < needed:
        raise InvalidDataError(
            f"label_norm='none' needs X with at least {needed} columns for {n_classes} classes; got {n_columns}: "
            "no projection can give such labels exactly. Use another label_norm."
        )


def one_hot(codes: NDArray[np.intp], n_classes: int) -> Array:
    """A row for each code, 1 at its class."""
    return np.eye(n_classes)[codes]


def _check_finite(estimator: Any, X: Array) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(X.sum(dtype=np.float64)):  # no array of flags for data that are in order
            return
    bad = ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    names = getattr(estimator, "feature_names_in_", None)
    where = f"row {row}, column {column if names is None else repr(str(names[column]))}"
    kind = "NaN" if np.isnan(X[bad]).all() else "infinity" if np.isinf(X[bad]).all() else "NaN and infinity"
    remedy = (
        "Missing cells are not supported yet (they are planned): impute them, for example with "
        "sklearn.impute.SimpleImputer, or drop their rows."
        if "NaN" in kind
        else "Replace or clip these cells."
    )
    raise InvalidDataError(
        f"X must hold finite numbers; it contains {kind} (NaN or inf) in {bad.sum()} cells, the first at {where}. "
        f"{remedy}"
    )


def _check_no_missing_label(y: NDArray[Any]) -> None:
    if y.dtype.kind == "f":
        missing = ~np.isfinite(y)
    elif y.dtype.kind == "O":
        missing = np.array([pd.isna(label) for label in y], dtype=bool)
    else:
        return
    if missing.any():
        raise InvalidDataError(
            f"y must hold a label for every row; {missing.sum()} are missing (None, NaN or inf), the first at row "
            f"{np.flatnonzero(missing)[0]}. Rows without a label are not supported yet: drop them."
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
