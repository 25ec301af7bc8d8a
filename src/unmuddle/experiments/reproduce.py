"""``unmuddle reproduce``: run what is missing of a table, then write its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from unmuddle.experiments.campaign import OnProgress, conduct, wanted
from unmuddle.experiments.grid import Grid
from unmuddle.experiments.margins import count_together, judge
from unmuddle.experiments.plan import Plan
from unmuddle.experiments.store import open_store
from unmuddle.experiments.write import Page, summarise, write_all

STORE = "cells.jsonl"


class Made(NamedTuple):
    """What a run left: files, how many cells have no result and why the first has none, and what to print."""

    files: list[Path]
    failed: int
    reason: str
    summary: str = ""


@dataclass(frozen=True)
class Setup:
    """Where and how to run. The time left is that of ``whole``, if it is given: all that is run one after the other."""

    folder: Path
    jobs: int
    on_progress: OnProgress
    plugins: Sequence[Path] = ()
    retry: bool = False
    whole: Plan | None = None


def make_grid(grid: Grid, setup: Setup, command: str) -> Made:
    """Run, resume, write."""
    with open_store(setup.folder / STORE) as store:
        conduct(
            grid.plan, store, setup.jobs, setup.on_progress, setup.plugins, retry=setup.retry, whole=setup.whole
        )  # fmt: skip
        records = [store.records[cell] for cell in wanted(grid.plan, store.records) if cell in store.records]
        table = grid.collect(store.records)
        twin = grid.twin and grid.twin.collect(store.records)
    together = count_together([judge(each)[0] for each in (table, twin)], grid.wanted) if twin else ""
    page = Page(
        title=grid.title,
        command=command,
        table=table,
        printed=grid.printed,
        ours=grid.rows[0],
        notes=(*grid.notes, *filter(None, [together])),
        records=records,
        verdicts=judge(table),
        goals=grid.goals,
        drawn=grid.drawn,
        name=grid.name,
    )
    reasons = [f"{record.cell}: {record.reason}" for record in records if record.status != "done"]
    summary = "\n".join(filter(None, (grid.title, summarise(page), together, grid.remark)))
    return Made(write_all(setup.folder, grid.name, page), len(reasons), next(iter(reasons), ""), summary)
