"""What a cleaner tells, as plain tables with a schema version."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2
from sklearn.neighbors import NearestNeighbors

from unmuddle.cleaning.audit import SCHEMA_VERSION
from unmuddle.cleaning.columns import to_objects
from unmuddle.cleaning.encoding import Encoding
from unmuddle.cleaning.judging import Rate, Verdict
from unmuddle.cleaning.tables import Table
from unmuddle.core.evidence import discover
from unmuddle.core.prox import Array, Mask

CERTAIN = 0.5
"""Chance of being wrong that a flagged label or cell has at least."""

OUTLYING = 1e-3
"""Expected number of flagged rows, over all rows, if these are as the model has them."""

SAME = 1e-6
"""Distance, in units of the typical distance between neighbours, below which rows are copies."""

MOST_COMPARED = 20_000
"""Rows among which copies are looked for."""


def label_issues(
    given: NDArray[Any], classes: NDArray[Any], index: Sequence[Hashable], verdict: Verdict
) -> pd.DataFrame:
    """A line for each row: its label, what it should be, and why."""
    suggested = classes[verdict.suggested].tolist()
    rows = np.arange(len(given))
    chances = verdict.posterior[rows, verdict.suggested]
    reasons = [
        _reason(label, better, wrong, chance, bool(flag))
        for label, better, wrong, chance, flag in zip(
            given, suggested, verdict.wrong, chances, verdict.flags, strict=True
        )
    ]
    return _table(
        row=rows,
        index=to_objects(list(index)),
        given=to_objects(list(given)),
        suggested=to_objects(suggested),
        confidence=verdict.wrong,
        flag=verdict.flags,
        reason=reasons,
    )


def _reason(given: Any, suggested: Any, wrong: float, chance: float, flag: bool) -> str:
    if given is None:
        return f"No label was given; models fitted to other rows say {suggested!r}, chance {chance:.2f}."
    weighed = "Models that did not see this label, weighed against it,"
    if flag:
        return f"{weighed} say {suggested!r}, chance {chance:.2f}; {given!r} has {1 - wrong:.2f}."
    if given == suggested:
        return f"{weighed} let it stand: {given!r} has chance {1 - wrong:.2f}, the largest."
    return f"{suggested!r} is likelier, chance {chance:.2f}; {given!r} has {1 - wrong:.2f}, too much for a flag."


def flag_cells(chances: Array, encoding: Encoding, fdr: float) -> Mask:
    """Cells of the table that are wrong: any of the encoded columns that a cell has."""
    seen = ~np.isnan(chances)
    flags = np.zeros(chances.shape, dtype=bool)
    flags[seen] = discover(chances[seen], fdr) & (chances[seen] > CERTAIN)
    if encoding.is_numeric:
        return flags
    return np.stack([flags[:, span].any(axis=1) for span in encoding.spans], axis=1)


def per_cell(values: Array, encoding: Encoding) -> Array:
    """The largest of the encoded columns of each cell."""
    if encoding.is_numeric:
        return values
    return np.stack([values[:, span].max(axis=1) for span in encoding.spans], axis=1)


def cell_issues(table: Table, flags: Mask, decoded: list[NDArray[Any]], scores: Array, chances: Array) -> pd.DataFrame:
    """A line for each flagged cell, in the user's units."""
    rows, columns = np.nonzero(flags)
    recovered = np.empty(len(rows), dtype=object)
    for column in np.unique(columns):
        here = columns == column
        recovered[here] = to_objects(decoded[column][rows[here]].tolist())
    return _table(
        row=rows,
        index=to_objects(table.index)[rows],
        column=to_objects(table.labels)[columns],
        given=table.cells(rows, columns),
        recovered=recovered,
        score=scores[rows, columns],
        confidence=chances[rows, columns],
        flag=np.ones(len(rows), dtype=bool),
    )


def noise_report(
    classes: NDArray[Any], rate: Rate, transition: Array, uncertain: float, columns: pd.DataFrame
) -> pd.DataFrame:
    """How noisy labels and columns are, each with an interval, and which noise hurts most."""
    n_classes = len(classes)
    lines = [("labels", "all", "noise rate", *rate)]
    lines += [
        ("labels", f"{classes[i]} -> {classes[j]}", "transition", float(transition[i, j]), np.nan, np.nan)
        for i in range(n_classes)
        for j in range(n_classes)
    ]
    lines += list(columns.itertuples(index=False, name=None))
    lines.append(("features", "all", "rows that they leave uncertain", uncertain, np.nan, np.nan))
    worst = "labels" if rate.estimate >= uncertain else "features"
    lines.append(("verdict", worst, "hurts most", max(rate.estimate, uncertain), np.nan, np.nan))
    names = ("part", "name", "quantity", "estimate", "low", "high")
    return _table(**{name: list(values) for name, values in zip(names, zip(*lines, strict=True), strict=True)})


def column_noise(names: Sequence[Hashable], flags: Mask, present: Mask, noise: Array | None) -> pd.DataFrame:
    """For each column the share of wrong cells, with Wilson's interval, and the noise in all its cells."""
    lines = []
    for place, name in enumerate(names):
        n = int(present[:, place].sum())
        lines.append(("column", name, "wrong cells", *_wilson(int(flags[:, place].sum()), n)))
        if noise is not None:
            reach = 1.645 / np.sqrt(2 * max(n, 1))
            size = float(noise[place])
            lines.append(("column", name, "noise level", size, size * max(0.0, 1 - reach), size * (1 + reach)))
    return pd.DataFrame(lines)


def row_issues(X: Array, codes: NDArray[np.intp], distances: Array | None, index: Sequence[Hashable]) -> pd.DataFrame:
    """Rows far from all others, and copies of rows that have another label."""
    lines: list[tuple[int, str, float, int, str]] = []
    if distances is not None:
        lines += [
            (int(row), "outlier", float(distances[row]), -1, "Its cells together are far from what other rows have.")
            for row in _outliers(distances, X.shape[1])
        ]
    lines += [
        (row, "copy with another label", 1.0, other, f"Row {other} has the same cells and another label.")
        for row, other in _contradictions(X, codes)
    ]
    lines.sort()
    rows = [line[0] for line in lines]
    return _table(
        row=np.array(rows, dtype=np.int64),
        index=to_objects([index[row] for row in rows]),
        kind=[line[1] for line in lines],
        score=np.array([line[2] for line in lines], dtype=float),
        other=np.array([line[3] for line in lines], dtype=np.int64),
        reason=[line[4] for line in lines],
    )


def _outliers(distances: Array, n_columns: int) -> NDArray[np.intp]:
    """Squared distances, scaled to have the median of a chi-square, that are too large to be chance."""
    middle = float(np.median(distances))
    if middle <= 0:
        return np.zeros(0, dtype=np.intp)
    scaled = distances * chi2.median(n_columns) / middle
    return np.flatnonzero(chi2.sf(scaled, n_columns) < OUTLYING / len(distances))


def _contradictions(X: Array, codes: NDArray[np.intp]) -> list[tuple[int, int]]:
    if not 2 < len(X) <= MOST_COMPARED:
        return []
    distances, neighbours = NearestNeighbors(n_neighbors=min(3, len(X))).fit(X).kneighbors(X)
    apart = distances[:, 1][distances[:, 1] > 0]
    close = SAME * float(np.median(apart)) if len(apart) else 0.0
    pairs = []
    for row, (far, others) in enumerate(zip(distances, neighbours, strict=True)):
        for distance, other in zip(far, others, strict=True):
            if other != row and distance <= close and codes[row] >= 0 <= codes[other] and codes[row] != codes[other]:
                pairs.append((row, int(other)))
                break
    return pairs


def _wilson(count: int, n: int, z: float = 1.645) -> tuple[float, float, float]:
    if n == 0:
        return np.nan, np.nan, np.nan
    share, damp = count / n, 1 + z**2 / n
    middle = (share + z**2 / (2 * n)) / damp
    reach = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / damp
    return share, max(0.0, middle - reach), min(1.0, middle + reach)


def pack(table: pd.DataFrame) -> dict[str, Any]:
    """A frame as plain arrays and lists."""
    return {
        "columns": list(table.columns),
        "cells": [table.iloc[:, place].to_numpy() for place in range(table.shape[1])],
        "index": None if isinstance(table.index, pd.RangeIndex) else list(table.index),
        "attrs": dict(table.attrs),
    }


def unpack(packed: dict[str, Any]) -> pd.DataFrame:
    """The frame again."""
    table = pd.DataFrame(dict(enumerate(map(pd.Series, packed["cells"]))))
    table.columns = pd.Index(packed["columns"])
    if packed["index"] is not None:
        table.index = pd.Index(packed["index"])
    table.attrs.update(packed["attrs"])
    return table


def _table(**columns: Any) -> pd.DataFrame:
    table = pd.DataFrame({name: pd.Series(values) for name, values in columns.items()})
    table.attrs["schema_version"] = SCHEMA_VERSION
    return table
