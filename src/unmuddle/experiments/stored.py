"""Runs that were stored: which form of a table or study a folder holds, and how much of it.

A form is the whole thing, fewer trials of it or a quick one, on the data that are meant or on generated ones that
stand in. Nothing here depends on which data files are at hand, so the same stores are read alike everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from unmuddle import datasets
from unmuddle.experiments import image_tables, table1
from unmuddle.experiments.campaign import Records
from unmuddle.experiments.grid import Grid, Request
from unmuddle.experiments.lines import read_lines
from unmuddle.experiments.reproduce import STORE
from unmuddle.experiments.store import read_store
from unmuddle.experiments.studies.study import SCHEMA, Measured, Point, Study, first_trials, name_of, trials_of
from unmuddle.experiments.table import Row, Table, collect

GENERATED = "generated data"
SOURCES = {"cifar10n": "features of CIFAR-10N", "generated": GENERATED}


@dataclass(frozen=True)
class Form:
    """A way to run a table: its grid, ``quick`` or not, and what stands in for its data if anything does."""

    grid: Grid
    quick: bool
    stand_in: str = ""


@dataclass(frozen=True)
class TableRun:
    """What a store has of a table: some rows, the first of them to be compared with the rest, over some trials."""

    form: Form
    table: Table

    @property
    def trials(self) -> int:
        """So many of each entry were looked at."""
        entry = next(iter(self.table.entries.values()))
        return len(entry.accuracies) + len(entry.reasons)

    @property
    def complete(self) -> list[Row]:
        """Rows that have every trial in every column."""
        return [r for r in self.table.rows if all(self.table[r, c].complete for c in self.table.columns)]

    @property
    def begun(self) -> list[Row]:
        """Rows that have anything."""
        return [r for r in self.table.rows if any(self.table[r, c].accuracies for c in self.table.columns)]

    @property
    def is_whole(self) -> bool:
        """Whether all of this form was run."""
        return self.trials == self.form.grid.trials and len(self.complete) == len(self.table.rows)

    @property
    def words(self) -> str:
        """How much of the table was run, on what."""
        size = "quick" if self.form.quick else "full" if self.is_whole else "partial"
        told = size + (f", on {self.form.stand_in}" if self.form.stand_in else "")
        told += f": {count_trials(self.trials, self.form.grid.trials)}"
        unfinished = [row.name for row in self.begun if row not in self.complete]
        return told + self._words_of_rows + (f"; in some cells without {', '.join(unfinished)}" if unfinished else "")

    @property
    def _words_of_rows(self) -> str:
        """Rows that are there or those that are not, the fewer of them."""
        here, lacking = self.begun, [row.name for row in self.table.rows if row not in self.begun]
        if not lacking:
            return ", all methods that are compared"
        if len(here) > len(lacking):
            return f"; without {', '.join(lacking)}"
        return f"; {len(here)} of {len(self.table.rows)} methods: {', '.join(row.name for row in here)}"

    @property
    def options(self) -> str:
        """Of the command that makes it."""
        chosen = "" if len(self.begun) == len(self.table.rows) else ",".join(row.name for row in self.begun)
        few = self.trials if self.trials < self.form.grid.trials else 0
        return (
            (" --quick" if self.form.quick else "")
            + (f" --methods {chosen}" if chosen else "")
            + (f" --trials {few}" if few else "")
        )


def count_trials(some: int, of: int) -> str:
    """How many trials, and of how many if not all.

    >>> count_trials(3, 3), count_trials(1, 3)
    ('3 trials', '1 of 3 trials')
    """
    return f"{of} trials" if some == of else f"{some} of {of} trials"


def read_cells(folder: Path) -> Records:
    """The records of a folder; none where there is no store."""
    path = folder / STORE
    return read_store(path) if path.exists() else {}


def find_table(name: str, records: Records, ours: str, rivals: Sequence[str]) -> TableRun | None:
    """The first form of a table in which our row has a result, else in which any of these rows has; None without."""
    runs = [look_at(form, records, ours, rivals) for form in forms_of(name)]
    begun = [run for run in runs if run.begun]
    return next((run for run in begun if run.begun[0].name == ours), begun[0] if begun else None)


def look_at(form: Form, records: Records, ours: str, rivals: Sequence[str]) -> TableRun:
    """These rows over as many trials as allow most comparisons, the more of equals."""
    grid, known = form.grid, {row.name: row for row in form.grid.rows}
    rows = tuple(known[name] for name in (ours, *rivals))
    tables = [collect(rows, grid.columns, k, records, grid.printed, grid.overlap) for k in range(grid.trials, 0, -1)]
    return TableRun(form, max(tables, key=_comparisons))


def _comparisons(table: Table) -> tuple[int, int]:
    """Pairs of our row and another that both have every trial; then entries that have."""
    ours, *others = table.rows
    pairs = sum(table[ours, c].complete and table[row, c].complete for row in others for c in table.columns)
    return pairs, sum(entry.complete for entry in table.entries.values())


def forms_of(name: str) -> list[Form]:
    """All forms of a table, in the order in which they are worth believing; names are those of ``TABLES``."""
    what, _, noise = name.partition("-")
    if what == "table1":
        return _forms_of_table1(noise)
    make, whole, quick = {
        "table2": (image_tables.make_table2, [f"c10n-{each}{{}}" for each in datasets.PEOPLE], _QUICK_PEOPLE),
        "table3": (image_tables.make_table3, [f"c10n-{each}{{}}" for each in datasets.PEOPLE], _QUICK_PEOPLE),
        "cifar10": (image_tables.make_cifar10, [f"cifar10{{}}:{image_tables.STUDY_ROWS}"], _QUICK_STUDY),
    }[what]
    forms = []
    for mark, stand_in in (("", ""), (datasets.GENERATED, GENERATED)):
        for is_quick, sets in ((False, whole), (True, quick)):
            named = tuple(each.format(mark) for each in sets)
            grid = make(Request(noise or "uniform", is_quick, datasets=named))
            forms.append(Form(replace(grid, rows=image_tables.ROWS), is_quick, stand_in))
    return forms


_QUICK_PEOPLE = [f"c10n-{datasets.PEOPLE[-1]}{{}}:{image_tables.QUICK_ROWS}"]
_QUICK_STUDY = [f"cifar10{{}}:{image_tables.QUICK_ROWS}"]


def _forms_of_table1(noise: str) -> list[Form]:
    whole = table1.Table1(noise)
    quick = replace(whole, trials=table1.QUICK_TRIALS, feature_noises=table1.QUICK_NOISES)
    sets = [("wine", f"{waveform}:{table1.QUICK_ROWS}") for waveform in ("waveform", "waveform-generated")]
    return [Form(whole.grid, quick=False), *(Form(replace(quick, datasets=each).grid, quick=True) for each in sets)]


@dataclass(frozen=True)
class StudyRun:
    """What a store has of a form of a study."""

    quick: bool
    trials: int
    """The first so many; 0 is all."""
    source: str
    wanted: int
    records: tuple[Measured, ...]

    @property
    def settled(self) -> bool:
        """Whether every point was measured or failed, and any was measured."""
        done = sum(record.status == "done" for record in self.records)
        return bool(done) and sum(record.status != "missing" for record in self.records) == self.wanted

    @property
    def words(self) -> str:
        """How much was measured, on what."""
        failed = sum(record.status == "failed" for record in self.records)
        size = "quick" if self.quick else f"{self.trials} trial{'s' * (self.trials > 1)}" if self.trials else "full"
        told = f"{size}, on {SOURCES[self.source]}: "
        told += f"{self.wanted} points" if self.settled else f"{len(self.records)} of {self.wanted} points"
        return told + (f", {failed} of them failed" if failed else "")


def find_study(study: Study, folder: Path) -> tuple[StudyRun | None, StudyRun | None]:
    """The first form that is settled, and the first to be believed more that has begun with points of its own."""
    path = folder / f"{study.name}.jsonl"
    stored = {r.key: r for r in read_lines(path, SCHEMA, Measured.from_plain)} if path.exists() else {}
    runs = [form.pick(stored) for form in _forms_of_study(study)]
    settled = next((run for run in runs if run.settled), None)
    before = runs[: runs.index(settled)] if settled else runs
    known = {record.key for record in settled.records} if settled else set()
    return settled, next((run for run in before if {record.key for record in run.records} - known), None)


class StudyForm(NamedTuple):
    """A way to run a study; 0 trials are all."""

    quick: bool
    trials: int
    source: str
    points: Sequence[Point]

    def pick(self, stored: dict[str, Measured]) -> StudyRun:
        """What was stored of it."""
        keys = dict.fromkeys(map(name_of, self.points))
        found = tuple(stored[key] for key in keys if key in stored)
        return StudyRun(self.quick, self.trials, self.source, len(keys), found)


def _forms_of_study(study: Study) -> Iterator[StudyForm]:
    """Full, with fewer trials, then quick; each on the features of images and on generated ones."""
    whole = study.points(False)
    sizes = [(False, 0, whole), *((False, n, first_trials(whole, n)) for n in range(trials_of(whole) - 1, 0, -1))]
    for quick, trials, points in (*sizes, (True, 0, study.points(True))):
        fixed = not any("source" in point for point in points)
        for source in ("generated",) if fixed else SOURCES:
            yield StudyForm(quick, trials, source, points if fixed else [{**p, "source": source} for p in points])
