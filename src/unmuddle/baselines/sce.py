"""Symmetric cross entropy (Wang and others, ICCV 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.checks import check_within
from unmuddle.errors import InvalidParameterError

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class SCEClassifier(NetworkClassifier):
    """A network under ``alpha CE + beta RCE``; the reverse cross entropy is ``-A (1 - p_y)``.

    Parameters
    ----------
    alpha, beta : float, default=0.1 and 1.0
        Weights of cross entropy and of reverse cross entropy; those of the paper for ten classes.
    log_zero : float, default=-4.0
        A, what stands for the logarithm of 0. The paper says -4; published code clips at 1e-4, which is -9.21.
    **others
        As in :class:`NetworkClassifier`.
    """

    alpha: float = 0.1
    beta: float = 1.0
    log_zero: float = -4.0

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_within("alpha", self.alpha, 0.0, 1e6, closed=True)
        check_within("beta", self.beta, 0.0, 1e6, closed=True)
        if not (isinstance(self.log_zero, Real) and -1e6 <= self.log_zero < 0):
            raise InvalidParameterError(f"log_zero must be a number from -1e6 to below 0; got {self.log_zero!r}.")

    def _learn(self, course: Course) -> Trained:
        knobs = {"alpha": self.alpha, "beta": self.beta, "floor": self.log_zero}
        return course.train(course.objectives.symmetric, course.networks(1), knobs)
