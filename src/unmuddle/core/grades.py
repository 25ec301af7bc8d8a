"""Columns of few values, as marks, counts and answers to yes or no are: which values they hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.prox import Array, Mask

LOOKED = 1000
"""Rows of which the values are counted first."""

MOST_GRADES, SEEN, STRAY = 10, 5, 0.05
"""Different values that a column of grades may have; rows in which one is met that is sure to be a grade; share of the
cells that may be other numbers."""

COMMON, TIMES = 0.01, 5.5
"""Share of the cells from which on a number, met often enough, is a value of its column however far off the others it
is, if it is at most so many times as large as they are."""

STEPS, MOST_OFF = 2.0, 0.15
"""Gaps, each as wide as the narrowest, by which a grade may be away from the next one, unless a common one or more than
this share of the cells is beyond."""

CODES = (-1.0, *(sign * (10.0**digits - 1.0) for digits in (1, 2, 3, 4, 5) for sign in (1.0, -1.0)))
"""What people write for cells that they do not know: however common, such a number far off is none of the grades."""

SAME, ALIKE = 1e-9, 3.0
"""Relative distance up to which values are the same; how many times as common as the other of two images one may be."""


class Grades(NamedTuple):
    """A column of few values, as marks, counts and answers to yes or no are."""

    column: int
    levels: Array
    low: float
    high: float
    """Between these rare values are as good as frequent ones."""
    strict: bool
    """Whether there are two values and nothing else."""

    def snap(self, cells: Array) -> Array:
        """The nearest values."""
        borders = (self.levels[1:] + self.levels[:-1]) / 2
        return self.levels[np.searchsorted(borders, cells)]

    def scale(self, centre: float, scale: float) -> Grades:
        """In other units."""
        low, high = (self.low - centre) / scale, (self.high - centre) / scale
        return self._replace(levels=(self.levels - centre) / scale, low=low, high=high)


def find_grades(X: Array, columns: Iterable[int]) -> tuple[Grades, ...]:
    """Those of the columns that hold a few whole or half numbers, but for a few strays, or two values."""
    found = (_grades_of(X[:, column], column) for column in columns)
    return tuple(grades for grades in found if grades is not None)


def _grades_of(cells: Array, column: int) -> Grades | None:
    sample = cells[:: -(-len(cells) // LOOKED)]
    if len(np.unique(sample[~np.isnan(sample)])) > MOST_GRADES + STRAY * len(sample):
        return None
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    if len(values) == 2 and (counts >= SEEN).all():
        return Grades(column, values, float(values[0]), float(values[1]), strict=True)
    plain = (2.0 * values == np.round(2.0 * values)) | _are_common(counts)
    levels, often = values[plain], counts[plain] >= SEEN
    if len(levels) < 2 or often.sum() > MOST_GRADES or not _are_most(plain, values, counts):
        return None
    return _chain(levels, counts[plain], often, column, strict=len(values) == 2)


def _are_common(counts: NDArray[np.intp]) -> Mask:
    """Values that are met so often that they must be meant."""
    common: Mask = counts >= max(SEEN, COMMON * counts.sum())
    return common


def _meant(levels: Array, counts: NDArray[np.intp], middle: int) -> list[int]:
    """Places of common values that are neither codes nor images of others, from the commonest one outwards."""
    near_common = np.flatnonzero(ALIKE * counts >= max(SEEN, COMMON * counts.sum()))
    images = near_common[_are_images(levels[near_common], counts[near_common])]
    meant = np.flatnonzero(_are_common(counts) & ~np.isin(levels, CODES))
    return sorted(np.setdiff1d(meant, images).tolist(), key=lambda place: abs(place - middle))


def _are_images(levels: Array, counts: NDArray[np.intp]) -> Mask:
    """Values that lie as far below a commoner one as others, about as common, lie above it: errors of one size."""
    mirrored = 2.0 * levels - levels[:, None]
    at = np.minimum(np.searchsorted(levels, mirrored - SAME), len(levels) - 1)
    there = np.abs(levels[at] - mirrored) <= SAME * max(1.0, float(np.abs(levels).max()))
    fewer, more = np.minimum(counts[at], counts[:, None]), np.maximum(counts[at], counts[:, None])
    images: Mask = np.any(there & (more <= ALIKE * fewer) & (more < counts), axis=1)
    return images


def _are_most(plain: Mask, values: Array, counts: NDArray[np.intp]) -> bool:
    """Whether all but a few cells are plain numbers, and most of those that are not zero."""
    amounts = values != 0
    most = counts[plain & amounts].sum() > counts[amounts].sum() / 2
    return bool(most and counts[plain].sum() >= (1.0 - STRAY) * counts.sum())


def _chain(levels: Array, counts: NDArray[np.intp], often: Mask, column: int, *, strict: bool) -> Grades | None:
    """Values that can be reached from the commonest one by steps that are not too wide, or are common themselves."""
    gaps, middle, below = np.diff(levels), int(counts.argmax()), np.cumsum(counts)[:-1] / counts.sum()
    beyond = np.where(np.arange(len(gaps)) < middle, below, 1.0 - below)
    reach = STEPS * np.diff(levels[often]).min(initial=1.0)
    wide = np.flatnonzero((gaps > reach) & (beyond <= MOST_OFF))
    first, last = wide[wide < middle].max(initial=-1) + 1, wide[wide >= middle].min(initial=len(gaps))
    for place in _meant(levels, counts, middle):
        if np.abs(levels[place]) <= TIMES * (np.abs(levels[first : last + 1]).max() or np.inf):
            first, last = min(first, place), max(last, place)
    reached = levels[first : last + 1]
    if not 1 < len(reached) <= MOST_GRADES:
        return None
    margin = 0.0 if strict else reach
    return Grades(column, reached, reached[0] - margin, reached[-1] + margin, strict=strict and len(reached) == 2)
