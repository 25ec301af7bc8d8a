"""Our rows against the best of the others, cell by cell: the margin, its paired standard error, and the verdict.

A cell is reached where ours is at or above every baseline: not below any of them by more than one paired standard
error, ``s / sqrt(k)`` over the k trials, the strict one that makes no allowance for overlapping splits. Baselines are
all rows that know no more than a user and are not ours; one that lacks a trial is named and does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unmuddle.experiments.table import Column, Entry, Row, Table, gaps, standard_error

DEFAULTS = ("hybrid", "unmuddle-auto")
"""Both are judged wherever they are in a table; the first is what the library offers first."""

ROUNDING = 1e-9
"""Points; a difference as small is none."""


class Margin(NamedTuple):
    """One of our rows in a column, in points of accuracy; without a best baseline nothing could be compared."""

    row: Row
    column: Column
    best: Row | None
    margin: float
    error: float | None
    below: tuple[Row, ...] = ()
    lacking: tuple[Row, ...] = ()

    @property
    def reached(self) -> bool | None:
        """Whether ours is at or above every baseline; None where it cannot be said."""
        return None if self.best is None else not self.below


class Goal(NamedTuple):
    """In how many of these columns the first of our rows should be at or above every baseline."""

    words: str
    columns: tuple[Column, ...]
    wanted: int


@dataclass(frozen=True)
class Verdict:
    """All margins of one of our rows."""

    row: Row
    margins: tuple[Margin, ...]

    def reached(self, columns: Sequence[Column] | None = None) -> int:
        """In how many columns, of these or of all."""
        return sum(bool(each.reached) for each in self.margins if columns is None or each.column in columns)

    @property
    def compared(self) -> int:
        """In how many columns anything could be compared."""
        return sum(each.reached is not None for each in self.margins)


def judge(table: Table) -> list[Verdict]:
    """The first row of a table and every other default of ours in it, each against the rows that are not ours."""
    rows = [table.rows[0], *(row for row in table.rows[1:] if row.name in DEFAULTS)]
    return [Verdict(row, tuple(find_margin(table, row, column) for column in table.columns)) for row in rows]


def find_margin(table: Table, ours: Row, column: Column) -> Margin:
    """Ours less the best baseline, over the trials that all of them have."""
    mine = table[ours, column]
    rivals = [row for row in table.rows if row != ours and not row.rule and not row.ours]
    whole = [row for row in rivals if table[row, column].complete]
    lacking = tuple(row for row in rivals if row not in whole)
    if not (mine.complete and whole):
        return Margin(ours, column, None, float("nan"), None, lacking=lacking)
    best = max(whole, key=lambda row: table[row, column].mean)
    below = tuple(row for row in whole if is_below(mine, table[row, column]))
    found = gaps(mine, table[best, column])
    return Margin(ours, column, best, float(found.mean()), _error(mine, table[best, column]), below, lacking)


def is_below(mine: Entry, theirs: Entry) -> bool:
    """Whether mine is lower by more than one paired standard error; a single trial has no error to allow for."""
    return bool(gaps(mine, theirs).mean() < -(_error(mine, theirs) or 0.0) - ROUNDING)


def _error(mine: Entry, theirs: Entry) -> float | None:
    found = gaps(mine, theirs)
    return standard_error(found, overlap=0.0) if len(found) > 1 else None


def words(margin: Margin) -> str:
    """The verdict on a cell."""
    if margin.reached is None:
        return "not run"
    names = ", ".join(row.title for row in margin.below)
    return f"below {names}" if names else "at or above"


def size(margin: Margin) -> str:
    """The margin with its error."""
    if np.isnan(margin.margin):
        return "\N{EN DASH}"
    return f"{margin.margin:+.2f}" + (f" ± {margin.error:.2f}" if margin.error is not None else "")


def count(verdict: Verdict, goals: Sequence[Goal] = ()) -> str:
    """In one sentence, how many cells were reached; and the goals beside it."""
    told = f"At or above every baseline in {verdict.reached()} of {len(verdict.margins)} cells"
    if verdict.compared < len(verdict.margins):
        told += f" ({len(verdict.margins) - verdict.compared} could not be compared)"
    return told + "".join(f"; {_reckon(verdict, goal)}" for goal in goals) + "."


def count_together(verdicts: Sequence[Verdict], wanted: int) -> str:
    """In one sentence, in how many cells of several tables the same row was reached."""
    columns = tuple(each.column for verdict in verdicts for each in verdict.margins)
    joined = Verdict(verdicts[0].row, tuple(each for verdict in verdicts for each in verdict.margins))
    return f"{joined.row.title}: {count(joined, (Goal('these tables together', columns, wanted),))}"


def _reckon(verdict: Verdict, goal: Goal) -> str:
    found = verdict.reached(goal.columns)
    reached = "reached" if found >= goal.wanted else "not reached"
    return f"{goal.words} {found} of {len(goal.columns)}, wanted {goal.wanted}: {reached}"
