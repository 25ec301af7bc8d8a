"""Records by cell in a file of JSON lines: what is finished stays, whatever happens to the process or the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unmuddle.experiments.lines import Lines, Schema, open_lines, read_lines
from unmuddle.experiments.plan import Cell
from unmuddle.experiments.run import Record

SCHEMA = Schema("unmuddle experiments", 1)


class Store:
    """Records by cell, in memory and in a file."""

    def __init__(self, lines: Lines, records: dict[Cell, Record]) -> None:
        self.path, self.records = lines.path, records
        self._lines = lines

    def append(self, record: Record) -> None:
        """Put a record on the disk, whole or not at all; a later one of the same cell counts."""
        self._lines.append(record.to_plain())
        self.records[record.cell] = record

    def finished(self, cell: Cell) -> bool:
        """Whether there is no need to run a cell again."""
        return cell in self.records and self.records[cell].status != "missing"


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open a store for one run alone, mending what a killed run left; a new one where there is none."""
    with open_lines(path, SCHEMA, Record.from_plain) as (lines, records):
        yield Store(lines, {record.cell: record for record in records})


def read_store(path: Path) -> dict[Cell, Record]:
    """The records of a store that may be in use."""
    return {record.cell: record for record in read_lines(path, SCHEMA, Record.from_plain)}
