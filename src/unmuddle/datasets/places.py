"""Where files of data are looked for, and where they are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from unmuddle.errors import DatasetError

DATA_VARIABLE = "UNMUDDLE_DATA"
CACHE_VARIABLE = "UNMUDDLE_CACHE"


def find(*files: str) -> Path | None:
    """The first of these files in the folder of the user's choice, else in the cache, else nothing."""
    places = (folder / file for folder in _folders() for file in files)
    # Path.is_file raises where a folder may not be entered; to us, a file there is not at hand.
    return next((path for path in places if os.path.isfile(path)), None)


def read_bytes(path: Path) -> bytes:
    """All of a file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}; check it and its folder.") from error


def folder_to_fill() -> Path:
    """The folder into which a user should put a file."""
    return data_folder() or cache_folder()


def data_folder() -> Path | None:
    """The folder that the user has named, if any; that it is not there is a mistake worth saying."""
    named = os.environ.get(DATA_VARIABLE)
    if not named:
        return None
    if not os.path.isdir(folder := Path(os.path.expanduser(named))):
        raise DatasetError(
            f"{DATA_VARIABLE} names {folder}, which is not a folder; make it, correct the variable or unset it."
        )
    return folder


def cache_folder() -> Path:
    """Where downloads are kept; it need not be there yet."""
    if named := os.environ.get(CACHE_VARIABLE):
        return Path(os.path.expanduser(named))
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return Path(caches, "unmuddle")
    try:
        return Path.home() / ".cache" / "unmuddle"
    except RuntimeError as error:
        raise DatasetError(
            f"there is no home folder to keep data in; name a folder by the variable {CACHE_VARIABLE}."
        ) from error


def _folders() -> Iterator[Path]:
    if (folder := data_folder()) is not None:
        yield folder
    yield cache_folder()
