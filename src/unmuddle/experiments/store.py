"""An append-only store of records that survives being killed at any moment.

A file of JSON lines: the first names the schema, each other is a record, on the disk before the next is begun. A line
without its end is what a killed run left; it is cut off when the store is next opened, and that cell is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from unmuddle.errors import OutputError, StoreError
from unmuddle.experiments.plan import Cell
from unmuddle.experiments.run import Record
from unmuddle.files import make_folder

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where nothing guards against two runs at once
    fcntl = None  # type: ignore[assignment]

SCHEMA, VERSION = "unmuddle experiments", 1
HEADER = {"schema": SCHEMA, "version": VERSION}


class Store:
    """Records by cell, in memory and in a file."""

    def __init__(self, path: Path, handle: int, records: dict[Cell, Record]) -> None:
        self.path, self.records = path, records
        self._handle = handle

    def append(self, record: Record) -> None:
        """Put a record on the disk, whole or not at all; a later one of the same cell counts."""
        _append_line(self._handle, self.path, record.to_plain())
        self.records[record.cell] = record

    def finished(self, cell: Cell) -> bool:
        """Whether there is no need to run a cell again."""
        return cell in self.records and self.records[cell].status != "missing"


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """Open a store for one run alone, mending what a killed run left; a new one where there is none."""
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise OutputError.of(path, error) from error
    try:
        _lock(handle, path)
        records = _read(handle, path)
        yield Store(path, handle, records)
    finally:
        os.close(handle)


def read_store(path: Path) -> dict[Cell, Record]:
    """The records of a store that may be in use."""
    return _parse(path.read_bytes(), path)[0]


def _lock(handle: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreError(f"{path} is in use by another run; wait for it or choose another folder.") from error
    except OSError:
        return  # a disk that knows no locks; as on Windows, nothing guards it


def _read(handle: int, path: Path) -> dict[Cell, Record]:
    try:
        records, length = _parse(path.read_bytes(), path)
        os.ftruncate(handle, length)
    except OSError as error:
        raise OutputError.of(path, error) from error
    if length == 0:
        _append_line(handle, path, HEADER)
    return records


def _parse(content: bytes, path: Path) -> tuple[dict[Cell, Record], int]:
    """Records, and the length of the part of the content that is whole lines."""
    length = content.rfind(b"\n") + 1
    lines = content[:length].splitlines()
    if lines or not _encode(HEADER).startswith(content):  # else nothing, or the start of a header that was torn
        _check_header(lines[0] if lines else content, path)
    records: dict[Cell, Record] = {}
    for number, line in enumerate(lines[1:], start=2):
        record = _parse_line(line, number, path)
        records[record.cell] = record
    return records, length


def _check_header(line: bytes, path: Path) -> None:
    header: Any = None
    with suppress(ValueError):
        header = json.loads(line)
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise StoreError(f"{path} is not a store of unmuddle's experiments; choose another folder or move it away.")
    if header.get("version") != VERSION:
        raise StoreError(
            f"{path} has schema version {header.get('version')} and this is version {VERSION}; choose another folder."
        )


def _parse_line(line: bytes, number: int, path: Path) -> Record:
    try:
        return Record.from_plain(json.loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"line {number} of {path} is damaged; delete that line to run its cell again, or move the file away."
        ) from error


def _encode(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _append_line(handle: int, path: Path, content: dict[str, Any]) -> None:
    line = _encode(content)
    end = os.fstat(handle).st_size
    try:
        written = 0
        while written < len(line):
            written += os.write(handle, line[written:])
        os.fsync(handle)
    except OSError as error:
        with suppress(OSError):  # if even this fails, the next opening cuts the torn line off
            os.ftruncate(handle, end)
        raise OutputError.of(path, error) from error
