"""A normal model of rows in which single cells may be wrong or missing.

A cell is wrong if its column explains it better than the rest of its row does (`filling` has what rows say). With t(x)
and t(x | row) for what the model says of a cell without and with its row, and f for the density of its column as it is,
the log odds that a cell is wrong are, up to those of any cell,

    log t(x) - log t(x | row)      where rows say little of the column: a right cell has density f(x) t(x | row) / t(x),
    log f(x) - log t(x | row)      where they say all, and for cells far out, of which t(x) knows nothing.

A column of two values has no tails. With N for the normal density and s_k for the share of value v_k it is judged by

    log sum_k s_k N(v_k | row) / N(v_k) - log N(x | row) / N(x)

which is linear discriminant analysis.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import gammaln, logit

from unmuddle.core.covariance import choose_share, shrunk_covariance
from unmuddle.core.filling import Filled, complete, fill
from unmuddle.core.grades import Grades
from unmuddle.core.margins import Bulk, Densities, find_lumped
from unmuddle.core.prox import Array, Mask

ROUNDS, NEW_ROUNDS, PRIOR_ROUNDS = 10, 3, 20
"""How often cells are judged and the model fitted again; the same for new rows; steps of EM for the priors."""

STILL, ALIKE = 1e-2, 1e-3
"""A covariance that moves by less, while all but this share of the cells are judged as before, is fitted; columns have
variances near 1."""

FREEDOM = 5.0
"""Degrees of freedom of the t distribution of what a row leaves of its cells: real residuals have tails."""

LITTLE, MUCH = 0.25, 0.75
"""Shares of a column's variance that rows explain: up to the first the one formula holds, from the second the other."""

START = (0.5, 0.05)
"""Chances that a far cell and any other are wrong, before the data are seen."""

BOUNDS = (0.01, 0.99), (1e-3, 0.4)
"""Least and most of these chances: more than two cells in five cannot be told from the column itself."""

MADE_UP = (1.0, 1.0), (1.0, 19.0)
"""Made-up cells, wrong and right, among far cells and among the others."""

SETTLED = 1e-7
"""A chance that moves by less than this share of itself is found."""

TRIMMED, FAR_OFF, MOST_OFF = 4, 2.0, 0.25
"""Rounds in which cells are set aside as soon as they are so many deviations off what their row says; at most this
share of a column, and only where rows say something of it. Else many wrong cells hide behind the spread that they
make."""

UNEVEN = 1.25
"""Wrong cells fall on rows by chance. If the variance of their number in a row is more than so many times that of
chance, rows of another kind were set aside, not wrong cells."""

SAME, ODD = 1e-6, 50.0
"""Distance up to which a cell is a value, in scaled units; log odds that one which is none is wrong."""


class Judged(NamedTuple):
    """Rows with wrong and missing cells filled in, which cells are wrong, and the log odds of that."""

    rows: Array
    wrong: Mask
    log_odds: Array


@dataclass(frozen=True)
class Pairs:
    """Columns of two values, these values, the lower ones first, their shares, and whether there is nothing else."""

    columns: NDArray[np.intp]
    levels: Array
    shares: Array
    strict: Mask
    errors: Array
    """Shares of wrong cells."""

    @classmethod
    def of(cls, X: Array, present: Mask, graded: tuple[Grades, ...]) -> Self:
        """Of the grades with two levels; a stray cell counts as the nearer one."""
        pairs = [each for each in graded if len(each.levels) == 2]
        columns = np.array([each.column for each in pairs], dtype=np.intp)
        levels = np.array([each.levels for each in pairs]).reshape(-1, 2).T
        high = np.sum(present[:, columns] & (X[:, columns] > levels.mean(axis=0)), axis=0)
        share = (high + 1.0) / (present[:, columns].sum(axis=0) + 2.0)
        strict = np.array([each.strict for each in pairs], dtype=bool)
        return cls(columns, levels, np.array([1.0 - share, share]), strict, np.full(len(pairs), START[1]))

    def evidence(self, X: Array, filled: Filled, mean: Array, variances: Array) -> Array:
        """Log odds that cells are wrong, were it a toss-up; what is neither value is, where there is nothing else."""
        residuals, given_row = filled.residuals[:, self.columns], filled.variances[:, self.columns]
        cells, middle, alone = X[:, self.columns], mean[self.columns], variances[self.columns]

        def tilt(values: Array) -> Array:
            """By how much the row makes values likelier."""
            tilted: Array = (values - middle) ** 2 / alone - (values - cells + residuals) ** 2 / given_row
            return tilted / 2

        low, high = (np.log(share) + tilt(level) for share, level in zip(self.shares, self.levels, strict=True))
        odd = self.strict & (np.abs(cells - self.levels[:, None]).min(axis=0) > SAME)
        odds: Array = np.where(odd, ODD, np.logaddexp(low, high) - tilt(cells))
        return odds

    def learn(self, X: Array, observed: Mask, filled: Filled, mean: Array, variances: Array) -> Self:
        """Shares of wrong cells, column by column, where none was set aside."""
        found = self.evidence(X, filled, mean, variances)
        cells = [column[known] for column, known in zip(found.T, observed[:, self.columns].T, strict=True)]
        errors = [_learn_chance(evidence, START[1], MADE_UP[1], BOUNDS[1]) for evidence in cells]
        return replace(self, errors=np.array(errors))


@dataclass(frozen=True)
class CellModel:
    """Mean and covariance of the rows, densities of the columns, and how often a cell is wrong."""

    mean: Array
    covariance: Array
    precision: Array
    densities: Densities
    bulk: Bulk
    pairs: Pairs
    shift: Array
    """By how much a column explains its median cell better than the rows do: not held against its cells. None for
    grades, of which only cells far off all are far out."""
    trust: Array
    """How far the density of a column is to be heard about cells in its bulk, from 0 to 1."""
    chance_far: float
    chance_near: float
    single: Mask
    """Columns whose cells are judged one by one."""

    def judge(self, X: Array) -> Judged:
        """Which cells of new rows are wrong, and what they should be."""
        present, values = _split(X)
        judged = present & self.single
        far = judged & self.bulk.is_far(values)
        column, variances = self.densities.log(values) - self.shift, np.diag(self.covariance)
        alone = _alone(values, column, far, self.mean, variances, self.trust)
        prior = logit(np.where(far, self.chance_far, self.chance_near))
        _put(prior, far, self.pairs, logit(self.pairs.errors))
        wrong = far
        for _ in range(ROUNDS if len(self.pairs.columns) else NEW_ROUNDS):
            filled = fill(values, present & ~wrong, self.mean, self.precision)
            evidence = alone - log_t(filled.residuals, filled.variances)
            _put(evidence, far, self.pairs, self.pairs.evidence(values, filled, self.mean, variances))
            log_odds = np.where(judged, evidence + prior, -np.inf)
            before, wrong = wrong, _next_wrong(log_odds, wrong, far, self.pairs)
            if np.array_equal(before, wrong):
                break
        return Judged(complete(values, present & ~wrong, self.mean, self.precision), wrong, log_odds)


@dataclass(frozen=True)
class _Cells:
    """Robustly scaled rows, and what is known of their cells before any model."""

    values: Array
    present: Mask
    single: Mask
    bulk: Bulk
    densities: Densities
    pairs: Pairs
    graded: Mask
    lumped: Mask

    @classmethod
    def of(cls, X: Array, single: Mask | None, graded: tuple[Grades, ...], bulk: Bulk | None) -> Self:
        """Of columns, those in ``single`` are judged, all of them if it is None."""
        present, values = _split(X)
        columns = np.arange(X.shape[1])
        return cls(
            values=values,
            present=present,
            single=np.ones(X.shape[1], dtype=bool) if single is None else single,
            bulk=Bulk.of(X, graded) if bulk is None else bulk,
            densities=Densities.of(values, present),
            pairs=Pairs.of(values, present, graded),
            graded=np.isin(columns, [each.column for each in graded]),
            lumped=find_lumped(X),
        )

    @property
    def may_be_of_low_rank(self) -> bool:
        """Not where columns of one category add up to 1, nor where most cells are alike anyway."""
        return bool(self.single.all() and self.lumped.mean() <= 0.5)

    @cached_property
    def judged(self) -> Mask:
        """Cells that may be wrong."""
        return self.present & self.single

    @cached_property
    def far(self) -> Mask:
        """Those of them that are far out."""
        return self.judged & self.bulk.is_far(self.values)

    @cached_property
    def column(self) -> Array:
        """Log density of every cell in its column."""
        return self.densities.log(self.values)


class _Found(NamedTuple):
    """A model of the rows, and its verdict on their cells."""

    mean: Array
    covariance: Array
    shift: Array
    trust: Array
    chances: tuple[float, float]
    wrong: Mask
    log_odds: Array


def fit_cells(
    X: Array,
    rounds: int = ROUNDS,
    single: Mask | None = None,
    graded: tuple[Grades, ...] = (),
    bulk: Bulk | None = None,
) -> tuple[CellModel, Judged]:
    """The model of robustly scaled rows (NaN where a cell is missing), and its verdict on their cells.

    Only cells of ``single`` columns are judged, all of them if it is None. ``bulk`` says which cells are far out, if it
    is known better than from each column alone.
    """
    cells = _Cells.of(X, single, graded, bulk)
    found = _fit(cells, rounds, TRIMMED)
    if is_uneven(found.wrong & ~cells.far, cells.judged):
        found = _fit(cells, rounds, 0)
    mean, covariance, shift, trust, chances, wrong, log_odds = found
    pairs, observed, precision = cells.pairs, cells.present & ~wrong, linalg.inv(covariance, check_finite=False)
    if len(pairs.columns):
        filled = fill(cells.values, observed, mean, precision)
        pairs = pairs.learn(cells.values, observed, filled, mean, np.diag(covariance))
    model = CellModel(
        mean, covariance, precision, cells.densities, cells.bulk, pairs, shift, trust, *chances, cells.single
    )
    if len(pairs.columns):
        return model, model.judge(X)
    return model, Judged(complete(cells.values, observed, mean, precision), wrong, log_odds)


def _fit(cells: _Cells, rounds: int, trimmed: int) -> _Found:
    """Judge cells and fit the model in turn; in so many of the first rounds whatever rows contradict is set aside."""
    values, present, judged, far, pairs = cells.values, cells.present, cells.judged, cells.far, cells.pairs
    wrong, chances, share = far, START, 1.0
    mean, covariance = _start(values, present & ~wrong)
    for place in range(trimmed + rounds):
        precision, variances = linalg.inv(covariance, check_finite=False), np.diag(covariance)
        filled = fill(values, present & ~wrong, mean, precision)
        row = log_t(filled.residuals, filled.variances)
        shift = np.where(cells.graded, 0.0, np.maximum(0.0, _medians(cells.column - row, present)))
        trust = np.where(cells.lumped, 0.0, _trust(filled.variances, variances))
        evidence = _alone(values, cells.column - shift, far, mean, variances, trust) - row
        _put(evidence, far, pairs, pairs.evidence(values, filled, mean, variances))
        chances = _learn_chances(evidence, judged, far, chances)
        log_odds = np.where(judged, evidence + logit(np.where(far, *chances)), -np.inf)
        told = (trust > 0) & ~cells.graded
        trimmed = trimmed if told.any() and cells.single.all() else 0  # a wrong category contradicts many right cells
        before = wrong, covariance
        wrong = log_odds > 0
        if place < trimmed:
            wrong |= _contradicted(filled, judged & ~far & told)
        wrong[:, pairs.columns] &= far[:, pairs.columns]  # one value or the other: trusted until rows are known
        mean = filled.rows.mean(axis=0)
        if place <= trimmed and told.any() and cells.may_be_of_low_rank:
            share = choose_share(filled.rows - mean, filled.covariance)
        covariance = shrunk_covariance(filled.rows - mean, filled.covariance, share)
        still = np.abs(covariance - before[1]).max() <= STILL
        if place >= trimmed and still and np.mean(wrong != before[0]) <= ALIKE:
            break
    return _Found(mean, covariance, shift, trust, chances, wrong, log_odds)


def _contradicted(filled: Filled, judged: Mask) -> Mask:
    """Cells that are far off what their row says."""
    squares = np.where(judged, filled.residuals**2 / filled.variances, 0.0)
    found: Mask = squares > np.maximum(FAR_OFF**2, np.quantile(squares, 1.0 - MOST_OFF, axis=0))
    return found


def is_uneven(wrong: Mask, judged: Mask) -> bool:
    """Whether wrong cells crowd in some rows more than chance would have it: Pearson's index of dispersion.

    It is near 1, with deviation ``sqrt(2 / rows)``, if every judged cell is as likely to be wrong.
    """
    sizes = judged.sum(axis=1)
    share = wrong.sum() / max(int(sizes.sum()), 1)
    expected, counted = share * sizes, sizes > 0
    if not 0.0 < share < 1.0:
        return False
    pearson = (wrong.sum(axis=1) - expected)[counted] ** 2 / (expected * (1.0 - share))[counted]
    return bool(pearson.mean() > UNEVEN + 2.0 * np.sqrt(2.0 / counted.sum()))


def _split(X: Array) -> tuple[Mask, Array]:
    present = ~np.isnan(X)
    return present, np.where(present, X, 0.0)


def _start(X: Array, observed: Mask) -> tuple[Array, Array]:
    """Moments of the observed cells, cells set aside counted as means; a column without any has variance 1."""
    counts = observed.sum(axis=0)
    mean = np.where(observed, X, 0.0).sum(axis=0) / np.maximum(counts, 1)
    centred = np.where(observed, X - mean, 0.0)
    stretch = np.sqrt(len(X) / np.where(counts > 0, counts, len(X)))
    return mean, shrunk_covariance(centred, 0.0) * np.outer(stretch, stretch) + np.diag(counts == 0)


def _alone(values: Array, column: Array, far: Mask, mean: Array, variances: Array, trust: Array) -> Array:
    """Log density of every cell without its row: of its column if it is far out, else as far as that is trusted."""
    model = log_t(values - mean, variances)
    return np.where(far, column, trust * column + (1.0 - trust) * model)


def _put(evidence: Array, far: Mask, pairs: Pairs, found: Array) -> None:
    """Into its columns, but for cells far out."""
    evidence[:, pairs.columns] = np.where(far[:, pairs.columns], evidence[:, pairs.columns], found)


def _next_wrong(log_odds: Array, wrong: Mask, far: Mask, pairs: Pairs) -> Mask:
    """Cells to set aside next: those that are likelier wrong than right.

    If one of them is new and in a column of two values, it is the likeliest new one of its row alone: others may only
    seem wrong beside it, and are judged again without it.
    """
    found = log_odds > 0
    new = found & ~wrong & ~far
    rows = np.flatnonzero(new[:, pairs.columns].any(axis=1))
    likeliest = np.where(new[rows], log_odds[rows], -np.inf).argmax(axis=1)
    found[rows] &= ~new[rows]
    found[rows, likeliest] = True
    return found


def _trust(given_row: Array, variances: Array) -> Array:
    """From the shares of the variances that the rows explain, in the median row."""
    explained = 1.0 - np.median(given_row, axis=0) / variances
    trust: Array = np.clip((explained - LITTLE) / (MUCH - LITTLE), 0.0, 1.0)
    return trust


def log_t(residuals: Array, variances: Array) -> Array:
    """Log density of Student's t, with these variances of the normal that it stands in for."""
    constant = gammaln((FREEDOM + 1) / 2) - gammaln(FREEDOM / 2) - 0.5 * np.log(FREEDOM * np.pi)
    found: Array = (
        constant - 0.5 * (FREEDOM + 1) * np.log1p(residuals**2 / variances / FREEDOM) - 0.5 * np.log(variances)
    )
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
