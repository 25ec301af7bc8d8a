"""A table as files: CSV to work with, Markdown and HTML to read. Each appears whole or not at all.

Nothing in them depends on when or where they were made, so the same plan gives the same bytes. Times do; they have a
file of their own.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from unmuddle.experiments.margins import Goal, Verdict, count, size, words
from unmuddle.experiments.panels import draw_panels
from unmuddle.experiments.paper import Printed
from unmuddle.experiments.plan import parse
from unmuddle.experiments.run import Record
from unmuddle.experiments.table import Column, Entry, Row, Standing, Table, find_printed
from unmuddle.experiments.task import REAL, SCORES
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
    verdicts: Sequence[Verdict] = ()
    goals: Sequence[Goal] = ()
    drawn: Sequence[str] = ()
    name: str = ""

    @property
    def figure(self) -> str:
        """The picture that belongs to the page, if there is one."""
        return f"{self.name}.svg" if self.drawn else ""

    @property
    def levels(self) -> str:
        """What stands in brackets behind the name of a dataset."""
        given = {column.noise.labels for column in self.table.columns} == {REAL}
        return "(sigma)" if given else "(sigma, rate)"

    def prints(self, columns: Sequence[Column]) -> bool:
        """Whether the paper has figures for any of these columns."""
        return any(find_printed(self.printed, p.method, column) for column in columns for p in self.printed)

    def goals_of(self, verdict: Verdict) -> Sequence[Goal]:
        """Goals are for the first of our rows."""
        return self.goals if verdict.row == self.ours else ()

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
    sigma, rate = (tuple(parse(noise)[1].values()) for noise in column.noise)
    if not (sigma or rate):
        return column.dataset
    numbers = sigma or (0.0,), rate or (() if column.noise.labels == REAL else (0.0,))
    return f"{column.dataset} ({', '.join(f'{level:g}' for level in itertools.chain(*numbers))})"


def write_all(folder: Path, name: str, page: Page) -> list[Path]:
    """Write every file of a table; returns their paths."""
    contents = {
        f"{name}.csv": _csv(_table_lines(page.table)),
        f"{name}-margins.csv": _csv(_margin_lines(page.verdicts)),
        f"{name}-scores.csv": _csv(_score_lines(page.records)),
        f"{name}-tuning.csv": _csv(_tuning_lines(page.records)),
        f"{name}-times.csv": _csv(_time_lines(page.records)),
        f"{name}.md": render("table.md", page),
        f"{name}.html": render("table.html", page),
    }
    pictures = draw_panels(page.table, page.drawn) if page.drawn else {}
    files = {each: content.encode() for each, content in contents.items()}
    files |= {f"{name}.{kind}": picture for kind, picture in pictures.items()}
    for each, content in files.items():
        write_whole(folder / each, content)
    return [folder / each for each in files]


def summarise(page: Page) -> str:
    """The margins of our rows as plain text, for the end of a run."""
    parts = []
    for verdict in page.verdicts:
        width = max(len(heading(each.column)) for each in verdict.margins)
        lines = [
            f"  {kind_of(each.column):9}  {heading(each.column):{width}}  {size(each):>14}  "
            f"over {each.best.title if each.best else NOTHING}: {words(each)}"
            for each in verdict.margins
        ]
        parts += [
            f"{headline(verdict)}, points ± paired standard error:",
            *lines,
            count(verdict, page.goals_of(verdict)),
        ]
    return "\n".join(parts)


def headline(verdict: Verdict) -> str:
    """Which row is judged, by title and name."""
    return f"{verdict.row.title} (row {verdict.row.name}) less the best baseline of each cell"


def kind_of(column: Column) -> str:
    """The kind of noise on features."""
    return parse(column.noise.features)[0]


def render(template: str, page: Page) -> str:
    """A template of the table, filled in."""
    helpers = heading, number, plain, signed, find_printed, starts_dataset, headline, kind_of, size, words, count
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


def _margin_lines(verdicts: Sequence[Verdict]) -> Iterator[Sequence[Any]]:
    yield ("row", "title", "dataset", "features", "labels", "best_baseline", "margin", "paired_error", "reached",
           "below", "lacking")  # fmt: skip
    for each in (margin for verdict in verdicts for margin in verdict.margins):
        known = each.best is not None
        yield (
            each.row.name, each.row.title, each.column.dataset, *each.column.noise, each.best.name if each.best else "",
            f"{each.margin:.4f}" if known else "", "" if each.error is None else f"{each.error:.4f}",
            each.reached if known else "", " ".join(row.name for row in each.below),
            " ".join(row.name for row in each.lacking),
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
