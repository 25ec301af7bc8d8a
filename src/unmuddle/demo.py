"""A first look: spoil a known dataset, fit, and compare before with after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from unmuddle.datasets import Dataset, load_wine
from unmuddle.estimators import FLRClassifier
from unmuddle.noise import add_gaussian, redraw_uniformly


@dataclass(frozen=True)
class Comparison:
    """One line of the demo's table."""

    what: str
    before: float
    after: float


@dataclass(frozen=True)
class Demo:
    """What was spoiled, what came out of it, and the fitted model."""

    dataset: Dataset
    feature_noise: float
    label_noise: float
    n_train: int
    n_wrong_labels: int
    lines: tuple[Comparison, ...]
    model: FLRClassifier


def run_demo(feature_noise: float = 0.2, label_noise: float = 0.3, seed: int = 0) -> Demo:
    """Spoil four fifths of Wine, recover it, and test on the clean rest."""
    dataset, rng = load_wine(), np.random.default_rng(seed)
    X_train, X_test, y_train, y_test = train_test_split(dataset.X, dataset.y, test_size=0.2, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    X = add_gaussian(X_train, feature_noise, rng).values
    labels = redraw_uniformly(y_train, label_noise, rng)
    model = FLRClassifier().fit(X, labels.values)
    plain = LogisticRegression().fit(X, labels.values)
    recovered = model.classes_[model.recovered_labels_.argmax(axis=1)]
    lines = (
        Comparison("training labels that are right", _agree(labels.values, y_train), _agree(recovered, y_train)),
        Comparison("relative error of the features", _error(X, X_train), _error(model.recovered_features_, X_train)),
        Comparison("accuracy on clean test data", plain.score(X_test, y_test), model.score(X_test, y_test)),
    )
    return Demo(dataset, feature_noise, label_noise, len(X), int(labels.changed.sum()), lines, model)


def _agree(first: NDArray[Any], second: NDArray[Any]) -> float:
    return float(np.mean(first == second))


def _error(found: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))
