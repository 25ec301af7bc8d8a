"""Output files that appear whole or not at all."""

from __future__ import annotations

import glob
import os
from contextlib import suppress
from pathlib import Path

from unmuddle.errors import OutputError


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing one of that name only when the new one is complete and on the disk.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_whole(Path(folder, "new", "file.txt"), b"all of it")
    ...     Path(folder, "new", "file.txt").read_text()
    'all of it'
    """
    make_folder(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        _sweep(path)
        with part.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(part, path)
    except OSError as error:
        raise OutputError.of(path, error) from error
    finally:
        with suppress(OSError):
            part.unlink()


def _sweep(path: Path) -> None:
    """Remove what killed runs left of this file."""
    for part in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError.of(path, error) from error
