"""Apply the changes that a person accepted, and no others, to the file as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmuddle.errors import InvalidDataError, OutputError
from unmuddle.files import write_whole
from unmuddle.jobs.clean import CELL_LIST, LABEL_LIST
from unmuddle.jobs.summary import read_summary
from unmuddle.tabular import Changes, Column, Source, check_columns, read_list, read_source, understand

ACCEPTED = frozenset(["yes", "y", "true", "1", "x", "ja", "oui", "si", "sí", "wahr", "vrai"])
REFUSED = frozenset(["", "no", "n", "false", "0", "nein", "non", "falsch", "faux"])


@dataclass(frozen=True)
class Applied:
    """The file that was written, and how many labels and cells differ from the input in it."""

    path: Path
    labels: int
    cells: int


def apply_changes(folder: Path, lists: Sequence[Path] = (), *, force: bool = False) -> Applied:
    """Write ``applied.*`` into the folder; without lists those in the folder are taken."""
    summary = read_summary(folder)
    source = _original(summary["input"])
    path = folder / f"applied{source.suffix}"
    if path.exists() and not force:
        raise OutputError(f"cannot write {path}: it is there already; replace it by --force.")
    label = str(summary["label"])
    changes: dict[tuple[int, int], str] = {}
    for each in lists or [folder / LABEL_LIST, folder / CELL_LIST]:
        changes |= _accepted(each, source, label, changes)
    place = source.names.index(label)
    n_labels = sum(column == place for _, column in changes)
    write_whole(path, _edit(source, changes))
    return Applied(path, n_labels, len(changes) - n_labels)


def _edit(source: Source, changes: Changes) -> bytes:
    try:
        return source.edit(changes)
    except InvalidDataError:
        raise
    except ValueError as error:
        raise source.error(
            f"accepted values must fit the types of their columns; {error}. Correct the list."
        ) from error


def _original(recorded: Mapping[str, Any]) -> Source:
    """The input, if it is what it was."""
    source = read_source(Path(recorded["path"]))
    if source.sha256 != recorded["sha256"]:
        raise source.error(
            f"the file must be as it was when it was cleaned, SHA-256 {recorded['sha256'][:12]}...; got "
            f"{source.sha256[:12]}.... Run unmuddle clean again."
        )
    return source


def _accepted(
    path: Path, source: Source, label: str, before: Mapping[tuple[int, int], str]
) -> dict[tuple[int, int], str]:
    """Accepted lines that change something, by position; two that contradict each other are refused."""
    listed, lines = read_list(path, ["accept", "row", "given"])
    of_labels = "suggested" in listed.names
    value = "suggested" if of_labels else "recovered"
    check_columns(listed, [value] if of_labels else [value, "column"])
    columns: dict[int, Column] = {}
    changes = dict(before)
    for number, line in enumerate(lines):
        if _is_accepted(listed, number, line["accept"]) and line[value] != line["given"]:
            row = _row(listed, number, line, source)
            column = _column(listed, number, label if of_labels else line["column"], source)
            _check_value(listed, number, line[value])
            new = line[value]
            if not of_labels:
                known = columns[column] = columns.get(column) or understand(source, column)
                new = _fitting(listed, number, new, known)
            if changes.setdefault((row, column), new) != new:
                raise listed.error(
                    f"an accepted cell must have one new value; got {changes[row, column]!r} and {new!r} for row "
                    f"{row}, column {source.names[column]!r}. Accept one of them.",
                    number,
                )
    return changes


def _column(listed: Source, number: int, name: str, source: Source) -> int:
    if name not in source.names:
        raise listed.error(
            f"column must be one of {source.path.name}; got {name!r}. Leave that column as it was.", number, "column"
        )
    return source.names.index(name)


def _fitting(listed: Source, number: int, text: str, column: Column) -> str:
    """The value as its column writes it: a spreadsheet may have changed the point."""
    fitting = column.fit(text)
    if fitting is None:
        raise listed.error(
            f"a new value for column {column.name!r} must be one of its {column.kind}; got {text!r}. Correct it, or do "
            "not accept.",
            number,
        )
    return fitting


def _is_accepted(listed: Source, number: int, text: str) -> bool:
    word = text.strip().lower()
    if word not in ACCEPTED | REFUSED:
        raise listed.error(
            f"accept must be yes or no; got {text!r}. Write yes, or leave the cell empty.", number, "accept"
        )
    return word in ACCEPTED


def _row(listed: Source, number: int, line: Mapping[str, str], source: Source) -> int:
    """The row, which must be the one at the line that is named beside it: columns are easily sorted apart."""
    try:
        row = int(line["row"])
    except ValueError:
        row = -1
    if not 0 <= row < source.n_rows:
        raise listed.error(
            f"row must be between 0 and {source.n_rows - 1}; got {line['row']!r}. Leave that column as it was.", number
        )
    if line.get("line", str(source.line(row))).strip() != str(source.line(row)):
        raise listed.error(
            f"row and line must belong together; row {row} is line {source.line(row)} of {source.path.name}, got "
            f"{line['line']!r}. Sort all columns of a list together, or none.",
            number,
        )
    return row


def _check_value(listed: Source, number: int, text: str) -> None:
    if not text.strip():
        raise listed.error(
            "an accepted change must have a new value; it is empty. Write one, or do not accept.", number
        )
