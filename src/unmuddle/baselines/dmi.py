"""L_DMI, determinant-based mutual information (Xu and others, NeurIPS 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.batches import stratified_batches
from unmuddle.checks import check_within

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained


@dataclass(eq=False, repr=False, kw_only=True)
class DMIClassifier(NetworkClassifier):
    """A network under cross entropy first, then under ``-log |det U|``, U the joint counts of labels and predictions.

    Noise that does not depend on the features multiplies U by a matrix, so it shifts the loss and leaves its gradient
    alone. Every batch holds every class: without one the determinant and its gradient are 0. Where even so the
    determinant is 0, for the columns cannot tell all classes apart, the network under cross entropy is kept.

    Parameters
    ----------
    fine_learning_rate : float, default=3e-4
        Adam's step under the determinant loss, in the second half of the epochs.
    **others
        As in :class:`NetworkClassifier`.
    """

    fine_learning_rate: float = 3e-4

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        check_within("fine_learning_rate", self.fine_learning_rate, 0.0, 100.0)

    def _learn(self, course: Course) -> Trained:
        n_fine = course.budget.n_epochs // 2
        first = course.train(course.objectives.plain, course.networks(1), n_epochs=course.budget.n_epochs - n_fine)
        if n_fine == 0:
            return first
        return course.train(
            course.objectives.determinant,
            first.parameters,
            learning_rate=self.fine_learning_rate,
            n_epochs=n_fine,
            deal=stratified_batches,
        )
