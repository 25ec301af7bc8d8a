"""Co-teaching (Han and others, NeurIPS 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmuddle.baselines.selecting import SelectingClassifier

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class CoTeachingClassifier(SelectingClassifier):
    """Two networks; each learns from the rows of a batch on which the other one's loss is small.

    Losses are means over the rows kept: the reference code divides by their number once more, which under Adam changes
    next to nothing. Probabilities are the mean of both networks. Parameters are those of
    :class:`SelectingClassifier`.
    """

    def _learn(self, course: Course) -> Trained:
        return self._select(course, course.objectives.taught, 2)
