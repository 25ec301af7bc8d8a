"""Labels of which one class is wrong more often than another: ``python -m benchmarks.rates``.

`HybridCleaner` as it is, `HybridCleaner` with one rate for all classes, and cleanlab round logistic regression, on a
table of scikit-learn and generated ones, none of them a set of the leaderboard. Errors go out of the rarest class, out
of the commonest, out of both at different rates, or there are none. Prints the share of the wrong labels that is found,
that of false flags, labels right after the repair, and accuracy on clean test rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from cleanlab.classification import CleanLearning
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from unmuddle import HybridCleaner
from unmuddle.core import transitions
from unmuddle.errors import UnmuddleWarning

RATES = {"none": (0.0, 0.0), "rarest": (0.3, 0.0), "commonest": (0.0, 0.3), "both": (0.4, 0.1)}
"""Share of the rarest class that is labelled as the commonest, and the other way round."""

SEEDS = 3
SCORES = ["found", "false flags", "labels right", "accuracy"]
METHODS = ["cleanlab", "one rate", "as it is"]


class Answer(NamedTuple):
    """Which labels are called wrong, what they should be, and the classes of test rows."""

    flags: np.ndarray
    labels: np.ndarray
    predicted: np.ndarray


def tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Clouds far and near, rows of two classes that bend round each other, several classes."""
    rng = np.random.default_rng(0)
    for gap in (20.0, 4.0, 2.0):
        y = (rng.random(800) < 0.7).astype(int)
        yield f"clouds {gap:g} apart", rng.normal(size=(800, 5)) + gap * np.outer(y, np.eye(5)[0]), y
    yield "made classes", *make_classification(1000, 12, n_informative=6, weights=[0.35], random_state=0)
    yield "four classes", *make_classification(1000, 12, n_informative=6, n_classes=4, random_state=1)
    yield "iris", *load_iris(return_X_y=True)


def spoil(y: np.ndarray, rates: tuple[float, float], rng: np.random.Generator) -> np.ndarray:
    """These shares of the rarest class to the commonest, and back."""
    classes, sizes = np.unique(y, return_counts=True)
    ends = classes[np.argsort(sizes, kind="stable")[[0, -1]]]
    spoiled = y.copy()
    for own, other, rate in ((*ends, rates[0]), (*ends[::-1], rates[1])):
        rows = np.flatnonzero(y == own)
        spoiled[rng.choice(rows, round(rate * len(rows)), replace=False)] = other
    return spoiled


def ask(method: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, seed: int) -> Answer:
    if method == "cleanlab":
        learner = CleanLearning(LogisticRegression(max_iter=1000), seed=seed, cv_n_folds=5)
        learner.fit(X, y)
        issues = learner.get_label_issues()
        flags = issues["is_label_issue"].to_numpy()
        return Answer(flags, np.where(flags, issues["predicted_label"], y), learner.predict(new))
    cleaner = HybridCleaner(random_state=seed)
    with mock.patch.object(transitions, "OWN_COST", np.inf if method == "one rate" else transitions.OWN_COST):
        repaired = np.asarray(cleaner.fit_clean(X, y).y)
    return Answer(cleaner.label_issues_["flag"].to_numpy(), repaired, cleaner.predict(new))


def measure() -> pd.DataFrame:
    found = []
    for name, X, y in tables():
        for seed in range(SEEDS):
            train, test, truth, test_truth = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
            for kind, rates in RATES.items():
                given = spoil(truth, rates, np.random.default_rng(seed))
                wrong = given != truth
                for method in METHODS:
                    answer = ask(method, train, given, test, seed)
                    scores = (
                        answer.flags[wrong].mean() if wrong.any() else np.nan,
                        np.sum(answer.flags & ~wrong) / max(1, answer.flags.sum()),
                        np.mean(answer.labels == truth),
                        np.mean(answer.predicted == test_truth),
                    )
                    found.append((name, kind, seed, method, *(100 * score for score in scores)))
    return pd.DataFrame(found, columns=["table", "errors out of", "seed", "method", *SCORES])


def report(found: pd.DataFrame) -> None:
    for part in ("errors out of", "table"):
        table = found.pivot_table(index=part, columns="method", values=SCORES, sort=False)
        print(table.reindex(columns=pd.MultiIndex.from_product([SCORES, METHODS])).round(1).to_string())


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    with threadpool_limits(1):
        report(measure())
