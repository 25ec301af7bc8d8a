"""What it is worth to set aside what rows contradict, and to choose the shrinkage: ``python -m benchmarks.cells``.

The model of cells as it is, and without either, on generated tables of low rank and on tables as scikit-learn has them
(none of the leaderboard), as they are and with cells swapped or made gross. Prints how many wrong cells are found, how
many right ones are flagged, the area under the curve of the ranking, and the time of both in one process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_iris, load_linnerud
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from unmuddle.cleaning.engines import Gaussian
from unmuddle.core import cellwise, covariance
from unmuddle.noise import spoil_features

NOISES = (
    ("none", {}),
    ("swapped", {"rate": 0.05}),
    ("swapped", {"rate": 0.15}),
    ("gross", {"rate": 0.1, "size": 8}),
    ("gaussian", {"sigma": 1.0}),
)
SIZES = (("rank 3, 300 x 20", 300, 20, 3), ("rank 10, 1500 x 64", 1500, 64, 10), ("rank 20, 2000 x 300", 2000, 300, 20))
FLAGGED = 0.5


def tables() -> Iterator[tuple[str, np.ndarray]]:
    """Rows by name, each column of deviation 1."""
    rng = np.random.default_rng(0)
    for name, n, d, rank in SIZES:
        yield name, rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d)) / 2 + 0.3 * rng.normal(size=(n, d))
    mixed = rng.normal(size=(600, 30))
    mixed[::3] = (rng.normal(size=(200, 3)) @ rng.normal(size=(3, 30))) / 2 + 0.1 * rng.normal(size=(200, 30))
    yield "a third of low rank", mixed
    for load in (load_iris, load_diabetes, load_linnerud):
        yield load.__name__.removeprefix("load_"), np.asarray(load().data, dtype=float)


def measure() -> pd.DataFrame:
    found = []
    for name, X in tables():
        scaled = (X - X.mean(axis=0)) / X.std(axis=0)
        for noise, settings in NOISES:
            spoilt = spoil_features(scaled, noise, np.random.default_rng(1), **settings)
            wrong = spoilt.changed if noise != "gaussian" else np.zeros(scaled.shape, dtype=bool)
            title = f"{noise} {settings.get('rate', '')}".strip()
            found += [(name, title, how, int(wrong.sum()), *fit(spoilt.values, wrong, how)) for how in ("plain", "now")]
    return pd.DataFrame(found, columns=["table", "noise", "model", "wrong", "found", "false", "AUC", "seconds"])


def fit(X: np.ndarray, wrong: np.ndarray, how: str) -> tuple[int, int, float, float]:
    rounds, shares = (0, (1.0,)) if how == "plain" else (cellwise.TRIMMED, covariance.SHARES)
    with mock.patch.object(cellwise, "TRIMMED", rounds), mock.patch.object(covariance, "SHARES", shares):
        start = time.process_time()
        _, recovered = Gaussian().fit(X, np.zeros(len(X), dtype=np.intp), [])
        seconds = time.process_time() - start
    flags = recovered.chances > FLAGGED
    area = roc_auc_score(wrong.ravel(), recovered.scores.ravel()) if wrong.any() else np.nan
    return int((flags & wrong).sum()), int((flags & ~wrong).sum()), area, seconds


def main() -> None:
    with threadpool_limits(1):
        found = measure()
    wide = found.pivot(index=["table", "noise", "wrong"], columns="model")[["found", "false", "AUC", "seconds"]]
    print(wide.round(3).to_string())
    sums = found.groupby(["noise", "model"])[["wrong", "found", "false", "seconds"]].sum()
    print(sums.round(1).to_string())


if __name__ == "__main__":
    main()
