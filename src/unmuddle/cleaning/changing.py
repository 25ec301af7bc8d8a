"""Write what was recovered into the caller's table and labels, and keep a line for each change."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmuddle.cleaning.audit import AuditKind, make_audit
from unmuddle.cleaning.judging import Verdict
from unmuddle.cleaning.labels import Labels
from unmuddle.cleaning.tables import Table, repair, table_of
from unmuddle.core.prox import Array, Mask


class Change(NamedTuple):
    """One cell or label: where it is, what it was and what it is now."""

    kind: AuditKind
    row: int
    column: Hashable
    given: Any
    new: Any
    confidence: float


def change_cells(
    X: Any, table: Table, wrong: Mask, missing: Mask, decoded: list[NDArray[Any]], chances: Array
) -> tuple[Any, list[Change]]:
    """A copy of the table with new values in wrong and missing cells; what its types cannot tell apart is no change."""
    rows, columns = np.nonzero(wrong | missing)
    wanted = {
        (int(row), int(column)): decoded[column][row]
        for row, column in zip(rows, columns, strict=True)
        if decoded[column][row] is not None
    }
    repaired = repair(X, wanted)
    given, new = _cells(table, list(wanted)), _cells(table_of(repaired), list(wanted))
    changed = {place for place, old, now in zip(wanted, given, new, strict=True) if now is not None and old != now}
    if len(changed) < len(wanted):
        repaired = repair(X, {place: value for place, value in wanted.items() if place in changed})
    changes = [
        Change(
            "missing cell" if missing[place] else "cell",
            place[0],
            table.labels[place[1]],
            old,
            now,
            1.0 if missing[place] else float(chances[place]),
        )
        for place, old, now in zip(wanted, given, new, strict=True)
        if place in changed
    ]
    return repaired, changes


def change_labels(y: Any, labels: Labels, verdict: Verdict) -> tuple[Any, list[Change]]:
    """A copy of the labels in which flagged ones are what they should be."""
    rows = np.flatnonzero(verdict.flags)
    names = labels.classes.tolist()
    changes = [
        Change(
            "label",
            int(row),
            "label",
            names[labels.codes[row]],
            names[verdict.suggested[row]],
            float(verdict.wrong[row]),
        )
        for row in rows
    ]
    return labels.repair(y, rows, verdict.suggested[rows]), changes


def audit_of(changes: Sequence[Change], index: Sequence[Hashable]) -> pd.DataFrame:
    """All changes as a table."""
    fields = {name: [getattr(change, name) for change in changes] for name in Change._fields}
    return make_audit(index=[index[change.row] for change in changes], **fields)


def _cells(table: Table, places: list[tuple[int, int]]) -> NDArray[Any]:
    return table.cells([row for row, _ in places], [column for _, column in places])
