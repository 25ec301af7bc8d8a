"""The network that every other one is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmuddle.baselines.base import NetworkClassifier

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class CrossEntropyClassifier(NetworkClassifier):
    """A network under plain cross entropy: no defence against noise, the control of all others.

    Parameters and attributes are those of :class:`NetworkClassifier`.
    """

    def _learn(self, course: Course) -> Trained:
        return course.train(course.objectives.plain, course.networks(1))
