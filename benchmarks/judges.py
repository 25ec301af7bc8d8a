"""What a fourth model that judges labels is worth: ``python -m benchmarks.judges``.

`HybridCleaner` as it is, and with clouds never heard, on iris and generated tables under two kinds of feature noise and
four of label noise. None of them is a set of the leaderboard. Prints accuracy on clean test rows, labels right after
the repair, and labels flagged where none is wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.engines import tables
from unmuddle import HybridCleaner
from unmuddle.cleaning import judging
from unmuddle.errors import UnmuddleWarning
from unmuddle.noise import spoil_features, spoil_labels

FEATURES = {"none": {}, "gaussian": {"sigma": 1.0}}
LABELS = {"none": {}, "flip": {"rate": 0.4}, "pair": {"rate": 0.3}, "features": {"rate": 0.3}}
SEEDS = 3
SCORES = ["accuracy", "labels right", "false flags"]


def all_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Those of the engines, clouds that overlap, and rings, in which clouds know nothing."""
    yield from tables()
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=600)
    yield "clouds", 1.6 * np.eye(3, 10)[codes] + rng.normal(size=(600, 10)), codes
    rings = rng.normal(size=(600, 4))
    yield (
        "rings",
        rings * ((1.0 + codes) / np.linalg.norm(rings, axis=1))[:, None] + 0.2 * rng.normal(size=(600, 4)),
        codes,
    )


def measure() -> pd.DataFrame:
    found = []
    for name, X, y in all_tables():
        for seed in range(SEEDS):
            train, test, truth, test_truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            mean, deviation = train.mean(axis=0), train.std(axis=0)
            for features, labels in ((f, g) for f in FEATURES for g in LABELS):
                rng = np.random.default_rng(seed)
                scaled = (train - mean) / deviation
                noisy = spoil_features(scaled, features, rng, **FEATURES[features]).values
                given = spoil_labels(truth, labels, rng, X=scaled, **LABELS[labels]).values
                for title in ("three", "as it is"):
                    cleaner, repaired = fit(noisy, given, seed, title)
                    changed = 100 * np.mean(repaired != given) if labels == "none" else np.nan
                    scores = cleaner.score((test - mean) / deviation, test_truth), np.mean(repaired == truth)
                    heard = "clouds" in cleaner.judges_
                    found.append((name, features, labels, seed, title, *(100 * s for s in scores), changed, heard))
    return pd.DataFrame(found, columns=["table", "features", "labels", "seed", "judges", *SCORES, "heard"])


def fit(X: np.ndarray, y: np.ndarray, seed: int, title: str) -> tuple[HybridCleaner, np.ndarray]:
    cleaner = HybridCleaner(random_state=seed)
    if title == "as it is":
        return cleaner, np.asarray(cleaner.fit_clean(X, y).y)
    with mock.patch.object(judging, "_holds", return_value=False):
        return cleaner, np.asarray(cleaner.fit_clean(X, y).y)


def report(found: pd.DataFrame) -> None:
    for part in ("table", "labels", "features"):
        print(found.pivot_table(index=part, columns="judges", values=SCORES, sort=False).round(1))
    whole = found.pivot(index=["table", "features", "labels", "seed"], columns="judges", values=SCORES)
    for score in SCORES:
        gaps = (whole[score]["as it is"] - whole[score]["three"]).dropna()
        print(f"{score}: {gaps.mean():+.2f} ± {gaps.std() / np.sqrt(len(gaps)):.2f} points in {len(gaps)} cells")
    heard = found[found["judges"] == "as it is"].groupby("table", sort=False)["heard"].mean()
    print("clouds are heard:", {name: f"{share:.0%}" for name, share in heard.items()})


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    with threadpool_limits(1):
        report(measure())
