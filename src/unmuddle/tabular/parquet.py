"""Parquet, through pyarrow."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from unmuddle.errors import InvalidDataError, MissingExtraError
from unmuddle.tabular.source import Cells, Changes, Source, check_names


@dataclass(frozen=True)
class ParquetFile(Source):
    """A table with types of its own."""

    data: Any
    """A table of pyarrow."""

    @classmethod
    def read(cls, path: Path, content: bytes) -> Self:
        """All columns."""
        try:
            import pyarrow.parquet  # noqa: PLC0415 - an extra
        except ImportError as error:
            raise MissingExtraError(
                f"{path} is a Parquet file, which needs pyarrow. Install it with pip install 'unmuddle[parquet]', or "
                "save the table as CSV."
            ) from error
        try:
            return cls(path, content, pyarrow.parquet.read_table(io.BytesIO(content)))
        except Exception as error:  # whatever a damaged file does to the parser
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InvalidDataError(
                f"{path}: the Parquet file must be whole; it cannot be read ({first[:120]}). Copy or export it again."
            ) from error

    @property
    def format(self) -> str:
        """Parquet."""
        return "Parquet"

    @property
    def suffix(self) -> str:
        """The usual one."""
        return ".parquet"

    @property
    def names(self) -> tuple[str, ...]:
        """Of the schema."""
        return check_names(self.path, self.data.column_names)

    @property
    def n_rows(self) -> int:
        """Rows."""
        return int(self.data.num_rows)

    def cells(self, position: int) -> Cells:
        """Numbers as such, NaN where one is missing; all else as text, empty where it is missing."""
        import pyarrow as pa  # noqa: PLC0415

        column, kind = self.data.column(position), self.data.schema.field(position).type
        if pa.types.is_floating(kind) or (pa.types.is_integer(kind) and column.null_count == 0):
            return np.asarray(column.to_numpy())
        return ["" if cell is None or cell != cell else _text(cell) for cell in column.to_pylist()]  # noqa: PLR0124

    def edit(self, changes: Changes) -> bytes:
        """Schema and metadata stay."""
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.parquet  # noqa: PLC0415

        by_column: dict[int, dict[int, str]] = {}
        for (row, column), text in changes.items():
            by_column.setdefault(column, {})[row] = text
        table = self.data
        for position, cells in by_column.items():
            field = table.schema.field(position)
            new = {row: _value(text, field.type, pa) for row, text in cells.items()}
            table = table.set_column(position, field, _replace(table.column(position), new, pa))
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table, stream)
        return stream.getvalue()

    def line(self, row: int) -> int:
        """There is no header."""
        return row + 1


def _replace(column: Any, new: dict[int, Any], pa: Any) -> Any:
    """The column with a few new values; categories keep their order, and new ones come last."""
    values = column.to_pylist()
    for row, value in new.items():
        values[row] = value
    if not pa.types.is_dictionary(column.type):
        return pa.array(values, type=column.type)
    known = column.unify_dictionaries().chunk(0).dictionary.to_pylist()
    categories = list(dict.fromkeys([*known, *new.values()]))
    places = {category: place for place, category in enumerate(categories)}
    codes = pa.array([places.get(value) for value in values], type=column.type.index_type)
    return pa.DictionaryArray.from_arrays(
        codes, pa.array(categories, type=column.type.value_type), ordered=column.type.ordered
    )


def _text(value: Any) -> str:
    return value.isoformat() if hasattr(value, "isoformat") else str(value).strip()


def _value(text: str, kind: Any, pa: Any) -> Any:
    if pa.types.is_floating(kind):
        return float(text)
    if pa.types.is_integer(kind):
        return round(float(text))
    return text == "True" if pa.types.is_boolean(kind) else text
