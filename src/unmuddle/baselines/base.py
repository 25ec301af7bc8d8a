"""scikit-learn's contract for networks: validate, hold out, train, publish; predictions need numpy only."""

from __future__ import annotations

import importlib.util
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from unmuddle.baselines.batches import default_batch_size
from unmuddle.checks import check_share, check_within, is_size, is_word
from unmuddle.core.prox import Array
from unmuddle.errors import DivergedWarning, InvalidParameterError, MissingExtraError
from unmuddle.estimators import validation
from unmuddle.estimators.scaling import SCALINGS

if TYPE_CHECKING:
    from unmuddle.baselines.training import Course, Trained

FEW_COLUMNS, NARROW, WIDE = 100, 64, 256
"""Up to so many columns the hidden layer is narrow, beyond it is wide."""


@dataclass(eq=False, repr=False, kw_only=True)
class NetworkClassifier(ClassifierMixin, BaseEstimator, ABC):
    """What all methods that train networks have in common.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int or "auto", default="auto"
        Units of the hidden layers; "auto" is one layer, of 64 units up to 100 columns and of 256 beyond. ``()`` is a
        linear model.
    n_epochs : int, default=200
        Passes over the training rows; a method with two stages divides them.
    batch_size : int or "auto", default="auto"
        Rows in a batch; "auto" is 128, or a quarter of the rows where that is less.
    learning_rate : float, default=1e-3
        Adam's step, constant for 40 % of the epochs and then falling linearly to zero.
    weight_decay : float, default=1e-4
        Weight of the squared parameters.
    validation_fraction : float, default=0.15
        Share of the rows of each class that is not trained on: the networks of the epoch are kept whose accuracy on
        their given, noisy labels is best, averaged over ten epochs. 0 keeps the last epoch.
    scale : {"standard", "robust", None}, default="standard"
        How columns are scaled first.
    random_state : int, RandomState instance or None, default=None
        Fixes initial weights, batches, the rows held out and whatever else is random.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    networks_ : list of dict
        Weights and biases of each network: ``"hidden"``, a list of layers, and ``"output"``.
    loss_curve_, validation_scores_ : ndarrays
        The objective and the accuracy on noisy validation rows at every epoch, of the last stage.
    best_epoch_ : int
        The epoch of it whose networks were kept, counted from 0; -1 if none was finite.
    trained_rows_ : ndarray of shape (n_trained,)
        Positions of the rows that were trained on; the others chose the epoch.
    n_iter_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.
    """

    hidden_layer_sizes: Any = "auto"
    n_epochs: int = 200
    batch_size: Any = "auto"
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    validation_fraction: float = 0.15
    scale: str | None = "standard"
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Train on noisy rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Given features; finite numbers.
        y : array-like of shape (n_samples,)
            Given labels: strings or numbers, at least two classes.

        Returns
        -------
        self : estimator
            The fitted estimator.
        """
        self._validate_parameters()
        features = validation.check_features(self, X, reset=True)
        self.classes_, codes = validation.check_labels(y, len(features))
        self._scaling = SCALINGS[self.scale](features)
        rows = self._scaling.apply(features)
        with np.errstate(over="ignore"):
            validation.check_scaled(rows.astype(np.float32))  # the precision of the networks
        course = self._open_course(rows, codes)
        trained = self._learn(course)
        self.networks_, self.trained_rows_ = course.unpad(trained.parameters), course.rows
        self.loss_curve_, self.validation_scores_ = np.array(trained.losses), np.array(trained.scores)
        self.best_epoch_ = trained.epoch
        self.n_iter_ = self.n_epochs
        if course.diverged_at is not None:
            warnings.warn(
                f"training stopped at epoch {course.diverged_at} of a stage, where the objective or the weights were "
                "no longer finite; what was there before is kept. Lower learning_rate, scale X, or drop columns that "
                "say nothing.",
                DivergedWarning,
                stacklevel=2,
            )
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, the mean over the networks."""
        check_is_fitted(self)
        rows = validation.check_scaled(self._scaling.apply(validation.check_features(self, X, reset=False)))
        return np.mean([softmax(_logits(network, rows), axis=1) for network in self.networks_], axis=0)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    @abstractmethod
    def _learn(self, course: Course) -> Trained:
        """Train the networks of the method."""

    def _validate_parameters(self) -> None:
        sizes = self.hidden_layer_sizes
        if not is_word(sizes, "auto") and not (isinstance(sizes, list | tuple) and all(map(is_size, sizes))):
            raise InvalidParameterError(
                f"hidden_layer_sizes must be 'auto' or a tuple of integers of at least 1, such as (64,); got {sizes!r}."
            )
        validation.check_count("n_epochs", self.n_epochs)
        if not is_word(self.batch_size, "auto"):
            validation.check_count("batch_size, unless 'auto',", self.batch_size)
        check_within("learning_rate", self.learning_rate, 0.0, 100.0)
        check_share("weight_decay", self.weight_decay)
        check_share("validation_fraction", self.validation_fraction)
        validation.check_choice("scale", self.scale, SCALINGS)

    def _open_course(self, X: Array, codes: NDArray[np.intp]) -> Course:
        for package in ("jax", "optax"):
            if importlib.util.find_spec(package) is None:
                raise MissingExtraError(
                    f"{type(self).__name__} needs {package}, which is not installed: pip install 'unmuddle[baselines]'."
                )
        from unmuddle.baselines.training import Budget, Course  # noqa: PLC0415 - an extra

        rng = np.random.default_rng(validation.check_seed("random_state", self.random_state).randint(2**31, size=4))
        judged = hold_out(codes, self.validation_fraction, rng)
        n_trained = len(codes) - len(judged)
        hidden = (NARROW if X.shape[1] <= FEW_COLUMNS else WIDE,)
        budget = Budget(
            hidden=hidden if is_word(self.hidden_layer_sizes, "auto") else tuple(map(int, self.hidden_layer_sizes)),
            n_epochs=int(self.n_epochs),
            batch_size=default_batch_size(n_trained) if is_word(self.batch_size, "auto") else int(self.batch_size),
            learning_rate=float(self.learning_rate),
            weight_decay=float(self.weight_decay),
        )
        return Course(X, codes, len(self.classes_), judged, budget, rng)


def hold_out(codes: NDArray[np.intp], share: float, rng: np.random.Generator) -> NDArray[np.intp]:
    """Rows to judge by: that share of each class, rounded down, so that a class of few rows is trained on whole."""
    order = rng.permutation(len(codes))
    chosen = [rows[: int(share * len(rows))] for rows in (order[codes[order] == code] for code in np.unique(codes))]
    return np.sort(np.concatenate(chosen))


def _logits(network: dict[str, Any], X: Array) -> Array:
    for weights, biases in network["hidden"]:
        X = np.maximum(X @ weights + biases, 0.0)
    weights, biases = network["output"]
    return X @ weights + biases
