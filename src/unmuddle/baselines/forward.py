"""Forward correction of the loss (Patrini and others, CVPR 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.lqf import estimate
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators.validation import check_choice

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained

SUREST = 97.0
"""Percentile of the probability of a class at which its anchor is taken."""


@dataclass(eq=False, repr=False, kw_only=True)
class ForwardClassifier(NetworkClassifier):
    """A network under ``-log (p T)_y``, the cross entropy of noisy labels that clean predictions lead to.

    Parameters
    ----------
    transition : array-like of shape (n_classes, n_classes), or {"anchors", "consensus"}, default="anchors"
        T, probability of given label j for true class i in row i and column j, classes in sorted order. "anchors" reads
        row i off the training row that a network, trained under cross entropy for half of the epochs, takes for class i
        most surely (at the 97th percentile, about as the authors do); "consensus" is LQF's without weights.
    **others
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    transition_ : ndarray of shape (n_classes, n_classes)
        The matrix used.
    """

    transition: Any = "anchors"

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if isinstance(self.transition, str):
            check_choice("transition", self.transition, ("anchors", "consensus"))

    def _learn(self, course: Course) -> Trained:
        n_epochs = course.budget.n_epochs
        if isinstance(self.transition, str) and self.transition == "anchors":
            n_first = max(1, n_epochs // 2)
            first = course.train(course.objectives.plain, course.networks(1), n_epochs=n_first)
            self.transition_ = read_anchors(course.predict(first.parameters))
            n_epochs = max(1, n_epochs - n_first)
        elif isinstance(self.transition, str):
            self.transition_ = estimate(course, kind=None).matrix
        else:
            self.transition_ = check_transition(self.transition, course.n_classes)
        knobs = {"transition": course.pad_matrix(self.transition_)}
        return course.train(course.objectives.forward, course.networks(1), knobs, n_epochs=n_epochs)


def read_anchors(probabilities: Array) -> Array:
    """Transitions as predicted for the row that is most surely of each class; the surest 3 % pass for outliers."""
    levels = np.percentile(probabilities, SUREST, axis=0, method="lower")
    anchors = [int(np.abs(column - level).argmin()) for column, level in zip(probabilities.T, levels, strict=True)]
    return probabilities[anchors]


def check_transition(transition: Any, n_classes: int) -> Array:
    """A square matrix of probabilities."""
    try:
        matrix = np.array(transition, dtype=float)
    except (TypeError, ValueError):
        raise InvalidParameterError(
            f"transition must be 'anchors', 'consensus' or a matrix of numbers; got {transition!r}."
        ) from None
    if matrix.shape != (n_classes, n_classes):
        raise InvalidParameterError(
            f"transition must have a row and a column for each of the {n_classes} classes; got shape {matrix.shape}."
        )
    if not (np.all(matrix >= 0) and np.allclose(matrix.sum(axis=1), 1.0, atol=1e-6)):
        raise InvalidParameterError(
            f"transition must hold probabilities, rows that sum to 1; got sums {matrix.sum(axis=1).round(6).tolist()}. "
            "Row i, column j is the probability of given label j for true class i."
        )
    return matrix
