"""From a fitted cleaner to plain data: all that a page says, and nothing of the models behind it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import PurePath
from typing import Any, Self

import numpy as np
import pandas as pd

from unmuddle.cleaning import Cleaned, Encoding, HybridCleaner, table_of
from unmuddle.cleaning.audit import SCHEMA_VERSION
from unmuddle.cleaning.tables import Table
from unmuddle.core.prox import Mask
from unmuddle.report.grid import Grid, wrong_places
from unmuddle.report.projection import project
from unmuddle.report.text import clip, counted, is_missing, percent, rounded, shown
from unmuddle.report.text import seconds as lasting

MOST_LINES = 500
"""Lines of a table that are shown; the CSV files have all of them."""

MOST_CELLS, FIRST_CELLS = 40, 8
"""Cells of a row that are shown beside its label, and how many of them at once."""

MOST_POINTS = 2000
"""Rows on the map."""

MOST_CLASSES = 30
"""Classes in the table of transitions."""

MOST_COLOURS = 8
"""Classes with a colour of their own on the map."""

PACKAGES = ("unmuddle", "numpy", "scipy", "scikit-learn", "pandas")


@dataclass(frozen=True)
class Estimate:
    """A number with the ends of its 90 % interval, NaN where they are not known."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Entry:
    """A cell of a row: column, value, and what it should be if it looks wrong."""

    column: str
    value: str
    recovered: str | None


@dataclass(frozen=True)
class LabelLine:
    """A label that looks wrong; classes are numbered as in the report."""

    row: str
    given: str
    suggested: str
    classes: tuple[int, int]
    confidence: float
    reason: str
    cells: tuple[Entry, ...]
    n_unseen: int


@dataclass(frozen=True)
class CellLine:
    """A cell that looks wrong."""

    row: str
    column: str
    given: str
    recovered: str
    confidence: float


@dataclass(frozen=True)
class ColumnLine:
    """A column: wrong cells, their share, and the deviation of noise in all its cells, in its own units."""

    name: str
    wrong: int
    share: Estimate
    noise: Estimate | None


@dataclass(frozen=True)
class RowLine:
    """A row that stands out as a whole."""

    row: str
    kind: str
    reason: str


@dataclass(frozen=True)
class Dot:
    """A row on the map: its place before and after, its classes on the map, and what to say if its label is flagged."""

    before: tuple[float, float]
    after: tuple[float, float]
    given: int
    suggested: int
    issue: str


@dataclass(frozen=True)
class RowMap:
    """Rows in two dimensions; a number of a class beyond those that have a colour means any other."""

    dots: tuple[Dot, ...]
    classes: tuple[str, ...]
    n_coloured: int
    n_rows: int
    explained: float


@dataclass(frozen=True)
class Convergence:
    """How a solver came to its point, and whether that is certified."""

    curves: tuple[tuple[str, tuple[float, ...]], ...]
    certificate: str
    status: str


@dataclass(frozen=True)
class Sheet:
    """A small table as text: names of columns, lines, and which line was chosen."""

    names: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]
    chosen: int | None


@dataclass(frozen=True)
class Report:
    """What a page says about a table.

    Parameters
    ----------
    name, command, label, folder : str
        The file, what was typed, the column of labels, and the folder with the results.
    n_rows, n_columns, n_labels, n_cells, n_missing : int
        Sizes; labels that were given, cells that hold something, cells that do not.
    wrong_labels, wrong_cells : int
        How many look wrong.
    """

    name: str
    command: str
    label: str
    folder: str
    n_rows: int
    n_columns: int
    n_labels: int
    n_cells: int
    n_missing: int
    wrong_labels: int
    wrong_cells: int
    looked_at_cells: bool
    rate: Estimate
    worst: str
    fdr: float
    recovery: str
    view: str
    classes: tuple[str, ...]
    transition: tuple[tuple[float, ...], ...]
    transition_classes: tuple[int, ...]
    labels: tuple[LabelLine, ...]
    cells: tuple[CellLine, ...]
    columns: tuple[ColumnLine, ...]
    n_row_issues: int
    rows: tuple[RowLine, ...]
    grid: Grid
    map: RowMap
    tuning: Sheet
    convergence: Convergence | None
    facts: tuple[tuple[str, str], ...]
    stages: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        cleaner: HybridCleaner,
        X: Any,
        y: Any,
        cleaned: Cleaned,
        *,
        name: str = "data.csv",
        command: str = "unmuddle clean data.csv",
        label: str = "label",
        seconds: float | None = None,
        stages: Mapping[str, float] | None = None,
        folder: str | None = None,
        checksum: str | None = None,
    ) -> Self:
        """What a cleaner found in the table that it was fitted to.

        ``cleaned`` is what ``fit_clean`` gave, ``seconds`` how long all took and ``stages`` how long each part did,
        ``folder`` where the results are, ``checksum`` the SHA-256 of the file (else of the cells).
        """
        found = _Found(cleaner, table_of(X))
        lines = cleaner.label_issues_
        flagged = lines[lines["flag"].astype(bool)].sort_values("confidence", ascending=False, kind="stable")
        chosen = _worst_classes(cleaner.transition_)
        return cls(
            name=clip(name),
            command=clip(command, 1000),
            label=clip(label),
            folder=folder or f"{PurePath(name).stem}-cleaned",
            n_rows=found.table.shape[0],
            n_columns=found.table.shape[1],
            n_labels=int((~lines["given"].map(is_missing)).sum()),
            n_cells=int((~found.missing).sum()),
            n_missing=int(found.missing.sum()),
            wrong_labels=len(flagged),
            wrong_cells=int(found.wrong.sum()),
            looked_at_cells=found.looked_at_cells,
            rate=found.estimate("labels", "noise rate")[0],
            worst=found.report.loc[found.report["part"] == "verdict", "name"].iloc[0],
            fdr=float(cleaner.fdr),
            recovery=shown(cleaner.recovery_),
            view=cleaner.view_,
            classes=tuple(map(shown, cleaner.classes_.tolist())),
            transition=tuple(map(tuple, cleaner.transition_.to_numpy()[np.ix_(chosen, chosen)].tolist())),
            transition_classes=tuple(chosen),
            labels=tuple(found.label_lines(flagged.head(MOST_LINES))),
            cells=tuple(found.cell_lines()),
            columns=tuple(found.column_lines()),
            n_row_issues=len(cleaner.row_issues_),
            rows=tuple(found.row_lines()),
            grid=Grid.of(found.wrong, found.missing, found.names),
            map=found.row_map(Encoding.learn(X).encode(X)),
            tuning=_sheet(cleaner.tuning_, cleaner.recovery_, cleaner.view_),
            convergence=convergence_of(cleaner),
            facts=(*_facts(cleaner, cleaned, seconds), _checksum(found.table, y, checksum)),
            stages=tuple((clip(stage), lasting(time)) for stage, time in (stages or {}).items()),
        )

    @property
    def found(self) -> str:
        """The first sentence of the verdict: what looks wrong."""
        labels = f"{self.wrong_labels:,} of {counted(self.n_labels, 'label')}"
        if not self.looked_at_cells:
            return f"{labels} look wrong; cells were not examined."
        if not self.columns:
            return f"{labels} look wrong; cells that look wrong tell the classes apart and are left alone."
        return f"{labels} and {self.wrong_cells:,} of {counted(self.n_cells, 'cell')} look wrong."

    @property
    def estimated(self) -> str:
        """The second: how noisy labels are, and which noise does more harm."""
        interval = f" (90\N{NO-BREAK SPACE}% interval: {percent(self.rate.low)} to {percent(self.rate.high)})"
        known = "" if np.isnan(self.rate.low) else interval
        harm = (
            "and that hurts a classifier more than noise in the features does"
            if self.worst == "labels"
            else "but noise in the features hurts a classifier more than that"
        )
        return f"About {percent(self.rate.value)} of all labels are wrong by estimate{known}, {harm}."


class _Found:
    """The cleaner's tables beside the user's own."""

    def __init__(self, cleaner: HybridCleaner, table: Table) -> None:
        self.cleaner, self.table, self.report = cleaner, table, cleaner.noise_report_
        self.names = tuple(shown(name, 60) for name in table.labels)
        self.index = [shown(name, 40) for name in table.index]
        self.places = wrong_places(cleaner, table.labels)
        self.wrong = np.zeros(table.shape, dtype=bool)
        for place in self.places:
            self.wrong[place] = True
        self.missing = _missing(table)
        scores = cleaner.cell_scores_
        self.looked_at_cells = bool((np.isfinite(scores) & (scores != 0)).any())

    def estimate(self, part: str, quantity: str) -> list[Estimate]:
        """All estimates of a kind, in the order of the noise report."""
        lines = self.report[(self.report["part"] == part) & (self.report["quantity"] == quantity)]
        return [Estimate(*map(float, line)) for line in lines[["estimate", "low", "high"]].itertuples(index=False)]

    def label_lines(self, flagged: pd.DataFrame) -> list[LabelLine]:
        """Wrong labels with cells of their rows."""
        number = {name: place for place, name in enumerate(self.cleaner.classes_.tolist())}
        issues = self.cleaner.cell_issues_
        rows, columns = flagged["row"].tolist(), range(min(MOST_CELLS, self.table.shape[1]))
        shown_rows = set(rows)
        better = {
            place: rounded(value)
            for place, value in zip(self.places, issues["recovered"], strict=True)
            if place[0] in shown_rows
        }
        grid = [self.table.cells(rows, [column] * len(rows)) for column in columns]
        return [
            LabelLine(
                row=self.index[line.row],
                given=shown(line.given),
                suggested=shown(line.suggested),
                classes=(number[line.given], number[line.suggested]),
                confidence=float(line.confidence),
                reason=_shortened(line.reason, line.given, line.suggested),
                cells=tuple(
                    Entry(self.names[column], shown(grid[column][place]), better.get((line.row, column)))
                    for column in columns
                ),
                n_unseen=self.table.shape[1] - len(columns),
            )
            for place, line in enumerate(_lines(flagged))
        ]

    def cell_lines(self) -> list[CellLine]:
        """Wrong cells, the surest first."""
        issues = self.cleaner.cell_issues_
        order = np.lexsort([-issues[name].to_numpy(dtype=float) for name in ("score", "confidence")])[:MOST_LINES]
        return [
            CellLine(
                self.index[row],
                self.names[self.places[place][1]],
                shown(given),
                rounded(recovered),
                float(confidence),
            )
            for place, row, given, recovered, confidence in zip(
                order, *(issues[name].to_numpy()[order] for name in ("row", "given", "recovered", "confidence")),
                strict=True,
            )
        ]  # fmt: skip

    def column_lines(self) -> list[ColumnLine]:
        """Columns, those with the most wrong cells first if there are many."""
        noise: Sequence[Estimate | None] = self.estimate("column", "noise level") or [None] * len(self.names)
        counts = self.wrong.sum(axis=0).tolist()
        lines = list(map(ColumnLine, self.names, counts, self.estimate("column", "wrong cells"), noise))
        return lines if len(lines) <= MOST_LINES else sorted(lines, key=lambda line: -line.wrong)[:MOST_LINES]

    def row_lines(self) -> list[RowLine]:
        """Outliers, and copies with another label."""
        lines = _lines(self.cleaner.row_issues_.head(MOST_LINES))
        return [RowLine(self.index[line.row], line.kind, line.reason) for line in lines]

    def row_map(self, raw: Any) -> RowMap:
        """A sample of the rows, on the axes of the recovered ones."""
        n_rows = self.table.shape[0]
        rows = np.arange(n_rows)
        if n_rows > MOST_POINTS:
            rows = np.sort(np.random.default_rng(0).choice(n_rows, MOST_POINTS, replace=False))
        places = project(raw[rows], self.cleaner.recovered_[rows])
        lines = self.cleaner.label_issues_.iloc[rows]
        common = lines["suggested"].value_counts().index.tolist()[:MOST_COLOURS]
        number = {name: place for place, name in enumerate(common)}
        rest = {line for name in ("given", "suggested") for line in lines[name]} - set(common)
        names = (*map(shown, common), *(["other, or none"] if rest else []))
        dots = [
            Dot(
                tuple(before), tuple(after), number.get(line.given, len(common)),
                number.get(line.suggested, len(common)),
                f"row {self.index[line.row]}: given {shown(line.given, 40)}, suggested {shown(line.suggested, 40)}"
                if line.flag else "",
            )
            for line, before, after in zip(
                _lines(lines), places.before.tolist(), places.after.tolist(), strict=True
            )
        ]  # fmt: skip
        return RowMap(tuple(dots), names, len(common), n_rows, places.explained)


def _lines(frame: pd.DataFrame) -> list[Any]:
    return list(frame.itertuples(index=False))


def _missing(table: Table) -> Mask:
    holes = np.zeros(table.shape, dtype=bool)
    matrix = table.matrix()
    if matrix is not None:
        return np.isnan(matrix)
    for position in range(table.shape[1]):
        holes[:, position] = [cell is None for cell in table.column(position).objects()]
    return holes


def _worst_classes(transition: pd.DataFrame) -> list[int]:
    """All classes, or those that are confused most, in their own order."""
    T = transition.to_numpy(dtype=float)
    confused = T - np.diag(np.diag(T))
    return sorted(np.argsort(-(confused.sum(axis=0) + confused.sum(axis=1)), kind="stable")[:MOST_CLASSES].tolist())


def _shortened(reason: str, *labels: Any) -> str:
    """The reason, with long labels cut."""
    for label in labels:
        if len(repr(label)) > MOST_CELLS:
            reason = reason.replace(repr(label), repr(shown(label, MOST_CELLS)))
    return clip(reason, 400)


def _sheet(tuning: pd.DataFrame, recovery: str, view: str) -> Sheet:
    lines = tuple(tuple(map(rounded, line)) for line in tuning.itertuples(index=False))
    names = tuple(str(name).replace("_", " ") for name in tuning.columns)
    chosen = np.flatnonzero((tuning["recovery"] == recovery) & (tuning["view"] == view))
    return Sheet(names, lines, int(chosen[0]) if len(chosen) else None)


def convergence_of(estimator: Any) -> Convergence | None:
    """Curve and certificate of an estimator of ours, or of the one that recovers a cleaner's features; else None."""
    engine = getattr(estimator, "_engine", None)
    model = estimator if hasattr(estimator, "trace_") else getattr(engine, "transformer", None)
    trace = getattr(model, "trace_", None)
    if trace is None:
        return None
    kinds = {"residual": "how far constraints are violated", "dual": "dual residual, 0 where nothing moves any more"}
    curves = []
    for kind, title in kinds.items():
        found = [trace[name] for name in trace if name.startswith(kind)]
        if found:
            curves.append((title, tuple(np.max(found, axis=0).tolist())))
    status = getattr(model, "status_", None)
    return Convergence(tuple(curves), str(getattr(model, "certificate_", "")), status.value if status else "")


def _facts(cleaner: HybridCleaner, cleaned: Cleaned, seconds: float | None) -> list[tuple[str, str]]:
    versions = ", ".join(f"{package} {_version(package)}" for package in PACKAGES)
    changes = cleaned.audit["kind"].value_counts()
    return [
        ("changes in the cleaned file", ", ".join(f"{kind}: {n:,}" for kind, n in changes.items()) or "none"),
        ("features recovered by", f"{shown(cleaner.recovery_)}; models look at {cleaner.view_} rows"),
        ("estimator", shown(cleaner.estimator) if cleaner.estimator is not None else "mean of the built-in models"),
        ("false alarms allowed", percent(float(cleaner.fdr))),
        ("seed", shown(cleaner.random_state) if cleaner.random_state is not None else "none: a new run may differ"),
        *([("time", lasting(seconds))] if seconds is not None else []),
        ("schema version", str(cleaner.label_issues_.attrs.get("schema_version", SCHEMA_VERSION))),
        ("versions", f"{versions}, Python {platform.python_version()}"),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except ModuleNotFoundError:
        from unmuddle import __version__  # noqa: PLC0415 - a copy that is not installed

        return __version__


def _checksum(table: Table, y: Any, checksum: str | None) -> tuple[str, str]:
    if checksum is not None:
        return "SHA-256 of the file", clip(checksum)
    digest = hashlib.sha256(repr((list(table.labels), list(y))).encode("utf-8", "backslashreplace"))
    matrix = table.matrix()
    if matrix is not None:
        digest.update(np.ascontiguousarray(matrix).tobytes())
    for position in range(table.shape[1] if matrix is None else 0):
        cells = table.column(position).objects().tolist()
        digest.update(repr(cells).encode("utf-8", "backslashreplace"))
    return "SHA-256 of the cells", digest.hexdigest()
