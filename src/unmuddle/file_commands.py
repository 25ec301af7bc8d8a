"""The commands that take a user's file: clean, apply, predict, report."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.table import Table as Grid
from rich.text import Text

from unmuddle.checks import LARGEST_SEED
from unmuddle.errors import UnmuddleError
from unmuddle.jobs import Job, Stages, apply_changes, clean_file, describe, predict_file, read_summary, verdict
from unmuddle.jobs.clean import PAGE
from unmuddle.jobs.stages import STAGES, Pace
from unmuddle.report.text import shown
from unmuddle.tabular import Roles, Table

EXIT_CODES = "Exit codes: 0 fine; 1 internal error; 2 bad input or usage; 130 interrupted (Ctrl-C or SIGTERM)."

MOST_SHOWN, SHORT = 30, 60
"""Columns whose types are shown; characters of a name that are."""

File = Annotated[Path, typer.Argument(metavar="FILE", help="CSV, TSV, Excel, Parquet or NPZ; recognised by content.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A folder that unmuddle clean wrote.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what an earlier run wrote.")]


class Estimator(StrEnum):
    """What learns from the cleaned data."""

    auto = "auto"
    logistic = "logistic"
    forest = "forest"


def add_to(app: typer.Typer) -> None:
    """Enter the commands."""
    for command in (clean, apply, predict, report):
        app.command(epilog=EXIT_CODES)(command)


def clean(
    file: File,
    label: Annotated[str | None, typer.Option(help="Column of the labels; an NPZ file has y.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write; FILE-cleaned without it.")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column that names the rows.")] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="Column to leave alone; may be repeated.")] = None,
    unlabeled: Annotated[
        list[str] | None, typer.Option(help="A label that means none, such as unsure; may be repeated.")
    ] = None,
    estimator: Annotated[Estimator, typer.Option(help="What learns from the cleaned data.")] = Estimator.auto,
    fdr: Annotated[float, typer.Option(help="Share of false alarms among flags, between 0 and 1.")] = 0.1,
    no_overlap: Annotated[
        bool, typer.Option("--no-overlap", help="The columns tell the classes apart: what models doubt is an error.")
    ] = False,
    review_only: Annotated[bool, typer.Option("--review-only", help="Write the lists, but no cleaned file.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and write nothing.")] = False,
    seed: Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="The same seed gives the same result.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Find wrong labels and wrong cells of a table, and write a corrected copy with a record of all changes.

    The folder appears at once, when all is done; the input is never touched.

    Example: unmuddle clean wine.csv --label cultivar --id bottle
    """
    with guarded(debug):
        roles = Roles(label, id_column, tuple(ignore or ()), tuple(unlabeled or ()))
        job = Job(file, roles, out, str(estimator.value), fdr, seed, review_only, force, not no_overlap)
        if dry_run:
            _show_plan(*describe(job), job.folder, as_json=as_json)
            return
        with stage_bars() as stages:
            outcome = clean_file(job, stages)
        if as_json:
            print_json({"folder": str(outcome.folder), **outcome.summary})
            return
        for note in outcome.notes:
            typer.echo(f"Note: {_one_line(note)}.")
        typer.echo(verdict(outcome.summary))
        typer.echo(f"Written: {outcome.folder}: {', '.join(outcome.summary['files'])}")
        typer.echo(f"To read: {outcome.folder / PAGE}")


def apply(
    folder: Folder,
    accept: Annotated[
        list[Path] | None, typer.Option(help="An edited list of issues; without it, both lists in DIR.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Apply the changes whose accept column says yes, and no others, to the original file; writes DIR/applied.*.

    Edit label_issues.csv or cell_issues.csv in a spreadsheet or an editor: yes in the accept column, or nothing.

    Example: unmuddle apply wine-cleaned --accept review.csv
    """
    with guarded(debug):
        applied = apply_changes(folder, accept or (), force=force)
        if as_json:
            print_json({"path": str(applied.path), "labels": applied.labels, "cells": applied.cells})
        else:
            typer.echo(f"Written: {applied.path}, with {applied.labels} labels and {applied.cells} cells changed")


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="model.skops, or the folder that it is in.")],
    file: File,
    out: Annotated[Path | None, typer.Option(help="File to write; FILE-predictions.csv without it.")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Column that names the rows.")] = None,
    force: Force = False,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Predict labels with their probabilities, by the model of an earlier run; nothing in a model file is executed.

    Example: unmuddle predict wine-cleaned/model.skops new.csv
    """
    with guarded(debug):
        predicted = predict_file(model, file, out, id_column=id_column, force=force)
        if as_json:
            print_json({"path": str(predicted.path), "counts": predicted.counts})
        else:
            counts = ", ".join(f"{count} {shown(label, SHORT)}" for label, count in predicted.counts.items())
            typer.echo(f"Written: {predicted.path} ({counts})")


def report(folder: Folder, as_json: AsJson = False, debug: Debug = False) -> None:
    """Say where the report of a run is, and what was found, in two lines.

    Example: unmuddle report wine-cleaned
    """
    with guarded(debug):
        summary = read_summary(folder)
        page = folder / PAGE
        if as_json:
            print_json({"report": str(page) if page.exists() else None, "verdict": verdict(summary), **summary})
            return
        typer.echo(f"Report: {page}" if page.exists() else f"Report: none, but see the lists in {folder}")
        typer.echo(verdict(summary))


@contextmanager
def guarded(debug: bool) -> Iterator[None]:
    """Errors become one line and an exit code; SIGTERM ends a command as Ctrl-C does, so that it tidies up."""
    with _terminated_as_interrupted():
        try:
            yield
        except UnmuddleError as error:
            _complain(f"Error: {_one_line(error)}", 2, debug)
        except KeyboardInterrupt:
            _complain("Stopped; nothing was written.", 130, debug=False)
        except BrokenPipeError:
            _leave_quietly()
        except Exception as error:
            hint = "" if debug else " Run again with --debug and report what it says."
            _complain(f"Internal error: {type(error).__name__}: {_one_line(error)}.{hint}", 1, debug)


def _leave_quietly() -> None:
    """Whoever read what we print, such as ``head``, has enough: what is done is done, and nobody is there to tell."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python complains when it flushes at the end
    raise typer.Exit(0)


def _complain(message: str, code: int, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    typer.echo(message, err=True)
    raise typer.Exit(code)


def _one_line(message: object) -> str:
    """Control characters from the data would move a terminal's cursor, and long names would fill the screen."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(message))
    return re.sub(r"\S{1000,}", lambda found: found[0][:SHORT] + "\N{HORIZONTAL ELLIPSIS}", text)


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stage_bars() -> Iterator[Stages]:
    """A bar with the time for each stage on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield Stages()
        return
    columns = TextColumn("{task.description:<9}"), BarColumn(), TimeColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks = {stage: progress.add_task(stage, start=False, total=None) for stage in STAGES}

        def show(stage: str, pace: Pace) -> None:
            for earlier in STAGES[: STAGES.index(stage)]:
                _finish(progress, tasks[earlier])
            progress.start_task(tasks[stage])
            total = 1.0 if pace.done else None
            progress.update(tasks[stage], total=total, completed=pace.done, pace=pace, told=progress.get_time())

        yield Stages(show)
        _finish(progress, tasks[STAGES[-1]])


class TimeColumn(ProgressColumn):
    """Seconds of a stage, and those to go where steps that are done tell; nothing before it begins."""

    def render(self, task: Task) -> Text:
        """What is beside the bar."""
        if task.elapsed is None:
            return Text("")
        spent, pace = f"{task.elapsed:.0f} s", task.fields.get("pace")
        left = None if pace is None or task.finished else pace.left(task.get_time() - task.fields["told"])
        return Text(spent if left is None else f"{spent}, about {max(left, 1.0):.0f} s left")


def _finish(progress: Progress, task: TaskID) -> None:
    """Stop the clock of a stage once, also of one that never began."""
    if not progress.tasks[task].finished:
        progress.update(task, total=1, completed=1)
        progress.stop_task(task)


def _show_plan(table: Table, files: list[str], folder: Path, *, as_json: bool) -> None:
    source = table.source
    types = {column.name: str(column.kind) for column in table.features}
    if as_json:
        ignored = {column.name: column.why for column in table.ignored}
        print_json(
            {"format": source.format, "rows": source.n_rows, "label": table.label.name, "types": types,
             "ignored": ignored, "notes": list(table.notes), "would_write": [str(folder / name) for name in files]}
        )  # fmt: skip
        return
    classes = sorted({label for label in table.y if label is not None})
    typer.echo(f"{source.path}: {source.format}, {source.n_rows} rows, {len(source.names)} columns")
    named = ", ".join(shown(name, SHORT) for name in classes[:10])
    typer.echo(f"Labels: {shown(table.label.name, SHORT)!r}, {len(classes)} classes: {named}")
    grid = Grid("column", "type", "missing")
    for column in table.features[:MOST_SHOWN]:
        grid.add_row(_plain(shown(column.name, SHORT)), str(column.kind), str(column.n_missing))
    Console().print(grid)
    if len(types) > MOST_SHOWN:
        typer.echo(f"and {len(types) - MOST_SHOWN} more columns")
    for note in table.notes:
        typer.echo(f"Note: {_one_line(note)}.")
    typer.echo(f"Would write: {folder}: {', '.join(sorted(files))}")


def _plain(text: str) -> str:
    """A name as it is: square brackets are no colours."""
    return text.replace("[", r"\[")


def print_json(value: dict[str, Any]) -> None:
    """For scripts."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))
