"""The models that judge labels: each says of every row what it would, had it not seen that row's label.

Settings are chosen by accuracy on held-out noisy labels, ties going to the smoother one; with many rows on a sample.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, StratifiedKFold

from unmuddle.core.kernel import Choice, Ridge, fit_ridge, ridge_path
from unmuddle.core.logistic import fit_logistic, predict_logistic
from unmuddle.core.mixture import Axes, fit_clouds
from unmuddle.core.prox import Array
from unmuddle.core.temperature import fit_temperature
from unmuddle.estimators.validation import NO_LABEL

Rows = NDArray[np.intp]
Folds = Sequence[tuple[Rows, Rows]]

STRENGTHS = np.logspace(-3, 1, 9)
"""Values of C, from smooth to rough."""

TRIED_CHANGE = 1e-5
"""Relative change of the objective that ends a fit which only says which class is the likeliest."""

LEAVES, TREES, TRIED_TREES = (16, 5, 2), 100, 20
"""Least rows in a leaf, from smooth to rough; trees in the forest, and in one that is only tried."""

SEEN = 0.5
"""Share of the rows that a tree is grown on, of few rows all: with noisy labels more than half of many does not pay."""

FEW, FEW_TREES, FEW_STRENGTHS = 100, 20, STRENGTHS[::2]
"""Tables of fewer rows have that many trees and those values of C: they can tell no more apart."""

BATCH = 20
"""Trees that are grown between two reports; it divides all numbers of trees above."""

SHRINKS = (0.5, 0.2, 0.05, 0.01)
"""How much the covariance of clouds is shrunk, from smooth to rough."""

FOLDS = 5
LANDMARKS, TRIED_LANDMARKS = 500, 250
"""Rows that span the kernel, and one that is only tried."""

SAMPLE = 1000
"""Rows on which settings are chosen."""


class Head(Protocol):
    """A fitted model."""

    def predict(self, X: Array) -> Array:
        """Scores of the classes, near probabilities."""
        ...


class Heard(NamedTuple):
    """A head, and what it says of the training rows without their labels."""

    head: Head
    held_out: Array


@dataclass(frozen=True)
class Given:
    """Labels as class numbers, -1 for none, with row weights, and which rows are held out together."""

    codes: Rows
    weights: Array
    n_classes: int
    folds: Folds
    seed: int
    few: bool = False
    """Whether the table has so few rows that small models will do."""

    @classmethod
    def of(cls, codes: Rows, weights: Array, n_classes: int, seed: int) -> Self:
        """A row of weight 0 has no label."""
        counted = np.where(weights > 0, codes, NO_LABEL)
        return cls(counted, weights, n_classes, make_folds(counted, seed), seed, len(codes) < FEW)

    @property
    def targets(self) -> Array:
        """One-hot, rows of zeros where there is no label."""
        return np.eye(self.n_classes + 1)[self.codes][:, : self.n_classes]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows that count."""
        return self.codes >= 0

    @property
    def counted(self) -> Array:
        """Weights of the labels, 0 where there is none."""
        return np.where(self.known, self.weights, 0.0)

    @property
    def strengths(self) -> Array:
        """Values of C to choose from."""
        return FEW_STRENGTHS if self.few else STRENGTHS

    @property
    def n_trees(self) -> int:
        """Trees in the forest."""
        return FEW_TREES if self.few else TREES

    def take(self, rows: Rows) -> Given:
        """The same for some rows, with folds of their own."""
        codes = self.codes[rows]
        return replace(self, codes=codes, weights=self.weights[rows], folds=make_folds(codes, self.seed))

    def accuracy(self, scores: Array) -> float:
        """Share of labels, by weight, that have the highest score."""
        weights = self.counted
        return float(weights @ (scores.argmax(axis=1) == self.codes) / weights.sum())


def make_folds(codes: Rows, seed: int) -> Folds:
    """Five parts with as equal shares of the classes, and of rows without a label, as possible; fewer of few rows."""
    rarest = int(np.unique(codes, return_counts=True)[1].min())
    n_folds = min(FOLDS, len(codes))
    split = StratifiedKFold if rarest >= n_folds else KFold
    return list(split(n_folds, shuffle=True, random_state=seed).split(codes, codes))


def sample_rows(codes: Rows, seed: int) -> Rows:
    """Rows to choose settings on: all, or a sample of those with a label."""
    known = np.flatnonzero(codes >= 0)
    if len(known) <= SAMPLE:
        return known
    return np.sort(np.random.default_rng(seed).permutation(known)[:SAMPLE])


@dataclass(frozen=True)
class Linear:
    """Logistic regression, or clouds of one shape, which are told apart by the same formula."""

    coefficients: Array

    def predict(self, X: Array) -> Array:
        """Probabilities."""
        return predict_logistic(X.astype(np.float32), self.coefficients)


@dataclass(frozen=True)
class Kernel:
    """Ridge regression on a Gaussian kernel."""

    ridge: Ridge

    def predict(self, X: Array) -> Array:
        """Scores."""
        return self.ridge.predict(X)


@dataclass(frozen=True)
class Forest:
    """A random forest; classes that it has not met get 0."""

    forest: RandomForestClassifier
    n_classes: int

    def predict(self, X: Array) -> Array:
        """Shares of votes."""
        return self.spread(self.forest.predict_proba(X))

    def spread(self, votes: Array) -> Array:
        """A column for every class."""
        scores = np.zeros((len(votes), self.n_classes))
        scores[:, self.forest.classes_] = votes
        return scores


def tune_linear(X: Array, given: Given) -> tuple[float, float]:
    """The strength with the most held-out labels right, and their share; rougher ones are tried while they may help."""
    X, W = X.astype(np.float32), None
    right: list[float] = []
    for C in given.strengths:
        W = fit_logistic(X, given.targets, C, _without_folds(given), W, TRIED_CHANGE)
        right.append(given.accuracy(_held_out(X, given, W)))
        if _is_past(right, len(X)):
            break
    best = int(np.argmax(right))
    return float(given.strengths[best]), right[best]


def _without_folds(given: Given) -> Array:
    """Weights of the labels, a row for each fold: 0 in the fold."""
    weights = np.tile(given.counted, (len(given.folds), 1))
    for fold, (_, test) in zip(weights, given.folds, strict=True):
        fold[test] = 0.0
    return weights


def _held_out(X: Array, given: Given, W: Array) -> Array:
    """Probabilities of every row by the fit without its fold."""
    held_out = np.zeros((len(X), given.n_classes))
    for place, (_, test) in enumerate(given.folds):
        held_out[test] = predict_logistic(X[test], W[:, place])
    return held_out


def _is_past(right: list[float], n_rows: int) -> bool:
    """Whether the last two are worse than the best by more than chance would do."""
    best = max(right)
    return len(right) > 2 and max(right[-2:]) < best - np.sqrt(best * (1 - best) / n_rows)


def hear_linear(X: Array, given: Given, C: float) -> Heard:
    """Fit on all rows, and on all but each fold."""
    X = X.astype(np.float32)
    W = fit_logistic(X, given.targets, C, np.vstack([_without_folds(given), given.counted]))
    return Heard(Linear(W[:, -1]), _held_out(X, given, W))


def memorised(heard: Heard, X: Array, given: Given) -> float:
    """Of the labels that a model does not foresee, the share that it repeats once it has seen them."""
    foreseen, repeated = given.accuracy(heard.held_out), given.accuracy(heard.head.predict(X))
    return max(0.0, repeated - foreseen) / (1.0 - foreseen) if foreseen < 1.0 else 0.0


def teach_linear(X: Array, given: Given, C: float, likely: Array, share: float) -> Linear:
    """Fit on all rows to labels that are, by a share, what they most likely are, and else as given."""
    targets = share * likely + (1.0 - share) * given.targets
    return Linear(fit_logistic(X.astype(np.float32), targets, C, given.counted[None])[:, 0])


def tune_kernel(X: Array, given: Given) -> tuple[Choice, float]:
    """The width and penalty with the most left-out labels right, and their share."""
    weights = given.counted
    path = ridge_path(X, given.targets, _landmarks(X, given.seed, TRIED_LANDMARKS), weights)
    scored = [(given.accuracy(left_out), choice) for choice, left_out in path]
    best = max(range(len(scored)), key=lambda place: scored[place][0])
    return scored[best][1], scored[best][0]


def hear_kernel(X: Array, given: Given, choice: Choice) -> Heard:
    """Fit on all rows; leaving one out has a closed form."""
    weights = given.counted
    ridge, left_out = fit_ridge(X, given.targets, _landmarks(X, given.seed, LANDMARKS), choice, weights)
    return Heard(Kernel(ridge), left_out)


def hear_clouds(X: Array, given: Given) -> Heard:
    """Normal clouds round the classes, the labels of a fold hidden from those that judge it.

    Scores are made as sure as the noisy labels let them be, so that they can be averaged with those of other models.
    """
    axes = Axes.of(X)
    rows, sampled = axes.rotate(X), sample_rows(given.codes, given.seed)
    shrink = _tune_clouds(rows[sampled], axes.variances, given.take(sampled))
    held_out, known = _clouds_held_out(rows, axes.variances, given, shrink), given.known
    size = float(held_out[known].std()) or 1.0
    temperature = size * fit_temperature(held_out[known] / size, given.codes[known], given.weights[known])
    clouds = axes.undo(fit_clouds(rows, axes.variances, given.targets * given.weights[:, None], shrink))
    return Heard(Linear(clouds / temperature), softmax(held_out / temperature, axis=1))


def _tune_clouds(rows: Array, variances: Array, given: Given) -> float:
    """The shrinkage with the most held-out labels right."""
    return max(SHRINKS, key=lambda shrink: given.accuracy(_clouds_held_out(rows, variances, given, shrink)))


def _clouds_held_out(rows: Array, variances: Array, given: Given, shrink: float) -> Array:
    """Scores of every row by clouds that were not told the labels of its fold; rows without a label are in all."""
    scores = np.zeros((len(rows), given.n_classes))
    for _, test in given.folds:
        targets = given.targets * given.weights[:, None]
        targets[test] = 0.0
        scores[test] = fit_clouds(rows, variances, targets, shrink).scores(rows[test])
    return scores


def hear_forest(X: Array, given: Given, tell: Callable[[float], None] = lambda done: None) -> Heard:
    """Trees judge the rows that they were not grown on; the size of leaves by these votes.

    ``tell`` hears the share of trees that are grown.
    """
    rows, everyone = sample_rows(given.codes, given.seed), np.flatnonzero(given.known)
    leaf = _tune_leaf(X[rows], given.take(rows))
    head = _grow(X[everyone], given.take(everyone), leaf, tell=tell)
    held_out = head.predict(X)
    held_out[everyone] = _out_of_bag(head)
    return Heard(head, held_out)


def _tune_leaf(X: Array, given: Given) -> int:
    """The leaf size with the most left-out labels right; smaller ones are tried until they harm, of few rows all."""
    best, most = LEAVES[0], -1.0
    for leaf in LEAVES:
        right = given.accuracy(_out_of_bag(_grow(X, given, leaf, TRIED_TREES)))
        if right < most and not given.few:
            break
        if right > most:
            best, most = leaf, right
    return best


def _grow(
    X: Array, given: Given, leaf: int, most: int = TREES, tell: Callable[[float], None] = lambda done: None
) -> Forest:
    """A batch at a time, which gives the same trees as all at once."""
    trees = min(most, given.n_trees)
    seen = None if given.few else round(SEEN * len(X))
    forest = RandomForestClassifier(min_samples_leaf=leaf, max_samples=seen, random_state=given.seed, warm_start=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores", UserWarning)  # see _out_of_bag
        for grown in range(BATCH, trees + 1, BATCH):
            tell((grown - BATCH) / trees)
            forest.set_params(n_estimators=grown, oob_score=grown == trees)
            forest.fit(X, given.codes, sample_weight=given.weights)
    return Forest(forest.set_params(warm_start=False), given.n_classes)


def _out_of_bag(head: Forest) -> Array:
    """Votes of trees that did not meet the row; all classes alike where every tree did."""
    votes = np.asarray(head.forest.oob_decision_function_)
    return head.spread(np.where(votes.any(axis=1, keepdims=True), votes, 1.0 / votes.shape[1]))


def _landmarks(X: Array, seed: int, most: int) -> Array:
    if len(X) <= most:
        return X
    return X[np.sort(np.random.default_rng(seed).permutation(len(X))[:most])]
