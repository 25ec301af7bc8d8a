"""Output files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise OutputError.of(path, error) from error


def make_folder(path: Path) -> None:
    """Make a folder and those above it, where they are not there yet."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError.of(path, error) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
