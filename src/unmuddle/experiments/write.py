"""A table as files: CSV to work with, Markdown and HTML to read. Each appears whole or not at all.

Nothing in them depends on when or where they were made, so the same plan gives the same bytes. Times do; they have a
file of their own.
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from unmuddle.experiments.paper import Printed
from unmuddle.experiments.plan import parse
from unmuddle.experiments.run import Record
from unmuddle.experiments.table import Column, Entry, Row, Standing, Table, find_printed
from unmuddle.experiments.task import SCORES
from unmuddle.files import write_whole

NOTHING = "\N{EN DASH}"


@dataclass(frozen=True)
class Page:
    """All that the readable files say."""

    title: str
    command: str
    table: Table
    printed: Sequence[Printed]
    ours: Row
    notes: Sequence[str]
    records: Sequence[Record]

    @property
    def parts(self) -> list[tuple[str, list[Column]]]:
        """Columns by kind of feature noise, as the paper has them."""
        kinds = dict.fromkeys(parse(column.noise.features)[0] for column in self.table.columns)
        return [(kind, [c for c in self.table.columns if parse(c.noise.features)[0] == kind]) for kind in kinds]

    @property
    def datasets(self) -> list[str]:
        """In the order of the columns."""
        return list(dict.fromkeys(column.dataset for column in self.table.columns))

    @property
    def standings(self) -> list[Standing]:
        """Our row against every other that is ranked or told."""
        return [self.table.standing(self.ours, row) for row in self.table.rows if row.name != self.ours.name]

    @property
    def versions(self) -> list[str]:
        """What the numbers were made with."""
        return sorted({record.versions for record in self.records if record.versions})

    @property
    def warnings(self) -> list[tuple[str, int, str]]:
        """Of every method its fits, and what these warned of how often."""
        fits = [record for record in self.records if record.status == "done" and not record.tuning]
        methods = dict.fromkeys(record.cell.method for record in fits)
        return [_warnings_of(method, [r for r in fits if r.cell.method == method]) for method in methods]

    @property
    def failures(self) -> list[tuple[str, str, str]]:
        """Which trials have no accuracy, and why."""
        return [
            (row.title, heading(column), f"{_trials(entry.reasons, reason)}: {reason}")
            for row in self.table.rows
            for column in self.table.columns
            for entry in [self.table[row, column]]
            for reason in dict.fromkeys(entry.reasons.values())
        ]


def _warnings_of(method: str, fits: Sequence[Record]) -> tuple[str, int, str]:
    counts = Counter(name for record in fits for name in record.warned)
    return method, len(fits), ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def _trials(reasons: Any, reason: str) -> str:
    return "trial " + ", ".join(str(trial) for trial, each in reasons.items() if each == reason)


def heading(column: Column) -> str:
    """A column as the paper names it.

    >>> from unmuddle.experiments.plan import Noise
    >>> heading(Column("wine", Noise("gaussian(sigma=0.2)", "flip(rate=0.3)")))
    'wine (0.2, 0.3)'
    """
    numbers = [*parse(column.noise.features)[1].values(), *parse(column.noise.labels)[1].values()]
    return f"{column.dataset} ({', '.join(f'{level:g}' for level in numbers)})" if numbers else column.dataset


def write_all(folder: Path, name: str, page: Page) -> list[Path]:
    """Write every file of a table; returns their paths."""
    contents = {
        f"{name}.csv": _csv(_table_lines(page.table)),
        f"{name}-scores.csv": _csv(_score_lines(page.records)),
        f"{name}-tuning.csv": _csv(_tuning_lines(page.records)),
        f"{name}-times.csv": _csv(_time_lines(page.records)),
        f"{name}.md": render("table.md", page),
        f"{name}.html": render("table.html", page),
    }
    for each, content in contents.items():
        write_whole(folder / each, content.encode())
    return [folder / each for each in contents]


def render(template: str, page: Page) -> str:
    """A template of the table, filled in."""
    helpers = heading, number, plain, signed, find_printed, starts_dataset
    return fill(template, page=page, table=page.table, **{helper.__name__: helper for helper in helpers})


def fill(template: str, **names: Any) -> str:
    """Fill in a template of the package."""
    environment = Environment(
        loader=PackageLoader("unmuddle.experiments"),
        autoescape=template.endswith("html"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals |= names
    return environment.get_template(template).render()


def number(entry: Entry) -> str:
    """Mean and standard deviation, or a dash where nothing was measured."""
    if not entry.accuracies:
        return NOTHING
    spread = f" ± {entry.std:.2f}" if entry.std is not None else ""
    partial = f" ({len(entry.accuracies)} trials)" if entry.reasons else ""
    return f"{entry.mean:.2f}{spread}{partial}"


def plain(value: float) -> str:
    """With one decimal, or a dash."""
    return NOTHING if math.isnan(value) else f"{value:.1f}"


def signed(value: float) -> str:
    """With its sign."""
    return f"{value:+.2f}"


def starts_dataset(columns: Sequence[Column], place: int) -> bool:
    """Whether a line is drawn before a column."""
    return place == 0 or columns[place - 1].dataset != columns[place].dataset


def _csv(lines: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def _table_lines(table: Table) -> Iterator[Sequence[Any]]:
    yield ("row", "title", "knows", "dataset", "features", "labels", "trials", "missing", "mean", "std", "mark",
           "as_good_as_best", "paper_mean", "paper_std", "difference")  # fmt: skip
    for row in table.rows:
        for column in table.columns:
            entry = table[row, column]
            paper = entry.printed
            yield (
                row.name, row.title, row.rule, column.dataset, *column.noise, len(entry.accuracies), len(entry.reasons),
                f"{entry.mean:.4f}", "" if entry.std is None else f"{entry.std:.4f}", table.mark(row, column),
                table.alike(row, column), paper.mean if paper else "", paper.std if paper else "",
                f"{entry.mean - paper.mean:.4f}" if paper else "",
            )  # fmt: skip


def _score_lines(records: Sequence[Record]) -> Iterator[Sequence[Any]]:
    yield ("method", "dataset", "features", "labels", "trial", "setting", "status", *SCORES, "warned", "reason")
    for record in records:
        scores = (record.scores.get(name) for name in SCORES)
        yield (*record.cell.key, record.status, *scores, " ".join(record.warned), record.reason)


def _tuning_lines(records: Sequence[Record]) -> Iterator[Sequence[Any]]:
    yield ("method", "dataset", "features", "labels", "trial", "setting", "noisy_hold_out")
    for record in records:
        for trial in record.tuning:
            setting = " ".join(f"{name}={value}" for name, value in trial.setting.items())
            yield (*record.cell.key[:-1], setting, trial.noisy)


def _time_lines(records: Sequence[Record]) -> Iterator[Sequence[Any]]:
    yield ("method", "dataset", "features", "labels", "trial", "setting", "seconds")
    for record in records:
        yield (*record.cell.key, "" if record.seconds is None else f"{record.seconds:.4f}")
