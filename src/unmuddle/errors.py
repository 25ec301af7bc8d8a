"""Everything that unmuddle raises or warns of, in one tree.

::

    Exception
    +-- UnmuddleError                      catch this to catch all of ours
        +-- InvalidDataError (ValueError)        the data cannot be learned from
        +-- InvalidParameterError (ValueError, TypeError)   a parameter breaks its rule
        +-- DatasetError (OSError)               a dataset is missing, damaged or cannot be fetched
        +-- OutputError (OSError)                a file cannot be written
        +-- StoreError                           a store of results is in use, or not one of ours
        +-- MissingExtraError (ImportError)      an optional package is needed
    Warning
    +-- UnmuddleWarning (UserWarning)      silence this to silence all of ours
        +-- StationarityWarning            the fit is not a certified stationary point
        +-- CollapsedWarning               every row gets the same scores
        +-- MemorizedWarning               the recovered labels merely repeat the given ones
        +-- DivergedWarning                the training of a network left the numbers there are
        +-- DistrustedCellsWarning         cells that look wrong tell the classes apart, so none is flagged
        +-- UncheckedCellsWarning          a table has too many columns to look for wrong cells
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Self


class UnmuddleError(Exception):
    """The root of all exceptions raised by unmuddle."""


class InvalidDataError(UnmuddleError, ValueError):
    """The data cannot be learned from; the message says where and what to do."""


class InvalidParameterError(UnmuddleError, ValueError, TypeError):
    """A parameter breaks its rule; the message gives parameter, rule and value."""


class DatasetError(UnmuddleError, OSError):
    """A dataset is missing, damaged or cannot be fetched; the message says which file to put where."""


class OutputError(UnmuddleError, OSError):
    """A file cannot be written; the message says which, why and what to do."""

    @classmethod
    def of(cls, path: Path, error: OSError) -> Self:
        """Say what the operating system said, with the remedy where it is known."""
        remedy = OUTPUT_REMEDIES.get(error.errno or 0, "choose another folder")
        return cls(f"cannot write {path}: {error.strerror or error}; {remedy}.")


OUTPUT_REMEDIES = {
    errno.ENOSPC: "free some space and run again",
    errno.EDQUOT: "free some of your quota and run again",
    errno.EROFS: "the disk is read-only, choose another folder",
    errno.EACCES: "you may not write there, choose another folder",
    errno.ENOTDIR: "a part of that path is a file, choose another folder",
    errno.EEXIST: "there is a file of that name where a folder is needed, choose another folder",
}


class StoreError(UnmuddleError):
    """A store of results is in use by another run, or is not one that this version can read."""


class MissingExtraError(UnmuddleError, ImportError):
    """An optional package is needed; the message says which extra to install."""


class UnmuddleWarning(UserWarning):
    """The root of all warnings issued by unmuddle."""


class StationarityWarning(UnmuddleWarning):
    """The solver stopped at a point that its certificate does not accept."""


class CollapsedWarning(UnmuddleWarning):
    """Nothing is left of the projection or of the features: every row receives the same scores."""


class MemorizedWarning(UnmuddleWarning):
    """The recovered labels equal the given ones on nearly every row."""


class DivergedWarning(UnmuddleWarning):
    """A network's objective or weights were no longer finite; training stopped and kept what was before."""


class DistrustedCellsWarning(UnmuddleWarning):
    """Cells that look wrong tell the classes apart, so none of them is flagged."""


class UncheckedCellsWarning(UnmuddleWarning):
    """A table has so many columns that wrong cells were not looked for."""
