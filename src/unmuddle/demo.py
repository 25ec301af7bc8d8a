"""A first look: spoil a known dataset, fit, and compare before with after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from unmuddle.datasets import Dataset, load_wine
from unmuddle.estimators import FLRClassifier
from unmuddle.metrics import feature_error, labels_right
from unmuddle.noise import redraw_uniformly, spoil_cells

CELL_SHIFT = 4.0
"""How far a spoiled cell is off, in standard deviations of its column."""


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
    n_train: int
    n_wrong_cells: int
    n_wrong_labels: int
    lines: tuple[Comparison, ...]
    model: FLRClassifier


def run_demo(cell_noise: float = 0.1, label_noise: float = 0.3, seed: int = 0) -> Demo:
    """Spoil four fifths of Wine, recover it, and test on the clean rest.

    With nothing automatic: the automatic choice is made for prediction, and the demo shows recovery.
    """
    dataset, rng = load_wine(), np.random.default_rng(seed)
    X_train, X_test, y_train, y_test = train_test_split(dataset.X, dataset.y, test_size=0.2, random_state=seed)
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    cells = spoil_cells(X_train, cell_noise, CELL_SHIFT, rng)
    labels = redraw_uniformly(y_train, label_noise, rng)
    model = FLRClassifier.natural().fit(cells.values, labels.values)
    plain = LogisticRegression().fit(cells.values, labels.values)
    recovered = model.classes_[model.recovered_labels_.argmax(axis=1)]
    lines = (
        Comparison(
            "training labels that are right", labels_right(y_train, labels.values), labels_right(y_train, recovered)
        ),
        Comparison(
            "relative error of the features",
            feature_error(X_train, cells.values),
            feature_error(X_train, model.recovered_features_),
        ),
        Comparison("accuracy on clean test data", plain.score(X_test, y_test), model.score(X_test, y_test)),
    )
    return Demo(dataset, len(X_train), int(cells.changed.sum()), int(labels.changed.sum()), lines, model)
