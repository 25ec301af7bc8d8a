"""Which engine recovers features best, and whether noisy labels know: ``python -m benchmarks.engines``.

`HybridCleaner` with each engine, and with a list from which noisy labels choose, on iris and two generated sets under
four kinds of feature noise, three tenths of the labels wrong. None of them is a set of the leaderboard. Prints accuracy
on clean test rows, and times as ratios to the default.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unmuddle import HybridCleaner
from unmuddle.datasets import make_class_features
from unmuddle.errors import UnmuddleWarning
from unmuddle.noise import spoil_features, spoil_labels

RECOVERIES: dict[str, Any] = {
    "gaussian (auto)": "auto",
    "rpca": "rpca",
    "flr": "flr",
    "none": "none",
    "by noisy labels": ["gaussian", "rpca", "flr"],
}
NOISES = {
    "gaussian": {"sigma": 1.0},
    "laplacian": {"sigma": 1.0},
    "gross": {"rate": 0.15, "size": 8.0},
    "swapped": {"rate": 0.15},
}
SEEDS, WRONG = 2, 0.3


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    yield "iris", *load_iris(return_X_y=True)
    yield (
        "made classes",
        *make_classification(
            500, 20, n_informative=6, n_redundant=10, n_classes=4, n_clusters_per_class=1, random_state=0
        ),
    )
    images = make_class_features(n_train=600, n_test=1)
    yield "made images", images.X_train[:, :40], images.y_clean


def measure() -> pd.DataFrame:
    found = []
    for name, X, y in tables():
        for kind, settings in NOISES.items():
            for seed in range(SEEDS):
                rng = np.random.default_rng(seed)
                train, test, given, truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
                mean, deviation = train.mean(axis=0), train.std(axis=0)
                noisy = spoil_features((train - mean) / deviation, kind, rng, **settings).values
                labels = spoil_labels(given, "flip", rng, rate=WRONG).values
                for title, recovery in RECOVERIES.items():
                    began = perf_counter()
                    cleaner = HybridCleaner(recovery=recovery, random_state=seed).fit(noisy, labels)
                    seconds = perf_counter() - began
                    right = 100 * cleaner.score((test - mean) / deviation, truth)
                    found.append((name, kind, seed, title, right, seconds, cleaner.recovery_))
    return pd.DataFrame(found, columns=["table", "noise", "seed", "recovery", "accuracy", "seconds", "chosen"])


def report(found: pd.DataFrame) -> None:
    titles = list(RECOVERIES)
    for part in ("table", "noise"):
        print(found.pivot_table(index=part, columns="recovery", values="accuracy", sort=False)[titles].round(1))
    cells = found.pivot(index=["table", "noise", "seed"], columns="recovery", values="accuracy")[titles]
    gaps = cells.sub(cells[titles[0]], axis=0)
    times = found.groupby("recovery")["seconds"].sum()
    for title in titles:
        gap, error = gaps[title].mean(), gaps[title].std() / np.sqrt(len(gaps))
        print(
            f"{title}: {cells[title].mean():.1f} per cent, {gap:+.1f} ± {error:.1f} points, "
            f"{times[title] / times[titles[0]]:.1f} times the time of the default"
        )
    print("chosen by noisy labels:", found[found["recovery"] == titles[-1]]["chosen"].value_counts().to_dict())


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    with threadpool_limits(1):
        report(measure())
