"""Features as of images, generated: class means and variation of low rank, labels wrong near the borders."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets.cifar10n import CLASS_NAMES, Classes, FeatureSet, Labels
from unmuddle.errors import InvalidParameterError

N_COLUMNS, RANK, SEPARATION, DECAY, REST = 1280, 64, 0.6, 0.3, 4.0
"""Columns as of EfficientNet-Lite0; dimensions in which images differ, how far class means lie apart in each, how fast
these dimensions lose weight, and the standard deviation of what is left over in each column. So chosen that ridge
regression does about as well as on the features that they stand in for, with clean and with the worst labels."""

RATES = {"clean": 0.0, "aggre": 0.0903, "random1": 0.1723, "worst": 0.4021}
"""Shares of wrong labels: those that the authors of CIFAR-10N found in the whole of it."""

SOURCE = "generated: class means and variation of low rank, labels wrong near the borders of classes"
LICENCE = "none needed: generated"

Floats = NDArray[np.float64]


def make_class_features(
    labels: Labels = "aggre", n_train: int = 10_000, n_test: int = 2_000, random_state: int = 0
) -> FeatureSet:
    """Features of the shape of those of CIFAR-10N, where these are not at hand.

    A row is ``u A + e``: u are its 64 factors, normal round the mean of its class, A is a fixed matrix whose rows lose
    weight like ``k ** -0.3``, and e is independent normal noise. A label is likelier to be wrong the closer the factors
    are to the mean of another class, and is then that class; labels that are wrong in ``aggre`` are wrong in
    ``random1``, and those in ``worst``.

    Parameters
    ----------
    labels : {"aggre", "random1", "worst", "clean"}
        Which labels ``y_noisy`` holds: 9.03, 17.23, 40.21 or 0 per cent of them are wrong.
    n_train, n_test : int
        Numbers of rows; at least 10 to train on.
    random_state : int
        Seed. Features and clean labels are the same for all ``labels``.
    """
    if labels not in get_args(Labels):
        raise InvalidParameterError(f"labels must be one of {', '.join(get_args(Labels))}, got {labels!r}.")
    if n_train < len(CLASS_NAMES) or n_test < 1:
        raise InvalidParameterError(
            f"n_train must be at least {len(CLASS_NAMES)} and n_test at least 1, got {n_train!r} and {n_test!r}."
        )
    rng = np.random.default_rng(random_state)
    y = rng.permuted(np.arange(n_train + n_test) % len(CLASS_NAMES)).astype(np.int64)
    means = SEPARATION * rng.standard_normal((len(CLASS_NAMES), RANK)) / np.sqrt(2)
    factors = means[y] + rng.standard_normal((len(y), RANK))
    loadings = rng.standard_normal((RANK, N_COLUMNS)) * np.arange(1, RANK + 1)[:, None] ** -DECAY
    X = factors @ loadings + REST * rng.standard_normal((len(y), N_COLUMNS))
    y_noisy = _mistake(factors[:n_train], y[:n_train], means, RATES[labels], rng)
    return FeatureSet(
        name="generated",
        labels=labels,
        X_train=X[:n_train].astype(np.float32),
        X_test=X[n_train:].astype(np.float32),
        y_noisy=y_noisy,
        y_clean=y[:n_train],
        y_test=y[n_train:],
        source=SOURCE,
        licence=LICENCE,
    )


def _mistake(factors: Floats, y: Classes, means: Floats, rate: float, rng: np.random.Generator) -> Classes:
    """Give a share of the rows the nearest other class, drawn with chances that grow with how near it is.

    The largest sums of log weight and Gumbel noise are such a draw without replacement, and a larger share adds to it.
    """
    distances = np.linalg.norm(factors[:, None] - means, axis=2)
    rows = np.arange(len(y))
    own = distances[rows, y]
    distances[rows, y] = np.inf
    margins = own - distances.min(axis=1)
    order = np.argsort(-(margins / margins.std() + rng.gumbel(size=len(y))), kind="stable")
    wrong = order[: round(rate * len(y))]
    noisy = y.copy()
    noisy[wrong] = distances[wrong].argmin(axis=1)
    return noisy
