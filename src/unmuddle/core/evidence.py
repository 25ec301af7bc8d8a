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
from itertools import chain, islice

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from unmuddle.core.borders import Doubt, Rows, fit_level
from unmuddle.core.prox import Array
from unmuddle.core.transitions import PRIOR_LABELS, SMALLEST, Kind, Transition, fit_transitions

POWERS = np.geomspace(0.7, 24.0, 14)
"""Powers that are weighed."""

LEARNED = 80.0
"""Labels of each class with which half of the held-out errors of models no better than chance are laid to labels: with
fewer, models rather know too little. Of good models nearly all errors are, however few labels there were."""

BORDER_COST, SHARP = 10.0, POWERS[5:]
"""Log odds against errors that are more frequent where classes meet, in the interval of the noise rate; powers that go
with them."""

CAUTION = 0.1
"""What a label counts in that interval, for predictions of several rows share their errors."""

LEAST = 1e-3
"""Least probability of a class before it is sharpened: no model is that sure."""


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
    sharpened = np.array([_power(logs, power) for power in of_classes])
    kinds = Kind.of(n_classes)
    fits = (fit_transitions(sharpened, of_classes, labels, error, counts, kind) for kind in kinds)
    found, powers = list(chain.from_iterable(fits)), np.tile(of_classes, len(kinds))
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
