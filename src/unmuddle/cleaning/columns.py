"""One column, whichever library holds it: read it as numbers or as objects, write a few of its cells.

A column is never changed: what is written appears in a copy of the same type. A missing cell is None, NaN or NA; read
as a number it is NaN, read as an object it is None.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError

if TYPE_CHECKING:
    import polars as pl

Objects = NDArray[np.object_]
Rows = NDArray[np.intp]


class Kind(Enum):
    """What the cells of a column are; the value is the word for it in messages."""

    REAL = "numbers"
    INTEGER = "integers"
    BOOLEAN = "truth values"
    CATEGORY = "categories"
    EMPTY = "missing cells only"

    @property
    def is_numeric(self) -> bool:
        """Whether cells can lie between two others; a column of nothing is taken for one of numbers."""
        return self in (Kind.REAL, Kind.INTEGER, Kind.EMPTY)


KIND_OF_LETTER = {
    "f": Kind.REAL,
    "i": Kind.INTEGER,
    "u": Kind.INTEGER,
    "b": Kind.BOOLEAN,
    "U": Kind.CATEGORY,
    "S": Kind.CATEGORY,
}
"""By the letter that numpy gives a type; objects, "O", must be looked into."""

KIND_OF_OBJECTS = {
    "empty": Kind.EMPTY,
    "floating": Kind.REAL,
    "mixed-integer-float": Kind.REAL,
    "integer": Kind.INTEGER,
    "integer-na": Kind.INTEGER,
    "boolean": Kind.BOOLEAN,
    "string": Kind.CATEGORY,
    "bytes": Kind.CATEGORY,
}
"""By what pandas finds in an array of objects."""

KIND_IN_POLARS = {
    "Null": Kind.EMPTY,
    "Boolean": Kind.BOOLEAN,
    "String": Kind.CATEGORY,
    "Categorical": Kind.CATEGORY,
    "Enum": Kind.CATEGORY,
}
"""By the name of a type that is not numeric."""


@dataclass(frozen=True)
class Column(ABC):
    """Cells of one type under one name.

    Parameters
    ----------
    cells : numpy array, pandas Series or polars Series
        The cells, in one dimension.
    what : str
        What messages call the column.
    """

    cells: Any
    what: str

    @cached_property
    @abstractmethod
    def kind(self) -> Kind:
        """What the cells are; other things than numbers, truth values and text are refused."""

    @cached_property
    @abstractmethod
    def allowed(self) -> Collection[Any] | None:
        """The categories that the type has room for, None if any text will do."""

    @abstractmethod
    def numbers(self) -> Array:
        """The cells in double precision."""

    @abstractmethod
    def objects(self) -> Objects:
        """The cells as Python's own objects."""

    @abstractmethod
    def take(self, rows: Rows) -> Column:
        """The column of these rows."""

    @abstractmethod
    def pack(self, values: Sequence[Any]) -> Any:
        """Values as an array of the column's type; they must fit in."""

    @abstractmethod
    def write(self, rows: Rows, values: Sequence[Any]) -> Any:
        """The caller's kind of column with these values in these rows; they must fit in."""

    @property
    @abstractmethod
    def type_name(self) -> str:
        """The name of the type, such as ``int64``."""

    def fit_in(self, values: Sequence[Any]) -> list[Any]:
        """Values as near as the column's type allows: integers rounded, numbers clipped to the range of the type."""
        self._check_present(values)
        match self.kind:
            case Kind.EMPTY:
                return list(values)
            case Kind.CATEGORY:
                return [self.known_category(value) for value in values]
            case Kind.BOOLEAN:
                return [self._number(value) > 0.5 for value in values]
            case Kind.INTEGER:
                low, high = integer_range(self.type_name)
                return [int(min(max(round(self._number(value)), low), high)) for value in values]
            case Kind.REAL:
                largest = largest_float(self.type_name)
                return [min(max(float(self._number(value)), -largest), largest) for value in values]

    def known_category(self, value: Any) -> Any:
        """The value, if the type has room for it."""
        if isinstance(value, str | bytes) if self.allowed is None else value in self.allowed:
            return value
        rule = "text" if self.allowed is None else "a category of its type"
        raise InvalidDataError(
            f"a recovered value for {self.what} must be {rule}; got {value!r}. "
            "Give one of the categories that the column has, or let its type have more of them."
        )

    def _check_present(self, values: Sequence[Any]) -> None:
        given = to_objects(values)
        if pd.isna(given).any():
            raise InvalidDataError(
                f"a recovered value for {self.what} must be present; got {given[pd.isna(given)][0]!r}. "
                "Leave out cells for which no value is known."
            )

    def _number(self, value: Any) -> Any:
        """An integer as it is, exact; anything else must be a finite number."""
        if isinstance(value, int | np.integer | np.bool_):
            return int(value)
        if isinstance(value, float | np.floating) and np.isfinite(value):
            return float(value)
        raise InvalidDataError(
            f"a recovered value for {self.what}, which holds {self.kind.value}, must be a finite number; got "
            f"{value!r}. Leave the cell out, or give a number."
        )


@dataclass(frozen=True)
class ArrayColumn(Column):
    """A column of a numpy array."""

    cells: NDArray[Any]

    @cached_property
    def kind(self) -> Kind:
        """By the type; objects are looked into."""
        if self.cells.dtype.kind == "O":
            return kind_of_objects(self.cells, self.what)
        return kind_of_letter(self.cells.dtype, self.what)

    @cached_property
    def allowed(self) -> None:
        """Any text will do."""

    @property
    def type_name(self) -> str:
        """The name without the order of bytes."""
        return self.cells.dtype.name

    def numbers(self) -> Array:
        """The cells themselves where they are in double precision."""
        if self.cells.dtype.kind == "O":
            return np.where(pd.isna(self.cells), np.nan, self.cells).astype(np.float64)
        return self.cells.astype(np.float64, copy=False)

    def objects(self) -> Objects:
        """Numbers and text of numpy become Python's."""
        cells = self.cells.astype(object)
        if self.cells.dtype.kind == "O":
            cells = to_objects([cell.item() if isinstance(cell, np.generic) else cell for cell in cells])
        return without_missing(cells)

    def take(self, rows: Rows) -> ArrayColumn:
        """The column of these rows."""
        return ArrayColumn(self.cells[rows], self.what)

    def pack(self, values: Sequence[Any]) -> NDArray[Any]:
        """Text is as wide as it needs to be."""
        match self.cells.dtype.kind:
            case "O":
                return to_objects(values)
            case "U" | "S":
                return np.array(values)
            case _:
                return np.array(values, dtype=self.cells.dtype)

    def write(self, rows: Rows, values: Sequence[Any]) -> NDArray[Any]:
        """Longer text makes the array wider, so that nothing is cut off."""
        if len(rows) == 0:
            return self.cells.copy()
        packed = self.pack(values)
        written = self.cells.astype(wide_enough(self.cells.dtype, packed.dtype))
        written[rows] = packed
        return written


@dataclass(frozen=True)
class PandasColumn(Column):
    """A Series of pandas."""

    cells: pd.Series[Any]

    @cached_property
    def kind(self) -> Kind:
        """By the type; objects are looked into, categories too, for these must be of one type."""
        dtype: Any = self.cells.dtype
        if isinstance(dtype, pd.SparseDtype):
            refuse(self.what, "sparse cells")
        if isinstance(dtype, pd.CategoricalDtype):
            kind_of_objects(dtype.categories.to_numpy(dtype=object), self.what)
            return Kind.CATEGORY
        if isinstance(dtype, pd.StringDtype):
            return Kind.CATEGORY
        if dtype.kind == "O":
            return kind_of_objects(self.objects(), self.what)
        return kind_of_letter(dtype, self.what)

    @cached_property
    def allowed(self) -> Collection[Any] | None:
        """The categories of a categorical type."""
        dtype = self.cells.dtype
        return set(dtype.categories) if isinstance(dtype, pd.CategoricalDtype) else None

    @property
    def type_name(self) -> str:
        """As pandas calls it, ``Int64`` or ``double[pyarrow]``."""
        return str(self.cells.dtype.name)

    def numbers(self) -> Array:
        """NA becomes NaN."""
        return self.cells.to_numpy(dtype=np.float64, na_value=np.nan)

    def objects(self) -> Objects:
        """NA becomes None."""
        return without_missing(self.cells.astype(object).to_numpy(dtype=object, copy=True))

    def take(self, rows: Rows) -> PandasColumn:
        """The column of these rows."""
        return PandasColumn(self.cells.iloc[rows], self.what)

    def pack(self, values: Sequence[Any]) -> Any:
        """Whatever array the type is kept in."""
        dtype: Any = self.cells.dtype
        if isinstance(dtype, np.dtype):
            return to_objects(values) if dtype.kind == "O" else np.array(values, dtype=dtype)
        return pd.array(values, dtype=dtype)

    def write(self, rows: Rows, values: Sequence[Any]) -> pd.Series[Any]:
        """Index, name and type stay."""
        written = self.cells.copy()
        written.iloc[rows] = self.pack(values)
        return written


@dataclass(frozen=True)
class PolarsColumn(Column):
    """A Series of polars."""

    cells: pl.Series

    @cached_property
    def kind(self) -> Kind:
        """By the type alone."""
        if self.cells.dtype.is_numeric():
            return Kind.INTEGER if self.cells.dtype.is_integer() else Kind.REAL
        if self.type_name not in KIND_IN_POLARS:
            refuse(self.what, str(self.cells.dtype))
        return KIND_IN_POLARS[self.type_name]

    @cached_property
    def allowed(self) -> Collection[Any] | None:
        """The categories of an Enum."""
        return set(self.cells.dtype.categories) if self.type_name == "Enum" else None  # type: ignore[attr-defined]

    @property
    def type_name(self) -> str:
        """Without what stands in brackets after it."""
        return str(self.cells.dtype.base_type())

    def numbers(self) -> Array:
        """Null becomes NaN."""
        import polars as pl  # noqa: PLC0415 - at hand where there is a column of it

        return self.cells.cast(pl.Float64).to_numpy()

    def objects(self) -> Objects:
        """Null becomes None, and NaN too."""
        return without_missing(to_objects(self.cells.to_list()))

    def take(self, rows: Rows) -> PolarsColumn:
        """The column of these rows."""
        return PolarsColumn(self.cells[rows], self.what)

    def pack(self, values: Sequence[Any]) -> pl.Series:
        """A Series of the same type, but text for categories: every column numbers these in its own way.

        The type of no cells at all has room for none, so there the values bring their own.
        """
        if self.kind is Kind.INTEGER:
            return type(self.cells)(values=values, dtype=self.cells.dtype)
        packed = type(self.cells)(values=values)
        return packed if self.type_name in ("Null", "Categorical") else packed.cast(self.cells.dtype)

    def write(self, rows: Rows, values: Sequence[Any]) -> pl.Series:
        """Name and type stay; polars wants the rows in order."""
        if len(rows) == 0:
            return self.cells.clone()
        order = np.argsort(rows, kind="stable")
        packed = self.pack([values[place] for place in order])
        written = self.cells.clone().cast(packed.dtype).scatter(rows[order], packed)
        return written if self.kind is Kind.EMPTY else written.cast(self.cells.dtype)


def kind_of_letter(dtype: Any, what: str) -> Kind:
    """What cells of a plain type of numpy or pandas are."""
    if dtype.kind not in KIND_OF_LETTER:
        refuse(what, str(dtype))
    return KIND_OF_LETTER[dtype.kind]


def kind_of_objects(cells: Objects, what: str) -> Kind:
    """What objects are, if all that are present are of one kind.

    >>> kind_of_objects(to_objects([1, None, 2.5]), "y")
    <Kind.REAL: 'numbers'>
    """
    found = infer_dtype(cells, skipna=True)
    if found not in KIND_OF_OBJECTS:
        types = {type(cell).__name__: cell for cell in cells[~pd.isna(cells)][::-1]}
        refuse(what, " and ".join(f"{name} ({cell!r})" for name, cell in sorted(types.items())))
    return KIND_OF_OBJECTS[found]


def refuse(what: str, held: str) -> NoReturn:
    """Say what a column may hold, what it holds, and how to change it."""
    complex_numbers = "Complex data not supported. " if "complex" in held else ""
    remedy = (
        "Convert dates and times to numbers, for example to days since the first one"
        if re.search("date|time|duration|period", held.lower())
        else "Give all cells one type, for example with astype(str), or a dense one, or drop the column"
    )
    raise InvalidDataError(
        f"{complex_numbers}{what} must hold only numbers, only truth values or only text, and None for missing cells; "
        f"it holds {held}. {remedy}."
    )


def integer_range(type_name: str) -> tuple[float, float]:
    """The smallest and the largest integer of a type; objects have no bounds.

    >>> integer_range("UInt8")
    (0, 255)
    """
    found = re.search(r"(u?)int(\d+)", type_name.lower())
    if found is None:
        return -np.inf, np.inf
    unsigned, bits = bool(found[1]), int(found[2])
    return (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def largest_float(type_name: str) -> float:
    """The largest number of a type; what is neither half nor single is double.

    >>> largest_float("Float32") < 1e39 < largest_float("object")
    True
    """
    name = type_name.lower()
    if name.startswith(("float32", "float[")):  # the latter is single precision in pyarrow
        return float(np.finfo(np.float32).max)
    return float(np.finfo(np.float16 if name.startswith(("float16", "halffloat")) else np.float64).max)


def wide_enough(given: np.dtype[Any], packed: np.dtype[Any]) -> np.dtype[Any]:
    """The given type; of text the wider of the two.

    >>> wide_enough(np.dtype("U1"), np.dtype("U5"))
    dtype('<U5')
    """
    return np.promote_types(given, packed) if given.kind in "US" else given


def to_objects(values: Sequence[Any]) -> Objects:
    """An array of objects in one dimension, whatever the objects are."""
    return np.fromiter(values, dtype=object, count=len(values))


def without_missing(objects: Objects) -> Objects:
    """None for all that is missing; the array is the caller's own and is written to."""
    objects[pd.isna(objects)] = None
    return objects
