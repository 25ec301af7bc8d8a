"""Problems to measure on: low rank plus noise, with labels that are partly wrong."""

from __future__ import annotations

import numpy as np

from unmuddle.core.norms import FEATURE_NORMS, L1, L21, LABEL_NORMS
from unmuddle.core.problem import Problem
from unmuddle.core.scales import LABEL_DELTA, noise_level, scale_lambdas


def low_rank_problem(n: int, d: int = 512, c: int = 10, rank: int = 50, seed: int = 0) -> Problem:
    """Classes in a space of the given rank, Laplacian noise, 30 % of labels redrawn, the default lambdas."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, c, n)
    X = (rng.normal(size=(c, rank))[y] + rng.normal(size=(n, rank))) @ rng.normal(size=(rank, d)) / np.sqrt(rank)
    X = standardise(X + rng.laplace(0, 0.3, (n, d)))
    Y = np.eye(c)[redraw(y, 0.3, c, rng)]
    return Problem(X, Y, L1(), L21(), scale_lambdas(X, Y, L1(), L21()))


def random_problem(seed: int, largest: int = 2000 * 300) -> Problem:
    """n 50 to 2000, d 3 to 300, c 2 to 12, any norm, box on or off, any noise, lambdas over wide ranges."""
    rng = np.random.default_rng(seed)
    n, d, c = draw_shape(rng, largest)
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    rank = int(rng.integers(1, min(n, d, 12) + 1))
    centres = rng.uniform(0.5, 3) * rng.normal(size=(c, rank))
    X = standardise((centres[y] + rng.normal(size=(n, rank))) @ rng.normal(size=(rank, d)))
    X = standardise(spoil(X, rng))
    y = redraw(y, rng.choice([0, 0.3, 0.6]), c, rng)
    y[:c] = np.arange(c)
    names = str(rng.choice(list(FEATURE_NORMS))), str(rng.choice(list(LABEL_NORMS)))
    if names[1] == "none" and (names[0] == "none" or d < c):
        names = names[0], "l21"  # nothing to recover, or labels that no projection can give
    feature_norm, label_norm = FEATURE_NORMS[names[0]](1.5 * noise_level(X)), LABEL_NORMS[names[1]](LABEL_DELTA)
    scale = {
        "alpha": float(np.exp(rng.uniform(np.log(0.03), np.log(0.9)))),
        "beta": rng.uniform(0.6, 3),
        "label_weight": rng.uniform(0.05, 0.5),
    }
    Y = np.eye(c)[y]
    lambdas = scale_lambdas(X, Y, feature_norm, label_norm, **scale)
    return Problem(X, Y, feature_norm, label_norm, lambdas, bool(rng.random() < 0.8), bool(rng.random() < 0.5))


def draw_shape(rng: np.random.Generator, largest: int) -> tuple[int, int, int]:
    while True:
        n = int(np.exp(rng.uniform(np.log(50), np.log(2000))))
        d = int(np.exp(rng.uniform(np.log(3), np.log(300))))
        if n * d <= largest:
            return n, d, int(rng.integers(2, 13))


def spoil(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gaussian, Laplacian, gross cells, bad rows or nothing."""
    size = rng.uniform(0.1, 1.5)
    return [
        lambda: X + rng.normal(0, size, X.shape),
        lambda: X + rng.laplace(0, size / np.sqrt(2), X.shape),
        lambda: X + rng.normal(0, 10, X.shape) * (rng.random(X.shape) < 0.15),
        lambda: X + rng.normal(0, 5, X.shape) * (rng.random((len(X), 1)) < 0.1),
        lambda: X,
    ][rng.integers(5)]()


def redraw(y: np.ndarray, rate: float, c: int, rng: np.random.Generator) -> np.ndarray:
    y, rows = y.copy(), rng.permutation(len(y))[: round(rate * len(y))]
    y[rows] = rng.integers(0, c, len(rows))
    return y


def standardise(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)
