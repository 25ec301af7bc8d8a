"""How labels go wrong: rates of classes, and the ways that their errors go, by EM.

With Q for chances of the true classes before the label is heard and f for factors of the classes, a row of class y,
with chance Q(y) f(y) normalised, is labelled g with chance T[y, g]. EM finds T; f takes a step of iterative scaling
each time. The sum that normalises cancels there, so factors need no new Q. All arrays have one more axis in front:
several Q, one for each power of the predictions, are fitted together.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlog1py, xlogy

from unmuddle.core.prox import Array

PRIOR_LABELS, CLASS_LABELS, OWN_LABELS, PRIOR_ERRORS = 20.0, 1000.0, 2.0, 2.0
"""Made-up labels in all, wrong at the rate of the held-out errors that are laid to labels; of each class, wrong at the
rate of all classes, for classes that overlap would else seem mislabelled; the same where each class may have a rate of
its own; made-up errors of each class, spread over the others."""

COST, OWN_COST = 0.25, 2.0
"""What a free way of errors costs, in units of Schwarz's criterion, less than 1, for the ways are shrunk already; the
same for a rate and a factor of each class, which are not."""

MANY = 10
"""Classes beyond which errors may also go one main way each: to free all ways costs too much there."""

FARTHEST = 3.0
"""Largest logarithm of a class's factor, in units of the power."""

STEPS = 25
"""Steps of EM."""

SMALLEST = 1e-12
"""Least likelihood of a label: what no class explains is not divided by zero."""

Ways = Literal["even", "main", "free"]


class Kind(NamedTuple):
    """What errors may be like: the ways that they go, and whether of all classes they are as many."""

    ways: Ways
    alike: bool

    @classmethod
    def of(cls, n_classes: int) -> list[Self]:
        """All that can be told apart among so many classes."""
        ways: tuple[Ways, ...] = ("even", "main", "free")
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

    rate: Array
    rates: Array
    ways: Array

    @classmethod
    def at(cls, rate: float, n_fits: int, n_classes: int) -> Self:
        """All classes alike, all ways alike."""
        ways = np.broadcast_to((1.0 - np.eye(n_classes)) / max(n_classes - 1, 1), (n_fits, n_classes, n_classes))
        return cls(np.full(n_fits, rate), np.full((n_fits, n_classes), rate), ways)

    @classmethod
    def seen(cls, numbers: Array, error: float, kind: Kind) -> Self:
        """From ``numbers[:, i, j]`` labels j of class i, and the made-up ones."""
        others = 1.0 - np.eye(numbers.shape[1])
        right, wrong = np.einsum("tii->ti", numbers), (numbers * others).sum(axis=2)
        rate = (wrong.sum(axis=1) + PRIOR_LABELS * error) / (numbers.sum(axis=(1, 2)) + PRIOR_LABELS)
        rates = (wrong + kind.tie * rate[:, None]) / (wrong + right + kind.tie)
        return cls(rate, rates, _ways_of(numbers * others, kind.ways))

    @property
    def matrix(self) -> Array:
        """Chances of all labels for each class."""
        rates = self.rates[:, :, None]
        chances: Array = rates * self.ways + (1.0 - rates) * np.eye(rates.shape[1])
        return chances

    def log_prior(self, error: float, kind: Kind) -> Array:
        """What the made-up labels say of the rates."""
        rate = self.rate[:, None]
        of_classes = np.sum(_log_likelihood(self.rates, rate) - _log_likelihood(rate, rate), axis=1)
        found: Array = PRIOR_LABELS * _log_likelihood(self.rate, error) + kind.tie * of_classes
        return found


def fit_transitions(
    Q: Array, powers: Array, given: NDArray[np.intp], error: float, counts: Array, kind: Kind
) -> list[Transition]:
    """The likeliest matrix for each power, for rows in the order of their labels; ``Q[t]`` are their chances."""
    n_fits, _, n_classes = Q.shape
    ends = np.searchsorted(given, np.arange(1, n_classes))
    groups = list(zip(np.split(Q, ends, axis=1), np.split(counts, ends), strict=True))
    errors, logs = Errors.at(error, n_fits, n_classes), np.zeros((n_fits, n_classes))
    farthest = FARTHEST * powers[:, None]
    for _ in range(STEPS):
        factors = np.exp(logs)
        joint = np.swapaxes(errors.matrix * factors[:, :, None], 0, 2)  # by label, class, power
        numbers = [_true_classes(chances.T, *group) for chances, group in zip(joint, groups, strict=True)]
        errors = Errors.seen(np.stack(numbers, axis=2), error, kind)
        if not kind.alike:
            logs += np.log1p(np.sum(numbers, axis=0)) - np.log1p(_true_classes(factors, Q, counts))
            logs = np.clip(logs - logs.mean(axis=1, keepdims=True), -farthest, farthest)
    factors, matrices = np.exp(logs), errors.matrix
    log_posterior = errors.log_prior(error, kind) - kind.cost(n_classes, counts.sum())
    for label, (rows, weights) in enumerate(groups):
        likelihood = _mix(rows, factors * matrices[:, :, label]) / _mix(rows, factors)
        log_posterior = log_posterior + np.log(np.maximum(likelihood, SMALLEST)) @ weights
    return [Transition(*each) for each in zip(matrices, factors, log_posterior.tolist(), strict=True)]


def _ways_of(numbers: Array, ways: Ways) -> Array:
    """Shares of the ways, from the errors that go each way and a few made-up ones."""
    n_classes = numbers.shape[1]
    others = 1.0 - np.eye(n_classes)
    made_up = PRIOR_ERRORS / max(n_classes - 1, 1)
    found = np.broadcast_to(others, numbers.shape) if ways == "even" else numbers + made_up * others
    if ways == "main":
        found = _main_ways(found)
    shares: Array = found / np.maximum(found.sum(axis=2, keepdims=True), SMALLEST)
    return shares


def _main_ways(numbers: Array) -> Array:
    """Of each class the way that most of its errors go, with their number, and the mean of the others for the rest."""
    n_classes = numbers.shape[1]
    most = numbers.max(axis=2, keepdims=True)
    main = np.arange(n_classes) == numbers.argmax(axis=2)[:, :, None]
    rest = (numbers.sum(axis=2, keepdims=True) - most) / max(n_classes - 2, 1)
    found: Array = np.where(main, most, rest) * (1.0 - np.eye(n_classes))
    return found


def _true_classes(chances: Array, Q: Array, counts: Array) -> Array:
    """Expected numbers of true classes among rows of one label, which they get with these chances."""
    shares = counts / np.maximum(_mix(Q, chances), SMALLEST)
    numbers: Array = chances * (shares[:, None, :] @ Q)[:, 0, :]
    return numbers


def _mix(Q: Array, chances: Array) -> Array:
    """For each fit and row the sum of Q times chances."""
    mixed: Array = (Q @ chances[:, :, None])[:, :, 0]
    return mixed


def _log_likelihood(rate: Array, seen: Array | float) -> Array:
    """Of a rate, for each label of which a share ``seen`` is wrong."""
    found: Array = xlogy(seen, rate) + xlog1py(1.0 - seen, np.negative(rate))
    return found
