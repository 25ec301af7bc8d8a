"""Labels that are wrong more often where classes meet.

People err where rows are hard to tell apart, and they err to the class next door. So here a label is wrong with a
chance that rises with the doubt of the predictions, and then is class j with the chance P(j) that they gave it.

Classes that overlap give such labels too. What speaks for errors is that some are met far from all borders, as many as
the slope says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from unmuddle.core.prox import Array

SLOPE = 1.0
"""Of the log odds that a label is wrong, for each standard deviation of doubt."""

STEPS, NEWTON_STEPS, FARTHEST = 15, 4, 15.0
"""Steps of EM, and of Newton in each; the log odds of rows of mean doubt stay within +-15."""

SMALLEST = 1e-12
"""Least likelihood, and least chance of another class."""


@dataclass(frozen=True)
class Doubt:
    """Less of log P(first) - log P(second class) is more doubt; mean 0 and deviation 1 where it was learned."""

    centre: float
    spread: float

    @classmethod
    def learn(cls, logs: Array, counts: Array) -> Self:
        """From rows that count so much."""
        leads = _leads(logs)
        centre = float(np.average(leads, weights=counts))
        spread = float(np.sqrt(np.average((leads - centre) ** 2, weights=counts)))
        return cls(centre, spread if spread > SMALLEST else np.inf)

    def of(self, logs: Array) -> Array:
        """Doubt of every row."""
        return (self.centre - _leads(logs)) / self.spread


@dataclass(frozen=True)
class Rows:
    """Rows with their labels: log predictions, their doubt, and the chance of each class's errors to be the label."""

    logs: Array
    given: NDArray[np.intp]
    doubt: Array

    def chances(self, level: float) -> Array:
        """That the label is wrong."""
        wrong: Array = expit(level + SLOPE * self.doubt)
        return wrong

    def joint(self, P: Array, level: float) -> Array:
        """Chance of each true class, of prior P, and of the given label."""
        rows, wrong = np.arange(len(P)), self.chances(level)
        found = P * self.ways() * wrong[:, None]
        found[rows, self.given] = P[rows, self.given] * (1.0 - wrong)
        return found

    def ways(self) -> Array:
        """``ways[i, y]``: the chance that an error in row i makes its label of class y; the label's own class is 0."""
        predictions, rows = np.exp(self.logs), np.arange(len(self.logs))
        found: Array = predictions[rows, self.given][:, None] / np.maximum(1.0 - predictions, SMALLEST)
        found[rows, self.given] = 0.0
        return found


def fit_level(P: Array, rows: Rows, counts: Array, error: float, made_up: float) -> tuple[float, float]:
    """The likeliest log odds at mean doubt, by EM, and its log posterior.

    ``made_up`` labels, spread over the rows as they are, are wrong at the rate ``error``.
    """
    right = P[np.arange(len(P)), rows.given]
    other = (P * rows.ways()).sum(axis=1)
    level = float(np.log(error / (1.0 - error)))
    for _ in range(STEPS):
        wrong = rows.chances(level)
        likelihood = np.maximum(wrong * other + (1.0 - wrong) * right, SMALLEST)
        expected = counts @ (wrong * other / likelihood) + made_up * error
        level = _level_of(level, rows, counts, expected / (counts.sum() + made_up))
    wrong = rows.chances(level)
    log_likelihood = counts @ np.log(np.maximum(wrong * other + (1.0 - wrong) * right, SMALLEST))
    odds = level + SLOPE * rows.doubt
    prior = np.average(error * log_expit(odds) + (1.0 - error) * log_expit(-odds), weights=counts)
    return level, float(log_likelihood + made_up * prior)


def _level_of(level: float, rows: Rows, counts: Array, rate: float) -> float:
    """Where the mean chance of being wrong is ``rate``, by Newton's method."""
    for _ in range(NEWTON_STEPS):
        wrong = rows.chances(level)
        slope = np.average(wrong * (1.0 - wrong), weights=counts)
        level += (rate - np.average(wrong, weights=counts)) / max(slope, 1e-3)
        level = float(np.clip(level, -FARTHEST, FARTHEST))
    return level


def _leads(logs: Array) -> Array:
    """By how much the first class leads the second."""
    ordered = np.partition(logs, -2, axis=1)
    leads: Array = ordered[:, -1] - ordered[:, -2]
    return leads
