"""The five scores: how well data were learned from, and how well their errors were found and repaired.

A score that the data do not define, such as a ranking where nothing is wrong, is NaN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from unmuddle.errors import InvalidDataError

TEXT = "UST"
"""The kinds of numpy's types that hold text."""


class Ranking(NamedTuple):
    """How well scores put the wrong labels first."""

    auc: float
    average_precision: float


def accuracy(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """The share of predictions that are right.

    >>> accuracy(["a", "b", "b", "a"], ["a", "b", "a", "a"])
    0.75
    """
    return _share_equal("y_true", y_true, "y_pred", y_pred)


def label_error_ranking(changed: ArrayLike, scores: ArrayLike) -> Ranking:
    """How well the scores of the rows, higher being more suspicious, find the ``changed`` labels.

    The AUC is the chance that a changed row scores higher than another; a tie counts half. The average precision is
    the mean, over the changed rows, of the precision among all rows that score as high or higher. Both are NaN if no
    label or every label is changed.

    >>> label_error_ranking([True, False, False, True], [0.9, 0.8, 0.7, 0.1])
    Ranking(auc=0.5, average_precision=0.75)
    """
    mask, numbers = _check_ranking(changed, scores, n_dims=1)
    if mask.all() or not mask.any():
        return Ranking(float("nan"), float("nan"))
    return Ranking(float(roc_auc_score(mask, numbers)), float(average_precision_score(mask, numbers)))


def labels_right(y_true: ArrayLike, repaired: ArrayLike) -> float:
    """The share of training labels that are right after repair.

    >>> labels_right([1, 2, 3, 1], [1, 2, 3, 3])
    0.75
    """
    return _share_equal("y_true", y_true, "repaired", repaired)


def feature_error(X_true: ArrayLike, X_recovered: ArrayLike) -> float:
    """The Frobenius norm of what is wrong, relative to that of the truth; NaN if the truth is all zero.

    >>> feature_error([[3.0, 4.0]], [[3.0, 3.0]])
    0.2
    """
    truth, recovered = _check_matrix("X_true", X_true), _check_matrix("X_recovered", X_recovered)
    _check_same_shape("X_true", truth, "X_recovered", recovered)
    size = np.linalg.norm(truth)
    return float(np.linalg.norm(recovered - truth) / size) if size > 0 else float("nan")


def cell_detection(changed: ArrayLike, scores: ArrayLike) -> float:
    """The chance that a changed cell scores higher than another, a tie counting half.

    NaN if no cell or every cell is changed.

    >>> cell_detection([[True, False], [True, False]], [[0.9, 0.5], [0.5, 0.1]])
    0.875
    """
    mask, numbers = _check_ranking(changed, scores, n_dims=2)
    if mask.all() or not mask.any():
        return float("nan")
    return float(roc_auc_score(mask.ravel(), numbers.ravel()))


def _share_equal(first_name: str, first: ArrayLike, second_name: str, second: ArrayLike) -> float:
    left, right = _check_labels(first_name, first), _check_labels(second_name, second)
    _check_same_shape(first_name, left, second_name, right)
    _check_same_kind(first_name, left, second_name, right)
    return float(np.mean(left == right))


def _check_labels(name: str, labels: ArrayLike) -> NDArray[Any]:
    checked = np.asarray(labels)
    if checked.ndim != 1 or checked.size == 0:
        raise InvalidDataError(
            f"{name} must hold one label for each row, in one dimension; got shape {checked.shape}. "
            "Flatten a single column with ravel()."
        )
    return checked


def _check_ranking(changed: ArrayLike, scores: ArrayLike, n_dims: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    mask, numbers = np.asarray(changed), _check_numbers("scores", scores, n_dims)
    if mask.dtype != bool:
        raise InvalidDataError(f"changed must be a mask of True and False; got {mask.dtype}. Use changed.astype(bool).")
    _check_same_shape("changed", mask, "scores", numbers)
    return mask, numbers


def _check_matrix(name: str, X: ArrayLike) -> NDArray[np.float64]:
    return _check_numbers(name, X, n_dims=2)


def _check_numbers(name: str, values: ArrayLike, n_dims: int) -> NDArray[np.float64]:
    """Finite numbers, in double precision, for half of it overflows in sums of squares."""
    try:
        checked = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must hold numbers; {error}. Convert them to floats.") from error
    if checked.ndim != n_dims or checked.size == 0:
        raise InvalidDataError(f"{name} must have {n_dims} dimension(s) and an entry; got shape {checked.shape}.")
    bad = ~np.isfinite(checked)
    if bad.any():
        place = ", ".join(str(index) for index in np.argwhere(bad)[0])
        raise InvalidDataError(
            f"{name} must hold finite numbers; {bad.sum()} are NaN or infinite, the first at [{place}]. "
            "Impute or clip them first."
        )
    return checked


def _check_same_shape(first_name: str, first: NDArray[Any], second_name: str, second: NDArray[Any]) -> None:
    if first.shape != second.shape:
        raise InvalidDataError(
            f"{first_name} and {second_name} must have the same shape; got {first.shape} and {second.shape}. "
            "Give both for the same rows in the same order."
        )


def _check_same_kind(first_name: str, first: NDArray[Any], second_name: str, second: NDArray[Any]) -> None:
    """Text never equals a number, so a share of 0 would hide the mistake."""
    kinds = first.dtype.kind, second.dtype.kind
    if "O" not in kinds and (kinds[0] in TEXT) is not (kinds[1] in TEXT):
        raise InvalidDataError(
            f"{first_name} and {second_name} must hold labels of one kind; got {first.dtype} and {second.dtype}. "
            "Convert one of them with astype."
        )
