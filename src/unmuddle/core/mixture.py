"""Classes as normal clouds of one shape, learned from labels that may be wrong and from rows that have none.

A row is of class y with the chance ``pi_y``, and lies round ``mu_y`` with the covariance S of all classes; its label is
y but for a share e of errors, spread evenly over the others. EM finds the clouds: a row counts for each class as much
as its place and its label say. So rows tell where the clouds are as much as labels do, and errors of labels count for
less.

Rows are rotated once to the axes of their total covariance, as many as the smaller side of the table has. There S, the
total less what lies between classes, shrunk towards a multiple of the identity, is a diagonal matrix less one of rank
K, so a step costs two products with the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import softmax

from unmuddle.core.prox import Array, Mask

STEPS = 5
"""Steps of EM: few, for clouds that are let go drift away from the labels."""

START, LEAST, MOST = 0.2, 0.01, 0.9
"""Share of wrong labels before any is seen; least and most of it."""

MADE_UP = 1.0
"""Made-up rows of each class in the middle of all rows."""

TINY = 1e-10
"""Least share of the mean variance that an axis has."""


@dataclass(frozen=True)
class Axes:
    """Middle and axes of rows, and the variances along them."""

    middle: Array
    directions: Array
    variances: Array

    @classmethod
    def of(cls, X: Array) -> Self:
        """The principal axes; of more columns than rows those that the rows span."""
        middle, n = X.mean(axis=0), len(X)
        centred = X - middle
        wide = X.shape[1] > n
        variances, found = linalg.eigh((centred @ centred.T if wide else centred.T @ centred) / n, check_finite=False)
        least = TINY * max(float(variances.mean()), TINY)
        variances = np.maximum(variances, least)
        if not wide:
            return cls(middle, found, variances)
        kept = variances > 2.0 * least  # rows round their middle span one axis less than they are
        kept[-1] = True
        return cls(middle, centred.T @ (found[:, kept] / np.sqrt(n * variances[kept])), variances[kept])

    def rotate(self, X: Array) -> Array:
        """Rows along the axes."""
        rotated: Array = (X - self.middle) @ self.directions
        return rotated

    def undo(self, clouds: Clouds) -> Array:
        """What tells the classes apart in rows as they are: slopes, the levels in the last row."""
        slopes = self.directions @ clouds.slopes
        return np.vstack([slopes, clouds.levels - self.middle @ slopes])


@dataclass(frozen=True)
class Clouds:
    """What tells the classes apart: scores are ``rows @ slopes + levels``, along the axes."""

    slopes: Array
    levels: Array

    def scores(self, rows: Array) -> Array:
        """Log chances of the classes, up to a constant for each row."""
        found: Array = rows @ self.slopes + self.levels
        return found


def fit_clouds(rows: Array, variances: Array, targets: Array, shrink: float, steps: int = STEPS) -> Clouds:
    """By EM, from the labels.

    ``rows`` are along their axes; ``targets`` are one-hot labels times their weight, and zero where there is none: such
    rows take part from the second step on, with the mean weight.
    """
    known = targets.sum(axis=1)
    labelled, given = known > 0, targets.argmax(axis=1)
    weights = np.where(labelled, known, known[labelled].mean())
    clouds, error = _clouds_of(rows, variances, targets, shrink), START
    for _ in range(steps):
        chances, error = _weigh_labels(softmax(clouds.scores(rows), axis=1), given, labelled, known, error)
        clouds = _clouds_of(rows, variances, chances * weights[:, None], shrink)
    return clouds


def _clouds_of(rows: Array, variances: Array, shares: Array, shrink: float) -> Clouds:
    """From rows that count so much for each class."""
    counts = shares.sum(axis=0)
    total = counts.sum()
    means = (shares.T @ rows) / (counts + MADE_UP)[:, None]
    spread = (1.0 - shrink) * variances + shrink * variances.mean()
    between = means.T * np.sqrt((1.0 - shrink) * counts / total)
    slopes = _solve(spread, between, means.T)
    levels = np.log((counts + MADE_UP) / (total + MADE_UP * len(counts))) - 0.5 * np.sum(means.T * slopes, axis=0)
    return Clouds(slopes, levels)


def _solve(diagonal: Array, factor: Array, right: Array) -> Array:
    """``(diag - factor factor^T)^-1 right``, by Woodbury's identity."""
    scaled, by_factor = right / diagonal[:, None], factor / diagonal[:, None]
    inner = np.eye(factor.shape[1]) - factor.T @ by_factor
    values, vectors = linalg.eigh(inner, check_finite=False)
    inverse = (vectors / np.maximum(values, TINY)) @ vectors.T
    solved: Array = scaled + by_factor @ (inverse @ (factor.T @ scaled))
    return solved


def _weigh_labels(
    chances: Array, given: NDArray[np.intp], labelled: Mask, known: Array, error: float
) -> tuple[Array, float]:
    """Chances of the classes given the labels too, and the share of labels that are wrong by them."""
    at = np.flatnonzero(labelled), given[labelled]
    joint = np.where(labelled[:, None], chances * error / max(chances.shape[1] - 1, 1), chances)
    joint[at] = chances[at] * (1.0 - error)
    joint /= np.maximum(joint.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    return joint, float(np.clip(1.0 - np.average(joint[at], weights=known[labelled]), LEAST, MOST))
