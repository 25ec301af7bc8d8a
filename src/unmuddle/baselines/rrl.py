"""RRL, robust representation learning (Li, Xiong and Hoi, ICCV 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from unmuddle.baselines.base import NetworkClassifier
from unmuddle.baselines.relabel import Array, clean_labels, neighbour_count, prototype_weight, start_labels
from unmuddle.checks import check_share, check_within, is_word
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators.validation import check_count, check_flag

if TYPE_CHECKING:
    from unmuddle.baselines.training import Change, Course, Progress, Trained

EMBEDDED = 50
"""Columns of the embedding, unless the last hidden layer has fewer."""

WARM_UP, CLEAN_FROM, RAMP = 0.05, 0.25, 0.2
"""Shares of the epochs without contrast, before labels are cleaned, and over which a ramp rises (40 of 200)."""


@dataclass(eq=False, repr=False, kw_only=True)
class RRLClassifier(NetworkClassifier):
    """A network whose embedding tells rows apart, is drawn to class prototypes, and cleans labels by its neighbours.

    The loss is cross entropy, plus contrast between two views of a row, plus contrast of mixed rows with prototypes,
    plus the reconstruction of features from the embedding. After a quarter of the epochs every epoch begins with new
    labels, half from the nearest neighbours and half from the network; only rows that are sure of theirs stay in cross
    entropy and prototypes. The views of a table's row are ours: the original distorts images.

    Parameters
    ----------
    low : float or "auto", default="auto"
        A given label is kept where it is likelier than this; "auto" is chance, one over the number of classes. That is
        the authors' 0.1 for their ten classes; with fewer classes 0.1 keeps nearly every label. They take 0.4 for noise
        that moves classes one way.
    high : float, default=0.9
        A row counts as clean where its label is likelier than this.
    n_neighbors : int or "auto", default="auto"
        Neighbours asked; "auto" is a quarter of a class of average size, from 5 to 200.
    temperature : float, default=0.3
        Of all similarities.
    instance_weight, prototype_weight : float, default=1.0 and 5.0
        Weights of the two contrasts.
    ramp : bool, default=False
        Whether the second weight grows from 1 over the first fifth of the epochs, as the authors have it for noise that
        moves classes one way.
    jitter : float, default=0.1
        Standard deviation of the noise in the second view of a row, in scaled units.
    drop : float, default=0.15
        Share of cells that are set to 0, the mean of a standardised column, in the second view.
    **others
        As in :class:`NetworkClassifier`; at least one hidden layer.

    Attributes
    ----------
    labels_ : ndarray of shape (n_trained,)
        Labels of ``trained_rows_`` after the last cleaning.
    clean_ : ndarray of shape (n_trained,)
        Whether a row counted as clean then.
    """

    low: Any = "auto"
    high: float = 0.9
    n_neighbors: Any = "auto"
    temperature: float = 0.3
    instance_weight: float = 1.0
    prototype_weight: float = 5.0
    ramp: bool = False
    jitter: float = 0.1
    drop: float = 0.15

    def _validate_parameters(self) -> None:
        super()._validate_parameters()
        if not is_word(self.hidden_layer_sizes, "auto") and not len(self.hidden_layer_sizes):
            raise InvalidParameterError(
                "hidden_layer_sizes must have at least one layer for RRLClassifier, which embeds it; got ()."
            )
        if not is_word(self.low, "auto"):
            check_share("low", self.low, "'auto' or ")
        check_within("high", self.high, 0.0, 1.0)
        if not is_word(self.n_neighbors, "auto"):
            check_count("n_neighbors, unless 'auto',", self.n_neighbors)
        check_flag("ramp", self.ramp)
        check_within("temperature", self.temperature, 0.0, 1e6)
        for name in ("instance_weight", "prototype_weight", "jitter"):
            check_within(name, getattr(self, name), 0.0, 1e6, closed=True)
        check_share("drop", self.drop)

    def _learn(self, course: Course) -> Trained:
        n_epochs, width = course.budget.n_epochs, course.budget.hidden[-1]
        size = min(EMBEDDED, width)
        parameters = {
            **course.networks(1),
            "embedding": course.layer(width, size),
            "reconstruction": course.layer(size, width),
        }
        contrast = np.arange(n_epochs) >= int(WARM_UP * n_epochs)
        n_padded = course.data.X.shape[1]
        knobs = {
            "temperature": self.temperature,
            "jitter": self.jitter,
            "drop": self.drop,
            "columns": np.arange(n_padded) < course.n_columns,
        }
        each_epoch = {
            "instance_weight": self.instance_weight * contrast,
            "prototype_weight": self._prototype_weights(n_epochs) * contrast,
        }
        cleaning = _Cleaning(self, course, int(CLEAN_FROM * n_epochs), size)
        with threadpool_limits(1):  # small products between two epochs: further threads would spin in the next one
            trained = course.train(
                course.robust.objective, parameters, knobs, each_epoch=each_epoch, before=cleaning.before
            )
        self.labels_, self.clean_ = self.classes_[cleaning.hard], cleaning.clean
        return trained

    def _prototype_weights(self, n_epochs: int) -> NDArray[np.floating]:
        last = max(1, round(RAMP * n_epochs)) if self.ramp else 0
        return np.array([prototype_weight(epoch, end=self.prototype_weight, epochs=last) for epoch in range(n_epochs)])


class _Cleaning:
    """Labels and prototypes as they are from epoch to epoch."""

    def __init__(self, settings: RRLClassifier, course: Course, first: int, size: int) -> None:
        self.settings, self.course, self.first = settings, course, first
        automatic = is_word(settings.n_neighbors, "auto")
        n_rows = len(course.codes)
        self.k = neighbour_count(n_rows, course.n_classes) if automatic else int(settings.n_neighbors)
        self.low = 1.0 / course.n_classes if is_word(settings.low, "auto") else float(settings.low)
        self.hard, self.clean = course.codes, np.ones(n_rows, dtype=bool)
        self.soft: Array = np.eye(course.n_classes)[course.codes]
        self.prototypes = np.zeros((course.data.targets.shape[1], size), dtype=np.float32)

    def before(self, progress: Progress) -> Change:
        """Clean the labels, if it is time to, and move the prototypes."""
        course, robust = self.course, self.course.robust
        f = robust.embed(progress.now, course.data.X)
        if progress.epoch >= self.first:
            self._clean(np.asarray(f)[: len(course.codes)], course.predict(progress.now), progress.epoch == self.first)
        targets = course.pad_rows(np.eye(course.n_classes)[self.hard])
        weights = course.pad_rows(self.clean.astype(float))
        self.prototypes = robust.class_prototypes(f, targets, weights, self.prototypes)
        data = course.data._replace(targets=targets, weights=weights)
        return course.change(data, {"prototypes": self.prototypes})

    def _clean(self, f: np.ndarray, probabilities: np.ndarray, begins: bool) -> None:
        settings, codes = self.settings, self.course.codes
        soft = start_labels(probabilities, codes, self.low) if begins else self.soft
        self.soft, self.hard, self.clean = clean_labels(
            f,
            probabilities,
            soft,
            codes,
            k=self.k,
            low=self.low,
            high=settings.high,
            temperature=settings.temperature,
        )
