"""What a user would try instead: plain classifiers, and cleanlab alone or behind a recovery of the features.

Linear models choose among nine settings by five-fold accuracy on the noisy labels, the forest among five by out-of-bag
accuracy on them. Ties go to the smoother setting.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict

from unmuddle.estimators import RobustPCA
from unmuddle.experiments.methods import Answer, Task, method

STRENGTHS = np.logspace(-3, 1, 9)
"""Nine values of C, from smooth to rough; a ridge penalty is a tenth of the number of rows over C."""

LEAVES = (32, 16, 8, 4, 1)
"""Five values of the least number of rows in a leaf, from smooth to rough."""

FAR = 3.5
"""Robust deviations at which cells are clipped."""

CLEANLAB = {"requires": "cleanlab", "needs": "experiments"}

Array = NDArray[np.floating]


def _folds(task: Task) -> KFold:
    return KFold(5, shuffle=True, random_state=task.random_state)


def _tuned(estimator: BaseEstimator, name: str, values: Any, X: Array, task: Task) -> Any:
    search = GridSearchCV(estimator, {name: list(values)}, cv=_folds(task), scoring="accuracy", error_score="raise")
    return search.fit(X, task.y).best_estimator_


def _logistic(X: Array, task: Task) -> LogisticRegression:
    return _tuned(LogisticRegression(max_iter=1000), "C", STRENGTHS, X, task)


@method("logistic", "logistic regression")
def fit_logistic(task: Task) -> Answer:
    """C by noisy five-fold cross-validation."""
    return Answer(_logistic(task.X, task).predict)


@method("ridge", "ridge classifier")
def fit_ridge(task: Task) -> Answer:
    """The penalty by noisy five-fold cross-validation."""
    return Answer(_tuned(RidgeClassifier(), "alpha", len(task.y) / STRENGTHS / 10, task.X, task).predict)


@method("forest", "random forest")
def fit_forest(task: Task) -> Answer:
    """100 trees; the size of leaves by noisy out-of-bag accuracy."""
    forests = [
        RandomForestClassifier(100, min_samples_leaf=leaf, oob_score=True, random_state=task.random_state)
        for leaf in LEAVES
    ]
    return Answer(max(forests, key=lambda forest: forest.fit(task.X, task.y).oob_score_).predict)


@method("cleanlab", "cleanlab round logistic regression", **CLEANLAB)
def fit_cleanlab(task: Task) -> Answer:
    """Confident learning round logistic regression."""
    return _clean_labels(task, lambda X: X, task.X)


@method("rpca-cleanlab", "RPCA, then cleanlab", **CLEANLAB)
def fit_rpca_cleanlab(task: Task) -> Answer:
    """Robust PCA with its own weight, new rows by their closest point in its row space; then cleanlab."""
    model = RobustPCA(scale=None).fit(task.X)
    recovered = model.low_rank_
    return _with_features(_clean_labels(task, model.transform, recovered), task, recovered)


@method("clip-pca4-cleanlab", "clip, PCA(4), then cleanlab", **CLEANLAB)
def fit_clip_pca4_cleanlab(task: Task) -> Answer:
    """Clip at 3.5 robust deviations, keep four components; then cleanlab."""
    return _clip_pca_cleanlab(task, min(4, *task.X.shape))


@method("clip-pca80-cleanlab", "clip, PCA(80 %), then cleanlab", **CLEANLAB)
def fit_clip_pca80_cleanlab(task: Task) -> Answer:
    """Clip at 3.5 robust deviations, keep the components that hold 80 % of the variance; then cleanlab."""
    return _clip_pca_cleanlab(task, 0.8)


def _clip_pca_cleanlab(task: Task, n_components: float) -> Answer:
    clip = _clipping(task.X)
    pca = PCA(n_components, random_state=task.random_state).fit(clip(task.X))
    reduced = pca.transform(clip(task.X))
    answer = _clean_labels(task, lambda X: pca.transform(clip(X)), reduced)
    return _with_features(answer, task, pca.inverse_transform(reduced))


def _clipping(X: Array) -> Callable[[Array], Array]:
    middle = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - middle), axis=0)
    spread = np.where(spread > 0, spread, X.std(axis=0))
    return lambda new: np.clip(new, middle - FAR * spread, middle + FAR * spread)


def _clean_labels(task: Task, prepare: Callable[[Array], Array], X: Array) -> Answer:
    """Confident learning round logistic regression on prepared features, with its own repair of flagged labels."""
    from cleanlab.classification import CleanLearning  # noqa: PLC0415 - an extra

    classes, codes = np.unique(task.y, return_inverse=True)
    model = _logistic(X, task)
    probabilities = cross_val_predict(model, X, codes, cv=_folds(task), method="predict_proba")
    cleaner = CleanLearning(model, seed=task.random_state, find_label_issues_kwargs={"n_jobs": 1})
    cleaner.fit(X, codes, pred_probs=probabilities)
    issues = cleaner.get_label_issues()
    repaired = np.where(issues["is_label_issue"], issues["predicted_label"], codes)
    return Answer(
        predict=lambda new: classes[cleaner.predict(prepare(new))],
        label_scores=1.0 - issues["label_quality"].to_numpy(),
        labels=classes[repaired],
    )


def _with_features(answer: Answer, task: Task, recovered: Array) -> Answer:
    return Answer(
        answer.predict, answer.label_scores, answer.labels, recovered, cell_scores=np.abs(task.X - recovered)
    )  # fmt: skip
