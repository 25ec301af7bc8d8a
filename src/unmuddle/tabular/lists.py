"""The lists that we write: plain CSV that no spreadsheet takes for formulas, and that comes back as it was."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unmuddle.tabular.columns import COMMA, POINT
from unmuddle.tabular.reading import read_source
from unmuddle.tabular.source import Source
from unmuddle.tabular.text import TextFile

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a cell that a spreadsheet would run begins with."""


def guard(text: str) -> str:
    """Text that could be a formula gets an apostrophe; numbers do not.

    >>> [guard(text) for text in ("=cmd()", "-1.5", "-x", "plain", "'=cmd()")]
    ["'=cmd()", '-1.5', "'-x", 'plain', "''=cmd()"]
    """
    if not _could_run(text) or POINT.fullmatch(text) or COMMA.fullmatch(text):
        return text
    return "'" + text


def unguard(text: str) -> str:
    """What was guarded.

    >>> [unguard(guard(text)) for text in ("=cmd()", "-1.5", "'=cmd()", "'tis")]
    ['=cmd()', '-1.5', "'=cmd()", "'tis"]
    """
    return text[1:] if text.startswith("'") and _could_run(text) else text


def _could_run(text: str) -> bool:
    return text.lstrip("'").startswith(FORMULA)


def write_list(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """A list as UTF-8; None is an empty cell."""
    stream = io.StringIO()
    writer = csv.writer(stream)
    writer.writerow([guard(column) for column in columns])
    writer.writerows([["" if cell is None else guard(str(cell)) for cell in row] for row in rows])
    return stream.getvalue().encode()


def read_list(path: Path, needed: Iterable[str]) -> tuple[Source, list[Mapping[str, str]]]:
    """A list that a person may have edited and saved with any program."""
    source = read_source(path)
    check_columns(source, needed)
    columns = [[unguard(str(cell)) for cell in _raw(source, place)] for place in range(len(source.names))]
    names = [unguard(name) for name in source.names]
    return source, [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def check_columns(source: Source, needed: Iterable[str]) -> None:
    """Refuse what is none of our lists."""
    absent = [name for name in needed if name not in source.names]
    if absent:
        raise source.error(
            f"a list must have the columns that unmuddle clean gave it; {', '.join(map(repr, absent))} "
            f"{'is' if len(absent) == 1 else 'are'} not there. Give label_issues.csv or cell_issues.csv, edited or not."
        )


def _raw(source: Source, position: int) -> Iterable[Any]:
    """Cells with the spaces round them, where the format keeps them."""
    if isinstance(source, TextFile):
        return [record.cells[position] for record in source.records[1:]]
    return source.cells(position)
