"""``unmuddle reproduce``: run what is missing of a table, then write its files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from unmuddle.experiments.campaign import OnProgress, conduct, wanted
from unmuddle.experiments.paper import printed
from unmuddle.experiments.store import open_store
from unmuddle.experiments.table1 import Table1
from unmuddle.experiments.write import Page, write_all

STORE = "cells.jsonl"

MEANING = {
    "uniform": "a share (the rate) of the training rows, exactly, is picked and its labels drawn anew over all classes",
    "flip": "a share (the rate) of the training rows, exactly, is picked and each label moved to another class",
}

NOTES = (
    "80 % of the rows are drawn to train on and spoiled, the rest is the clean test. Columns are standardised by the "
    "clean training rows before noise is added (CNAE-9: divided by the standard deviation, not centred), the same for "
    "all methods; none scales again.",
    "Linear models choose among nine strengths by five-fold accuracy on noisy labels, the forest among five leaf sizes "
    "by noisy out-of-bag accuracy. FLR as printed chooses among nine settings of its three lambdas by accuracy on "
    "noisy labels of one half after fitting the other; on CNAE-9, where a fit takes most of a minute, in the first "
    "trial only, for all trials. The row in hindsight has the best test accuracy of all nine (not run on CNAE-9).",
    "Networks have one hidden layer and settings fixed beforehand; each keeps the epoch that did best on the noisy "
    "labels of 15 % of the training rows, which it does not train on. Co-teaching, JoCoR and MentorNet estimate the "
    "noise rate. RPCA before logistic regression chooses among nine settings as FLR does, and projects the clean test "
    "rows onto its row space; before cleanlab it has its own weight, and new rows are replaced by their closest point "
    "in absolute values. Both are inductive.",
    "Cells are clipped at 3.5 robust deviations of their column, which on CNAE-9 are those of the added noise.",
    "How the paper's authors split, scaled and tuned is not known.",
)


class Made(NamedTuple):
    """What a run left: files, and how many cells have no result."""

    files: list[Path]
    failed: int
    reason: str


def make_table1(
    table1: Table1,
    folder: Path,
    command: str,
    jobs: int,
    on_progress: OnProgress,
    plugins: Sequence[Path] = (),
    *,
    retry: bool = False,
) -> Made:
    """Run, resume, write."""
    with open_store(folder / STORE) as store:
        conduct(table1.plan, store, jobs, on_progress, plugins, retry=retry)
        records = [store.records[cell] for cell in wanted(table1.plan, store.records) if cell in store.records]
        page = Page(
            title=f"Table 1 under {table1.label_noise} label noise",
            command=command,
            table=table1.collect(store.records),
            printed=printed(1),
            ours=table1.rows[0],
            notes=(f"Label noise, {table1.label_noise}: {MEANING[table1.label_noise]}.", *NOTES),
            records=records,
        )
        reasons = [f"{record.cell}: {record.reason}" for record in records if record.status != "done"]
        return Made(write_all(folder, table1.name, page), len(reasons), next(iter(reasons), ""))
