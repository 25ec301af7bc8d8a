"""A file and what its columns are for: features, labels, names of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmuddle.tabular.columns import MISSING, Column, Kind, demand, labels_of, plain, understand
from unmuddle.tabular.source import Source, is_unnamed

LEAST_ROWS, FEW_ROWS = 10, 5
"""Fewer rows show nothing about one another; fewer of a class nothing about it."""


@dataclass(frozen=True)
class Roles:
    """What the user says of the columns."""

    label: str | None = None
    id: str | None = None
    ignore: tuple[str, ...] = ()
    unlabeled: tuple[str, ...] = ()
    """What stands where a row has no label, besides empty cells."""


@dataclass(frozen=True)
class Table:
    """A source that a model can learn from.

    Parameters
    ----------
    source : Source
        The file.
    label : Column
        Given labels as text.
    features : tuple of Column
        Columns to learn from.
    ignored : tuple of Column
        Columns that are left alone; each says why.
    ids : sequence of str, or None
        The user's names of the rows.
    """

    source: Source
    label: Column
    features: tuple[Column, ...]
    ignored: tuple[Column, ...]
    ids: Sequence[str] | None

    @cached_property
    def X(self) -> pd.DataFrame:  # noqa: N802 - the letter of the mathematics
        """Features, the rows numbered from 0."""
        return frame_of(self.features)

    @property
    def y(self) -> NDArray[np.object_]:
        """Labels, None where there is none."""
        return np.asarray(self.label.values)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know."""
        lines = [f"column {column.name!r} is ignored: {column.why}" for column in self.ignored if column.why != CHOSEN]
        names = [column.name for column in self.ignored if column.kind is Kind.ID and not is_unnamed(column.name)]
        if names and self.ids is None:
            lines.append(f"--id {names[0]!r} would name the rows in all lists")
        counts = Counter(text for text in self.label.values if text is not None)
        rare = [f"{name!r} ({count})" for name, count in sorted(counts.items()) if count < FEW_ROWS]
        if rare:
            lines.append(f"of classes with so few rows nothing can be learned: {', '.join(rare[:5])}; look at each row")
        if self.label.n_missing:
            lines.append(
                f"{self.label.n_missing} rows have no label and get none; what they seem to be is in the list of labels"
            )
        return (*self.source.notes, *lines)

    def position(self, name: Any) -> int:
        """Where a column is in the file."""
        return self.source.names.index(str(name))

    def feature(self, name: Any) -> Column:
        """The column of that name."""
        return self._by_name[str(name)]

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        return {column.name: column for column in self.features}


CHOSEN = "as you asked"


def prepare(source: Source, roles: Roles) -> Table:
    """Sort out the columns of a file, and refuse what cannot be learned from."""
    _check_rows(source)
    name = roles.label or source.label
    if name is None:
        raise source.error(f"--label must name the column of labels. Columns: {_listed(source.names)}.")
    label = _without(source, labels_of(source, source.position(name, "--label")), roles.unlabeled)
    _check_labels(source, label)
    _check_roles(source, roles, name)
    left_out = {source.names[source.position(other, "--ignore")] for other in roles.ignore}
    ids = None if roles.id is None else _ids(source, source.position(roles.id, "--id"))
    found = [
        _column(source, place, left_out) for place, other in enumerate(source.names) if other not in (name, roles.id)
    ]
    features = tuple(column for column in found if not column.why)
    if not features:
        reasons = "; ".join(f"{column.name!r}: {column.why}" for column in found[:3])
        raise source.error(
            f"a column besides {name!r} must hold numbers or categories; none does ({reasons or 'there is none'}). "
            "Add columns that say something about the label."
        )
    return Table(source, label, features, tuple(column for column in found if column.why), ids)


def features_of(source: Source, wanted: Sequence[tuple[str, bool]], id_column: str | None) -> pd.DataFrame:
    """Columns of these names in this order, numbers where the second says so; the index is the user's names of rows."""
    absent = [name for name, _ in wanted if name not in source.names]
    if absent:
        raise source.error(
            f"the file must have the {len(wanted)} columns that the model was fitted to; {_listed(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} not there, but {_listed(source.names)}. Add or rename columns; "
            "cells may be empty."
        )
    columns = [demand(source, source.names.index(name), numeric) for name, numeric in wanted]
    frame = frame_of(columns)
    if id_column is not None:
        frame.index = pd.Index(_ids(source, source.position(id_column, "--id")), dtype=object)
    return frame


def frame_of(columns: Sequence[Column]) -> pd.DataFrame:
    """One frame of all columns."""
    return pd.DataFrame({column.name: _series(column) for column in columns})


def _series(column: Column) -> Any:
    """Text stays objects, with None for what is missing."""
    return pd.Series(column.values, dtype=object) if column.kind is Kind.CATEGORY else column.values


def _column(source: Source, position: int, left_out: set[str]) -> Column:
    if source.names[position] in left_out:
        return Column(source.names[position], Kind.TEXT, np.zeros(0, dtype=object), why=CHOSEN)
    return understand(source, position)


def _ids(source: Source, position: int) -> list[str]:
    return [str(cell) for cell in source.cells(position)]


def _check_rows(source: Source) -> None:
    if source.n_rows < LEAST_ROWS:
        raise source.error(
            f"the table must have at least {LEAST_ROWS} rows, or nothing can be said of any; got {source.n_rows}"
            f"{''.join(f' ({note})' for note in source.notes)}. Give more rows."
        )


def _check_roles(source: Source, roles: Roles, label: str) -> None:
    """A column has one role."""
    for option, names in (("--id", (roles.id,)), ("--ignore", roles.ignore)):
        if label in names:
            raise source.error(
                f"{option} must name another column than that of the labels; got {label!r}, which is --label too. "
                f"Leave {option} out."
            )
    if roles.id is not None and roles.id in roles.ignore:
        raise source.error(
            f"--ignore must name another column than --id; got {roles.id!r} for both. Leave one of them out."
        )


def _without(source: Source, label: Column, unlabeled: Sequence[str]) -> Column:
    """Labels, None where they mean none; a mark that no row has is misspelt, unless it means a missing cell anyway."""
    marks = [None if text is None else plain(text) for text in label.values]
    for text in unlabeled:
        if plain(text) not in MISSING.union(marks):
            raise source.error(
                f"--unlabeled must be what stands for no label; got {text!r}, which no row has. Labels: "
                f"{_listed(sorted(set(label.values.tolist()) - {None}))}.",
                column=label.name,
            )
    none = set(map(plain, unlabeled))
    values = np.array([None if mark in none else text for mark, text in zip(marks, label.values, strict=True)], object)
    return replace(label, values=values)


def _check_labels(source: Source, label: Column) -> None:
    counts = Counter(text for text in label.values if text is not None)
    total = sum(counts.values())
    if len(counts) < 2:
        held = f"got only {next(iter(counts))!r}" if counts else "all are missing"
        raise source.error(
            f"labels must be of at least 2 classes; {held}, in {source.n_rows} rows. Choose another --label or add "
            "rows of other classes.",
            column=label.name,
        )
    if total < LEAST_ROWS or 2 * len(counts) > total:
        raise source.error(
            f"labels must be classes with several rows each; got {len(counts)} different ones on {total} labelled "
            "rows. Choose another --label, or put amounts into a few classes first.",
            column=label.name,
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
