"""Columns by themselves: how likely a cell is in its column, where the bulk of a column ends; lumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import xlogy

from unmuddle.core.grades import LOOKED, SEEN, Grades
from unmuddle.core.prox import TINY, Array, Mask

FAR = 3.5
"""Robust deviations beyond which a cell is far out."""

INNER, INNER_TO_DEVIATION = (0.15, 0.5, 0.85), 1.0364
"""Quantiles from which the deviation of either side is measured; what lies between two of them in a normal sample."""

GRID, NARROWEST = 512, 0.05
"""Points of a column's density, its least bandwidth in scaled units."""

REACH = 40.0
"""Robust deviations beyond which cells have no part in the density of their column: a few of them would coarsen it so
far that smaller errors hide in it."""

TOGETHER, LUMPS, LUMPED = 5, 20, 0.7
"""Cells of one value that make a lump; at most so many lumps with more than this share of the cells make a column
lumped, as counts and grades are: a smooth density has nothing to say there."""

OWN, ODDS, CHANCE = 0.2, 4.0, 1e-4
"""Share of a class that cells far out must be to go with it, and odds ratio; the chance that they seem to in any
column. Errors are fewer: they only seem to go with a class that lies on their side of the column."""


@dataclass(frozen=True)
class Densities:
    """A smooth density for each column, on a grid; one cell more than were seen may be anywhere.

    That one has a Cauchy distribution: else a gross cell outside of what was seen would be explained by no column.
    """

    lowest: Array
    steps: Array
    values: Array
    counts: Array
    """Number of cells seen."""

    @classmethod
    def of(cls, X: Array, present: Mask) -> Self:
        """Kernel estimates with Silverman's bandwidth."""
        columns = [_smooth(X[present[:, j], j]) for j in range(X.shape[1])]
        lowest, steps, values = zip(*columns, strict=True)
        return cls(np.array(lowest), np.array(steps), np.array(values), present.sum(axis=0))

    def log(self, X: Array) -> Array:
        """Log density of every cell in its column."""
        found = np.empty_like(X)
        for j, (low, step, values) in enumerate(zip(self.lowest, self.steps, self.values, strict=True)):
            found[:, j] = np.interp((X[:, j] - low) / step, np.arange(GRID), values, left=0.0, right=0.0)
        anywhere = FAR / np.pi / (FAR**2 + X**2)
        logs: Array = np.log((self.counts * found + anywhere) / (self.counts + 1))
        return logs


@dataclass(frozen=True)
class Bulk:
    """Where the bulk of each column begins and ends."""

    low: Array
    high: Array

    @classmethod
    def of(cls, X: Array, graded: tuple[Grades, ...] = ()) -> Self:
        """For scaled columns (NaN where a cell is missing): a long tail on one side lengthens the bulk on that side.

        By the geometric mean of one deviation for both sides and one of its own: what makes a side long may be a tail,
        or gross cells.
        """
        empty = np.isnan(X).all(axis=0)
        low, middle, high = np.nanquantile(np.where(empty, 0.0, X), INNER, axis=0)
        below, above = (np.sqrt(np.maximum(1.0, side / INNER_TO_DEVIATION)) for side in (middle - low, high - middle))
        first, last = middle - FAR * below, middle + FAR * above
        for each in graded:
            first[each.column] = min(first[each.column], each.low)
            last[each.column] = max(last[each.column], each.high)
        return cls(first, last)

    def stretch(self, other: Bulk) -> Bulk:
        """As far as the farther of both."""
        return Bulk(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def is_far(self, X: Array) -> Mask:
        """Cells outside; no missing one is."""
        below: Mask = np.less(X, self.low)
        return below | np.greater(X, self.high)


def reach_of_classes(X: Array, far: Mask, codes: NDArray[np.intp], bulk: Bulk) -> Bulk:
    """The bulk, and beyond it what cells far out reach that are how a class looks: the bulk of the class's and no more.

    One number over and over, as a code for cells that nobody knows, is no look.
    """
    ends = []
    for side, sign in ((bulk.low > X, -1.0), (bulk.high < X, 1.0)):
        end = np.full(X.shape[1], -np.inf)
        for code, column in np.argwhere(go_with_classes(far & side, codes)):
            cells = sign * X[(far & side)[:, column] & (codes == code), column]
            low, middle, high = np.quantile(cells, INNER)
            if np.unique(cells, return_counts=True)[1].max() <= len(cells) / 2:
                reach = middle + FAR * max(1.0, (high - low) / (2.0 * INNER_TO_DEVIATION))
                end[column] = max(end[column], reach)
        ends.append(sign * end)
    return bulk.stretch(Bulk(*ends))


def go_with_classes(far: Mask, codes: NDArray[np.intp]) -> Mask:
    """Whether in a column (across) cells far out are a good part of a class (down), and much rarer in others.

    Rows of class -1 are of none. Wrong cells fall on all classes alike. What goes with a class is how the class looks,
    if only it is rare. Judged by the odds ratio, and by the likelihood ratio of a share for the class against one for
    all.
    """
    known = codes >= 0
    of_class = np.eye(int(codes.max(initial=0)) + 1)[codes[known].astype(np.intp)]
    inside, sizes = of_class.T @ far[known], of_class.sum(axis=0)[:, None]
    outside, others = inside.sum(axis=0) - inside, known.sum() - sizes
    share = (inside + outside) / max(int(known.sum()), 1)
    gain = sum(xlogy(n, n / np.maximum(total * share, TINY)) for n, total in ((inside, sizes), (outside, others)))
    odds = (inside + 0.5) * (others - outside + 0.5) / ((sizes - inside + 0.5) * (outside + 0.5))
    unlikely = gain > np.log(inside.size / CHANCE)
    found: Mask = (odds > ODDS) & unlikely & (inside >= np.maximum(SEEN, OWN * sizes))
    return found


def find_unknown(X: Array) -> Mask:
    """Columns of zeros in which next to nothing else is met: nobody can say what may be."""
    amounts = np.sum(~np.isnan(X) & (X != 0), axis=0)
    return (amounts > 0) & (amounts < SEEN) & (np.sum(X == 0, axis=0) >= SEEN)


def find_lumped(X: Array) -> Mask:
    """Columns in which most cells share their value with others."""
    sample = np.sort(X[:: -(-len(X) // LOOKED)], axis=0)
    return np.array([_is_lumped(cells[~np.isnan(cells)]) for cells in sample.T], dtype=bool)


def _is_lumped(cells: Array) -> bool:
    """For sorted cells."""
    ends = np.flatnonzero(np.diff(cells, append=np.inf))
    sizes = np.diff(ends, prepend=-1)
    lumps = sizes[sizes >= TOGETHER]
    return len(lumps) <= LUMPS and bool(lumps.sum() > LUMPED * len(cells))


def _smooth(cells: Array) -> tuple[float, float, Array]:
    """Lowest point, step and values of a column's density."""
    n_cells, cells = len(cells), cells[np.abs(cells) <= REACH]
    if len(cells) == 0:
        n_cells, cells = 1, np.zeros(1)
    low, high = np.quantile(cells, [0.25, 0.75])
    spread = min(cells.std(), (high - low) / 1.34) or cells.std()
    width = max(0.9 * spread * len(cells) ** -0.2, NARROWEST, np.ptp(cells) / 400)
    first, last = cells.min() - 3 * width, cells.max() + 3 * width
    step = (last - first) / (GRID - 1)
    place = (cells - first) / step
    left = np.minimum(place.astype(np.intp), GRID - 2)
    share = place - left
    counts = np.bincount(left, 1 - share, GRID) + np.bincount(left + 1, share, GRID)
    return float(first), float(step), gaussian_filter1d(counts, width / step, mode="constant") / (n_cells * step)
