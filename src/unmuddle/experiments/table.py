"""From records to a table: means, marks, the paper's figures, and paired comparisons over trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from unmuddle.experiments.campaign import Records, all_settings, decide, tuning_of
from unmuddle.experiments.methods import get_method
from unmuddle.experiments.paper import Printed
from unmuddle.experiments.plan import Cell, Noise, parse
from unmuddle.experiments.run import Record
from unmuddle.experiments.task import TEST_SHARE

LEVEL = 0.05
"""Of the paired t-tests."""

OVERLAP = TEST_SHARE / (1 - TEST_SHARE)
"""Test rows over training rows."""

OURS = ("unmuddle", "unmuddle-auto", "hybrid", "hybrid-logistic", "hybrid-forest")
"""Methods of this library, which are no baselines to each other. FLR as printed is the paper's, and is one."""


@dataclass(frozen=True)
class Row:
    """A line of a table: a method, or one method for each kind of feature noise.

    ``rule`` says what it knows that no user has: ``told`` the kind of noise or its rate, ``oracle`` the best setting on
    the test data. Such rows are shown and never ranked. ``paper`` is the name under which the paper prints it, ``ours``
    marks rows that are no baselines.
    """

    name: str
    title: str
    methods: Mapping[str, str] = field(default_factory=dict)
    rule: Literal["", "told", "oracle"] = ""
    paper: str = ""
    ours: bool = False

    def method(self, noise: Noise) -> str:
        """The method under this noise."""
        return self.methods.get(parse(noise.features)[0], self.name)


def row_of(method: str, paper: str = "") -> Row:
    """The row of a single method."""
    known = get_method(method)
    return Row(method, known.title, rule="told" if known.told else "", paper=paper, ours=method in OURS)


class Column(NamedTuple):
    """A dataset under a noise."""

    dataset: str
    noise: Noise


@dataclass(frozen=True)
class Entry:
    """Accuracies in per cent by trial, and the reasons of trials that have none."""

    accuracies: Mapping[int, float]
    reasons: Mapping[int, str]
    printed: Printed | None = None

    @property
    def complete(self) -> bool:
        """Whether every trial has an accuracy."""
        return bool(self.accuracies) and not self.reasons

    @cached_property
    def mean(self) -> float:
        """Over the trials that have one."""
        return float(np.mean(list(self.accuracies.values()))) if self.accuracies else float("nan")

    @cached_property
    def std(self) -> float | None:
        """Sample standard deviation, from two trials on."""
        return float(np.std(list(self.accuracies.values()), ddof=1)) if len(self.accuracies) > 1 else None


class Standing(NamedTuple):
    """Our row against another: significantly better, worse or neither, by columns, and the mean difference."""

    row: Row
    better: int
    worse: int
    neither: int
    difference: float
    error: float | None


@dataclass(frozen=True)
class Table:
    """Rows by columns.

    ``overlap`` is test rows over training rows where trials split anew, 0 where the split is given.
    """

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    entries: Mapping[tuple[str, Column], Entry]
    overlap: float = OVERLAP

    def __getitem__(self, place: tuple[Row, Column]) -> Entry:
        row, column = place
        return self.entries[row.name, column]

    def ranked(self, column: Column) -> list[Row]:
        """Rows that know no more than a user and have every trial, best first."""
        rows = [row for row in self.rows if not row.rule and self[row, column].complete]
        return sorted(rows, key=lambda row: -self[row, column].mean)

    def mark(self, row: Row, column: Column) -> Literal["best", "second", ""]:
        """Best and second best; equals share a mark."""
        ranked = self.ranked(column)
        means = sorted({_rounded(self[each, column]) for each in ranked}, reverse=True)
        if row not in ranked or _rounded(self[row, column]) not in means[:2]:
            return ""
        return "best" if _rounded(self[row, column]) == means[0] else "second"

    def mean(self, row: Row, dataset: str | None = None) -> float:
        """Over the columns of a dataset, or over all; NaN where one of them has no accuracy."""
        means = [self[row, column].mean for column in self.columns if dataset in (None, column.dataset)]
        return float(np.mean(means))

    def times_best(self, row: Row) -> int:
        """In how many columns a row is best."""
        return sum(self.mark(row, column) == "best" for column in self.columns)

    def alike(self, row: Row, column: Column) -> bool:
        """Whether the trials do not tell a row from the best of its column."""
        ranked = self.ranked(column)
        return row in ranked and not differ(self[row, column], self[ranked[0], column], self.overlap)

    def standing(self, ours: Row, other: Row) -> Standing:
        """One row against another over all columns in which both have the same trials and every one of them."""
        columns = (column for column in self.columns if self[ours, column].complete and self[other, column].complete)
        pairs = [(self[ours, column], self[other, column]) for column in columns]
        pairs = [(mine, theirs) for mine, theirs in pairs if mine.accuracies.keys() == theirs.accuracies.keys()]
        signs = [np.sign(mine.mean - theirs.mean) * differ(mine, theirs, self.overlap) for mine, theirs in pairs]
        by_trial = np.mean([gaps(*pair) for pair in pairs], axis=0) if pairs else np.array([np.nan])
        error = standard_error(by_trial, self.overlap) if len(by_trial) > 1 else None
        return Standing(other, signs.count(1), signs.count(-1), signs.count(0), float(np.mean(by_trial)), error)


def differ(first: Entry, second: Entry, overlap: float = OVERLAP) -> bool:
    """Whether a paired t-test over the common trials tells two entries apart, at the level of 5 %.

    With the standard error of overlapping splits; from three trials on, for fewer tell nothing.
    """
    found = gaps(first, second)
    if len(found) < 3:
        return False
    error = standard_error(found, overlap)
    if error < 1e-9:  # the same gap in every trial, where no t-test is possible: believed from five trials on
        return bool(len(found) >= 5 and abs(found.mean()) > 1e-9)
    return bool(2 * stats.t.sf(abs(found.mean()) / error, len(found) - 1) < LEVEL)


def standard_error(found: NDArray[np.float64], overlap: float = OVERLAP) -> float:
    """Of a mean over k random splits of the same rows, which overlap: ``(1/k + n_test/n_train) var``, not ``var/k``.

    Nadeau and Bengio, Inference for the Generalization Error, Machine Learning 52, 2003.
    """
    return float(np.sqrt((1 / len(found) + overlap) * np.var(found, ddof=1)))


def gaps(first: Entry, second: Entry) -> NDArray[np.float64]:
    """Differences by trial, in those that both have; trials share split and noise."""
    trials = sorted(first.accuracies.keys() & second.accuracies.keys())
    return np.array([first.accuracies[trial] - second.accuracies[trial] for trial in trials])


def _rounded(entry: Entry) -> float:
    """The order of summation must not decide between equals."""
    return round(entry.mean, 9)


def collect(
    rows: Sequence[Row],
    columns: Sequence[Column],
    trials: int,
    records: Records,
    printed: Sequence[Printed] = (),
    overlap: float = OVERLAP,
) -> Table:
    """Look up every entry."""
    entries = {(row.name, column): _entry(row, column, trials, records, printed) for row in rows for column in columns}
    return Table(tuple(rows), tuple(columns), entries, overlap)


def _entry(row: Row, column: Column, trials: int, records: Records, printed: Sequence[Printed]) -> Entry:
    found = {trial: _lookup(row, column, trial, records) for trial in range(trials)}
    accuracies = {t: 100 * each for t, each in found.items() if isinstance(each, float)}
    reasons = {t: each for t, each in found.items() if isinstance(each, str)}
    return Entry(accuracies, reasons, find_printed(printed, row.paper, column))


def _lookup(row: Row, column: Column, trial: int, records: Records) -> float | str | None:
    """An accuracy, the reason why there is none, or None where none is planned."""
    cell = Cell(row.method(column.noise), *column, trial)
    if get_method(cell.method).settings is None:
        return _accuracy(records.get(cell))
    tuning = records.get(tuning_of(cell))
    if tuning is None or tuning.status != "done":
        return _accuracy(tuning)
    if row.rule != "oracle":
        return _accuracy(records.get(decide(cell, tuning)))
    tried = [_accuracy(records.get(each)) for each in all_settings(cell, tuning)]
    reasons = [each for each in tried if isinstance(each, str)]
    return reasons[0] if reasons else max(tried, default=None)  # type: ignore[type-var]


def _accuracy(record: Record | None) -> float | str:
    if record is None:
        return "not run yet"
    return record.reason if record.status != "done" else float(record.scores["accuracy"])  # type: ignore[arg-type]


def find_printed(printed: Sequence[Printed], method: str, column: Column) -> Printed | None:
    """The paper's figure for one of its methods in a column."""
    kind, features = parse(column.noise.features)
    rate = parse(column.noise.labels)[1].get("rate")
    place = method, column.dataset, kind, features.get("sigma"), rate
    return next((p for p in printed if (p.method, p.dataset, p.noise, p.sigma, p.rate) == place), None)
