"""Clean a file: read it, find what is wrong, and write everything into a folder that appears at once."""

from __future__ import annotations

import json
import re
import shlex
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from unmuddle.cleaning import Cleaned, HybridCleaner
from unmuddle.cleaning.engines import MOST_COLUMNS
from unmuddle.errors import InvalidParameterError, OutputError, UncheckedCellsWarning, UnmuddleWarning
from unmuddle.files import beside, check_new_folder, whole_folder
from unmuddle.jobs.model import Model, save_model
from unmuddle.jobs.stages import Stages
from unmuddle.jobs.summary import NAME, SCHEMA_VERSION, versions
from unmuddle.report import Report, write_report
from unmuddle.tabular import Cells, Roles, Table, prepare, read_source, write_list

ESTIMATORS = ("auto", "logistic", "forest")
LABEL_LIST, CELL_LIST, AUDIT, MODEL, PAGE = (
    "label_issues.csv", "cell_issues.csv", "audit.csv", "model.skops", "report.html",
)  # fmt: skip
OURS = re.compile(
    r"(cleaned|applied)\.\w+|(label_issues|cell_issues|audit)\.csv|model\.skops|report\.html|summary\.json"
)
"""Files that a later run may replace."""

SMALL = 200_000
"""Cells up to which one BLAS thread is used: on Wine, on busy cores, two threads made the fit several times longer."""

YES = "yes"


@dataclass(frozen=True)
class Job:
    """What the user wants.

    Parameters
    ----------
    path : Path
        The file.
    roles : Roles
        Which column is what.
    out : Path or None
        The folder to write; None for one beside the file, named after it.
    estimator : {"auto", "logistic", "forest"}
        What learns from the cleaned data.
    fdr : float
        Share of false alarms among flags.
    seed : int
        Of folds, samples and trees.
    review_only : bool
        Whether to write lists and page, but no cleaned file.
    force : bool
        Whether an old folder of that name is replaced.
    overlap : bool
        Whether rows of different classes may look alike.
    """

    path: Path
    roles: Roles
    out: Path | None = None
    estimator: str = "auto"
    fdr: float = 0.1
    seed: int = 0
    review_only: bool = False
    force: bool = False
    overlap: bool = True

    @property
    def folder(self) -> Path:
        """Where everything goes."""
        return (self.out or beside(self.path, "-cleaned")).absolute()

    @property
    def command(self) -> str:
        """What a user types to have the same again, wherever it is written."""
        roles = self.roles
        named = [("--label", roles.label), ("--id", roles.id), *(("--ignore", name) for name in roles.ignore)]
        named += [("--unlabeled", text) for text in roles.unlabeled]
        chosen = [("--estimator", self.estimator), ("--fdr", self.fdr), ("--seed", self.seed)]
        pairs = [(option, str(value)) for option, value in (*named, *chosen) if value is not None]
        words = [word for pair in pairs for word in pair]
        words += ["--review-only"] * self.review_only + ["--no-overlap"] * (not self.overlap)
        return shlex.join(["unmuddle", "clean", str(self.path), *words])


@dataclass(frozen=True)
class Outcome:
    """What was written: the folder, its summary, and what the user should know."""

    folder: Path
    summary: dict[str, Any]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A cell of the file and the text that it gets."""

    kind: str
    row: int
    position: int
    given: str
    new: str
    confidence: float


@dataclass(frozen=True)
class Found:
    """A table, the cleaner that was fitted to it, and what it would change."""

    table: Table
    cleaner: HybridCleaner
    cleaned: Cleaned
    notes: tuple[str, ...] = field(default=())

    @property
    def changes(self) -> list[Change]:
        """All lines of the audit, as they look in the file."""
        table, label = self.table, self.table.label.name
        texts: dict[int, Cells] = {}
        lines = []
        for line in self.cleaned.audit.to_dict("records"):
            name = label if line["kind"] == "label" else str(line["column"])
            column = table.label if line["kind"] == "label" else table.feature(name)
            row, position = int(line["row"]), table.position(name)
            cells = texts[position] = texts[position] if position in texts else table.source.cells(position)
            old, new = "" if pd.isna(line["given"]) else column.text_of(line["given"]), column.text_of(line["new"])
            if new != old:
                given = old if isinstance(cells, np.ndarray) or not old else cells[row]
                lines.append(Change(str(line["kind"]), row, position, given, new, float(line["confidence"])))
        return lines


def describe(job: Job) -> tuple[Table, list[str]]:
    """What a run would read, and the names of the files that it would write, without doing it."""
    _check_folder(job)
    table = _read(job)
    return table, _files(table, job)


def clean_file(job: Job, stages: Stages | None = None) -> Outcome:
    """Read, fit, write; the folder is complete or is not there."""
    stages = stages or Stages()
    _check_folder(job)
    stages.reach("read")
    table = _read(job)
    found = _find(table, job, stages)
    stages.reach("write")
    with whole_folder(job.folder, force=job.force) as part:
        summary = _write(part, found, job, stages)
    stages.end()
    return Outcome(job.folder, summary, tuple(found.notes))


def _check_folder(job: Job) -> None:
    """Refuse early what cannot be written at the end; only a folder of our own is ever replaced."""
    check_new_folder(job.folder, force=job.force)
    foreign = sorted(path.name for path in job.folder.glob("*") if path.is_dir() or not OURS.fullmatch(path.name))
    if foreign:
        raise OutputError(
            f"cannot replace {job.folder}: it holds what unmuddle did not write, {', '.join(foreign[:3])}; move that "
            "away, or choose another folder."
        )


def _read(job: Job) -> Table:
    return prepare(read_source(job.path), job.roles)


def _find(table: Table, job: Job, stages: Stages) -> Found:
    cleaner = HybridCleaner(_estimator(job), fdr=job.fdr, overlap=job.overlap, random_state=job.seed)
    cleaner._progress = stages.reach  # type: ignore[method-assign]
    threads = 1 if table.X.size <= SMALL else None
    with warnings.catch_warnings(record=True) as told, threadpool_limits(threads):
        warnings.simplefilter("always")
        cleaned = cleaner.fit_clean(table.X, table.y)
    ours = dict.fromkeys(_note(each.message) for each in told if issubclass(each.category, UnmuddleWarning))
    return Found(table, cleaner, cleaned, (*table.notes, *ours))


def _note(message: Warning | str) -> str:
    """A warning without the stop at its end, with a remedy that the command has."""
    if isinstance(message, UncheckedCellsWarning):
        return (
            f"wrong cells were not looked for: there are more than {MOST_COLUMNS} columns, with categories counted one "
            "by one; leave some out by --ignore to have the others looked at"
        )
    return str(message).removesuffix(".")


def _estimator(job: Job) -> Any:
    match job.estimator:
        case "auto":
            return None
        case "logistic":
            return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        case "forest":
            return RandomForestClassifier(200, min_samples_leaf=2, random_state=job.seed)
    raise InvalidParameterError(
        f"--estimator must be one of {', '.join(ESTIMATORS)}; got {job.estimator!r}. Choose one of these."
    )


def _files(table: Table, job: Job) -> list[str]:
    cleaned = [] if job.review_only else [f"cleaned{table.source.suffix}"]
    return [*cleaned, LABEL_LIST, CELL_LIST, AUDIT, MODEL, PAGE, NAME]


def _write(folder: Path, found: Found, job: Job, stages: Stages) -> dict[str, Any]:
    table, changes = found.table, found.changes
    if not job.review_only:
        new = {(change.row, change.position): change.new for change in changes}
        (folder / f"cleaned{table.source.suffix}").write_bytes(table.source.edit(new))
    (folder / LABEL_LIST).write_bytes(label_list(found))
    (folder / CELL_LIST).write_bytes(cell_list(found, changes))
    (folder / AUDIT).write_bytes(_audit(table, [] if job.review_only else changes))
    features = tuple((column.name, column.kind.is_numeric) for column in table.features)
    (folder / MODEL).write_bytes(save_model(Model(found.cleaner, table.label.name, features)))
    write_page(folder / PAGE, found, job, stages)
    summary = summarise(found, changes, job, stages)
    summary["files"] = sorted([*(path.name for path in folder.iterdir()), NAME])
    (folder / NAME).write_text(json.dumps(summary, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return summary


def label_list(found: Found) -> bytes:
    """A line for each row, the most doubtful label first; accept says which are changed."""
    issues = found.cleaner.label_issues_.sort_values("confidence", ascending=False, kind="stable", na_position="last")
    columns = ["accept", *_place_names(found.table), "given", "suggested", "confidence", "reason"]
    rows = (
        [YES if line["flag"] else "", *_place(found.table, int(line["row"])), _known(line["given"]), line["suggested"],
         _chance(line["confidence"]), line["reason"]]
        for line in issues.to_dict("records")
    )  # fmt: skip
    return write_list(columns, rows)


def cell_list(found: Found, changes: Sequence[Change]) -> bytes:
    """A line for each cell that is wrong or missing, the most doubtful first; accept says which are changed."""
    table = found.table
    cells = sorted((change for change in changes if change.kind != "label"), key=lambda cell: -cell.confidence)
    columns = ["accept", *_place_names(table), "column", "kind", "given", "recovered", "confidence"]
    rows = (
        [YES, *_place(table, cell.row), table.source.names[cell.position], cell.kind, cell.given, cell.new,
         _chance(cell.confidence)]
        for cell in cells
    )  # fmt: skip
    return write_list(columns, rows)


def _audit(table: Table, changes: Iterable[Change]) -> bytes:
    columns = ["kind", *_place_names(table), "column", "given", "new", "confidence"]
    rows = (
        [line.kind, *_place(table, line.row), table.source.names[line.position], line.given, line.new,
         _chance(line.confidence)]
        for line in changes
    )  # fmt: skip
    return write_list(columns, rows)


def _place_names(table: Table) -> list[str]:
    return ["row", "line", *([] if table.ids is None else ["id"])]


def _place(table: Table, row: int) -> list[Any]:
    return [row, table.source.line(row), *([] if table.ids is None else [table.ids[row]])]


def _known(label: Any) -> Any:
    return None if pd.isna(label) else label


def _chance(value: float) -> str:
    return "" if pd.isna(value) else f"{value:.4f}"


def write_page(path: Path, found: Found, job: Job, stages: Stages) -> None:
    """What was found, to read and to send."""
    table = found.table
    X = table.X if table.ids is None else table.X.set_axis(pd.Index(table.ids, dtype=object))
    report = Report.of(
        found.cleaner, X, table.y, found.cleaned, name=job.path.name, command=job.command,
        label=table.label.name, seconds=sum(stages.seconds.values()), stages=dict(stages.seconds),
        folder=str(job.folder), checksum=table.source.sha256,
    )  # fmt: skip
    write_report(path, report)


def summarise(found: Found, changes: Sequence[Change], job: Job, stages: Stages) -> dict[str, Any]:
    """All that a script may want to know."""
    table, source = found.table, found.table.source
    noise = found.cleaner.noise_report_
    rate = noise[noise["quantity"] == "noise rate"].iloc[0]
    worst = noise[noise["quantity"] == "hurts most"].iloc[0]
    kinds = [change.kind for change in changes]
    applied = 0 if job.review_only else 1
    return {
        "schema_version": SCHEMA_VERSION,
        "command": job.command,
        "versions": versions(),
        "seed": job.seed,
        "options": {
            "estimator": job.estimator,
            "fdr": job.fdr,
            "overlap": job.overlap,
            "review_only": job.review_only,
        },
        "input": {
            "path": str(job.path.resolve()),
            "sha256": source.sha256,
            "bytes": len(source.content),
            "format": source.format,
            "rows": source.n_rows,
            "columns": len(source.names),
        },
        "label": table.label.name,
        "unlabeled": list(job.roles.unlabeled),
        "id": job.roles.id,
        "types": {column.name: str(column.kind) for column in table.features},
        "ignored": {column.name: column.why for column in table.ignored},
        "counts": {
            "labels": int(source.n_rows - table.label.n_missing),
            "labels_flagged": int(found.cleaner.label_issues_["flag"].sum()),
            "labels_missing": table.label.n_missing,
            "cells": source.n_rows * len(table.features) - sum(column.n_missing for column in table.features),
            "cells_examined": "wrong cells" in set(found.cleaner.noise_report_["quantity"]),
            "cells_flagged": len(found.cleaner.cell_issues_),
            "cells_missing": sum(column.n_missing for column in table.features),
            "rows_flagged": len(found.cleaner.row_issues_),
            "labels_changed": applied * kinds.count("label"),
            "cells_changed": applied * kinds.count("cell"),
            "cells_filled": applied * kinds.count("missing cell"),
        },
        "rates": {
            "label_noise": {name: round(float(rate[name]), 6) for name in ("estimate", "low", "high")},
            "hurts_most": str(worst["name"]),
        },
        "seconds": stages.end(),
        "notes": list(found.notes),
    }
