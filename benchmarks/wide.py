"""What it is worth to teach the linear model likely labels on wide tables: ``python -m benchmarks.wide``.

`HybridCleaner` as it is, with its models as they were fitted to the given labels, and logistic regression alone and
within cleanlab, on three generated tables with about as many columns as rows. Prints accuracy on clean test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from cleanlab.classification import CleanLearning
from sklearn.base import clone
from sklearn.linear_model import LogisticRegressionCV
from threadpoolctl import threadpool_limits

from unmuddle import HybridCleaner
from unmuddle.experiments.plan import parse
from unmuddle.noise import spoil_labels

LABELS = "none", "flip(rate=0.3)", "flip(rate=0.5)", "pair(rate=0.3)"
SEEDS, TRAINED = 3, 500
AS_IT_IS, AS_FITTED, LINEAR, CLEANLAB = "as it is", "as fitted", "logistic regression", "cleanlab"


def tables(rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Counts of words, few telling columns among many, and few causes that show in all columns."""
    codes = rng.integers(6, size=1000)
    common, own = rng.dirichlet(np.full(500, 0.3)), rng.dirichlet(np.full(500, 0.05), size=6)
    words = np.array([rng.multinomial(15, 0.5 * own[code] + 0.5 * common) for code in codes], dtype=float)
    yield "words", words[:, words.any(axis=0)], codes
    few = (rng.random((6, 450)) < 0.04) * rng.normal(size=(6, 450))
    yield "few columns tell", few[codes] + rng.normal(size=(1000, 450)), codes
    causes = rng.normal(size=(1000, 12)) @ rng.normal(size=(12, 500)) / 2
    yield "few causes", causes + 0.25 * rng.normal(size=(6, 500))[codes] + rng.normal(size=(1000, 500)), codes


def measure() -> pd.DataFrame:
    found = []
    for seed in range(SEEDS):
        for name, X, y in tables(np.random.default_rng(seed)):
            train, truth, test, test_truth = X[:TRAINED], y[:TRAINED], X[TRAINED:], y[TRAINED:]
            for labels in LABELS:
                kind, settings = parse(labels)
                given = spoil_labels(truth, kind, np.random.default_rng(seed), X=train, **settings).values
                cleaner = HybridCleaner(random_state=seed).fit(train, given)
                recovered = cleaner._recover(test).recovered
                fitted = cleaner._evidence.sharpen(cleaner._panel.predict(recovered)).argmax(axis=1)
                linear = LogisticRegressionCV(Cs=5, max_iter=500).fit(train, given)
                single = CleanLearning(clone(linear), seed=seed).fit(train, given)
                answers = {
                    AS_IT_IS: cleaner.predict(test),
                    AS_FITTED: cleaner.classes_[fitted],
                    LINEAR: linear.predict(test),
                    CLEANLAB: single.predict(test),
                }
                found += [
                    (name, labels, seed, title, 100 * np.mean(answer == test_truth))
                    for title, answer in answers.items()
                ]
    return pd.DataFrame(found, columns=["table", "labels", "seed", "by", "accuracy"])


def report(found: pd.DataFrame) -> None:
    for part in ("table", "labels"):
        print(found.pivot_table(index=part, columns="by", values="accuracy", sort=False).round(1).to_string())
    whole = found.pivot(index=["table", "labels", "seed"], columns="by", values="accuracy")
    for other in (AS_FITTED, LINEAR, CLEANLAB):
        gaps = whole[AS_IT_IS] - whole[other]
        error = gaps.std() / np.sqrt(len(gaps))
        print(f"accuracy, less {other}: {gaps.mean():+.2f} ± {error:.2f} points in {len(gaps)} cells")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        report(measure())
