"""The only file that touches the network, and only when a table is asked for that is not at hand."""

from __future__ import annotations

import socket
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml

from unmuddle.errors import DatasetError

PATIENCE = 60.0
"""Seconds without a byte after which a download is given up."""


@dataclass(frozen=True)
class OpenML:
    """A dataset there, and our numbers for its names of classes; classes that are numbers need none."""

    data_id: int
    classes: Mapping[str, int] = field(default_factory=dict)


def fetch(place: OpenML) -> NDArray[np.float64]:
    """The rows of a dataset, the label last."""
    what = f"dataset {place.data_id} of OpenML"
    try:
        X, names = download(place.data_id)
        return np.column_stack([X, [_number(place, name) for name in names]])
    except OSError as error:
        raise DatasetError(f"{what} cannot be fetched: {error}") from error
    except (HTTPException, EOFError, LookupError, ValueError, zlib.error) as error:
        raise DatasetError(f"{what} came damaged or changed: {error}") from error


def download(data_id: int) -> tuple[NDArray[np.float64], Sequence[str]]:
    """Features and names of classes as OpenML gives them.

    Of the parsers, LIAC's reads numbers to the last bit, on which the checksum depends, and leaves classes text; that
    by way of pandas does neither in every version. scikit-learn's own cache is not used: we keep what we have verified.
    """
    # A retry is announced by a warning; what matters of it is raised in the end.
    with _limited_patience(), warnings.catch_warnings(action="ignore"):
        bunch = fetch_openml(data_id=data_id, as_frame=False, parser="liac-arff", cache=False, n_retries=1)
    return np.asarray(bunch.data, dtype=np.float64), [str(name) for name in bunch.target]


def _number(place: OpenML, name: str) -> float:
    """Our number for a class; names may come in quotes.

    >>> _number(OpenML(41, {"headlamps": 7}), "'headlamps'"), _number(OpenML(1468), "3")
    (7.0, 3.0)
    """
    bare = name.strip("'\"")
    return float(place.classes.get(bare, bare))


@contextmanager
def _limited_patience() -> Iterator[None]:
    """Bound the wait for a silent server: scikit-learn sets no limit, and offers none to set."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(PATIENCE)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
