"""Tables that come as a file: found, read, verified; or fetched, verified, kept.

What is verified is the content, that is the values with their labels in a canonical order of rows. So a table is the
same, row by row, whether it came from a file or by a download, and however the file was packed.
"""

from __future__ import annotations

import gzip
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets.dataset import Dataset, Scale
from unmuddle.datasets.openml import OpenML, fetch
from unmuddle.datasets.places import cache_folder, find, folder_to_fill, read_bytes
from unmuddle.datasets.registry import Entry, Loader
from unmuddle.errors import DatasetError, OutputError, UnmuddleWarning
from unmuddle.files import write_whole

Rows = NDArray[np.float64]
"""One row for each sample: the features, then the label."""

GZIP_MARK = b"\x1f\x8b"
LABEL = "label"


@dataclass(frozen=True)
class Table:
    """All that is known of a table before it is read.

    ``raw_file`` is its name at the original source, without a header and with the label last, where that is read
    too. ``remedy`` says how to come by a table that cannot be downloaded.
    """

    name: str
    title: str
    feature_names: tuple[str, ...]
    counts: Mapping[int, int]
    source: str
    licence: str
    file_sha256: str
    content_sha256: str
    scale: Scale = "standard"
    openml: OpenML | None = None
    raw_file: str | None = None
    remedy: str = ""

    @property
    def files(self) -> tuple[str, ...]:
        """The names under which it is looked for, the first being that under which it is kept."""
        packed = f"{self.name}.csv.gz"
        return (packed,) if self.raw_file is None else (packed, self.raw_file)

    @property
    def shape(self) -> str:
        """In words, for lists."""
        return f"{sum(self.counts.values())} x {len(self.feature_names)}, {len(self.counts)} classes"


def load_table(table: Table) -> Dataset:
    """Read a table where it is at hand, fetch it otherwise."""
    path = find(*table.files)
    rows = _fetch(table) if path is None else _read(table, path)
    return Dataset(
        name=table.name,
        X=np.ascontiguousarray(rows[:, :-1]),
        y=rows[:, -1].astype(np.int64),
        feature_names=table.feature_names,
        source=table.source,
        licence=table.licence,
        scale=table.scale,
    )


def whereabouts(table: Table) -> str:
    """The path of the file, or what has to be done to come by it; reads nothing."""
    path = find(*table.files)
    if path is not None:
        return str(path)
    return "to download" if table.openml else f"missing: put {table.files[0]} into {folder_to_fill()}"


def entry_of(table: Table, load: Loader) -> Entry:
    """What a list of datasets says of a table."""
    return Entry(
        name=table.name,
        load=load,
        title=table.title,
        shape=table.shape,
        source=table.source,
        licence=table.licence,
        at_hand=lambda: whereabouts(table),
    )


def parse(content: bytes) -> Rows:
    r"""Rows in canonical order from a file with a header, or from one without and with the label last.

    >>> parse(b"label,a,b\n2,0.5,1\n1,0.25,3\n")
    array([[0.25, 3.  , 1.  ],
           [0.5 , 1.  , 2.  ]])
    """
    plain = gzip.decompress(content) if content.startswith(GZIP_MARK) else content
    lines = plain.decode("ascii").splitlines()
    names = lines[0].split(",") if lines else []
    body = lines[1:] if LABEL in names else lines
    if not body:
        raise ValueError("it has no rows")
    values = np.loadtxt(body, delimiter=",", comments=None, ndmin=2)
    label = names.index(LABEL) if LABEL in names else -1
    return in_order(np.column_stack([np.delete(values, label, axis=1), values[:, label]]))


def encode(table: Table, rows: Rows) -> bytes:
    """The packed file that ``parse`` reads back to the last bit."""
    lines = [",".join([*table.feature_names, LABEL])]
    lines += [",".join(repr(value).removesuffix(".0") for value in row) for row in rows.tolist()]
    return gzip.compress("\n".join([*lines, ""]).encode("ascii"), mtime=0)


def in_order(rows: Rows) -> Rows:
    """Sort rows by their first value, then by their second, and so on.

    >>> in_order(np.array([[2.0, 1.0], [1.0, 9.0], [1.0, 3.0]])).tolist()
    [[1.0, 3.0], [1.0, 9.0], [2.0, 1.0]]
    """
    return rows[np.lexsort(rows.T[::-1])]


def checksum(rows: Rows) -> str:
    """SHA-256 of the values as little-endian float64, row by row; minus zero counts as zero.

    >>> checksum(np.array([[0.0]])) == checksum(np.array([[-0.0]])) == sha256(bytes(8)).hexdigest()
    True
    """
    return sha256((rows + 0.0).astype("<f8").tobytes()).hexdigest()


def _read(table: Table, path: Path) -> Rows:
    content = read_bytes(path)
    found = sha256(content).hexdigest()
    try:
        rows = parse(content)
    except (OSError, EOFError, zlib.error, ValueError, IndexError) as error:
        raise _damaged(table, path, found, str(error)) from error
    # A file that was packed by other means has other bytes, so only its content can be held against it.
    if found != table.file_sha256 and (difference := _difference(table, rows)):
        raise _damaged(table, path, found, difference)
    return rows


def _fetch(table: Table) -> Rows:
    place = f"put {table.files[0]} into {folder_to_fill()}"
    if table.openml is None:
        raise DatasetError(f"the {table.name} data are not at hand and cannot be downloaded; {place}. {table.remedy}")
    try:
        rows = in_order(fetch(table.openml))
    except DatasetError as error:
        raise DatasetError(f"{table.name}: {str(error).rstrip('.')}; try again later, or {place}.") from error
    if difference := _difference(table, rows):
        raise DatasetError(f"what OpenML sent for {table.name} was thrown away: {difference}; {place} instead.")
    _keep(table, rows)
    return rows


def _keep(table: Table, rows: Rows) -> None:
    """Put a table into the cache; that this fails costs another download, not the data."""
    try:
        write_whole(cache_folder() / table.files[0], encode(table, rows))
    except OutputError as error:
        warnings.warn(f"{table.name} was downloaded but not kept: {error}", UnmuddleWarning, stacklevel=5)


def _difference(table: Table, rows: Rows) -> str | None:
    """In words, how rows differ from what they should be."""
    shape = (sum(table.counts.values()), len(table.feature_names))
    found = (rows.shape[0], rows.shape[1] - 1)
    if found != shape:
        return f"it is {found[0]} x {found[1]}, not {shape[0]} x {shape[1]}"
    labels, sizes = np.unique(rows[:, -1], return_counts=True)
    if (counts := dict(zip(labels.tolist(), sizes.tolist(), strict=True))) != table.counts:
        return f"its classes have sizes {counts}, not {dict(table.counts)}"
    if (content := checksum(rows)) != table.content_sha256:
        return f"its values have checksum {content}, not {table.content_sha256}"
    return None


def _damaged(table: Table, path: Path, found: str, why: str) -> DatasetError:
    again = "load it again to fetch it." if table.openml else f"put a good copy in its place. {table.remedy}"
    return DatasetError(
        f"{path} is damaged or is not the {table.name} table: {why}. "
        f"SHA-256 of the file: expected {table.file_sha256}, found {found}. Delete it, then {again}"
    )
