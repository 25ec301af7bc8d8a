"""Which category a cell has, as the rest of its row says.

Rows are normal, and the category of a cell is a few of their columns, which are v_k for category k of share s_k. Then

    p(k | rest of the row) = s_k N(v_k | rest of the row) / N(v_k)

by Bayes's rule, which is linear discriminant analysis: a category that has nothing to do with the row keeps its share.
A cell is wrong if its share explains it better than the row does; then it was drawn from the column, by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.spatial.distance import cdist
from scipy.special import expit, logit, logsumexp

from unmuddle.core.cellwise import CellModel, Judged
from unmuddle.core.prox import Array

Columns = NDArray[np.intp]

START, BOUNDS, MADE_UP = 0.05, (1e-3, 0.4), (1.0, 19.0)
"""Share of wrong cells before the data are seen, the least and the most of it, and made-up cells, wrong and right."""

STEPS = 20
"""Steps of EM for that share."""


@dataclass(frozen=True)
class Category:
    """A column of categories in a normal model: the columns it has there, its categories in these, and their shares."""

    columns: Columns
    levels: Array
    shares: Array
    error: float = START
    """Share of wrong cells."""

    def log_chances(self, deviations: Array, pull: Array, model: CellModel) -> Array:
        """Of all categories in every row, for rows as deviations from the mean, and these times the precision."""
        at = np.ix_(self.columns, self.columns)
        covariance = linalg.inv(model.precision[at])
        predicted = deviations[:, self.columns] - pull[:, self.columns] @ covariance
        levels = self.levels - model.mean[self.columns]
        row = _squares(predicted, levels, covariance)
        column = _squares(np.zeros((1, levels.shape[1])), levels, model.covariance[at])
        logs = np.log(self.shares) - row / 2 + column / 2
        chances: Array = logs - logsumexp(logs, axis=1, keepdims=True)
        return chances

    def codes(self, X: Array) -> NDArray[np.intp]:
        """The number of the category in every row, -1 where it is missing."""
        cells = X[:, self.columns]
        missing: NDArray[np.bool_] = np.any(np.isnan(cells), axis=1)
        distances: Array = cdist(np.where(missing[:, None], 0.0, cells), self.levels)
        return np.where(missing, -1, distances.argmin(axis=1))


class Verdict(NamedTuple):
    """Log odds that a cell is wrong, -inf where it is missing, and the likeliest other category."""

    log_odds: Array
    better: NDArray[np.intp]


def learn_categories(X: Array, blocks: list[Columns], model: CellModel, rows: Array) -> tuple[Category, ...]:
    """Shares of the categories, and of wrong cells among them; X as given, and rows filled in."""
    deviations = rows - model.mean
    pull = deviations @ model.precision
    found = (_shares_of(X, columns) for columns in blocks)
    return tuple(_learn_error(X, each, deviations, pull, model) for each in found if len(each.shares) > 1)


def judge_categories(X: Array, categories: tuple[Category, ...], model: CellModel, judged: Judged) -> Judged:
    """The verdict of the normal model with that on categories in it.

    The first column of a category speaks for all. In each row the likeliest error is put right first, and the others
    are judged again: of two categories that contradict each other one is wrong, not both.
    """
    if not categories:
        return judged
    rows, wrong, log_odds = judged.rows.copy(), judged.wrong.copy(), judged.log_odds.copy()
    codes = np.column_stack([each.codes(X) for each in categories])
    found, settled = np.full(codes.shape, -np.inf), np.zeros(codes.shape, dtype=bool)
    left = np.arange(len(rows))
    for _ in categories:
        verdicts = _judge_all(categories, codes[left], rows[left], model)
        found[left] = np.where(settled[left], found[left], np.column_stack([each.log_odds for each in verdicts]))
        open_odds = np.where(settled[left], -np.inf, found[left])
        worst = open_odds.argmax(axis=1)
        mend = open_odds.max(axis=1) > 0
        for place, (each, verdict) in enumerate(zip(categories, verdicts, strict=True)):
            here = mend & (worst == place)
            rows[np.ix_(left[here], each.columns)] = each.levels[verdict.better[here]]
            settled[left[here], place] = True
        left = left[mend]
        if len(left) == 0:
            break
    for place, each in enumerate(categories):
        log_odds[:, each.columns[0]] = found[:, place]
        wrong[np.ix_(found[:, place] > 0, each.columns)] = True
    return judged._replace(rows=rows, wrong=wrong, log_odds=log_odds)


def _judge_all(
    categories: tuple[Category, ...], codes: NDArray[np.intp], rows: Array, model: CellModel
) -> list[Verdict]:
    deviations = rows - model.mean
    pull = deviations @ model.precision
    return [
        _judge(each, given, each.log_chances(deviations, pull, model))
        for each, given in zip(categories, codes.T, strict=True)
    ]


def _shares_of(X: Array, columns: Columns) -> Category:
    cells = X[:, columns]
    levels, counts = np.unique(cells[~np.isnan(cells).any(axis=1)], axis=0, return_counts=True)
    return Category(columns, levels, counts / max(counts.sum(), 1))


def _learn_error(X: Array, category: Category, deviations: Array, pull: Array, model: CellModel) -> Category:
    codes = category.codes(X)
    evidence = _judge(replace(category, error=0.5), codes, category.log_chances(deviations, pull, model)).log_odds
    error, cells = category.error, np.count_nonzero(codes >= 0) + sum(MADE_UP)
    for _ in range(STEPS):
        error = float(np.clip((expit(evidence + logit(error)).sum() + MADE_UP[0]) / cells, *BOUNDS))
    return replace(category, error=error)


def _judge(category: Category, codes: NDArray[np.intp], log_chances: Array) -> Verdict:
    rows = np.arange(len(codes))
    evidence = np.log(category.shares[codes]) - log_chances[rows, codes]
    others = log_chances.copy()
    others[rows, codes] = -np.inf
    return Verdict(np.where(codes >= 0, evidence + logit(category.error), -np.inf), others.argmax(axis=1))


def _squares(rows: Array, levels: Array, covariance: Array) -> Array:
    """Squared distances of all rows from all levels, in units of the covariance."""
    root = linalg.cholesky(covariance, lower=True)
    white_rows, white_levels = (linalg.solve_triangular(root, points.T, lower=True).T for points in (rows, levels))
    found: Array = cdist(white_rows, white_levels, "sqeuclidean")
    return found
