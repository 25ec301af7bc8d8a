"""Output files and folders that appear whole or not at all."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from unmuddle.errors import OutputError


def beside(path: Path, ending: str) -> Path:
    """Where something made from a file goes; a folder has such a place too, if only to be refused later.

    >>> beside(Path("/data/wine.csv"), "-cleaned").as_posix()
    '/data/wine-cleaned'
    """
    return path.parent / f"{path.stem}{ending}"


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


def check_new_folder(path: Path, *, force: bool = False) -> None:
    """Refuse a folder that is there or cannot be made; what a killed run left of it is put right first."""
    _sweep_folder(path)
    if path.exists() and not path.is_dir():
        raise OutputError(f"cannot write {path}: there is a file of that name; choose another folder.")
    if path.exists() and not force:
        raise OutputError(f"cannot write {path}: it is there already; choose another folder, or replace it by --force.")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        raise OutputError(f"cannot write {path}: {above} is a file; choose another folder.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise OutputError(f"cannot write {path}: you may not write in {above}; choose another folder.")


@contextmanager
def whole_folder(path: Path, *, force: bool = False) -> Iterator[Path]:
    """A place to write files in, which becomes the folder of that name when all of them are on the disk.

    An error or an interrupt leaves nothing of it; a kill leaves a hidden folder, which the next run removes. With
    ``force`` an old folder is put aside for the moment of the change, and comes back if that fails.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as above:
    ...     with whole_folder(Path(above, "new")) as part:
    ...         written = Path(part, "file.txt").write_text("all of it")
    ...     Path(above, "new", "file.txt").read_text()
    'all of it'
    """
    check_new_folder(path, force=force)
    make_folder(path.parent)
    part, old = (path.with_name(f".{path.name}.{os.getpid()}.{end}") for end in ("part", "old"))
    try:
        part.mkdir()
        yield part
        _flush(part)
        _put_in_place(part, path, old)
    except OSError as error:
        raise error if isinstance(error, OutputError) else OutputError.of(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
        _put_back(old, path)


def _put_in_place(part: Path, path: Path, old: Path) -> None:
    if path.exists():
        os.rename(path, old)
    os.rename(part, path)
    _flush_entry(path.parent)


def _put_back(old: Path, path: Path) -> None:
    """Undo the putting aside if nothing took the place, else remove what was put aside."""
    with suppress(OSError):
        if path.exists():
            shutil.rmtree(old, ignore_errors=True)
        elif old.exists():
            os.rename(old, path)


def _flush(folder: Path) -> None:
    for path in [*folder.iterdir(), folder]:
        _flush_entry(path)


def _flush_entry(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep_folder(path: Path) -> None:
    """Remove what runs that are no more left of this folder; a folder that one of them put aside comes back."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.*"):
        *_, number, end = left.name.split(".")
        if end not in ("part", "old") or not number.isdigit() or _is_running(int(number)):
            continue
        if end == "old":
            _put_back(left, path)
        else:
            shutil.rmtree(left, ignore_errors=True)


def _is_running(number: int) -> bool:
    """Whether there is such a process besides this one; unknown, thus yes, where asking would disturb it."""
    if os.name == "nt":
        return True
    if number == os.getpid():
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
