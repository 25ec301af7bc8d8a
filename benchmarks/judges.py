"""What a fourth model that judges labels is worth, and that models count by skill: ``python -m benchmarks.judges``.

`HybridCleaner` as it is, with clouds never heard, and with all that are heard alike, on iris and generated tables under
two kinds of feature noise and five of label noise. None of them is a set of the leaderboard. Prints accuracy on clean
test rows, beside that of a plain forest, labels right after the repair, and labels flagged where none is wrong.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from unittest import mock

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks.engines import tables
from unmuddle import HybridCleaner
from unmuddle.cleaning import judging
from unmuddle.errors import UnmuddleWarning
from unmuddle.experiments.plan import parse
from unmuddle.noise import spoil_features, spoil_labels

FEATURES = "none", "gaussian(sigma=1)"
LABELS = "none", "flip(rate=0.1)", "flip(rate=0.4)", "pair(rate=0.3)", "features(rate=0.3)"
SEEDS = 3
SCORES = ["accuracy", "labels right", "false flags"]
AS_IT_IS, THREE, ALIKE, FOREST = "as it is", "without clouds", "all alike", "plain forest"


def all_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Those of the engines, clouds that overlap, rings, in which clouds know nothing, and rules, which trees tell."""
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
    columns = rng.normal(size=(600, 10))
    yield "band of a column", columns, (np.abs(columns[:, 0]) < 0.7).astype(int)
    yield "both of two columns", columns, (columns[:, :2] > 0).all(axis=1).astype(int)


def measure() -> pd.DataFrame:
    found = []
    for name, X, y in all_tables():
        for seed in range(SEEDS):
            train, test, truth, test_truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            mean, deviation = train.mean(axis=0), train.std(axis=0)
            for features, labels in ((f, g) for f in FEATURES for g in LABELS):
                rng = np.random.default_rng(seed)
                scaled = (train - mean) / deviation
                kind, settings = parse(features)
                noisy = spoil_features(scaled, kind, rng, **settings).values
                kind, settings = parse(labels)
                given = spoil_labels(truth, kind, rng, X=scaled, **settings).values
                place, new = (name, features, labels, seed), (test - mean) / deviation
                for title in (AS_IT_IS, THREE, ALIKE):
                    cleaner, repaired = fit(noisy, given, seed, title)
                    changed = 100 * np.mean(repaired != given) if labels == "none" else np.nan
                    scores = cleaner.score(new, test_truth), np.mean(repaired == truth)
                    found.append((*place, title, *(100 * s for s in scores), changed, "clouds" in cleaner.judges_))
                forest = RandomForestClassifier(200, random_state=seed).fit(noisy, given)
                found.append((*place, FOREST, 100 * forest.score(new, test_truth), np.nan, np.nan, False))
    return pd.DataFrame(found, columns=["table", "features", "labels", "seed", "judges", *SCORES, "heard"])


def fit(X: np.ndarray, y: np.ndarray, seed: int, title: str) -> tuple[HybridCleaner, np.ndarray]:
    cleaner = HybridCleaner(random_state=seed)
    part, substitute = {
        AS_IT_IS: ("VOICES", judging.VOICES),
        THREE: ("_holds", lambda *_: False),
        ALIKE: ("voices_of", lambda held_out, _: np.full(len(held_out), 1.0 / len(held_out))),
    }[title]
    with mock.patch.object(judging, part, substitute):
        return cleaner, np.asarray(cleaner.fit_clean(X, y).y)


def report(found: pd.DataFrame) -> None:
    for part in ("table", "labels", "features"):
        print(found.pivot_table(index=part, columns="judges", values=SCORES, sort=False).round(1).to_string())
    whole = found.pivot(index=["table", "features", "labels", "seed"], columns="judges", values=SCORES)
    for other in (THREE, ALIKE, FOREST):
        for score in SCORES:
            gaps = (whole[score][AS_IT_IS] - whole[score][other]).dropna()
            if len(gaps):
                error = gaps.std() / np.sqrt(len(gaps))
                print(f"{score}, less {other}: {gaps.mean():+.2f} ± {error:.2f} points in {len(gaps)} cells")
    heard = found[found["judges"] == AS_IT_IS].groupby("table", sort=False)["heard"].mean()
    print("clouds are heard:", {name: f"{share:.0%}" for name, share in heard.items()})


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    with threadpool_limits(1):
        report(measure())
