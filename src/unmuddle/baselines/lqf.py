"""LQF (Zhu, Wang and Liu, ICML 2022): transitions from the agreement of neighbours, and forward correction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.information import DIVERGENCES, Kind, feature_information, feature_weights
from unmuddle.baselines.transition import Transition, estimate_transition
from unmuddle.checks import check_within
from unmuddle.core.prox import Array
from unmuddle.estimators.validation import check_choice, check_flag

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class LQFClassifier(NetworkClassifier):
    """A network under ``-log (p T)_y`` with T from the given labels of nearest neighbours, no clean label needed.

    Columns are weighed by their mutual information with the given labels before neighbours are looked for. T is what
    explains best how often a row and its two nearest neighbours have which three labels (HOC, Zhu and others 2021).
    The authors stop at T; the network behind it is ours.

    Parameters
    ----------
    information : {"tv", "kl", "pearson", "hellinger", "js"} or None, default="tv"
        The f-divergence of the mutual information; None weighs all columns alike.
    decorrelate : bool, default=False
        Whether columns are first replaced by their principal components at unit size, a variant of the authors.
    shrink : float, default=0.0
        How far T is moved towards the identity, from 0 to 1. Below some 50 rows a class, T is mostly noise.
    **others
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    transition_ : ndarray of shape (n_classes, n_classes)
        Estimated probability of given label j for true class i in row i and column j.
    noise_rate_ : float
        The share of wrong labels that follows.
    """

    information: Kind | None = "tv"
    decorrelate: bool = False
    shrink: float = 0.0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_choice("information", self.information, (*DIVERGENCES, None))
        check_flag("decorrelate", self.decorrelate)
        check_within("shrink", self.shrink, 0.0, 1.0, closed=True)

    def _learn(self, course: Course) -> Trained:
        found = estimate(course, kind=self.information, decorrelate=self.decorrelate, shrink=self.shrink)
        self.transition_, self.noise_rate_ = found.matrix, found.noise_rate
        knobs = {"transition": course.pad_matrix(self.transition_)}
        return course.train(course.objectives.forward, course.networks(1), knobs)


def estimate(course: Course, *, kind: Kind | None = "tv", decorrelate: bool = False, shrink: float = 0.0) -> Transition:
    """The transition matrix of the rows of a course."""
    X = principal_components(course.X) if decorrelate else course.X
    weights = None
    if kind is not None:
        weights = feature_weights(feature_information(X, course.codes, course.n_classes, kind, "auto"))
    return estimate_transition(X, course.codes, course.n_classes, course.rng, weights=weights, shrink=shrink)


def principal_components(X: Array) -> Array:
    """Columns rotated so that they are uncorrelated, each of unit mean square; those of no size are 0."""
    squares, V = np.linalg.eigh(X.T @ X / len(X))
    sizes = np.sqrt(np.maximum(squares, 0.0))
    return X @ (V / np.where(sizes > 1e-7 * sizes.max(initial=0.0), sizes, np.inf))


def estimate_noise_rate(course: Course) -> float:
    """The share of wrong labels, at most what guessing would make."""
    return min(estimate(course).noise_rate, 1.0 - 1.0 / course.n_classes)
