"""JoCoR (Wei and others, CVPR 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmuddle.baselines.selecting import SelectingClassifier
from unmuddle.checks import check_share

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class JoCoRClassifier(SelectingClassifier):
    """Two networks under one loss that also asks them to agree, over the rows on which it is small.

    Parameters
    ----------
    agreement : float, default=0.5
        Lambda, the weight of the two divergences between the networks against that of their cross entropies. The
        authors found 0.5 to 0.9 best on images; 0.5 is the end at which labels count most. For noise that moves classes
        one way they halve ``noise_rate``.
    **others
        As in :class:`SelectingClassifier`.
    """

    agreement: float = 0.5

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_share("agreement", self.agreement)

    def _learn(self, course: Course) -> Trained:
        return self._select(course, course.objectives.joint, 2, agreement=self.agreement)
