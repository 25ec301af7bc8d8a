"""Columns by themselves: how likely a cell is in its column, where the bulk of a column ends; lumps and grades."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.optimize import brentq
from scipy.special import boxcox, inv_boxcox, stdtr, stdtrit, xlogy

from unmuddle.core.prox import Array

Mask = NDArray[np.bool_]

FAR = 3.5
"""Robust deviations beyond which a cell is far out."""

INNER, INNER_TO_DEVIATION = (0.15, 0.5, 0.85), 1.0364
"""Quantiles from which the deviation of either side is measured; what lies between two of them in a normal sample."""

GRID, NARROWEST = 512, 0.05
"""Points of a column's density, its least bandwidth in scaled units."""

REACH = 40.0
"""Robust deviations beyond which cells have no part in the density of their column: a few of them would coarsen it so
far that smaller errors hide in it."""

LOOKED, TOGETHER, LUMPS, LUMPED = 1000, 5, 20, 0.7
"""Rows that are looked at for lumps; cells of one value that make a lump; at most so many lumps with more than this
share of the cells make a column lumped, as counts and grades are: a smooth density has nothing to say there."""

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

OWN, ODDS, CHANCE = 0.2, 4.0, 1e-4
"""Share of a class that cells far out must be to go with it, and odds ratio; the chance that they seem to in any
column. Errors are fewer: they only seem to go with a class that lies on their side of the column."""

SIDES = ((0.25, 0.75), 0.6745), ((0.15, 0.85), INNER_TO_DEVIATION)
"""Quantiles from which tails are measured, and the deviations that they are off the median in a normal sample. The
shorter tail counts, for gross cells lengthen the one, and classes apart the other; of few amounts the longer."""

FALSE, EFFICIENCY = 0.05, 0.37
"""Share of right cells, at most, among those beyond the end of a tail; how many of the cells a usual deviation needs to
be as sure as one by quartiles."""

TWOFOLD = np.log(2)
"""Deviation of logarithms where most cells are zero and most others alike, as in counts."""

SMALLEST, DEEPEST, TINIEST = 0.1, 1e100, 1e-300
"""Ratios to the median below and above which it does not matter how small or large an amount is beside its row; amounts
below the last count as zero."""

SKEWED, GROWING = 3.0, 1.4
"""Amounts count from a floor if quantiles of their logarithms are more skewed than this over the root of their number,
which is no chance, and if the wider upper one is so many times as far off as the upper quartile; in a normal sample it
is 1.54 times."""

FEWEST, HIGHEST = 0.01, 0.99
"""Share of the amounts that may be below their floor; the highest that it may be, as a share of the median."""

GAP, NOTHING = 3.0, 0.01
"""How many times as large as one that is too small the next amount must be; the ratio to the median that stands in for
what is below zero."""


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


@dataclass(frozen=True)
class Tails:
    """The tails of columns of amounts, as incomes, prices and areas are: not negative, but for a few strays.

    That power of the positive cells, from the logarithm to the first, is taken that makes their two sides alike. Where
    even the logarithm leaves a long tail, amounts count from a floor, as wages and claims do.
    """

    middle: Array
    """Medians of the positive cells; NaN for columns that hold no amounts."""
    floor: Array
    power: Array
    reach: Array
    """From the median up to where the tail ends, on the scale of the power."""
    fall: Array
    """The same from the median down; infinite where most cells are zero, or several are below it."""

    @classmethod
    def of(cls, X: Array) -> Self:
        """For columns in their own units, NaN where a cell is missing."""
        return cls(*np.array([_tail_of(cells[~np.isnan(cells)]) for cells in X.T]).reshape(-1, 5).T)

    @property
    def size(self) -> Array:
        """Of the median over the floor: the unit of the even scale."""
        return self.middle - self.floor

    def depth(self, X: Array) -> Array:
        """How deep in the tail cells are: 0 up to the median, 1 where the tail ends; infinite where there is none."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            depth = self.even(X) / self.reach
        depth[self.middle >= X] = 0.0
        return np.where(np.isnan(depth), np.inf, np.minimum(depth, DEEPEST))

    def depth_below(self, X: Array) -> Array:
        """The same of the lower tail; nobody can say of zeros, and what is below zero is as good as nothing."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            depth = -boxcox(np.maximum(X / self.middle, NOTHING), self.power) / self.fall
        return np.where((self.middle > X) & (X != 0), depth, 0.0)

    def too_small(self, X: Array) -> Mask:
        """Cells below the end of the lower tail, unless there are others in the row: that is of something small."""
        below: Mask = self.depth_below(X) > 1.0
        return below & (below.sum(axis=1, keepdims=True) == 1)

    def even(self, X: Array) -> Array:
        """Cells over the median on the scale of the power, where it is 0 and has slope 1; tiny ones are made larger."""
        with np.errstate(over="ignore"):
            found: Array = boxcox(np.clip((X - self.floor) / self.size, SMALLEST, DEEPEST), self.power)
        return found


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
    gain = sum(xlogy(n, n / np.maximum(total * share, TINIEST)) for n, total in ((inside, sizes), (outside, others)))
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


def _tail_of(cells: Array) -> tuple[float, float, float, float, float]:
    """Median, floor, power, reach and fall."""
    amounts = cells[cells > TINIEST]
    if np.sum(cells < 0) > STRAY * len(cells) or len(amounts) == 0:
        return np.nan, 0.0, 1.0, 0.0, np.inf
    middle = float(np.median(amounts))
    with np.errstate(over="ignore"):
        ratios, rare = np.minimum(amounts / middle, DEEPEST), 2 * len(amounts) < len(cells)
    floor = 0.0 if rare else _floor_of(ratios)
    over = np.maximum((ratios - floor) / (1.0 - floor), TINIEST)
    ends = [_even_tail(over, quantiles, width, 0.0 if rare else 1.0) for quantiles, width in SIDES]
    power, reach = (max if rare else min)(ends, key=lambda end: inv_boxcox(end[1], end[0]))
    if rare and reach == 0:
        reach = TWOFOLD * _end_of(np.log(ratios) / TWOFOLD)
    signed = len(np.unique(cells[cells < 0])) > SEEN  # codes are few
    return middle, floor * middle, power, reach, np.inf if rare or signed else _fall_of(ratios, power)


def _floor_of(ratios: Array) -> float:
    """What to take off ratios to the median so that quantiles of their logarithms come to be even.

    The least of it, and no more than nearly all ratios have; 0 where logarithms leave no tail that is long for sure and
    grows as a normal one does: classes apart are long too, and end.
    """
    quartiles, wider = (np.quantile(ratios, each) for each, _ in SIDES)
    (low, high), (lower, higher) = np.log(np.maximum([quartiles, wider], TINIEST))
    skews = [(first + last) / max(last - first, TINIEST) for first, last in ((low, high), (lower, higher))]
    if min(skews) * np.sqrt(len(ratios)) <= SKEWED or higher < GROWING * high:
        return 0.0
    floors = [(low * high - 1.0) / (low + high - 2.0) for low, high in (quartiles, wider)]
    highest = min(float(np.quantile(ratios, FEWEST)), HIGHEST)
    return float(np.clip(min(floors), 0.0, highest))


def _fall_of(ratios: Array, power: float) -> float:
    """How far the lower tail reaches on the scale of the power: below a gap, and where a normal tail has ended.

    The longer tail counts. Small amounts are common, so a few are too small only if none is nearly as small.
    """
    even, falls = boxcox(ratios, power), [0.0]
    for quantiles, width in SIDES:
        low, high = np.quantile(even, quantiles)
        deviation = np.sqrt(abs(low) * high) / width
        falls.append(deviation * _end_of(-even / deviation) if deviation > 0 else np.inf)
    fallen = np.sort(-even)[::-1]
    below = int(np.sum(fallen > max(falls)))
    ordered = np.sort(ratios)[: below + 1]
    gaps = np.flatnonzero(ordered[1:] >= GAP * ordered[:-1]) + 1
    lowest = ordered[gaps[-1]] if len(gaps) and below <= STRAY * len(ratios) else ordered[0]
    return float(max(*falls, -boxcox(lowest / GAP, power)))


def _even_tail(ratios: Array, quantiles: tuple[float, float], width: float, most: float) -> tuple[float, float]:
    """The power, at most this, that makes quantiles of ratios to the median even, and the reach of the tail then."""
    low, high = np.quantile(ratios, quantiles)
    power = min(most, _even_power(low, high))
    deviation = np.sqrt(abs(boxcox(low, power)) * boxcox(high, power)) / width
    return power, deviation * _end_of(boxcox(ratios, power) / deviation) if deviation > 0 else 0.0


def _end_of(depths: Array) -> float:
    """Where more cells begin than a normal tail has, by the rule of Benjamini and Hochberg."""
    n_cells = len(depths)
    freedom = max(1.0, EFFICIENCY * (n_cells - 1))
    chances = np.sort(stdtr(freedom, -depths[depths >= -stdtrit(freedom, FALSE)]))
    shares = FALSE * np.arange(1, len(chances) + 1) / n_cells
    beyond = np.flatnonzero(chances <= shares)
    return float(-stdtrit(freedom, shares[beyond[-1]] if len(beyond) else FALSE / n_cells))


def _even_power(low: float, high: float) -> float:
    """From 0 to 1, for which a number below one and a number above it come to be as far from it."""

    def excess(power: float) -> float:
        return float(boxcox(low, power) + boxcox(high, power))

    if excess(0.0) >= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 1.0)) if excess(1.0) > 0.0 else 1.0


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
