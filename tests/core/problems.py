"""Problems that the tests share."""

from dataclasses import replace

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from unmuddle.core.norms import FEATURE_NORMS, LABEL_NORMS
from unmuddle.core.problem import Lambdas, Problem


def wine_problem(feature_norm="l1", label_norm="l21", intercept=False, box=True, delta=0.5):
    """142 rows of Wine, standardised, with Gaussian noise of 0.2 and 43 labels moved; ones instead of an intercept."""
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(178)[:142]
    X, y = StandardScaler().fit_transform(X[rows]) + rng.normal(0, 0.2, (142, 13)), y[rows]
    moved = rng.permutation(142)[:43]
    y[moved] = (y[moved] + rng.integers(1, 3, 43)) % 3
    if not intercept:
        X = np.column_stack([X, np.ones(142)])
    return make_problem(X, y, (0.101, 0.313, 0.039), feature_norm, label_norm, intercept, box, delta)


def random_problem(n=40, d=6, c=3, seed=0, feature_norm="l1", label_norm="l21", intercept=True, box=True, delta=0.5):
    """Low-rank classes with Laplacian noise and some wrong labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % c
    X = (2 * rng.normal(size=(c, 2))[y] + rng.normal(size=(n, 2))) @ rng.normal(size=(2, d))
    X = X / X.std(axis=0) + rng.laplace(0, 0.3, (n, d))
    wrong = rng.permutation(n)[: n // 5]
    y[wrong] = (y[wrong] + 1) % c
    return make_problem(X, y, (0.1, 0.3, 0.1), feature_norm, label_norm, intercept, box, delta)


def make_problem(X, y, lambdas, feature_norm, label_norm, intercept, box, delta):
    return Problem(
        X,
        np.eye(y.max() + 1)[y],
        FEATURE_NORMS[feature_norm](delta),
        LABEL_NORMS[label_norm](delta),
        Lambdas(*lambdas),
        intercept,
        box,
    )


def with_holes(problem, seed=0, cells=0.15, rows=0.25):
    """The same with some cells missing, some rows without a label, and weights from 0.5 to 2 on the others."""
    rng = np.random.default_rng(seed)
    missing = rng.random(problem.features.shape) < cells
    weights = np.where(rng.random(len(missing)) < rows, 0.0, rng.uniform(0.5, 2.0, len(missing)))
    return replace(
        problem,
        features=np.where(missing, 0.0, problem.features),
        labels=np.where(weights[:, None] > 0, problem.labels, 0.0),
        missing=missing,
        label_weights=weights / weights[weights > 0].mean(),
    )


ALL_NORMS = [(f, l) for f in FEATURE_NORMS for l in LABEL_NORMS if not f == l == "none"]
