"""Wrong cells as a picture of rows and columns, binned where there are too many of either."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unmuddle.cleaning import HybridCleaner
from unmuddle.core.prox import Array, Mask
from unmuddle.report.text import shown

MOST_ROWS, MOST_COLUMNS = 200, 60
"""Bins of rows and of columns that a picture has at most."""


@dataclass(frozen=True)
class Grid:
    """Shares of wrong cells, and of missing ones, in bins of rows (first axis) and columns."""

    wrong: tuple[tuple[float, ...], ...]
    missing: tuple[tuple[float, ...], ...]
    rows_each: int
    columns_each: int
    names: tuple[str, ...]
    n_rows: int

    @classmethod
    def of(cls, wrong: Mask, missing: Mask, names: tuple[str, ...]) -> Self:
        """Bin two masks of cells; a bin of columns bears the name of its first."""
        rows_each, columns_each = -(-wrong.shape[0] // MOST_ROWS), -(-wrong.shape[1] // MOST_COLUMNS)
        shares = (_bin(mask, rows_each, columns_each) for mask in (wrong, missing))
        first, second = (tuple(map(tuple, share.tolist())) for share in shares)
        return cls(first, second, rows_each, columns_each, names[::columns_each], len(wrong))

    @classmethod
    def of_cleaner(cls, cleaner: HybridCleaner) -> Self:
        """Wrong cells of a fitted cleaner; missing ones are not known."""
        report = cleaner.noise_report_
        names = report.loc[(report["part"] == "column") & (report["quantity"] == "wrong cells"), "name"].tolist()
        wrong = np.zeros(cleaner.cell_scores_.shape, dtype=bool)
        for place in wrong_places(cleaner, names):
            wrong[place] = True
        return cls.of(wrong, np.zeros_like(wrong), tuple(shown(name, 40) for name in names))

    @property
    def shape(self) -> tuple[int, int]:
        """Bins of rows and of columns."""
        return len(self.wrong), len(self.names)

    @property
    def largest(self) -> float:
        """The largest share of wrong cells, which has the strongest colour; 1 where nothing is wrong."""
        return max(map(max, self.wrong)) or 1.0

    @property
    def is_binned(self) -> bool:
        """Whether a square stands for several cells."""
        return self.rows_each * self.columns_each > 1


def wrong_places(cleaner: HybridCleaner, names: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Row and column of every wrong cell, by position; of columns that share a name, the one that has the score."""
    by_name: dict[Hashable, list[int]] = {}
    for position, name in enumerate(names):
        by_name.setdefault(name, []).append(position)
    issues, scores = cleaner.cell_issues_, cleaner.cell_scores_
    rows = issues["row"].tolist()
    if len(by_name) == len(names):
        return [(row, by_name[name][0]) for row, name in zip(rows, issues["column"], strict=True)]
    places: list[tuple[int, int]] = []
    taken = set()
    for row, name, score in zip(rows, issues["column"], issues["score"], strict=True):
        positions = by_name[name]
        free = [place for place in positions if (row, place) not in taken] or positions
        places.append((row, min(free, key=partial(_distance, scores[row], score))))
        taken.add(places[-1])
    return places


def _distance(scores: Array, score: float, place: int) -> float:
    return abs(float(scores[place]) - score)


def _bin(mask: Mask, rows_each: int, columns_each: int) -> Array:
    rows, columns = np.arange(0, mask.shape[0], rows_each), np.arange(0, mask.shape[1], columns_each)
    sums = np.add.reduceat(np.add.reduceat(mask.astype(float), rows, axis=0), columns, axis=1)
    sizes = np.outer(_sizes(rows, mask.shape[0]), _sizes(columns, mask.shape[1]))
    return sums / sizes


def _sizes(starts: NDArray[Any], end: int) -> NDArray[Any]:
    return np.diff(np.append(starts, end))
