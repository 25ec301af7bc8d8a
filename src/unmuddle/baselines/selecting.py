"""What methods have in common that learn from the rows on which the loss is small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.lqf import estimate_noise_rate
from unmuddle.baselines.schedules import forget_rates, momenta
from unmuddle.checks import check_share, is_word
from unmuddle.estimators.validation import check_flag

if TYPE_CHECKING:
    from unmuddle.baselines.objectives import Objective
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class SelectingClassifier(NetworkClassifier):
    """Rows of large loss are forgotten: up to the noise rate of them, in ten epochs.

    Parameters
    ----------
    noise_rate : float or "estimate", default="estimate"
        Share of wrong labels; "estimate" takes that of LQF's transition matrix.
    per_class : bool, default=False
        Whether rows are ranked among those of their class. It keeps rare classes, whose rows all have large losses; no
        paper does it.
    **others
        As in :class:`NetworkClassifier`.

    Attributes
    ----------
    noise_rate_ : float
        The rate used.
    """

    noise_rate: Any = "estimate"
    per_class: bool = False

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if not is_word(self.noise_rate, "estimate"):
            check_share("noise_rate", self.noise_rate, "'estimate' or ")
        check_flag("per_class", self.per_class)

    def _select(self, course: Course, objective: Objective, n_networks: int, **knobs: float) -> Trained:
        estimated = is_word(self.noise_rate, "estimate")
        self.noise_rate_ = estimate_noise_rate(course) if estimated else float(self.noise_rate)
        n_epochs = course.budget.n_epochs
        each_epoch = {"forget": forget_rates(self.noise_rate_, n_epochs), "beta": momenta(n_epochs)}
        numbers = {"per_class": float(self.per_class), **knobs}
        return course.train(objective, course.networks(n_networks), numbers, each_epoch=each_epoch)
