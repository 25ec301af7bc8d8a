"""What noisy labels say about true ones: sharpened predictions, a transition matrix, the posterior of every row.

Predictions P of models fitted to noisy labels are less sure than the truth would let them be. So the clean posterior is
taken as P^t, normalised, and a given label g has the chance sum_y P^t(y | x) T[y, g]. For each power t on a grid, T is
found by EM; the likelihood of the given labels then weighs the powers. Errors may be spread evenly over the other
classes, or go where they go, or of many classes one main way each; all classes may be wrong as often, or each at its
own rate. The freer fits better anyway, most of all where classes overlap, so it is believed only if it fits much
better. Where one class loses more labels than it gains, predictions are even not at its border but beyond it: so with
rates of their own classes have factors f, and the clean posterior is P^t f, normalised. Or labels are wrong more often
where classes meet (see `borders`). Classes that overlap give just such labels, and how well either fits does not tell
them apart: so that is believed only of classes that do not overlap, and else only widens the interval of the noise
rate.

Wrong labels and overlapping classes explain the same labels equally well where all rows are equally uncertain. What
tells them apart is whether rows that are easy to predict are mislabelled as often as others. Where even that says
nothing, a prior of a few labels says that held-out errors are wrong labels: the more of them, the better the models
are, and the more labels of each class there were to learn from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlog1py, xlogy

from unmuddle.core.borders import Doubt, Rows, fit_level
from unmuddle.core.prox import Array

POWERS = np.geomspace(0.7, 24.0, 14)
"""Powers that are weighed."""

PRIOR_LABELS, CLASS_LABELS, OWN_LABELS, PRIOR_ERRORS = 20.0, 1000.0, 2.0, 2.0
"""Made-up labels in all, wrong at the rate of the held-out errors that are laid to labels; of each class, wrong at the
rate of all classes, for classes that overlap would else seem mislabelled; the same where each class may have a rate of
its own; made-up errors of each class, spread over the others."""

LEARNED = 80.0
"""Labels of each class with which half of the held-out errors of models no better than chance are laid to labels: with
fewer, models rather know too little. Of good models nearly all errors are, however few labels there were."""

COST, OWN_COST = 0.25, 2.0
"""What a free way of errors costs, in units of Schwarz's criterion, less than 1, for the ways are shrunk already; the
same for a rate and a factor of each class, which are not."""

MANY = 10
"""Classes beyond which errors may also go one main way each: to free all ways costs too much there."""

FARTHEST = 3.0
"""Largest logarithm of a class's factor, in units of the power."""

BORDER_COST, SHARP = 10.0, POWERS[5:]
"""Log odds against errors that are more frequent where classes meet, in the interval of the noise rate; powers that go
with them."""

CAUTION = 0.1
"""What a label counts in that interval, for predictions of several rows share their errors."""

STEPS = 25
"""Steps of EM for each power."""

LEAST = 1e-3
"""Least probability of a class before it is sharpened: no model is that sure."""

SMALLEST = 1e-12
"""Least likelihood of a label: what no class explains is not divided by zero."""


class Kind(NamedTuple):
    """What errors may be like: the ways that they go, and whether of all classes they are as many."""

    ways: Literal["even", "main", "free"]
    alike: bool

    @classmethod
    def of(cls, n_classes: int) -> list[Self]:
        """All that can be told apart among so many classes."""
        ways: tuple[Literal["even", "main", "free"], ...] = ("even", "main", "free")
        some = ways if n_classes > MANY else ways[::2] if n_classes > 2 else ways[:1]
        return [cls(way, alike) for alike in (True, False) for way in some]

    @property
    def tie(self) -> float:
        """Made-up labels of each class that are wrong at the rate of all."""
        return CLASS_LABELS if self.alike else OWN_LABELS

    def cost(self, n_classes: int, n_labels: float) -> float:
        """Of what is free, by which it must fit better."""
        schwarz = np.log(max(n_labels, 1.0)) / 2
        rates = 0.0 if self.alike else OWN_COST * (n_classes - 1) * schwarz
        ways = {
            "even": 0.0,
            "main": n_classes * (np.log(max(n_classes - 1, 1)) + schwarz),  # to name a way, and its share
            "free": COST * n_classes * (n_classes - 2) * schwarz,
        }
        return float(ways[self.ways] + rates)


class Transition(NamedTuple):
    """``matrix[i, j]`` is the chance that class i is labelled j; ``log_posterior`` of it, up to a constant.

    ``factors`` of the classes go with it.
    """

    matrix: Array
    factors: Array
    log_posterior: float


class Errors(NamedTuple):
    """How labels go wrong: the rate of all classes, that of each, and to which of the others its errors go."""

    rate: float
    rates: Array
    ways: Array

    @classmethod
    def at(cls, rate: float, n_classes: int) -> Self:
        """All classes alike, all ways alike."""
        others = 1.0 - np.eye(n_classes)
        return cls(rate, np.full(n_classes, rate), others / max(n_classes - 1, 1))

    @classmethod
    def seen(cls, numbers: Array, error: float, kind: Kind) -> Self:
        """From ``numbers[i, j]`` labels j of class i, and the made-up ones."""
        others = 1.0 - np.eye(len(numbers))
        right, wrong = numbers.diagonal(), (numbers * others).sum(axis=1)
        rate = (wrong.sum() + PRIOR_LABELS * error) / (numbers.sum() + PRIOR_LABELS)
        rates = (wrong + kind.tie * rate) / (wrong + right + kind.tie)
        seen = (numbers + _spread(len(numbers))) * others
        ways = {"even": others, "main": _main_ways(seen), "free": seen}[kind.ways]
        return cls(float(rate), rates, ways / np.maximum(ways.sum(axis=1, keepdims=True), SMALLEST))

    @property
    def matrix(self) -> Array:
        """Chances of all labels for each class."""
        chances: Array = self.rates[:, None] * self.ways + np.diag(1.0 - self.rates)
        return chances

    def log_prior(self, error: float, kind: Kind) -> float:
        """What the made-up labels say of the rates."""
        of_classes = np.sum(_log_likelihood(self.rates, self.rate) - _log_likelihood(self.rate, self.rate))
        return float(PRIOR_LABELS * _log_likelihood(self.rate, error) + kind.tie * of_classes)


@dataclass(frozen=True)
class Evidence:
    """What the given labels say: explanations, each a power, a transition matrix and factors, and their weights.

    The last ones, as many as there are ``levels``, have errors where classes meet; their matrix is that of all rows
    together. ``cautious`` weights are for intervals, and admit what is not believed.
    """

    weights: Array
    cautious: Array
    powers: Array
    transitions: Array
    factors: Array
    levels: Array = field(default_factory=lambda: np.zeros(0))
    doubt: Doubt | None = None

    @property
    def power(self) -> float:
        """Mean power."""
        return float(self.weights @ self.powers)

    @property
    def transition(self) -> Array:
        """Mean transition matrix."""
        mean: Array = np.einsum("t,tij->ij", self.weights, self.transitions)
        return mean

    @property
    def near_borders(self) -> float:
        """Cautious weight of the explanations that have errors where classes meet."""
        return float(self.cautious[len(self.cautious) - len(self.levels) :].sum())

    def sharpen(self, P: Array) -> Array:
        """Predictions as estimates of the clean posterior."""
        sharpened = np.zeros_like(P)
        for weight, q in zip(self.weights, self._priors(np.log(on_simplex(P))), strict=True):
            sharpened += weight * q
        return sharpened

    def posterior(self, P: Array, given: NDArray[np.intp]) -> Array:
        """Chances of the true class of every row, given its label too; -1 is no label."""
        total = np.zeros_like(P, dtype=np.float64)
        for weight, q in zip(self.weights, self._posteriors(P, given), strict=True):
            total += weight * q
        return total

    def noise_rates(self, P: Array, given: NDArray[np.intp]) -> tuple[Array, Array]:
        """For each explanation, the expected share of wrong labels and the variance of that share."""
        known = np.flatnonzero(given >= 0)
        means, variances = [], []
        for q in self._posteriors(P, given):
            wrong = 1.0 - q[known, given[known]]
            means.append(wrong.mean())
            variances.append((wrong * (1 - wrong)).sum() / len(known) ** 2)
        return np.array(means), np.array(variances)

    def _priors(self, logs: Array) -> Iterator[Array]:
        """Chances of the classes before the label is heard, of each explanation in turn."""
        for power, factors in zip(self.powers, self.factors, strict=True):
            yield _normalised(_power(logs, power) * factors)

    def _posteriors(self, P: Array, given: NDArray[np.intp]) -> Iterator[Array]:
        """Of each explanation in turn."""
        logs = np.log(on_simplex(P))
        priors, by_class = self._priors(logs), len(self.powers) - len(self.levels)
        for q, T in zip(islice(priors, by_class), self.transitions[:by_class], strict=True):
            yield _posterior(q, T, given)[0]
        known = given >= 0
        for q, level in zip(priors, self.levels, strict=True):
            assert self.doubt is not None
            joint = Rows(logs[known], given[known], self.doubt.of(logs[known])).joint(q[known], level)
            q[known] = _normalised(joint)
            yield q


def weigh(
    P: Array, given: NDArray[np.intp], held_out_error: float, weights: Array | None = None, *, overlap: bool = True
) -> Evidence:
    """Weigh explanations by the given labels; rows with label -1, or of weight 0, say nothing.

    Without ``overlap`` classes can be told apart by their features: only sharp powers explain the labels, and errors
    where classes meet cost nothing.
    """
    n_classes = P.shape[1]
    order = np.argsort(given, kind="stable")
    known = order[given[order] >= 0]
    logs, labels = np.log(on_simplex(P[known])), given[known]
    counts = np.ones(len(labels)) if weights is None else weights[known]
    blamed = held_out_error * (1.0 - _ignorance(P[known], labels, counts, held_out_error))
    error = float(np.clip(blamed, 1.0 / max(counts.sum(), 1.0), 1.0 - 1.0 / n_classes))
    of_classes = POWERS if overlap else SHARP
    sharpened = [_power(logs, power) for power in of_classes]
    kinds = Kind.of(n_classes)
    found = [
        _fit_transition(each, labels, error, counts, kind, FARTHEST * power)
        for kind in kinds
        for power, each in zip(of_classes, sharpened, strict=True)
    ]
    powers = np.tile(of_classes, len(kinds))
    if n_classes < 2 or not counts.sum() > 0:
        return Evidence(_shares(found), _shares(found, CAUTION), powers, *_stacked(found))
    doubt = Doubt.learn(logs, counts)
    cost = BORDER_COST if overlap else 0.0
    levels, near_borders = _fit_borders(Rows(logs, labels, doubt.of(logs)), counts, error, cost)
    every = found + near_borders
    believed = np.pad(_shares(found), (0, len(near_borders))) if overlap else _shares(every)
    return Evidence(believed, _shares(every, CAUTION), np.concatenate([powers, SHARP]), *_stacked(every), levels, doubt)


def _stacked(found: list[Transition]) -> tuple[Array, Array]:
    """Matrices and factors of all."""
    return np.array([each.matrix for each in found]), np.array([each.factors for each in found])


def _ignorance(P: Array, labels: NDArray[np.intp], counts: Array, error: float) -> float:
    """Share of the held-out errors that may come from too few labels to learn from."""
    n_classes, total = P.shape[1], max(counts.sum(), SMALLEST)
    said, given = (np.bincount(codes, counts, n_classes) / total for codes in (P.argmax(axis=1), labels))
    by_chance = max(1.0 - said @ given, SMALLEST)
    return float(LEARNED * n_classes / (total + LEARNED * n_classes) * min(1.0, error / by_chance))


def _shares(found: list[Transition], counting: float = 1.0) -> Array:
    """Weights of explanations when each label counts so much."""
    scores = counting * np.array([each.log_posterior for each in found])
    shares: Array = np.exp(scores - logsumexp(scores))
    return shares


def _fit_borders(rows: Rows, counts: Array, error: float, cost: float) -> tuple[Array, list[Transition]]:
    """For each sharp power the log odds of errors, and the matrix of all rows with its log posterior."""
    levels, found = [], []
    n_classes = rows.logs.shape[1]
    labels = np.eye(n_classes)[rows.given] * counts[:, None]
    for power in SHARP:
        P = _power(rows.logs, power)
        level, log_posterior = fit_level(P, rows, counts, error, PRIOR_LABELS)
        numbers = _normalised(rows.joint(P, level)).T @ labels + SMALLEST * np.eye(n_classes)
        levels.append(level)
        matrix = numbers / numbers.sum(axis=1, keepdims=True)
        found.append(Transition(matrix, np.ones(n_classes), log_posterior - cost))
    return np.array(levels), found


def on_simplex(scores: Array) -> Array:
    """Scores as probabilities, none of them quite zero."""
    P = np.clip(scores, LEAST, None)
    return P / P.sum(axis=1, keepdims=True)


def discover(chances: Array, rate: float) -> NDArray[np.bool_]:
    """As many of the likeliest as can be flagged while their mean chance of being none is at most ``rate``."""
    order = np.argsort(-chances, kind="stable")
    false = np.cumsum(1.0 - chances[order]) / np.arange(1, len(chances) + 1)
    fine = np.flatnonzero(false <= rate)
    flags = np.zeros(len(chances), dtype=bool)
    flags[order[: fine[-1] + 1 if len(fine) else 0]] = True
    return flags


def _fit_transition(
    P: Array, given: NDArray[np.intp], error: float, counts: Array, kind: Kind, farthest: float
) -> Transition:
    """The likeliest matrix by EM, for rows in the order of their labels.

    Factors of the classes, if they have rates of their own, take a step of iterative scaling each time.
    """
    n_classes = P.shape[1]
    ends = np.searchsorted(given, np.arange(1, n_classes))
    groups = list(zip(np.split(P, ends), np.split(counts, ends), strict=True))
    errors, logs = Errors.at(error, n_classes), np.zeros(n_classes)
    for _ in range(STEPS):
        factors = np.exp(logs)
        joint = errors.matrix.T * factors
        numbers = np.column_stack(
            [_true_classes(chances, *group) for chances, group in zip(joint, groups, strict=True)]
        )
        errors = Errors.seen(numbers, error, kind)
        if not kind.alike:
            logs += np.log1p(numbers.sum(axis=1)) - np.log1p(_true_classes(factors, P, counts))
            logs = np.clip(logs - logs.mean(), -farthest, farthest)
    factors = np.exp(logs)
    _, likelihood = _posterior(P if kind.alike else _normalised(P * factors), errors.matrix, given)
    log_posterior = counts @ np.log(likelihood) + errors.log_prior(error, kind)
    return Transition(errors.matrix, factors, float(log_posterior - kind.cost(n_classes, counts.sum())))


def _main_ways(numbers: Array) -> Array:
    """Of each class the way that most of its errors go, with their number, and the mean of the others for the rest."""
    n_classes, rows = len(numbers), np.arange(len(numbers))
    main = numbers.argmax(axis=1)
    most = numbers[rows, main]
    found = np.repeat((numbers.sum(axis=1) - most) / max(n_classes - 2, 1), n_classes).reshape(numbers.shape)
    found[rows, main], found[rows, rows] = most, 0.0
    return found


def _spread(n_classes: int) -> float:
    """Made-up errors for each pair of classes."""
    return PRIOR_ERRORS / max(n_classes - 1, 1)


def _true_classes(chances: Array, P: Array, counts: Array) -> Array:
    """Expected numbers of true classes among rows of one label, which they get with these chances."""
    likelihood = np.maximum(P @ chances, SMALLEST)
    numbers: Array = chances * ((counts / likelihood) @ P)
    return numbers


def _log_likelihood(rate: Array | float, seen: float) -> Array:
    """Of a rate, for each label of which a share ``seen`` is wrong."""
    found: Array = xlogy(seen, rate) + xlog1py(1.0 - seen, np.negative(rate))
    return found


def _posterior(P: Array, T: Array, given: NDArray[np.intp]) -> tuple[Array, Array]:
    """Chances of the true classes, and of the given label; rows without a label keep P."""
    chances = np.where(given[:, None] >= 0, T.T[given], 1.0)
    joint = P * chances
    return _normalised(joint), np.maximum(joint.sum(axis=1), SMALLEST)


def _normalised(joint: Array) -> Array:
    shares: Array = joint / np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return shares


def _power(logs: Array, power: float) -> Array:
    raised = power * logs
    raised -= raised.max(axis=1, keepdims=True)
    np.exp(raised, out=raised)
    raised /= raised.sum(axis=1, keepdims=True)
    return raised
