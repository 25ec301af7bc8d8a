"""Robust PCA of the features, then any classifier on the low-rank part (Candes et al. 2011)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unmuddle.core.prox import Array
from unmuddle.core.rowspace import project
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators import RobustPCA, validation
from unmuddle.estimators.scaling import SCALINGS, Scaling

MODES = ("inductive", "projection", "transductive")

MULTIPLES = (1.0, 1.5, 2.0, 3.0)
"""What ``lambda_sparse="cv"`` tries, in units of ``1 / sqrt(max(n, d))``, which is often too small for thin tables."""

FOLDS = 5


def _offered(method: str) -> Callable[..., Any]:
    """Have a method where the estimator has it, fitted or not."""
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self._classifier()), method))


class RPCAClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Take features apart into low rank and sparse, and learn a classifier on the low-rank part; labels are believed.

    Robust PCA has no rule for new rows, so there are three. Under ``mode="inductive"`` a new row is replaced by its
    closest point, in absolute values, in the row space of the training rows' low-rank part; for hundreds of columns of
    high rank that takes a while. Under ``mode="projection"`` it is the orthogonal projection, which is quick and does
    for rows without gross errors. Under ``mode="transductive"`` the rows asked about are stacked under the training
    rows, features only, and the whole is decomposed anew; the classifier is fitted on the upper part and predicts the
    lower. That is closer to the textbook, and has its price: every prediction costs a decomposition and a fit, the
    training rows are kept, and what is predicted for a row depends on the rows asked about with it.

    Parameters
    ----------
    estimator : classifier, default=None
        What is fitted on the low-rank part, which it sees scaled; None is ``LogisticRegression(max_iter=1000)``.
    lambda_sparse : float, None or "cv", default="cv"
        Weight of the sparse part, for scaled data. None is ``1 / sqrt(max(n_samples, n_features))``, which is known to
        suit large matrices of small rank; ``"cv"`` takes 1, 1.5, 2 or 3 times that, by the accuracy of the classifier
        on the given labels in five folds, the smallest of equals; the decomposition, which knows no labels, is that of
        all rows. Both count the rows asked about under ``mode="transductive"``.
    mode : {"inductive", "projection", "transductive"}, default="inductive"
        How new rows are cleaned.
    scale : {"standard", "robust", None}, default="standard"
        How columns are scaled first.
    max_iter : int, default=1000
        Largest number of iterations of a decomposition.
    tol : float, default=1e-7
        Largest residual of a decomposition, relative.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds of ``"cv"``. Randomness of the estimator is its own affair.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    rpca_ : RobustPCA
        The decomposition of the training rows; ``rpca_.low_rank_`` are their cleaned features in the units of X.
    estimator_ : classifier
        Fitted on them, scaled. Under ``mode="transductive"`` predictions come from a classifier fitted anew.
    lambda_sparse_ : float
        The weight used for the training rows.
    cv_results_ : dict of ndarrays or None
        Under ``"cv"``, ``"multiple"``, ``"lambda_sparse"`` and ``"accuracy"``, the mean over the folds, of what was
        tried; NaN where no fold leaves two classes to learn from.
    n_iter_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from unmuddle.baselines.rpca import RPCAClassifier
    >>> rng = np.random.default_rng(0)
    >>> clean = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 30))
    >>> y = np.where(clean[:, 0] > 0, "high", "low")
    >>> X = clean + np.where(rng.random(clean.shape) < 0.05, 20.0, 0.0)
    >>> model = RPCAClassifier(random_state=0).fit(X[:150], y[:150])
    >>> bool(model.score(X[150:], y[150:]) > 0.95)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        lambda_sparse: float | str | None = "cv",
        mode: str = "inductive",
        scale: str | None = "standard",
        max_iter: int = 1000,
        tol: float = 1e-7,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.lambda_sparse = lambda_sparse
        self.mode = mode
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the weight, decompose X, and fit the classifier to the low-rank part and the labels y."""
        self._validate_parameters()
        features = validation.check_features(self, X, reset=True)
        self.classes_, codes = validation.check_labels(y, len(features))
        labels = self.classes_[codes]
        self._multiple = 1.0 if self.lambda_sparse is None else None
        self.cv_results_: dict[str, Array] | None = None
        chosen = self._cross_validate(features, labels, codes) if self.lambda_sparse == "cv" else None
        self.rpca_, self._scaling = chosen or self._decompose(features)
        self.lambda_sparse_, self.n_iter_ = self.rpca_.lambda_sparse_, self.rpca_.n_iter_
        self.estimator_ = clone(self._classifier()).fit(self._scaling.apply(self.rpca_.low_rank_), labels)
        self._kept = (features.copy(), labels) if self.mode == "transductive" else None
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The estimator's classes for the cleaned rows."""
        return self._ask("predict", X)

    @_offered("predict_proba")
    def predict_proba(self, X: Any) -> Array:
        """The estimator's probabilities for the cleaned rows."""
        return self._ask("predict_proba", X)

    @_offered("decision_function")
    def decision_function(self, X: Any) -> Array:
        """The estimator's scores for the cleaned rows."""
        return self._ask("decision_function", X)

    def _ask(self, method: str, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        rows = validation.check_features(self, X, reset=False)
        if self._kept is None:
            return getattr(self.estimator_, method)(self._clean(rows))
        known, labels = self._kept
        rpca, scaling = self._decompose(np.vstack([known, rows]))
        cleaned = scaling.apply(rpca.low_rank_)
        return getattr(clone(self.estimator_).fit(cleaned[: len(known)], labels), method)(cleaned[len(known) :])

    def _clean(self, rows: Array) -> Array:
        """New rows by themselves, scaled."""
        if self.mode == "projection":
            return project(self._scaling.apply(rows), self.rpca_.components_)
        return self._scaling.apply(self.rpca_.transform(rows))

    def _validate_parameters(self) -> None:
        validation.check_choice("mode", self.mode, MODES)
        validation.check_choice("scale", self.scale, SCALINGS)
        validation.check_count("max_iter", self.max_iter)
        validation.check_positive("tol", self.tol)
        if not isinstance(self.lambda_sparse, str) or self.lambda_sparse != "cv":
            validation.check_positive("lambda_sparse, unless 'cv',", self.lambda_sparse, optional=True)
        usable = all(callable(getattr(self.estimator, method, None)) for method in ("fit", "predict", "get_params"))
        if self.estimator is not None and (isinstance(self.estimator, type) or not usable):
            raise InvalidParameterError(
                "estimator must be a scikit-learn classifier, with fit and predict, or None; "
                f"got {self.estimator!r}. Pass an object, such as LogisticRegression()."
            )

    def _classifier(self) -> Any:
        return LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator

    def _cross_validate(
        self, features: Array, labels: NDArray[Any], codes: NDArray[np.intp]
    ) -> tuple[RobustPCA, Scaling] | None:
        """Choose the weight in units of the default one; the decomposition with it, if there is anything to learn."""
        folds = list(_folds(codes, validation.check_seed("random_state", self.random_state)))
        tried, accuracy = np.array(MULTIPLES), np.full(len(MULTIPLES), np.nan)
        best, self._multiple = None, MULTIPLES[0]
        for place, multiple in enumerate(MULTIPLES if folds else ()):
            rpca, scaling = self._decompose(features, multiple)
            cleaned = scaling.apply(rpca.low_rank_)
            scores = cross_val_score(clone(self._classifier()), cleaned, labels, cv=folds, error_score="raise")
            accuracy[place] = scores.mean()
            if best is None or accuracy[place] > np.max(accuracy[:place]):
                best, self._multiple = (rpca, scaling), multiple
        weights = tried / np.sqrt(max(features.shape))
        self.cv_results_ = {"multiple": tried, "lambda_sparse": weights, "accuracy": accuracy}
        return best

    def _decompose(self, rows: Array, multiple: float | None = None) -> tuple[RobustPCA, Scaling]:
        multiple = multiple or self._multiple
        weight: Any = self.lambda_sparse if multiple is None else multiple / np.sqrt(max(rows.shape))
        rpca = RobustPCA(weight, scale=self.scale, max_iter=self.max_iter, tol=self.tol).fit(rows)
        return rpca, SCALINGS[self.scale](rows)


def _folds(codes: NDArray[np.intp], rng: np.random.RandomState) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows to learn from and rows held out: shuffled, dealt out class by class; without folds of nothing to learn."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    for first in range(min(FOLDS, len(codes))):
        held_out = order[first::FOLDS]
        rest = np.setdiff1d(order, held_out)
        if np.ptp(codes[rest]) > 0:
            yield rest, held_out
