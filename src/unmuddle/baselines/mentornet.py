"""MentorNet as the literature on noisy labels uses the name: one network that picks its own rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmuddle.baselines.selecting import SelectingClassifier

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class MentorNetClassifier(SelectingClassifier):
    """One network that learns from the rows of each batch on which its own loss is small.

    The published MentorNet (Jiang and others, ICML 2018) learns the weights of rows with a second network; this is its
    self-paced form with Co-teaching's schedule. Parameters are those of :class:`SelectingClassifier`.
    """

    def _learn(self, course: Course) -> Trained:
        return self._select(course, course.objectives.small_loss, 1)
