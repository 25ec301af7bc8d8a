"""Features as numbers and back: what a column was is learned once, then rows are encoded and decoded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from numbers import Number
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmuddle.cleaning.columns import Column, Kind, Objects, Rows, to_objects
from unmuddle.cleaning.tables import Table, table_of
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError

MOST_CATEGORIES = 50
"""Names and free text have more of them, and say nothing about other rows."""


@dataclass(frozen=True)
class Feature(ABC):
    """One column of the table, as it was learned: its name or position, and the name of its type."""

    label: Hashable
    type_name: str

    @property
    @abstractmethod
    def width(self) -> int:
        """How many columns it has when encoded."""

    @abstractmethod
    def encode(self, column: Column) -> Array:
        """Cells to a matrix of this width, NaN in rows where the cell is missing."""

    @abstractmethod
    def decode(self, block: Array) -> NDArray[Any]:
        """The matrix to cells."""


@dataclass(frozen=True)
class Numeric(Feature):
    """A column of numbers, encoded as itself."""

    @property
    def width(self) -> int:
        """One column."""
        return 1

    def encode(self, column: Column) -> Array:
        """The numbers; text is refused, but for a column that is missing as a whole."""
        if column.kind is Kind.CATEGORY:
            self._check_all_missing(column)
            return np.full((len(column.cells), 1), np.nan)
        return column.numbers()[:, None]

    def decode(self, block: Array) -> Array:
        """The numbers."""
        return block[:, 0]

    def _check_all_missing(self, column: Column) -> None:
        present = [cell for cell in column.objects() if cell is not None]
        if present:
            raise InvalidDataError(
                f"{column.what} must hold numbers, as it did when it was learned; got {present[0]!r}. "
                "Convert it to numbers, with None for missing cells."
            )


@dataclass(frozen=True)
class Categorical(Feature):
    """A column of categories, sorted, with the share of each among the cells that are present.

    Three and more are encoded by a column each, which is 1 in rows of the category and 0 in others. Up to two are
    encoded by one column, which is 1 for the second. A category that was not there when the column was learned is
    encoded as if it were missing.
    """

    categories: tuple[Any, ...]
    shares: tuple[float, ...]

    @classmethod
    def learn(cls, label: Hashable, column: Column) -> Self:
        """Find the categories that occur."""
        codes, found = pd.factorize(column.objects(), sort=True)
        if len(found) > MOST_CATEGORIES:
            raise InvalidDataError(
                f"{column.what} must have at most {MOST_CATEGORIES} categories; got {len(found)}, the first "
                f"{found[0]!r}. Drop the column, merge rare categories, or convert it to numbers if it holds any."
            )
        counts = np.bincount(codes[codes >= 0], minlength=len(found))
        shares = counts / max(counts.sum(), 1)
        return cls(label, column.type_name, tuple(found.tolist()), tuple(shares.tolist()))

    @property
    def width(self) -> int:
        """A column for each category, or one for two."""
        return len(self.categories) if len(self.categories) > 2 else 1

    def encode(self, column: Column) -> Array:
        """Ones and zeros; cells all of another type than the categories are refused, for none could be known."""
        codes = self.codes(column)
        cells = [cell for cell in column.objects() if cell is not None]
        if (
            cells
            and self.categories
            and (codes < 0).all()
            and {*map(_type_of, cells)}.isdisjoint(map(_type_of, self.categories))
        ):
            raise InvalidDataError(
                f"{column.what} must hold {_type_of(self.categories[0])} such as {self.categories[0]!r}, as in fit; "
                f"got {_type_of(cells[0])} such as {cells[0]!r}. Convert the column."
            )
        block = codes[:, None] == np.arange(self.width) if self.width > 1 else codes[:, None]
        return np.where(codes[:, None] >= 0, block, np.nan)

    def decode(self, block: Array) -> Objects:
        """The category with the largest entry, of two the nearer one; None where nothing is known."""
        codes = _largest(block) if self.width > 1 else _nearer(block[:, 0], len(self.categories))
        return to_objects([*self.categories, None])[codes]

    def unseen(self, column: Column) -> NDArray[np.bool_]:
        """Rows whose category was not there when the column was learned."""
        present = np.array([cell is not None for cell in column.objects()], dtype=bool)
        return present & (self.codes(column) < 0)

    def codes(self, column: Column) -> Rows:
        """The number of the category in every row, -1 where it is missing or new."""
        return pd.Index(to_objects(self.categories), dtype=object).get_indexer(pd.Index(column.objects(), dtype=object))


def _type_of(cell: Any) -> str:
    """What messages call the type of a category."""
    if isinstance(cell, (bool, np.bool_)):
        return "truth values"
    return "numbers" if isinstance(cell, Number) else "text" if isinstance(cell, str) else type(cell).__name__


@dataclass(frozen=True)
class Encoding:
    """What was learned of all columns of a table.

    Parameters
    ----------
    features : tuple of Feature
        The columns in order.
    names : tuple of str, or None
        Their names if all columns had one that is text; tables encoded later must have the same, or none.
    """

    features: tuple[Feature, ...]
    names: tuple[str, ...] | None

    @classmethod
    def learn(cls, X: Any) -> Self:
        """Find out which columns hold numbers and which hold categories.

        >>> Encoding.learn([[1.5, "red"], [None, "blue"], [2, "red"]]).features[1].categories
        ('blue', 'red')
        """
        table = table_of(X)
        return cls(tuple(_learn_feature(table, position) for position in range(table.shape[1])), table.names)

    @cached_property
    def groups(self) -> Rows:
        """For every encoded column the position of the column that it comes from."""
        return np.repeat(np.arange(len(self.features)), [feature.width for feature in self.features])

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """For every column the encoded columns that it has."""
        ends = np.cumsum([feature.width for feature in self.features]).tolist()
        return tuple(slice(start, end) for start, end in zip([0, *ends], ends, strict=False))

    @cached_property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """For every column of categories the first of its encoded columns, and the one after the last."""
        ends = [(span.start, span.stop) for span in self.spans]
        return tuple(end for end, feature in zip(ends, self.features, strict=True) if isinstance(feature, Categorical))

    @cached_property
    def is_numeric(self) -> bool:
        """Whether all columns hold numbers."""
        return all(isinstance(feature, Numeric) for feature in self.features)

    def encode(self, X: Any) -> Array:
        """A matrix in double precision with NaN for missing cells.

        It may be the caller's own memory, so nobody writes to it.
        """
        table = table_of(X)
        self._check_columns(table)
        matrix = table.matrix() if self.is_numeric else None
        if matrix is None:
            matrix = self._encode_columns(table)
        self._check_infinite(matrix)
        return matrix

    def decode(self, matrix: Array) -> list[NDArray[Any]]:
        """The cells of every column: numbers in double precision, categories as objects, None where unknown."""
        if matrix.ndim != 2 or matrix.shape[1] != len(self.groups):
            raise InvalidDataError(
                f"the matrix to decode must have the {len(self.groups)} columns that encode gives; got shape "
                f"{matrix.shape}. Decode what has the shape of an encoded table."
            )
        return [feature.decode(matrix[:, span]) for feature, span in zip(self.features, self.spans, strict=True)]

    def unseen(self, table: Table) -> NDArray[np.bool_]:
        """Cells whose category was not there when the columns were learned: not missing, but of no known meaning."""
        found = np.zeros(table.shape, dtype=bool)
        for position, feature in enumerate(self.features):
            if isinstance(feature, Categorical):
                found[:, position] = feature.unseen(table.column(position))
        return found

    def _encode_columns(self, table: Table) -> Array:
        matrix = np.empty((table.shape[0], len(self.groups)), order="F")
        for position, (feature, span) in enumerate(zip(self.features, self.spans, strict=True)):
            matrix[:, span] = feature.encode(table.column(position))
        return matrix

    def _check_columns(self, table: Table) -> None:
        if table.shape[1] != len(self.features):
            raise InvalidDataError(
                f"X has {table.shape[1]} features, but the encoding is expecting {len(self.features)} features as "
                "input. Give the columns that were learned."
            )
        if self.names is None or table.names is None or self.names == table.names:
            return
        pairs = enumerate(zip(self.names, table.names, strict=True))
        position, (learned, given) = next((at, pair) for at, pair in pairs if pair[0] != pair[1])
        reordered = sorted(self.names) == sorted(table.names)
        order = "Feature names must be in the same order as they were in fit. " if reordered else ""
        raise InvalidDataError(
            f"The feature names should match those that were passed during fit. {order}"
            f"Column {position} was {learned!r} and is {given!r}. Select the columns by the names given to fit."
        )

    def _check_infinite(self, matrix: Array) -> None:
        infinite = np.isinf(matrix)
        if infinite.any():
            row, column = np.argwhere(infinite)[0]
            label = self.features[self.groups[column]].label
            raise InvalidDataError(
                f"X must hold finite numbers or NaN for missing cells; it contains infinity (inf) in {infinite.sum()} "
                f"cells, the first at row {row}, column {label!r}. Replace, clip or remove these cells."
            )


def _learn_feature(table: Table, position: int) -> Feature:
    column, label = table.column(position), table.labels[position]
    return Numeric(label, column.type_name) if column.kind.is_numeric else Categorical.learn(label, column)


def _largest(block: Array) -> Rows:
    """The column with the largest entry, -1 in rows of NaN."""
    known = ~np.isnan(block)
    return np.where(known.any(axis=1), np.where(known, block, -np.inf).argmax(axis=1), -1)


def _nearer(entries: Array, n_categories: int) -> Rows:
    """0 or 1, the nearer one if there are both, and -1 for NaN or if there is none."""
    unknown = np.isnan(entries) if n_categories > 0 else True
    return np.where(unknown, -1, (entries > 0.5) & (n_categories > 1))
