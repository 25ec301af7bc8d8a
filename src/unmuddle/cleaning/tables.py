"""Tables as users have them: a numpy array, a frame of pandas or polars, a list of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from unmuddle.cleaning.columns import ArrayColumn, Column, Objects, PandasColumn, PolarsColumn, Rows, wide_enough
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError

if TYPE_CHECKING:
    import polars as pl

Changes = Mapping[tuple[int, int], Any]
"""New values by position, (row, column) from 0 on."""

Written = dict[int, tuple[Rows, list[Any]]]
"""For every column that changes: its rows, and values that fit into its type."""


@dataclass(frozen=True)
class Table(ABC):
    """Columns of the same length, read one by one; the data are never written to.

    Parameters
    ----------
    data : numpy array, pandas DataFrame, polars DataFrame or list of rows
        What the caller gave.
    """

    data: Any

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @cached_property
    def labels(self) -> Sequence[Hashable]:
        """The names of the columns, positions where there are none."""
        return range(self.shape[1])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the columns if all of them are text, as scikit-learn has it."""
        labels = self.labels
        return tuple(map(str, labels)) if all(isinstance(label, str) for label in labels) else None

    @property
    def index(self) -> Sequence[Hashable]:
        """What the caller calls the rows, positions where they have no names."""
        return range(self.shape[0])

    @abstractmethod
    def column(self, position: int) -> Column:
        """The column at a position."""

    def matrix(self) -> Array | None:
        """All of it in double precision where that takes no work column by column, else None."""
        return None

    @abstractmethod
    def write(self, changes: Written) -> Any:
        """A copy of the caller's kind with a few cells changed."""

    def cells(self, rows: Sequence[int] | Rows, columns: Sequence[int] | Rows) -> Objects:
        """The cells at these places as objects, None where they are missing."""
        rows, columns = np.asarray(rows, dtype=np.intp), np.asarray(columns, dtype=np.intp)
        found: Objects = np.empty(len(rows), dtype=object)
        for position in np.unique(columns):
            here = columns == position
            found[here] = self.column(int(position)).take(rows[here]).objects()
        return found

    def what(self, position: int) -> str:
        """What messages call a column."""
        return f"column {self.labels[position]!r} of X"


@dataclass(frozen=True)
class ArrayTable(Table):
    """A matrix of numpy."""

    data: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.data.shape[0], self.data.shape[1]

    def column(self, position: int) -> ArrayColumn:
        """A view."""
        return ArrayColumn(self.data[:, position], self.what(position))

    def matrix(self) -> Array | None:
        """The matrix itself if it is in double precision."""
        return self.data.astype(np.float64, copy=False) if self.data.dtype.kind in "iuf" else None

    def write(self, changes: Written) -> NDArray[Any]:
        """The order in memory stays; longer text makes the array wider."""
        dtype = self.data.dtype
        packed = {position: self.column(position).pack(values) for position, (_, values) in changes.items()}
        for new in packed.values():
            dtype = wide_enough(dtype, new.dtype)
        written = self.data.astype(dtype, order="K")
        for position, (rows, _) in changes.items():
            written[rows, position] = packed[position]
        return written


@dataclass(frozen=True)
class RowsTable(ArrayTable):
    """A list of lists, or of tuples, read as an array of objects."""

    given: Sequence[Sequence[Any]]

    def write(self, changes: Written) -> Any:
        """Lists stay lists and tuples tuples."""
        rows = [list(row) for row in self.given]
        for position, (places, values) in changes.items():
            for row, value in zip(places, values, strict=True):
                rows[row][position] = value
        return _like(self.given, [_like(old, new) for old, new in zip(self.given, rows, strict=True)])


@dataclass(frozen=True)
class PandasTable(Table):
    """A DataFrame of pandas."""

    data: pd.DataFrame

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.data.shape

    @cached_property
    def labels(self) -> Sequence[Hashable]:
        """The names of the columns, of any type."""
        return list(self.data.columns)

    @cached_property
    def index(self) -> Sequence[Hashable]:
        """The labels of the index."""
        return list(self.data.index)

    def column(self, position: int) -> PandasColumn:
        """By position, for names may occur twice."""
        return PandasColumn(self.data.iloc[:, position], self.what(position))

    def matrix(self) -> Array | None:
        """A view where all columns are in double precision and kept together."""
        return self.data.to_numpy() if all(dtype == np.float64 for dtype in self.data.dtypes) else None

    def write(self, changes: Written) -> pd.DataFrame:
        """Index, names and types stay."""
        written = self.data.copy()
        for position, (rows, values) in changes.items():
            written.iloc[rows, position] = self.column(position).pack(values)
        return written


@dataclass(frozen=True)
class PolarsTable(Table):
    """A DataFrame of polars."""

    data: pl.DataFrame

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.data.shape

    @cached_property
    def labels(self) -> Sequence[Hashable]:
        """The names of the columns."""
        return self.data.columns

    def column(self, position: int) -> PolarsColumn:
        """The column at a position."""
        return PolarsColumn(self.data.to_series(position), self.what(position))

    def write(self, changes: Written) -> pl.DataFrame:
        """Names and types stay; columns that do not change are shared, which polars never writes to."""
        return self.data.with_columns(
            [self.column(position).write(rows, values) for position, (rows, values) in changes.items()]
        )


def table_of(X: Any) -> Table:
    """The table that a user's features are; what is none is refused.

    >>> table_of([[1, "a"], [2, None]]).shape
    (2, 2)
    """
    table = _open(X)
    n_rows, n_columns = table.shape
    if min(n_rows, n_columns) == 0:
        raise InvalidDataError(
            f"X must have at least one row and one column; found array with {n_rows} sample(s) and {n_columns} "
            f"feature(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required. Give some data."
        )
    return table


def repair(X: Any, changes: Changes) -> Any:
    """A copy of the features, of the same kind and types, in which only the named cells have changed.

    Into a column of integers a value goes rounded, and into any column within the range of its type. Columns of
    categories take their own categories only.

    >>> repair([[1, "a"], [2, None]], {(0, 0): 7.4, (1, 1): "a"})
    [[7, 'a'], [2, 'a']]
    """
    table = table_of(X)
    shape = table.shape
    by_column: dict[int, dict[int, Any]] = {}
    for place, value in changes.items():
        row, column = _check_place(place, shape)
        by_column.setdefault(column, {})[row] = value
    return table.write(
        {
            column: (np.fromiter(cells, dtype=np.intp), table.column(column).fit_in(list(cells.values())))
            for column, cells in by_column.items()
        }
    )


def is_polars(data: Any) -> bool:
    """Whether polars made it; polars need not be installed to ask."""
    return type(data).__module__.partition(".")[0] == "polars"


def _open(X: Any) -> Table:
    if isinstance(X, pd.DataFrame):
        return PandasTable(X)
    if is_polars(X) and type(X).__name__ == "DataFrame":
        return PolarsTable(X)
    if isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(row, list | tuple) for row in X):
        return RowsTable(_objects_of_rows(X), X)
    return ArrayTable(_matrix_of(X))


def _matrix_of(X: Any) -> NDArray[Any]:
    if issparse(X):
        raise InvalidDataError("X must be dense; got a sparse matrix. Use X.toarray().")
    if type(X).__name__ == "LazyFrame":
        raise InvalidDataError("X must be in memory; got a LazyFrame. Use X.collect().")
    if isinstance(X, np.ma.MaskedArray):
        raise InvalidDataError("X must be a plain array; got one with a mask. Use X.astype(float).filled(numpy.nan).")
    matrix = np.asarray(X)
    if matrix.dtype.names is not None:
        raise InvalidDataError(
            f"X must be a matrix of single cells; got a structured array with fields {', '.join(matrix.dtype.names)}. "
            "Use pandas.DataFrame(X)."
        )
    if matrix.ndim != 2:
        raise InvalidDataError(
            f"X must be a table. Expected 2D array, got {matrix.ndim}D array instead, of shape {matrix.shape}. "
            "Reshape your data: reshape(-1, 1) makes a single column, reshape(1, -1) a single row."
        )
    return matrix


def _objects_of_rows(rows: Sequence[Sequence[Any]]) -> Objects:
    width = len(rows[0])
    for position, row in enumerate(rows):
        if len(row) != width:
            raise InvalidDataError(
                f"X must have as many cells in every row; got {width} in row 0 and {len(row)} in row {position}. "
                "Write None for missing cells."
            )
    objects: Objects = np.empty((len(rows), width), dtype=object)
    for position, row in enumerate(rows):
        objects[position, :] = np.fromiter(row, dtype=object, count=width)
    return objects


def _like(given: Sequence[Any], cells: list[Any]) -> Sequence[Any]:
    return tuple(cells) if isinstance(given, tuple) else cells


def _check_place(place: Any, shape: tuple[int, int]) -> tuple[int, int]:
    try:
        row, column = map(index, place)
    except (TypeError, ValueError):
        row = column = -1
    if not (0 <= row < shape[0] and 0 <= column < shape[1]):
        raise InvalidDataError(
            f"changes must name cells by position, (row, column) from (0, 0) to ({shape[0] - 1}, {shape[1] - 1}); got "
            f"{place!r}. Columns are counted, not named."
        )
    return row, column
