"""The models that judge labels: each says of every row what it would, had it not seen that row's label.

Settings are chosen by accuracy on held-out noisy labels, ties going to the smoother one; with many rows on a sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import KFold, StratifiedKFold

from unmuddle.core.kernel import Choice, Ridge, fit_ridge, ridge_path
from unmuddle.core.logistic import fit_logistic, predict_logistic
from unmuddle.core.prox import Array

Rows = NDArray[np.intp]
Folds = Sequence[tuple[Rows, Rows]]

STRENGTHS = np.logspace(-3, 1, 9)
"""Values of C, from smooth to rough."""

LEAVES, TREES, FEW_TREES = (16, 5, 2), 100, 40
"""Least rows in a leaf, from smooth to rough; trees in the forest, and in one that is only tried."""

FOLDS = 5
LANDMARKS = 500
"""Rows that span the kernel."""

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

    @property
    def targets(self) -> Array:
        """One-hot, rows of zeros where there is no label."""
        return np.eye(self.n_classes + 1)[self.codes][:, : self.n_classes]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Rows that count."""
        return (self.codes >= 0) & (self.weights > 0)

    def take(self, rows: Rows) -> Given:
        """The same for some rows, with folds of their own."""
        codes = self.codes[rows]
        return Given(codes, self.weights[rows], self.n_classes, make_folds(codes, self.seed), self.seed)

    def accuracy(self, scores: Array) -> float:
        """Share of labels, by weight, that have the highest score."""
        weights = np.where(self.known, self.weights, 0.0)
        return float(weights @ (scores.argmax(axis=1) == self.codes) / weights.sum())


def make_folds(codes: Rows, seed: int) -> Folds:
    """Five parts with as equal shares of the classes as possible; fewer where there are few rows."""
    counts = np.bincount(codes[codes >= 0])
    rarest = int(counts[counts > 0].min())
    n_folds = min(FOLDS, len(codes))
    split = StratifiedKFold if rarest >= n_folds and (codes >= 0).all() else KFold
    return list(split(n_folds, shuffle=True, random_state=seed).split(codes, codes))


def sample_rows(codes: Rows, seed: int) -> Rows:
    """Rows to choose settings on: all, or a sample of those with a label."""
    known = np.flatnonzero(codes >= 0)
    if len(known) <= SAMPLE:
        return known
    return np.sort(np.random.default_rng(seed).permutation(known)[:SAMPLE])


@dataclass(frozen=True)
class Linear:
    """Logistic regression."""

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
    X = X.astype(np.float32)
    trains = [train[given.known[train]] for train, _ in given.folds]
    weights: list[Array | None] = [None] * len(trains)
    right: list[float] = []
    for C in STRENGTHS:
        held_out = np.zeros((len(X), given.n_classes))
        for place, (train, (_, test)) in enumerate(zip(trains, given.folds, strict=True)):
            W = fit_logistic(X[train], given.targets[train], C, weights[place], given.weights[train])
            held_out[test] = predict_logistic(X[test], W)
            weights[place] = W
        right.append(given.accuracy(held_out))
        if _is_past(right, len(X)):
            break
    best = int(np.argmax(right))
    return float(STRENGTHS[best]), right[best]


def _is_past(right: list[float], n_rows: int) -> bool:
    """Whether the last two are worse than the best by more than chance would do."""
    best = max(right)
    return len(right) > 2 and max(right[-2:]) < best - np.sqrt(best * (1 - best) / n_rows)


def hear_linear(X: Array, given: Given, C: float) -> Heard:
    """Fit on all rows, and on all but each fold."""
    X = X.astype(np.float32)
    everyone = np.flatnonzero(given.known)
    W = fit_logistic(X[everyone], given.targets[everyone], C, None, given.weights[everyone])
    held_out = np.zeros((len(X), given.n_classes))
    for train, test in given.folds:
        train = train[given.known[train]]
        fold = fit_logistic(X[train], given.targets[train], C, W, given.weights[train])
        held_out[test] = predict_logistic(X[test], fold)
    return Heard(Linear(W), held_out)


def tune_kernel(X: Array, given: Given) -> tuple[Choice, float]:
    """The width and penalty with the most left-out labels right, and their share."""
    weights = np.where(given.known, given.weights, 0.0)
    path = ridge_path(X, given.targets, _landmarks(X, given.seed), weights)
    scored = [(given.accuracy(left_out), choice) for choice, left_out in path]
    best = max(range(len(scored)), key=lambda place: scored[place][0])
    return scored[best][1], scored[best][0]


def hear_kernel(X: Array, given: Given, choice: Choice) -> Heard:
    """Fit on all rows; leaving one out has a closed form."""
    weights = np.where(given.known, given.weights, 0.0)
    ridge, left_out = fit_ridge(X, given.targets, _landmarks(X, given.seed), choice, weights)
    return Heard(Kernel(ridge), left_out)


def hear_forest(X: Array, given: Given) -> Heard:
    """Trees judge the rows that they were not grown on; the size of leaves by these votes."""
    rows = sample_rows(np.where(given.known, given.codes, -1), given.seed)
    leaf = _tune_leaf(X[rows], given.take(rows))
    everyone = np.flatnonzero(given.known)
    head = Forest(_grow(X[everyone], given.codes[everyone], given.weights[everyone], leaf, given.seed), given.n_classes)
    held_out = head.predict(X)
    held_out[everyone] = _out_of_bag(head)
    return Heard(head, held_out)


def _tune_leaf(X: Array, given: Given) -> int:
    def right(leaf: int) -> float:
        forest = Forest(_grow(X, given.codes, given.weights, leaf, given.seed, FEW_TREES), given.n_classes)
        return given.accuracy(_out_of_bag(forest))

    return max(LEAVES, key=right)


def _grow(X: Array, codes: Rows, weights: Array, leaf: int, seed: int, trees: int = TREES) -> RandomForestClassifier:
    forest = RandomForestClassifier(trees, min_samples_leaf=leaf, oob_score=_no_score, random_state=seed)
    return forest.fit(X, codes, sample_weight=weights)


def _no_score(y: Rows, predicted: Rows) -> float:
    """Only the votes are wanted."""
    return 0.0


def _out_of_bag(head: Forest) -> Array:
    """Votes of trees that did not meet the row; all classes alike where every tree did."""
    votes = np.asarray(head.forest.oob_decision_function_)
    return head.spread(np.where(np.isfinite(votes), votes, 1.0 / votes.shape[1]))


def _landmarks(X: Array, seed: int) -> Array:
    if len(X) <= LANDMARKS:
        return X
    return X[np.sort(np.random.default_rng(seed).permutation(len(X))[:LANDMARKS])]
