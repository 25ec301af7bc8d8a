"""Checks on parameters and data, once, at ``fit``; every message gives name, rule, value and remedy."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from unmuddle.checks import is_number
from unmuddle.core.prox import Array, Mask
from unmuddle.errors import InvalidDataError, InvalidParameterError
from unmuddle.estimators.scaling import Scaling

LARGEST = 1e100
"""Entries beyond this overflow when they are squared and summed."""

SINGLE_LARGEST = 1e12
"""The same in single precision."""

NO_LABEL = -1
"""The class number of a row without a label."""


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
    if is_number(value) and 1 / LARGEST <= value <= LARGEST:
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


def check_seed(name: str, value: Any) -> np.random.RandomState:
    """The generator that the value stands for."""
    try:
        return check_random_state(value)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"{name} must be an integer from 0 to 2**32 - 1, a numpy RandomState or None; got {value!r}. "
            "Pass an integer, such as 0, for results that can be repeated."
        ) from None


def check_features(
    estimator: Any, X: Any, *, reset: bool, keep_single: bool = False, allow_missing: bool = False
) -> Array:
    """A finite float matrix, in memory of its own or the caller's (which nobody writes to).

    ``keep_single`` leaves single precision as it is; all else becomes double. ``allow_missing`` admits NaN.
    """
    try:
        checked: Array = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32] if keep_single else np.float64,
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=2 if reset else 1,
        )
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise InvalidDataError(
            f"X must hold numbers; {error}. Encode columns of text, or use HybridCleaner, which takes them as they are."
        ) from None
    _check_finite(estimator, checked, allow_missing)
    return checked


def scale_features(scaling: Scaling, X: Array) -> tuple[Array, Mask | None]:
    """Scaled data with 0, the centre, in missing cells, and which these are: None if none is."""
    missing, scaled = None if _has_finite_sum(X) else np.isnan(X), scaling.apply(X)
    if missing is None or not missing.any():
        return check_scaled(scaled), None
    scaled[missing] = 0.0
    return check_scaled(scaled), missing


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
    y = _check_target(y, n_rows)
    missing = _missing_labels(y)
    if missing.any():
        raise InvalidDataError(
            f"y must hold a label for every row; {missing.sum()} are missing (None or NaN), the first at row "
            f"{np.flatnonzero(missing)[0]}. Drop these rows, or use FLRClassifier, which learns from them too."
        )
    return _find_classes(y)


def check_some_labels(
    y: Any, n_rows: int, unlabeled: Any = None, weights: Array | None = None
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The same where rows may go without a label: their number is ``NO_LABEL``.

    Such are None, NaN and NA, the value ``unlabeled``, and rows of weight 0.
    """
    if np.ndim(unlabeled) != 0:
        raise InvalidParameterError(f"unlabeled must be a single label, such as -1, or None; got {unlabeled!r}.")
    y = _check_target(y, n_rows)
    labelled = ~_missing_labels(y)
    if unlabeled is not None:
        labelled[labelled] = y[labelled] != unlabeled
    if weights is not None:
        labelled &= weights > 0
    if not labelled.any():
        raise InvalidDataError(
            f"y must hold at least 2 classes; none of its {n_rows} rows has a label of positive weight. Label some rows"
            " of each class."
        )
    codes = np.full(n_rows, NO_LABEL, dtype=np.intp)
    classes, codes[labelled] = _find_classes(_plain(y[labelled]))
    return classes, codes


def check_weights(sample_weight: Any, n_rows: int) -> Array | None:
    """A finite number of at least 0 for every row; None if all are alike."""
    if sample_weight is None:
        return None
    try:
        weights: Array = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidDataError(
            f"sample_weight must hold a number for every row; got {type(sample_weight).__name__} of other things. "
            "Pass an array of numbers, or None."
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise InvalidDataError(
            f"sample_weight must hold one number for each of the {n_rows} rows; got shape {weights.shape}."
        )
    bad = np.flatnonzero(~((weights >= 0) & (weights <= LARGEST)))
    if len(bad):
        raise InvalidDataError(
            f"sample_weight must hold numbers from 0 to {LARGEST:g}; got {weights[bad[0]]} at row {bad[0]}. "
            "Give 0 to rows whose labels should not count."
        )
    if not weights.any():
        raise InvalidDataError(
            f"sample_weight must hold a number above zero; all {n_rows} are zero. Pass None if all rows count alike."
        )
    return None if (weights == weights[0]).all() else weights


def label_weights(codes: NDArray[np.intp], weights: Array | None) -> Array | None:
    """Weights of label rows, 1 on average where there is a label and 0 elsewhere; None if all are 1."""
    labelled = codes != NO_LABEL
    if weights is None:
        return None if labelled.all() else labelled.astype(np.float64)
    largest = weights[labelled].max()
    return np.where(labelled, weights / largest, 0.0) / (weights[labelled] / largest).mean()


def _check_target(y: Any, n_rows: int) -> NDArray[Any]:
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
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise InvalidDataError(
            f"y must hold labels; it contains infinity (inf), first at row {np.flatnonzero(np.isinf(y))[0]}. "
            "Use NaN or None for a label that is not known."
        )
    return y


def _missing_labels(y: NDArray[Any]) -> Mask:
    """Which labels are None, NaN or NA."""
    return np.asarray(pd.isna(y), dtype=bool)


def _plain(y: NDArray[Any]) -> NDArray[Any]:
    """Numbers that came as objects, since some were missing, as numbers."""
    if y.dtype.kind != "O" or any(isinstance(label, str) for label in y):
        return y
    return np.array(y.tolist())


def _find_classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidDataError(
            f"y must hold at least 2 classes; got 1 class, {classes[0]!r}, on all {len(y)} rows that have a label. "
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
    """A row for each code, 1 at its class; zeros where there is no label."""
    return np.eye(n_classes + 1, n_classes)[codes]  # the last row is that of NO_LABEL


def _has_finite_sum(X: Array) -> bool:
    """Whether the data are surely in order; no array of flags for such data."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(X.sum(dtype=np.float64)))


def _check_finite(estimator: Any, X: Array, allow_missing: bool) -> None:
    if _has_finite_sum(X):
        return
    bad = np.isinf(X) if allow_missing else ~np.isfinite(X)
    if not bad.any():
        return
    row, column = np.argwhere(bad)[0]
    names = getattr(estimator, "feature_names_in_", None)
    where = f"row {row}, column {column if names is None else repr(str(names[column]))}"
    kind = "NaN" if np.isnan(X[bad]).all() else "infinity" if np.isinf(X[bad]).all() else "NaN and infinity"
    remedy = (
        f"{type(estimator).__name__} takes no missing cells: fill them in with RobustPCA().fit_transform(X), or use "
        "FLRClassifier, which takes them as they are."
        if "NaN" in kind
        else "Replace or clip these cells."
        if not allow_missing
        else "Replace or clip these cells, or make them NaN if they are not known."
    )
    raise InvalidDataError(
        f"X must hold finite numbers; it contains {kind} (NaN or inf) in {bad.sum()} cells, the first at {where}. "
        f"{remedy}"
    )
