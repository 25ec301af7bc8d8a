"""CSV and its kin: delimiter and encoding are found out, and cells that do not change keep their text to the letter."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

from unmuddle.errors import InvalidDataError
from unmuddle.tabular.source import Changes, Source, check_names

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
SNIFFED = 100
"""Records from which the delimiter is found."""

MOST_CONTROLS = 0.01
"""Share of control characters above which a file is no text."""

SUFFIXES = (".csv", ".tsv", ".txt", ".tab", ".dat")
"""Ends of names that a copy keeps."""


class Decoded(NamedTuple):
    """Text, and how to turn it into the same bytes again."""

    text: str
    encoding: str
    mark: bytes
    """The byte order mark."""

    def encode(self, text: str) -> bytes:
        """Other text in the same encoding."""
        return self.mark + text.encode(self.encoding)


class Record(NamedTuple):
    """One row: its cells, and the lines of the file that it spans."""

    cells: list[str]
    start: int
    end: int


@dataclass(frozen=True)
class TextFile(Source):
    """A table as text."""

    decoded: Decoded
    delimiter: str
    lines: tuple[str, ...]
    records: tuple[Record, ...]
    """The first one is the header."""

    @classmethod
    def read(cls, path: Path, content: bytes) -> Self:
        """Decode, find the delimiter, split into cells."""
        decoded = decode(path, content)
        lines = tuple(io.StringIO(decoded.text, newline=""))
        delimiter = sniff(path, lines)
        records = tuple(_records(path, lines, delimiter))
        source = cls(path, content, decoded, delimiter, lines, records)
        source._check_widths()
        return source

    @property
    def format(self) -> str:
        """With the delimiter."""
        return "TSV" if self.delimiter == "\t" else f"CSV ({DELIMITERS[self.delimiter]})"

    @property
    def suffix(self) -> str:
        """The given one if it is usual for text."""
        if self.path.suffix.lower() in SUFFIXES:
            return self.path.suffix
        return ".tsv" if self.delimiter == "\t" else ".csv"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The first record."""
        return check_names(self.path, self.records[0].cells)

    @property
    def n_rows(self) -> int:
        """All records but the first."""
        return len(self.records) - 1

    @property
    def notes(self) -> tuple[str, ...]:
        """The encoding, if it was a guess."""
        guessed = "read as Latin-1, for it is not UTF-8: look whether accents and umlauts are right"
        return (guessed,) if self.decoded.encoding == "latin-1" else ()

    @property
    def has_decimal_commas(self) -> bool:
        """Only where commas do not part the cells."""
        return self.delimiter != ","

    def cells(self, position: int) -> Sequence[str]:
        """Without spaces round them."""
        return [record.cells[position].strip() for record in self.records[1:]]

    def edit(self, changes: Changes) -> bytes:
        """Only changed cells are written anew, in quotes if they had them or need them."""
        lines = list(self.lines)
        by_row: dict[int, dict[int, str]] = {}
        for (row, column), text in changes.items():
            by_row.setdefault(row, {})[column] = text
        for row, cells in by_row.items():
            _, start, end = self.records[row + 1]
            lines[start:end] = [self._rewrite("".join(lines[start:end]), cells)] + [""] * (end - start - 1)
        try:
            return self.decoded.encode("".join(lines))
        except UnicodeEncodeError as error:
            raise self.error(
                f"the encoding {self.decoded.encoding} has no {error.object[error.start]!r}. Save the file as UTF-8."
            ) from error

    def line(self, row: int) -> int:
        """Where the record begins."""
        return self.records[row + 1].start + 1

    def _rewrite(self, record: str, cells: dict[int, str]) -> str:
        pieces, after = [], 0
        for column, (start, end) in enumerate(spans(record, self.delimiter)):
            if column in cells:
                pieces += [record[after:start], self._quote(cells[column], record[start : start + 1] == '"')]
                after = end
        return "".join([*pieces, record[after:]])

    def _quote(self, text: str, quoted: bool) -> str:
        if quoted or any(sign in text for sign in (self.delimiter, '"', "\n", "\r")):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _check_widths(self) -> None:
        header, last = self.records[0], len(self.records) - 1
        for place, record in enumerate(self.records):
            if len(record.cells) == len(header.cells):
                continue
            why = "close the quote that is opened there" if record.end - record.start > 1 else "correct the line"
            if place == last:
                why = "the file may have been cut off; copy or export it again"
            raise InvalidDataError(
                f"{self.path}, line {record.start + 1}: every line must have as many cells as the header, "
                f"{len(header.cells)} parted by a {DELIMITERS[self.delimiter]}; got {len(record.cells)}. "
                f"{why[0].upper()}{why[1:]}."
            )
        final = self.records[last]
        if not _is_closed("".join(self.lines[final.start : final.end]), self.delimiter):
            raise InvalidDataError(
                f"{self.path}, line {final.start + 1}: a quote that is opened must be closed; the file ends inside "
                "one. Close it, or copy or export the file again if it was cut off."
            )


def decode(path: Path, content: bytes) -> Decoded:
    """UTF-8 or UTF-16, with or without a mark; else Latin-1."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")
    ):  # fmt: skip
        if content.startswith(mark):
            return _decode_as(path, content[len(mark) :], encoding, mark)
    unmarked = _unmarked_utf16(content[:4096])
    if unmarked:
        return _decode_as(path, content, unmarked, b"")
    if b"\0" in content:
        line = content[: content.index(b"\0")].count(b"\n") + 1
        raise InvalidDataError(
            f"{path}, line {line}: text must not hold NUL bytes; got {content.count(0)}. The file is damaged or is not "
            "a table: give CSV, TSV, Excel (.xlsx), Parquet or NPZ."
        )
    try:
        decoded = Decoded(content.decode("utf-8"), "utf-8", b"")
    except UnicodeDecodeError:
        decoded = Decoded(content.decode("latin-1"), "latin-1", b"")
    controls = sum(char < " " and char not in "\t\r\n\f" for char in decoded.text[:100_000])
    if controls > MOST_CONTROLS * min(len(decoded.text), 100_000):
        raise InvalidDataError(
            f"{path}: the file must be a table; it is neither text nor a format that is known. "
            "Give CSV, TSV, Excel (.xlsx), Parquet or NPZ."
        )
    return decoded


def _decode_as(path: Path, content: bytes, encoding: str, mark: bytes) -> Decoded:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].decode(encoding, "replace").count("\n") + 1
        raise InvalidDataError(
            f"{path}, line {line}: the file begins as {encoding.upper()} and must be that to the end; byte "
            f"{error.start + len(mark)} is not. It is damaged or cut off: copy or export it again, as UTF-8."
        ) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InvalidDataError(f"{path}, line {line}: text must not hold NUL characters. Export the file again.")
    return Decoded(text, encoding, mark)


def _unmarked_utf16(start: bytes) -> str | None:
    """Text in western letters has a NUL in every other byte."""
    half = len(start) // 2
    if half < 2:
        return None
    high, low = start[0 : 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if max(high, low) < 0.6 * half or min(high, low) > 0:
        return None
    return "utf-16-le" if low > high else "utf-16-be"


def sniff(path: Path, lines: Sequence[str]) -> str:
    """The delimiter under which most of the first lines have as many cells as the header, the more the better."""
    if not any(line.strip() for line in lines):
        raise InvalidDataError(f"{path}: the file must hold a table; it is empty. Export it again.")
    scores = {delimiter: _score(lines, delimiter) for delimiter in DELIMITERS}
    best = max(scores, key=lambda delimiter: scores[delimiter])
    if scores[best][1] < 2:
        first = next(line.strip() for line in lines if line.strip())
        raise InvalidDataError(
            f"{path}, line 1: columns must be parted by a comma, semicolon, tab or bar; found one column only, "
            f"{first[:60]!r}. Export the file again with one of these."
        )
    return best


def _score(lines: Sequence[str], delimiter: str) -> tuple[float, int]:
    try:
        widths = [len(cells) for cells in islice(csv.reader(lines, delimiter=delimiter), SNIFFED) if cells]
    except csv.Error:
        return 0.0, 0
    if not widths or widths[0] < 2:
        return 0.0, 0
    return Counter(widths)[widths[0]] / len(widths), widths[0]


def _records(path: Path, lines: Sequence[str], delimiter: str) -> Iterator[Record]:
    reader, start = csv.reader(lines, delimiter=delimiter), 0
    try:
        for cells in reader:
            if cells and (len(cells) > 1 or cells[0].strip()):
                yield Record(cells, start, reader.line_num)
            start = reader.line_num
    except csv.Error as error:
        raise InvalidDataError(
            f"{path}, line {start + 1}: the line cannot be split into cells ({error}). A quote may be opened there and "
            "not closed: close it."
        ) from error


def spans(record: str, delimiter: str) -> Iterator[tuple[int, int]]:
    """Where the cells of a record begin and end, quotes included; the same cells that the csv module finds.

    >>> list(spans('a,"b,""c"', ","))
    [(0, 1), (2, 9)]
    """
    start, inside, closed = 0, False, -1
    for place, sign in enumerate(record):
        if sign == '"':
            if inside:
                inside, closed = False, place
            elif place == start or closed == place - 1 >= start:
                inside = True
        elif not inside and sign == delimiter:
            yield start, place
            start, closed = place + 1, -1
    yield start, len(record) if inside else len(record.rstrip("\r\n"))


def _is_closed(record: str, delimiter: str) -> bool:
    """Whether the last cell ends outside quotes."""
    *_, (start, end) = spans(record, delimiter)
    cell = record[start:end]
    return not cell.startswith('"') or len(list(spans(cell + delimiter, delimiter))) == 2
