"""Labels as class numbers and back; a row may be without a label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.extensions import ExtensionArray
from sklearn.utils.validation import column_or_1d

from unmuddle.cleaning.columns import (
    ArrayColumn,
    Column,
    Kind,
    Objects,
    PandasColumn,
    PolarsColumn,
    Rows,
    kind_of_objects,
    to_objects,
)
from unmuddle.cleaning.tables import is_polars
from unmuddle.errors import InvalidDataError, InvalidParameterError


@dataclass(frozen=True)
class Labels:
    """The classes, sorted, and the class number of every row, -1 where there is no label.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        In the type of the labels.
    codes : ndarray of shape (n_rows,)
        Positions in ``classes``, or -1.
    """

    classes: NDArray[Any]
    codes: Rows

    @classmethod
    def learn(cls, y: Any, unlabeled: Any = None) -> Self:
        """Read labels; None, NaN, NA and the value ``unlabeled`` mean that a row has none.

        >>> Labels.learn(["b", None, "a", "?"], unlabeled="?").codes
        array([ 1, -1,  0, -1])
        """
        column = _column_of(y)
        values = column.objects()
        values[_equal(values, unlabeled)] = None
        kind = kind_of_objects(values, column.what)
        codes, found = pd.factorize(values, sort=True)
        _check_classes(found, kind, len(values))
        return cls(_in_type_of(column, found), codes.astype(np.intp))

    def repair(self, y: Any, rows: ArrayLike, codes: ArrayLike) -> Any:
        """A copy of the labels, of the same kind and type, in which only these rows have changed.

        A row without a label gets one if it is among them.

        >>> Labels.learn(["b", None, "a"]).repair(["b", None, "a"], rows=[1], codes=[0])
        ['b', 'a', 'a']
        """
        column = _column_of(y)
        places = _check_positions("rows", rows, len(self.codes))
        chosen = _check_positions("codes", codes, len(self.classes))
        self._check_lengths(column, places, chosen)
        values = self.classes[chosen].tolist()
        if column.allowed is not None:
            values = [column.known_category(value) for value in values]
        return _like(y, column.write(places, values))

    def _check_lengths(self, column: Column, rows: Rows, codes: Rows) -> None:
        if len(column.cells) != len(self.codes):
            raise InvalidDataError(
                f"y must be the labels that were learned, {len(self.codes)} of them; got {len(column.cells)}. "
                "Give the same labels as to learn."
            )
        if len(rows) != len(codes):
            raise InvalidParameterError(
                f"rows and codes must have the same length; got {len(rows)} rows and {len(codes)} codes. "
                "Give one class number for each row."
            )


def _column_of(y: Any) -> Column:
    if y is None:
        raise InvalidDataError(
            "y must hold the labels: fit requires y to be passed, but the target y is None. "
            "Give one label for each row."
        )
    if isinstance(y, pd.Series | ExtensionArray):
        return PandasColumn(pd.Series(y), "y")
    if is_polars(y) and type(y).__name__ == "Series":
        return PolarsColumn(y, "y")
    return ArrayColumn(_vector_of(y), "y")


def _vector_of(y: Any) -> NDArray[Any]:
    if isinstance(y, list | tuple) and all(np.ndim(label) == 0 for label in y):
        return to_objects(y)
    vector = np.asarray(y)
    if vector.ndim == 2 and vector.shape[1] == 1 and isinstance(y, np.ndarray):
        return column_or_1d(y, warn=True)
    if vector.ndim != 1:
        raise InvalidDataError(
            f"y must hold one label for each row, in one dimension; got shape {vector.shape}. "
            "Take a single column of a table, or flatten an array with y.ravel()."
        )
    return vector


def _equal(values: Objects, unlabeled: Any) -> NDArray[np.bool_]:
    """Where a label is this value; a truth value is no number here."""
    if np.ndim(unlabeled) != 0:
        raise InvalidParameterError(f"unlabeled must be one label or None; got {unlabeled!r}. Give a single value.")
    is_truth = isinstance(unlabeled, bool | np.bool_)
    return np.array([value == unlabeled and isinstance(value, bool) == is_truth for value in values], dtype=bool)


def _check_classes(found: Objects, kind: Kind, n_rows: int) -> None:
    if len(found) < 2:
        held = f"got 1 class, {found[0]!r}" if len(found) else "got no label at all"
        raise InvalidDataError(
            f"y must hold at least 2 classes; {held}, on {n_rows} rows. Give labels of several classes; None, NaN, NA "
            "and the value of unlabeled count as no label."
        )
    if kind is Kind.REAL and not all(float(label).is_integer() for label in found):
        odd = next(label for label in found if not float(label).is_integer())
        raise InvalidDataError(
            f"y must hold classes. Unknown label type: continuous; got {odd!r}. Give integers or text as labels."
        )


def _in_type_of(column: Column, found: Objects) -> NDArray[Any]:
    """The classes in the type of the labels as numpy has it; text in a frame is kept as objects."""
    if isinstance(column, ArrayColumn) and column.cells.dtype != object:
        return found.astype(column.cells.dtype)
    return found if isinstance(found[0], str | bytes) else np.array(found.tolist())


def _check_positions(name: str, positions: ArrayLike, n: int) -> Rows:
    given = np.asarray(positions)
    whole = given.size == 0 or given.dtype.kind in "iu"
    if not (given.ndim == 1 and whole and ((given >= 0) & (given < n)).all()):
        raise InvalidParameterError(
            f"{name} must be a list of integers from 0 to {n - 1}; got {positions!r}. Count from 0."
        )
    return given.astype(np.intp)


def _like(y: Any, written: Any) -> Any:
    if isinstance(y, list | tuple):
        return type(y)(written.tolist())
    if isinstance(y, ExtensionArray):
        return written.array
    return written.reshape(y.shape) if isinstance(y, np.ndarray) else written
