"""Names of datasets, for the command line and for experiments; other packages may add their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from unmuddle.datasets.dataset import Dataset
from unmuddle.errors import DatasetError

Loader = Callable[[], Dataset]


@dataclass(frozen=True)
class Entry:
    """What a list of datasets says of one of them, and how it is loaded.

    Parameters
    ----------
    name : str
        What ``load`` is called with.
    load : callable
        Returns the Dataset.
    title : str
        One line on what the rows are.
    shape : str
        Such as ``"178 x 13, 3 classes"``.
    source, licence : str
        Where the data come from, and under which terms.
    at_hand : callable
        Says where the data are, without reading them: ``"embedded"``, ``"generated"``, a path, ``"to download"``
        or ``"missing: put FILE into FOLDER"``.
    """

    name: str
    load: Loader
    title: str
    shape: str
    source: str
    licence: str
    at_hand: Callable[[], str]

    def where(self) -> str:
        """Where the data are; a mistake in the settings is said here too, so that a list never fails.

        >>> [entry.where() for entry in available() if entry.name == "wine"]
        ['embedded']
        """
        try:
            return self.at_hand()
        except DatasetError as error:
            return f"missing: {error}"


_ENTRIES: dict[str, Entry] = {}


def register(entry: Entry) -> Entry:
    """Make a dataset known by its name.

    A name belongs to one loader. The same loader may be registered again, as happens when a module is reloaded.
    """
    taken = _ENTRIES.get(entry.name)
    if taken is not None and _identity(taken.load) != _identity(entry.load):
        raise DatasetError(
            f"the name {entry.name!r} is taken by {_told(taken.load)}; register {_told(entry.load)} under another."
        )
    _ENTRIES[entry.name] = entry
    return entry


def available() -> list[Entry]:
    """All that are registered, by name; reads no file and no network.

    >>> "wine" in [entry.name for entry in available()]
    True
    """
    return sorted(_ENTRIES.values(), key=lambda entry: entry.name)


def load(name: str) -> Dataset:
    """Load a dataset by its name.

    >>> load("wine").X.shape
    (178, 13)
    """
    try:
        entry = _ENTRIES[name]
    except KeyError:
        raise DatasetError(f"there is no dataset {name!r}; choose one of {', '.join(sorted(_ENTRIES))}.") from None
    return entry.load()


def _identity(loader: Loader) -> object:
    """Module and name, for a reloaded function is another object; a callable without a name is only itself."""
    name = getattr(loader, "__qualname__", None)
    return loader if name is None else (loader.__module__, name)


def _told(loader: Loader) -> str:
    name = getattr(loader, "__qualname__", None)
    return repr(loader) if name is None else f"{loader.__module__}.{name}"
