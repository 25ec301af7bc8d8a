"""Excel workbooks: the first sheet that holds anything."""

from __future__ import annotations

import datetime
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from unmuddle.errors import InvalidDataError, MissingExtraError
from unmuddle.tabular.source import Changes, Source, check_names


@dataclass(frozen=True)
class Workbook(Source):
    """A sheet; its first row that is not empty holds the names."""

    sheet: str
    sheets: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    """Values, the header first; no row is empty."""
    numbers: tuple[int, ...]
    """Where each of them is in the sheet, from 1 on."""

    @classmethod
    def read(cls, path: Path, content: bytes) -> Self:
        """Values of formulas are those that Excel saved."""
        book = _open(path, content, values=True)
        for sheet in book.worksheets:
            found = [
                (number, row) for number, row in enumerate(sheet.iter_rows(values_only=True), 1) if _is_filled(row)
            ]
            if found:
                numbers, rows = zip(*found, strict=True)
                return cls(path, content, sheet.title, tuple(book.sheetnames), rows, numbers)
        raise InvalidDataError(f"{path}: the workbook must hold a table; all sheets are empty. Export it again.")

    @property
    def format(self) -> str:
        """With the sheet."""
        return f"Excel, sheet {self.sheet!r}"

    @property
    def suffix(self) -> str:
        """The only one that is written."""
        return ".xlsx"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The first row, without empty cells at its end."""
        header = ["" if cell is None else str(cell) for cell in self.rows[0]]
        used = max(place for row in self.rows for place, cell in enumerate(row, 1) if cell is not None)
        return check_names(self.path, header[:used])

    @property
    def n_rows(self) -> int:
        """All but the first."""
        return len(self.rows) - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not read."""
        if len(self.sheets) == 1:
            return ()
        return (f"only sheet {self.sheet!r} was read, of {len(self.sheets)}",)

    def cells(self, position: int) -> Sequence[str]:
        """As text."""
        return [_text(row[position]) for row in self.rows[1:]]

    def edit(self, changes: Changes) -> bytes:
        """Formulas, styles and other sheets stay; a number stays one."""
        book = _open(self.path, self.content, values=False)
        sheet = book[self.sheet]
        for (row, column), text in changes.items():
            cell = sheet.cell(self.numbers[row + 1], column + 1)
            cell.value = _value(text, self.rows[row + 1][column])
            if isinstance(cell.value, str):
                cell.data_type = "s"  # text that begins with = is no formula
        stream = io.BytesIO()
        book.save(stream)
        return stream.getvalue()

    def line(self, row: int) -> int:
        """The row of the sheet."""
        return self.numbers[row + 1]


def _open(path: Path, content: bytes, values: bool) -> Any:
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            f"{path} is an Excel workbook, which needs openpyxl. Install it with pip install 'unmuddle[excel]', or "
            "save the sheet as CSV."
        ) from error
    try:
        return openpyxl.load_workbook(io.BytesIO(content), data_only=values)
    except Exception as error:  # whatever a damaged file does to the parser
        raise InvalidDataError(
            f"{path}: the workbook must be whole; it cannot be read ({error}). Copy it or save it again."
        ) from error


def _is_filled(row: Sequence[Any]) -> bool:
    return any(cell is not None and cell != "" for cell in row)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case _:
            return str(value).strip()


def _value(text: str, given: Any) -> Any:
    """A number where there was one, or where there was nothing and the text is one."""
    if isinstance(given, str):
        return text
    if isinstance(given, bool):
        return text == "TRUE"
    try:
        number = float(text)
    except ValueError:
        return text
    return int(number) if text.lstrip("+-").isdigit() else number
