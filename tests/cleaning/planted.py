"""Problems whose truth is known."""

from typing import NamedTuple

import numpy as np

from unmuddle import HybridCleaner


class Planted(NamedTuple):
    """Noisy data, and what they were."""

    X: np.ndarray
    y: np.ndarray
    features: np.ndarray
    labels: np.ndarray


def blobs(n_rows, n_classes=3, n_columns=4, apart=4.0, seed=0):
    """Normal classes of unit variance whose centres have this size."""
    rng = np.random.default_rng(seed)
    centres = apart * rng.normal(size=(n_classes, n_columns))
    y = np.arange(n_rows) % n_classes
    return centres[y] + rng.normal(size=(n_rows, n_columns)), y


def planted(n_rows=300, flips=0.2, gross=0.05, seed=0):
    """Three far classes in eight columns of three factors, with labels flipped and cells made gross."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % 3
    factors = 3.0 * np.eye(3)[y] + rng.normal(size=(n_rows, 3)) * 0.5
    X = factors @ rng.normal(size=(3, 8)) + 0.2 * rng.normal(size=(n_rows, 8))
    wrong = rng.random(n_rows) < flips
    noisy_y = np.where(wrong, (y + rng.integers(1, 3, n_rows)) % 3, y)
    signs = rng.choice([-1.0, 1.0], X.shape)
    noisy_X = np.where(rng.random(X.shape) < gross, X + 10.0 * X.std(axis=0) * signs, X)
    return Planted(noisy_X, noisy_y, X, y)


X, Y = blobs(45)
TEXT = np.array(["ant", "bee", "cat"])[Y]


def cleaner(*args, **kwargs):
    """With a seed."""
    return HybridCleaner(*args, random_state=0, **kwargs)
