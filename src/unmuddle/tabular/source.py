"""What every file format offers: named columns of cells, and a copy of the file with a few cells changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from unmuddle.errors import InvalidDataError

Cells = Sequence[str] | NDArray[Any]
"""Cells as text, or as numbers where the format has a type for them."""

Changes = Mapping[tuple[int, int], str]
"""New text by position, (row, column) from 0 on."""


@dataclass(frozen=True)
class Source(ABC):
    """A file that was read as a whole.

    Parameters
    ----------
    path : Path
        Where it was.
    content : bytes
        All of it.
    """

    path: Path
    content: bytes

    @property
    @abstractmethod
    def format(self) -> str:
        """What people call the format."""

    @property
    @abstractmethod
    def suffix(self) -> str:
        """How the name of a copy ends."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Rows without the header."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know of how the file was read."""
        return ()

    @property
    def label(self) -> str | None:
        """The column of labels where the format itself says so."""
        return None

    @property
    def has_decimal_commas(self) -> bool:
        """Whether 1,5 may be a number."""
        return False

    @property
    def sha256(self) -> str:
        """Checksum of the content."""
        return sha256(self.content).hexdigest()

    @abstractmethod
    def cells(self, position: int) -> Cells:
        """One column."""

    @abstractmethod
    def edit(self, changes: Changes) -> bytes:
        """The file with these cells changed; all others keep their text or value."""

    def line(self, row: int) -> int:
        """Where a person finds the row, counted from 1, header included."""
        return row + 2

    def position(self, name: str, option: str) -> int:
        """Where a column is; an unknown name is refused with the nearest ones."""
        if name in self.names:
            return self.names.index(name)
        near = get_close_matches(name, self.names, n=3, cutoff=0.5) or list(self.names[:5])
        raise self.error(
            f"{option} must name a column; got {name!r}, which is not there. Nearest: {', '.join(map(repr, near))}"
            + (f" (of {len(self.names)})" if len(self.names) > len(near) else "")
            + f".{self._headless()}"
        )

    def error(self, message: str, row: int | None = None, column: str | None = None) -> InvalidDataError:
        """An error that says where: file, line, column."""
        places = [str(self.path)]
        places += [f"line {self.line(row)}"] if row is not None else []
        places += [f"column {column!r}"] if column is not None else []
        return InvalidDataError(f"{', '.join(places)}: {message}")

    def _headless(self) -> str:
        numbers = sum(name.replace(".", "").replace("-", "").isdigit() for name in self.names)
        if numbers < len(self.names) / 2:
            return ""
        return " The first line seems to hold data: put a line with the names of the columns above it."


UNNAMED = "column"
"""A column without a name is called this, and its place."""


def is_unnamed(name: str) -> bool:
    """Whether the header has no name for the column, or the one that pandas makes up."""
    return name.startswith((f"{UNNAMED} ", "Unnamed: ", "__index_level_"))


def check_names(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names without spaces round them; one that is empty gets its place as name, one that comes twice is refused."""
    filled = [name.strip() or f"{UNNAMED} {place}" for place, name in enumerate(names, 1)]
    places: dict[str, int] = {}
    for place, name in enumerate(filled, 1):
        if name in places:
            raise InvalidDataError(
                f"{path}, line 1: every column must have a name of its own; {name!r} is the name of columns "
                f"{places[name]} and {place}. Rename one of them."
            )
        places[name] = place
    return tuple(filled)
