"""From a path to a source: what a file is, its first bytes say, not its name."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from unmuddle.errors import InvalidDataError
from unmuddle.tabular.arrays import ArrayFile
from unmuddle.tabular.parquet import ParquetFile
from unmuddle.tabular.sheets import Workbook
from unmuddle.tabular.source import Source
from unmuddle.tabular.text import TextFile

FOREIGN = {
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls). Save it as .xlsx or CSV",
    b"\x1f\x8b": "compressed by gzip. Unpack it first",
    b"BZh": "compressed by bzip2. Unpack it first",
    b"\xfd7zXZ": "compressed by xz. Unpack it first",
    b"\x28\xb5\x2f\xfd": "compressed by zstd. Unpack it first",
    b"%PDF": "a PDF. Export the table as CSV",
    b"\x80\x04\x95": "a pickle, which could run code. Save the table as CSV or Parquet",
    b"\x80\x05\x95": "a pickle, which could run code. Save the table as CSV or Parquet",
    b"\x93NUMPY": "a single array of numpy. Save features and labels with np.savez(path, X=X, y=y)",
}
"""First bytes of what people try, and what to do about it."""


def read_source(path: Path) -> Source:
    """Read a file whose format follows from its content."""
    content = _read(path)
    if content.startswith(b"PK\x03\x04"):
        return _read_archive(path, content)
    if content.startswith(b"PAR1"):
        return ParquetFile.read(path, content)
    for magic, what in FOREIGN.items():
        if content.startswith(magic):
            raise InvalidDataError(f"{path}: the file must be CSV, TSV, Excel, Parquet or NPZ; it is {what}.")
    return TextFile.read(path, content)


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise InvalidDataError(f"{path} must be a file; it is a folder. Name one of the files in it.")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InvalidDataError(f"{path} must be a file; there is none. Correct the path.") from None
    except OSError as error:
        raise InvalidDataError(f"{path} cannot be read: {error.strerror or error}. Check its permissions.") from error
    if not content:
        raise InvalidDataError(f"{path}: the file must hold a table; it is empty. Export it again.")
    return content


def _read_archive(path: Path, content: bytes) -> Source:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile as error:
        raise InvalidDataError(
            f"{path}: the file begins as an archive (Excel, NPZ) and must be whole; it is damaged or cut off "
            f"({error}). Copy or export it again."
        ) from error
    if "xl/workbook.xml" in names:
        return Workbook.read(path, content)
    if any(name.endswith(".npy") for name in names):
        return ArrayFile.read(path, content)
    raise InvalidDataError(
        f"{path}: the file must be CSV, TSV, Excel, Parquet or NPZ; it is an archive of {len(names)} other files. "
        "Unpack it first."
    )
