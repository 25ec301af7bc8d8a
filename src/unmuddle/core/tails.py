"""Columns of amounts, as incomes and areas are: where their tails end, and which cells are beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import boxcox, inv_boxcox, stdtr, stdtrit

from unmuddle.core.grades import SEEN, STRAY
from unmuddle.core.margins import INNER_TO_DEVIATION
from unmuddle.core.prox import Array, Mask

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
    """The same from the median down; infinite where most cells are zero, several are below it, or tails are heavy."""

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
            ratios = np.where(X < 0, NOTHING, np.maximum(X / self.middle, TINIEST))
            depth = -boxcox(ratios, self.power) / self.fall
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


def _tail_of(cells: Array) -> tuple[float, float, float, float, float]:
    """Median, floor, power, reach and fall."""
    amounts = cells[cells > TINIEST]
    if np.sum(cells < 0) > STRAY * len(cells) or len(amounts) == 0:
        return np.nan, 0.0, 1.0, 0.0, np.inf
    middle = float(np.median(amounts))
    with np.errstate(over="ignore"):
        ratios, rare = np.clip(amounts / middle, TINIEST, DEEPEST), 2 * len(amounts) < len(cells)
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

    The longer tail counts. Small amounts are common, so a few are too small only if none is nearly as small. Where
    that is as good as nothing, and amounts that no gap parts from the others pass the last end of a normal tail, on
    either side, the tails are heavy and have none.
    """
    even = boxcox(ratios, power)
    sides = ((np.quantile(even, quantiles), width) for quantiles, width in SIDES)
    deviation = max(np.sqrt(abs(low) * high) / width for (low, high), width in sides)
    if deviation == 0:
        return np.inf
    last, (fall, rise) = deviation * _last_of(len(even)), (deviation * _end_of(s * even / deviation) for s in (-1, 1))
    lowest, highest = _before_gap(ratios, even < -fall), 1.0 / _before_gap(1.0 / ratios, even > rise)
    heavy, fall = max(-boxcox(lowest, power), boxcox(highest, power)) > last, max(fall, -boxcox(lowest / GAP, power))
    return np.inf if heavy and fall > -boxcox(NOTHING, power) else float(fall)


def _before_gap(ratios: Array, beyond: Mask) -> float:
    """The least one that no gap parts from those that are not beyond the end, if few are."""
    outer = np.sort(ratios)[: beyond.sum() + 1]
    gaps = np.flatnonzero(outer[1:] >= GAP * outer[:-1]) + 1
    return float(outer[gaps[-1] if len(gaps) and beyond.mean() <= STRAY else 0])


def _even_tail(ratios: Array, quantiles: tuple[float, float], width: float, most: float) -> tuple[float, float]:
    """The power, at most this, that makes quantiles of ratios to the median even, and the reach of the tail then."""
    low, high = np.quantile(ratios, quantiles)
    power = min(most, _even_power(low, high))
    deviation = np.sqrt(abs(boxcox(low, power)) * boxcox(high, power)) / width
    return power, deviation * _end_of(boxcox(ratios, power) / deviation) if deviation > 0 else 0.0


def _end_of(depths: Array) -> float:
    """Where more cells begin than a normal tail has, by the rule of Benjamini and Hochberg."""
    n_cells, freedom = len(depths), _freedom(len(depths))
    chances = np.sort(stdtr(freedom, -depths[depths >= -stdtrit(freedom, FALSE)]))
    shares = FALSE * np.arange(1, len(chances) + 1) / n_cells
    beyond = np.flatnonzero(chances <= shares)
    return float(-stdtrit(freedom, shares[beyond[-1]])) if len(beyond) else _last_of(n_cells)


def _last_of(n_cells: int) -> float:
    """Where even one cell is more than a normal tail has."""
    return float(-stdtrit(_freedom(n_cells), FALSE / n_cells))


def _freedom(n_cells: int) -> float:
    return max(1.0, EFFICIENCY * (n_cells - 1))


def _even_power(low: float, high: float) -> float:
    """From 0 to 1, for which a number below one and a number above it come to be as far from it."""

    def excess(power: float) -> float:
        return float(boxcox(low, power) + boxcox(high, power))

    if excess(0.0) >= 0.0:
        return 0.0
    return float(brentq(excess, 0.0, 1.0)) if excess(1.0) > 0.0 else 1.0
