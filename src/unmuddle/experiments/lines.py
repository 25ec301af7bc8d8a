"""A file of JSON lines that is appended to and survives being killed at any moment.

The first line names the schema, each other is one record, on the disk before the next is begun. A line without its end
is what a killed run left; it is cut off when the file is next opened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from unmuddle.errors import OutputError, StoreError
from unmuddle.files import make_folder

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows, where nothing guards against two runs at once
    fcntl = None  # type: ignore[assignment]

Content = TypeVar("Content")
Parse = Callable[[Any], Content]
"""From the plain data of a line to what it means; ValueError, TypeError or KeyError if it means nothing."""


class Schema(NamedTuple):
    """What kind of lines a file holds."""

    name: str
    version: int

    @property
    def header(self) -> dict[str, Any]:
        """The first line."""
        return {"schema": self.name, "version": self.version}


class Lines:
    """A file that is open for one run alone."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path, self._handle = path, handle

    def append(self, content: dict[str, Any]) -> None:
        """Put a line on the disk, whole or not at all."""
        line = _encode(content)
        end = os.fstat(self._handle).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._handle, line[written:])
            os.fsync(self._handle)
        except OSError as error:
            with suppress(OSError):  # if even this fails, the next opening cuts the torn line off
                os.ftruncate(self._handle, end)
            raise OutputError.of(self.path, error) from error


@contextmanager
def open_lines(path: Path, schema: Schema, parse: Parse[Content]) -> Iterator[tuple[Lines, list[Content]]]:
    """Open a file, mending what a killed run left, with all that is in it; a new one where there is none."""
    make_folder(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
    except OSError as error:
        raise OutputError.of(path, error) from error
    try:
        _lock(handle, path)
        lines = Lines(path, handle)
        yield lines, _read(lines, handle, schema, parse)
    finally:
        os.close(handle)


def read_lines(path: Path, schema: Schema, parse: Parse[Content]) -> list[Content]:
    """The contents of a file that may be in use."""
    return _parse_all(path.read_bytes(), path, schema, parse)[0]


def _lock(handle: int, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StoreError(f"{path} is in use by another run; wait for it or choose another folder.") from error
    except OSError:
        return  # a disk that knows no locks; as on Windows, nothing guards it


def _read(lines: Lines, handle: int, schema: Schema, parse: Parse[Content]) -> list[Content]:
    try:
        contents, length = _parse_all(lines.path.read_bytes(), lines.path, schema, parse)
        os.ftruncate(handle, length)
    except OSError as error:
        raise OutputError.of(lines.path, error) from error
    if length == 0:
        lines.append(schema.header)
    return contents


def _parse_all(content: bytes, path: Path, schema: Schema, parse: Parse[Content]) -> tuple[list[Content], int]:
    """What the lines mean, and the length of the part of the content that is whole lines."""
    length = content.rfind(b"\n") + 1
    lines = content[:length].splitlines()
    if lines or not _encode(schema.header).startswith(content):  # else nothing, or the start of a torn header
        _check_header(lines[0] if lines else content, path, schema)
    return [_parse_line(line, number, path, parse) for number, line in enumerate(lines[1:], start=2)], length


def _check_header(line: bytes, path: Path, schema: Schema) -> None:
    header: Any = None
    with suppress(ValueError):
        header = json.loads(line)
    if not isinstance(header, dict) or header.get("schema") != schema.name:
        raise StoreError(f"{path} is not a store of {schema.name}; choose another folder or move it away.")
    if header.get("version") != schema.version:
        raise StoreError(
            f"{path} has schema version {header.get('version')} and this is version {schema.version}; choose another "
            "folder."
        )


def _parse_line(line: bytes, number: int, path: Path, parse: Parse[Content]) -> Content:
    try:
        return parse(json.loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError(
            f"line {number} of {path} is damaged; delete that line to run its cell again, or move the file away."
        ) from error


def _encode(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False).encode() + b"\n"
