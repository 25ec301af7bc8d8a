"""Generalised cross entropy (Zhang and Sabuncu, NeurIPS 2018), plain and truncated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.checks import check_within
from unmuddle.estimators.validation import check_flag

if TYPE_CHECKING:
    from unmuddle.baselines.training import Change, Course, Progress, Trained

PRUNE_FROM, PRUNE_EVERY = 3, 10
"""The part of the epochs before pruning, 40 of 120 in the reference code, and the epochs between two prunings."""


@dataclass(eq=False, repr=False, kw_only=True)
class GCEClassifier(NetworkClassifier):
    """A network under ``(1 - p_y^q) / q``, which weighs rows down whose label it finds improbable.

    Parameters
    ----------
    q : float, default=0.7
        From cross entropy near 0 to the absolute error at 1.
    truncated : bool, default=False
        Whether rows are pruned: from a third of the epochs on, every tenth epoch, those whose label has a probability
        of ``truncation`` or less under the networks that did best on the noisy validation rows so far.
    truncation : float, default=0.5
        That probability.
    **others
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    kept_ : ndarray of shape (n_trained,)
        1 for those of ``trained_rows_`` that were not pruned at last; only with ``truncated``.
    """

    q: float = 0.7
    truncated: bool = False
    truncation: float = 0.5

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_within("q", self.q, 0.0, 1.0)
        check_flag("truncated", self.truncated)
        check_within("truncation", self.truncation, 0.0, 1.0)

    def _learn(self, course: Course) -> Trained:
        def prune(progress: Progress) -> Change | None:
            if progress.epoch < first or (progress.epoch - first) % PRUNE_EVERY:
                return None
            likely = course.predict(progress.best)[np.arange(len(course.codes)), course.codes] > self.truncation
            self.kept_ = likely.astype(float) if likely.any() else np.ones(len(likely))
            return course.change(course.data._replace(weights=course.pad_rows(self.kept_)))

        if not self.truncated:
            self.__dict__.pop("kept_", None)  # of an earlier fit
            return course.train(course.objectives.generalised, course.networks(1), {"q": self.q, "truncation": 1.0})
        first = max(1, course.budget.n_epochs // PRUNE_FROM)
        self.kept_ = np.ones(len(course.codes))
        knobs = {"q": self.q, "truncation": self.truncation}
        return course.train(course.objectives.generalised, course.networks(1), knobs, before=prune)
