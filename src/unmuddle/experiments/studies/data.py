"""Data of the studies: features with noise on them, labels that people gave or might have given, and the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets import FeatureSet, cifar10n_features
from unmuddle.datasets.cifar10n import FILE, Labels
from unmuddle.datasets.places import find
from unmuddle.experiments.plan import seed
from unmuddle.experiments.studies.study import Point, seed_of
from unmuddle.noise import spoil_features, spoil_labels

Floats = NDArray[np.floating[Any]]
Classes = NDArray[Any]

DATA = ("source", "labels", "n", "d", "noise", "sigma", "trial")
"""The parts of a point that its data depend on."""

RATES = {"aggre": 0.090, "random1": 0.172, "worst": 0.402}
"""Shares of wrong labels in CIFAR-10N."""

N_CLASSES = 10
RANK, DECAY = 20, 0.5
"""Of generated features: rank, and the power by which the variance of later directions falls."""

SEPARATION = 2.0
"""Distance of a generated class mean from the centre along a direction, in deviations within a class."""

QUICK_COLUMNS, COLUMNS = 32, 512


@dataclass(frozen=True)
class Data:
    """Noisy training data, the truth behind them, and clean test data."""

    X: Floats
    y: Classes
    X_true: Floats
    y_true: Classes
    X_test: Floats
    y_test: Classes


def source(quick: bool) -> str:
    """Where data come from: CIFAR-10N's features where they are at hand, but generated ones for a quick run."""
    return "generated" if quick or find(FILE) is None else "cifar10n"


@lru_cache(maxsize=2)
def _load(source: str, labels: str, n: int, d: int, noise: str, sigma: float, trial: int, own_seed: int) -> Data:
    clean = generate(labels, n, d, trial) if source == "generated" else _pick(labels, n, d, trial)
    noisy = spoil_features(clean.X_train, noise, np.random.default_rng(own_seed), sigma=sigma)
    return Data(noisy.values, clean.y_noisy, clean.X_train, clean.y_clean, clean.X_test, clean.y_test)


def load(point: Point) -> Data:
    """The data of a point: the same rows and labels under every noise, the same noise for all that share ``DATA``."""
    parts: list[Any] = [point[name] for name in DATA]
    return _load(*parts, seed_of(point, *DATA))


def one_hot(y: Classes) -> Floats:
    """A column for each class."""
    return (y[:, None] == np.unique(y)).astype(np.float64)


def _pick(labels: str, n: int, d: int, trial: int) -> FeatureSet:
    """So many training rows of CIFAR-10N, drawn at random, and all test rows; axes are learned from all rows."""
    whole = _cifar10n(labels, d)
    rows = np.sort(np.random.default_rng(seed("study rows", trial)).permutation(len(whole.y_clean))[:n])
    return FeatureSet(
        whole.name, whole.labels, whole.X_train[rows], whole.X_test, whole.y_noisy[rows], whole.y_clean[rows],
        whole.y_test,
    )  # fmt: skip


@lru_cache(maxsize=1)
def _cifar10n(labels: Any, d: int) -> FeatureSet:
    return cifar10n_features(d, labels)


def generate(labels: Any, n: int, d: int, trial: int, n_test: int = 1000) -> FeatureSet:
    """Low-rank classes: means and a common spread within ``RANK`` directions, divided by one number.

    That number makes the mean variance of the training columns 1, as for CIFAR-10N. Wrong labels are likelier near
    another class, at the rates of CIFAR-10N; ``labels`` says which.
    """
    rng = np.random.default_rng(seed("study rows", "generated", d, trial))
    rank, total = min(RANK, d // 2), n + n_test
    sizes = np.arange(1, rank + 1) ** -DECAY
    directions, _ = np.linalg.qr(rng.normal(size=(d, rank)))
    means = SEPARATION * rng.normal(size=(N_CLASSES, rank))
    y = rng.integers(N_CLASSES, size=total)
    y[:N_CLASSES] = np.arange(N_CLASSES)
    X = ((means[y] + rng.normal(size=(total, rank))) * sizes) @ directions.T
    X = X - X[:n].mean(axis=0)
    X /= np.sqrt(X[:n].var(axis=0).mean())
    kind: Labels = labels
    noisy = spoil_labels(y[:n], "features", rng, X=X[:n], rate=RATES[labels])
    return FeatureSet("generated", kind, X[:n], X[n:], noisy.values, y[:n], y[n:], source="generated", licence="")
