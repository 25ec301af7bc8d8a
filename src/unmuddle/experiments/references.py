"""What a user would try instead: plain classifiers, and cleanlab alone or behind a recovery of the features.

Linear models choose among nine settings by five-fold accuracy on the noisy labels, the forest among five by out-of-bag
accuracy on them. Ties go to the smoother setting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

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


class Prepared(NamedTuple):
    """Training features as a classifier gets them, the way of new rows there, and recovered features if there are."""

    X: Array
    transform: Callable[[Array], Array]
    recovered: Array | None = None


Prepare = Callable[[Task], Prepared]
Tune = Callable[[Array, Task], Any]
"""From features, and the labels and seed of a task, to a fitted classifier with the best setting on noisy labels."""


def tune_logistic(X: Array, task: Task) -> LogisticRegression:
    """C by noisy five-fold cross-validation."""
    return search_logistic(task).fit(X, task.y).best_estimator_


def tune_forest(X: Array, task: Task) -> RandomForestClassifier:
    """100 trees; the size of leaves by noisy out-of-bag accuracy."""
    forests = [
        RandomForestClassifier(100, min_samples_leaf=leaf, oob_score=True, random_state=task.random_state)
        for leaf in LEAVES
    ]
    return max(forests, key=lambda forest: forest.fit(X, task.y).oob_score_)


def search_logistic(task: Task) -> GridSearchCV:
    """Nine values of C by five-fold accuracy, on whatever data it is fitted to."""
    return _search(LogisticRegression(max_iter=1000), "C", STRENGTHS, task)


def _folds(task: Task) -> KFold:
    return KFold(5, shuffle=True, random_state=task.random_state)


def _search(estimator: BaseEstimator, name: str, values: Any, task: Task) -> GridSearchCV:
    return GridSearchCV(estimator, {name: list(values)}, cv=_folds(task), scoring="accuracy", error_score="raise")


def as_given(task: Task) -> Prepared:
    """Features as they came."""
    return Prepared(task.X, lambda X: X)


def by_rpca(task: Task) -> Prepared:
    """Robust PCA with its own weight, new rows by their closest point in its row space."""
    model = RobustPCA(scale=None).fit(task.X)
    return Prepared(model.low_rank_, model.transform, model.low_rank_)


def by_clip_pca4(task: Task) -> Prepared:
    """Clip at 3.5 robust deviations, keep four components."""
    return _clip_pca(task, min(4, *task.X.shape))


def by_clip_pca80(task: Task) -> Prepared:
    """Clip at 3.5 robust deviations, keep the components that hold 80 % of the variance."""
    return _clip_pca(task, 0.8)


def _clip_pca(task: Task, n_components: float) -> Prepared:
    clip = _clipping(task.X)
    pca = PCA(n_components, random_state=task.random_state).fit(clip(task.X))
    reduced = pca.transform(clip(task.X))
    return Prepared(reduced, lambda X: pca.transform(clip(X)), pca.inverse_transform(reduced))


def _clipping(X: Array) -> Callable[[Array], Array]:
    middle = np.median(X, axis=0)
    spread = 1.4826 * np.median(np.abs(X - middle), axis=0)
    spread = np.where(spread > 0, spread, X.std(axis=0))
    return lambda new: np.clip(new, middle - FAR * spread, middle + FAR * spread)


def learn(task: Task, prepare: Prepare, tune: Tune) -> Answer:
    """A classifier on prepared features, with no eye for wrong labels."""
    prepared = prepare(task)
    model = tune(prepared.X, task)
    return _with_features(Answer(lambda new: model.predict(prepared.transform(new))), task, prepared)


def clean_labels(task: Task, prepare: Prepare, tune: Tune) -> Answer:
    """Confident learning round a classifier on prepared features, with its own repair of flagged labels."""
    from cleanlab.classification import CleanLearning  # noqa: PLC0415 - an extra

    prepared = prepare(task)
    classes, codes = np.unique(task.y, return_inverse=True)
    model = tune(prepared.X, task)
    probabilities = cross_val_predict(model, prepared.X, codes, cv=_folds(task), method="predict_proba")
    cleaner = CleanLearning(model, seed=task.random_state, find_label_issues_kwargs={"n_jobs": 1})
    cleaner.fit(prepared.X, codes, pred_probs=probabilities)
    issues = cleaner.get_label_issues()
    flags, suspicion = issues["is_label_issue"].to_numpy(), 1.0 - issues["label_quality"].to_numpy()
    answer = Answer(
        predict=lambda new: classes[cleaner.predict(prepared.transform(new))],
        label_scores=suspicion,
        labels=classes[np.where(flags, issues["predicted_label"], codes)],
        label_confidence=suspicion,
        label_flags=flags,
    )
    return _with_features(answer, task, prepared)


def _with_features(answer: Answer, task: Task, prepared: Prepared) -> Answer:
    if prepared.recovered is None:
        return answer
    return replace(answer, features=prepared.recovered, cell_scores=np.abs(task.X - prepared.recovered))


@method("logistic", "logistic regression")
def fit_logistic(task: Task) -> Answer:
    """Logistic regression on features as they came."""
    return learn(task, as_given, tune_logistic)


@method("ridge", "ridge classifier")
def fit_ridge(task: Task) -> Answer:
    """The penalty by noisy five-fold cross-validation."""
    search = _search(RidgeClassifier(), "alpha", len(task.y) / STRENGTHS / 10, task)
    return Answer(search.fit(task.X, task.y).predict)


@method("forest", "random forest")
def fit_forest(task: Task) -> Answer:
    """A forest on features as they came."""
    return learn(task, as_given, tune_forest)


@method("cleanlab", "cleanlab round logistic regression", **CLEANLAB)
def fit_cleanlab(task: Task) -> Answer:
    """Cleanlab on features as they came."""
    return clean_labels(task, as_given, tune_logistic)


@method("rpca-cleanlab", "RPCA, then cleanlab", **CLEANLAB)
def fit_rpca_cleanlab(task: Task) -> Answer:
    """Robust PCA, then cleanlab."""
    return clean_labels(task, by_rpca, tune_logistic)


@method("clip-pca4-cleanlab", "clip, PCA(4), then cleanlab", **CLEANLAB)
def fit_clip_pca4_cleanlab(task: Task) -> Answer:
    """Four components, then cleanlab."""
    return clean_labels(task, by_clip_pca4, tune_logistic)


@method("clip-pca80-cleanlab", "clip, PCA(80 %), then cleanlab", **CLEANLAB)
def fit_clip_pca80_cleanlab(task: Task) -> Answer:
    """The components that hold 80 % of the variance, then cleanlab."""
    return clean_labels(task, by_clip_pca80, tune_logistic)
