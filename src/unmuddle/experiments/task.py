"""From a cell to its data: split, scale, spoil. Every method meets the same data in a cell of the same name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmuddle import datasets
from unmuddle.datasets import Dataset
from unmuddle.errors import DatasetError
from unmuddle.experiments.methods import Answer, Task
from unmuddle.experiments.plan import Cell, parse, seed
from unmuddle.metrics import accuracy, cell_detection, feature_error, label_error_ranking, labels_right
from unmuddle.noise import NoisyFeatures, NoisyLabels, spoil_features, spoil_labels

TEST_SHARE, HOLD_OUT = 0.2, 0.5
"""Shares of all rows kept for the clean test, and of training rows kept to judge settings on noisy labels."""

N_COMPONENTS = 512
"""Principal columns of image features; of fewer rows, one less than rows."""

REAL = "real"
"""The label noise of data that come with noisy labels."""

SCORES = ("accuracy", "label_auc", "label_ap", "labels_right", "feature_error", "cell_auc")
"""The five scores, the second of which has two numbers."""


@dataclass(frozen=True)
class Truth:
    """What no method sees: clean training data, clean test data, and what the noise touched."""

    X: NDArray[np.floating]
    y: NDArray[Any]
    X_test: NDArray[np.floating]
    y_test: NDArray[Any]
    cells: NDArray[np.bool_]
    labels: NDArray[np.bool_]


def make_task(cell: Cell, *, takes_missing: bool = False, told: bool = False) -> tuple[Task, Truth]:
    """Noisy training data for the method of a cell, and the truth behind it, of which it may be ``told`` one number."""
    parts = prepare(cell.dataset, cell.trial)
    features, labels = spoil(cell, parts.X, parts.y, parts.y_noisy)
    values = features.values if takes_missing else impute_medians(features.values)
    truth = Truth(parts.X, parts.y, parts.X_test, parts.y_test, features.changed, labels.changed)
    own_seed = seed("method", cell.method, cell.dataset, cell.noise, cell.trial)
    rate = float(np.mean(labels.changed)) if told else None
    return Task(values, labels.values, own_seed, rate), truth


@dataclass(frozen=True)
class Parts:
    """A dataset split and scaled, before any noise."""

    X: NDArray[np.floating]
    y: NDArray[Any]
    X_test: NDArray[np.floating]
    y_test: NDArray[Any]
    y_noisy: NDArray[Any] | None


def prepare(dataset: str, trial: int) -> Parts:
    """Split and scale; where the set comes split, the trial makes no difference."""
    data = load(dataset)
    return _prepare(data, trial) if data.scale != "principal" else _prepare_slowly(dataset, _split_of(data, trial))


@lru_cache(maxsize=1)
def _prepare_slowly(dataset: str, trial: int) -> Parts:
    """A projection takes seconds, and the next cell is mostly one of the same data: the last is kept."""
    return _prepare(load(dataset), trial)


def _prepare(data: Dataset, trial: int) -> Parts:
    train, test = split(data, trial)
    X, X_test = scale(data, train, test)
    return Parts(X, data.y[train], X_test, data.y[test], None if data.y_noisy is None else data.y_noisy[train])


def _split_of(data: Dataset, trial: int) -> int:
    return trial if data.test is None else 0


@lru_cache(maxsize=2)
def load(name: str) -> Dataset:
    """A dataset by name, or so many of its rows, drawn at random: ``wine:100``. The last two are kept.

    >>> load("wine:100").X.shape
    (100, 13)
    """
    whole, _, n_rows = name.partition(":")
    data = datasets.load(whole)
    if not n_rows:
        return data
    if not (n_rows.isdecimal() and 0 < int(n_rows) <= len(data.y)):
        raise DatasetError(f"rows of {whole} must be a number from 1 to {len(data.y)}; got {n_rows!r}.")
    rows = np.sort(np.random.default_rng(seed("rows", name)).permutation(len(data.y))[: int(n_rows)])
    noisy = None if data.y_noisy is None else data.y_noisy[rows]
    test = None if data.test is None else data.test[rows]
    return replace(data, name=name, X=data.X[rows], y=data.y[rows], y_noisy=noisy, test=test)


def split(data: Dataset, trial: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """80 % of the rows, drawn at random, to train on, and the rest to test on; the same under every noise.

    A set that comes in two parts keeps them.
    """
    if data.test is not None:
        return np.flatnonzero(~data.test), np.flatnonzero(data.test)
    order = np.random.default_rng(seed("split", data.name, trial)).permutation(len(data.y))
    n_test = round(TEST_SHARE * len(order))
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def scale(
    data: Dataset, train: NDArray[np.intp], test: NDArray[np.intp]
) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Both parts by mean and standard deviation of the clean training part, as the dataset asks."""
    X, X_test = data.X[train], data.X[test]
    if data.scale is None:
        return X, X_test
    if data.scale == "principal":
        return datasets.principal_features(X, X_test, min(N_COMPONENTS, len(X) - 1, X.shape[1]))
    spread = X.std(axis=0)
    spread[spread == 0] = 1.0  # a word that no training row has
    centre = X.mean(axis=0) if data.scale == "standard" else 0.0
    return (X - centre) / spread, (X_test - centre) / spread


def spoil(
    cell: Cell, X: NDArray[np.floating], y: NDArray[Any], y_noisy: NDArray[Any] | None = None
) -> tuple[NoisyFeatures, NoisyLabels]:
    """Noise on features and on labels, each from a seed of its own: the same labels under every feature noise.

    Labels under the noise ``real`` are those that came with the data.
    """
    kind, settings = parse(cell.noise.features)
    place = cell.dataset, cell.trial
    rng = np.random.default_rng(seed("features", cell.noise.features, *place))
    features = spoil_features(X, kind, rng, **settings)
    if cell.noise.labels == REAL:
        return features, real_labels(cell.dataset, y, y_noisy)
    label_kind, label_settings = parse(cell.noise.labels)
    label_rng = np.random.default_rng(seed("labels", cell.noise.labels, *place))
    return features, spoil_labels(y, label_kind, label_rng, X=X, **label_settings)


def real_labels(dataset: str, y: NDArray[Any], y_noisy: NDArray[Any] | None) -> NoisyLabels:
    """The labels that people gave; every row may be wrong, so all are selected."""
    if y_noisy is None:
        raise DatasetError(
            f"label noise {REAL!r} needs a dataset that comes with noisy labels, such as cifar10n-worst; "
            f"got {dataset!r}. Give it an artificial noise, such as flip(rate=0.2)."
        )
    return NoisyLabels(y_noisy, np.ones(len(y), dtype=bool), y_noisy != y)


def impute_medians(X: NDArray[np.floating]) -> NDArray[np.floating]:
    """Missing cells replaced by the median of their column, 0 where it has none."""
    missing = np.isnan(X)
    if not missing.any():
        return X
    filled = np.where(missing.all(axis=0), 0.0, X)
    return np.where(np.isnan(filled), np.nanmedian(filled, axis=0), filled)


def hold_out(task: Task, cell: Cell) -> tuple[Task, NDArray[np.floating], NDArray[Any]]:
    """Part of a task to fit on, and noisy features and labels to judge by; the same rows for every method."""
    order = np.random.default_rng(seed("hold-out", cell.dataset, cell.trial)).permutation(len(task.y))
    n_judged = round(HOLD_OUT * len(order))
    judged, fitted = np.sort(order[:n_judged]), np.sort(order[n_judged:])
    return replace(task, X=task.X[fitted], y=task.y[fitted]), task.X[judged], task.y[judged]


def score(answer: Answer, truth: Truth) -> dict[str, float | None]:
    """The five scores; None for what a method does not say or the data do not allow."""
    found: dict[str, float] = {"accuracy": accuracy(truth.y_test, answer.predict(truth.X_test))}
    if answer.label_scores is not None:
        ranking = label_error_ranking(truth.labels, answer.label_scores)
        found |= {"label_auc": ranking.auc, "label_ap": ranking.average_precision}
    if answer.labels is not None:
        found["labels_right"] = labels_right(truth.y, answer.labels)
    if answer.features is not None:
        found["feature_error"] = feature_error(truth.X, answer.features)
    if answer.cell_scores is not None:
        found["cell_auc"] = cell_detection(truth.cells, answer.cell_scores)
    return {name: float(found[name]) if np.isfinite(found.get(name, np.nan)) else None for name in SCORES}
