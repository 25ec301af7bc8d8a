"""A normal model of rows in which single cells may be wrong or missing.

A cell is wrong if its column explains it better than the rest of its row does. Everything follows from the precision
matrix P of the model: with M the cells of a row that are missing or set aside, and O the others,

    E[x_M | x_O] = mu_M - P_MM^-1 P_MO (x_O - mu_O)          its covariance is P_MM^-1
    x_j - E[x_j | the others of O] = (P d)_j / Q_jj          for j in O, where d is x - mu with M filled in as above,
    variance 1 / Q_jj                                        and Q = P_OO - P_OM P_MM^-1 P_MO
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.ndimage import gaussian_filter1d
from scipy.special import gammaln, logit

from unmuddle.core.prox import Array

Mask = NDArray[np.bool_]

FAR = 3.5
"""Robust deviations beyond which a cell is set aside at first, and has a prior of its own."""

ROUNDS, NEW_ROUNDS, PRIOR_ROUNDS = 10, 3, 20
"""How often cells are judged and the model fitted again; the same for new rows; steps of EM for the priors."""

STILL, ALIKE = 1e-2, 1e-3
"""A covariance that moves by less, while all but this share of the cells are judged as before, is fitted; columns have
variances near 1."""

FREEDOM = 5.0
"""Degrees of freedom of the t distribution of what a row leaves of its cells: real residuals have tails."""

START = (0.5, 0.05)
"""Chances that a far cell and any other are wrong, before the data are seen."""

BOUNDS = (0.01, 0.99), (1e-3, 0.4)
"""Least and most of these chances: more than two cells in five cannot be told from the column itself."""

MADE_UP = (1.0, 1.0), (1.0, 19.0)
"""Made-up cells, wrong and right, among far cells and among the others."""

SETTLED = 1e-7
"""A chance that moves by less than this share of itself is found."""

RIDGE = 1e-6
"""Added to the covariance, so that constant columns can be inverted."""

GRID, NARROWEST = 512, 0.05
"""Points of a column's density, its least bandwidth in scaled units."""

REACH = 40.0
"""Robust deviations beyond which cells have no part in the density of their column: a few of them would coarsen it so
far that smaller errors hide in it."""

TINY = 1e-12
"""Least precision of a cell given the others of its row."""

BATCH = 1_000_000
"""Numbers in a work array for rows that are filled in together: about what a cache holds."""


class Filled(NamedTuple):
    """Rows with their masked cells filled in, and every cell against what the others of its row say."""

    rows: Array
    residuals: Array
    variances: Array
    covariance: Array
    """Sum over rows of the conditional covariance of masked cells."""


class Judged(NamedTuple):
    """Rows with wrong and missing cells filled in, which cells are wrong, and the log odds of that."""

    rows: Array
    wrong: Mask
    log_odds: Array
    residuals: Array
    variances: Array


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
class CellModel:
    """Mean and covariance of the rows, densities of the columns, and how often a cell is wrong."""

    mean: Array
    covariance: Array
    precision: Array
    densities: Densities
    shift: Array
    """By how much a column explains its median cell better than the rows do: not held against its cells."""
    chance_far: float
    chance_near: float
    single: Mask
    """Columns whose cells are judged one by one."""

    def judge(self, X: Array, rounds: int = NEW_ROUNDS) -> Judged:
        """Which cells of new rows are wrong, and what they should be."""
        present, values = _split(X)
        judged = present & self.single
        far = judged & (np.abs(values) > FAR)
        prior = self.densities.log(values) - self.shift + logit(np.where(far, self.chance_far, self.chance_near))
        wrong = far
        for _ in range(rounds):
            filled = fill(values, present & ~wrong, self.mean, self.precision)
            log_odds = np.where(judged, prior - _log_t(filled), -np.inf)
            wrong = log_odds > 0
        rows = fill(values, present & ~wrong, self.mean, self.precision).rows
        return Judged(rows, wrong, log_odds, filled.residuals, filled.variances)


def fit_cells(X: Array, rounds: int = ROUNDS, single: Mask | None = None) -> tuple[CellModel, Judged]:
    """The model of robustly scaled rows (NaN where a cell is missing), and its verdict on their cells.

    Only cells of ``single`` columns are judged, all of them if it is None.
    """
    present, values = _split(X)
    single = np.ones(X.shape[1], dtype=bool) if single is None else single
    judged = present & single
    far = judged & (np.abs(values) > FAR)
    densities = Densities.of(values, present)
    column = densities.log(values)
    wrong, chances = far, START
    mean, covariance = _start(values, present & ~wrong)
    for _ in range(rounds):
        precision = linalg.inv(covariance, check_finite=False)
        filled = fill(values, present & ~wrong, mean, precision)
        evidence = column - _log_t(filled)
        shift = np.maximum(0.0, _medians(evidence, present))
        evidence -= shift
        chances = _learn_chances(evidence, judged, far, chances)
        log_odds = np.where(judged, evidence + logit(np.where(far, *chances)), -np.inf)
        before = wrong, covariance
        wrong = log_odds > 0
        mean = filled.rows.mean(axis=0)
        covariance = _covariance(filled.rows - mean, filled.covariance)
        if np.mean(wrong != before[0]) <= ALIKE and np.abs(covariance - before[1]).max() <= STILL:
            break
    precision = linalg.inv(covariance, check_finite=False)
    filled = fill(values, present & ~wrong, mean, precision)
    model = CellModel(mean, covariance, precision, densities, shift, *chances, single)
    return model, Judged(filled.rows, wrong, log_odds, filled.residuals, filled.variances)


def fill(X: Array, observed: Mask, mean: Array, precision: Array) -> Filled:
    """Every row completed from its observed cells, every cell compared with the other observed ones of its row."""
    deviations = np.where(observed, X - mean, 0.0)
    pull = deviations @ precision
    own = np.tile(np.diag(precision), (len(X), 1))
    masked = np.zeros_like(deviations)
    covariance = np.zeros(precision.size)
    for rows, places, real in _alike(observed):
        inverse = _inverse_blocks(precision, places, real)
        cross = precision[places]
        own[rows] -= np.einsum("bmd,bmd->bd", cross, inverse @ cross)
        at = np.repeat(rows, real.sum(axis=1)), places[real]
        deviations[at] = -np.einsum("bmk,bk->bm", inverse, pull[rows[:, None], places])[real]
        masked[at] = np.einsum("bmm->bm", inverse)[real]
        flat = places[:, :, None] * len(precision) + places[:, None, :]
        covariance += np.bincount(flat.ravel(), inverse.ravel(), precision.size)
    variances = np.where(observed, 1.0 / np.maximum(own, TINY), masked)
    residuals = np.where(observed, (deviations @ precision) * variances, X - mean - deviations)
    return Filled(mean + deviations, residuals, variances, covariance.reshape(precision.shape))


def shrinkage(X: Array) -> float:
    """Ledoit and Wolf's weight of a multiple of the identity, for the covariance of centred rows."""
    n, d = X.shape
    covariance = X.T @ X / n
    size = np.sum(covariance**2) / d
    spread = size - (np.trace(covariance) / d) ** 2
    error = (np.mean(np.sum(X**2, axis=1) ** 2) / d - size) / n
    return float(min(1.0, max(0.0, error / spread))) if spread > 0 else 1.0


def _inverse_blocks(precision: Array, places: NDArray[np.intp], real: Mask) -> Array:
    """For each row the inverse of the block of its places; zero where a place is padding."""
    pairs = real[:, :, None] & real[:, None, :]
    blocks = np.where(pairs, precision[places[:, :, None], places[:, None, :]], np.eye(places.shape[1]))
    return np.where(pairs, np.linalg.inv(blocks), 0.0)


def _split(X: Array) -> tuple[Mask, Array]:
    present = ~np.isnan(X)
    return present, np.where(present, X, 0.0)


def _start(X: Array, observed: Mask) -> tuple[Array, Array]:
    """Moments of the observed cells, cells set aside counted as means; a column without any has variance 1."""
    counts = observed.sum(axis=0)
    mean = np.where(observed, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    centred = np.where(observed, X - mean, 0.0)
    stretch = np.sqrt(len(X) / np.where(counts > 0, counts, len(X)))
    return mean, _covariance(centred, 0.0) * np.outer(stretch, stretch) + np.diag(counts == 0)


def _covariance(centred: Array, missing: Array | float) -> Array:
    n, d = centred.shape
    covariance = (centred.T @ centred + missing) / n
    weight = shrinkage(centred)
    scale = np.trace(covariance) / d
    shrunk: Array = (1 - weight) * covariance + (weight * scale + RIDGE) * np.eye(d)
    return shrunk


def _log_t(filled: Filled) -> Array:
    """Log density of every cell given the others of its row."""
    squares = filled.residuals**2 / filled.variances
    constant = gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2) - 0.5 * np.log(FREEDOM * np.pi)
    found: Array = constant - 0.5 * (FREEDOM + 1) * np.log1p(squares / FREEDOM) - 0.5 * np.log(filled.variances)
    return found


def _medians(evidence: Array, present: Mask) -> Array:
    if present.all():
        return np.median(evidence, axis=0)
    return np.array(
        [np.median(column[known]) if known.any() else 0.0 for column, known in zip(evidence.T, present.T, strict=True)]
    )


def _learn_chances(evidence: Array, present: Mask, far: Mask, chances: tuple[float, float]) -> tuple[float, float]:
    """Shares of wrong cells among far and near ones, with a few made-up cells for each."""
    groups = evidence[far], evidence[present & ~far]
    found_far, found_near = map(_learn_chance, groups, chances, MADE_UP, BOUNDS)
    return found_far, found_near


def _learn_chance(evidence: Array, chance: float, made_up: tuple[float, float], bounds: tuple[float, float]) -> float:
    """By EM; a cell is right with odds ``exp(-evidence)`` where half the cells are wrong."""
    right, cells = np.exp(-evidence), len(evidence) + sum(made_up)
    for _ in range(PRIOR_ROUNDS):
        wrong = made_up[0] + np.sum(1.0 / (1.0 + right * (1.0 / chance - 1.0)))
        before, chance = chance, float(np.clip(wrong / cells, *bounds))
        if abs(chance - before) <= SETTLED * chance:
            break
    return chance


def _alike(observed: Mask) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Mask]]:
    """Rows with about as many masked cells, the places of these, and which places are real and not padding."""
    d = observed.shape[1]
    counts = d - observed.sum(axis=1)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    while len(order):
        widest = max(counts[order[0]] + 2, int(1.25 * counts[order[0]]))
        rows = order[: max(1, BATCH // (widest * d))]
        rows = rows[counts[rows] <= widest]
        places = np.argsort(observed[rows], axis=1, kind="stable")[:, : counts[rows[-1]]]
        yield rows, places, ~np.take_along_axis(observed[rows], places, axis=1)
        order = order[len(rows) :]


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
