"""The leaderboard's methods: our cleaner, the chains that end in cleanlab round a forest, and finders of wrong cells.

A cleaner round logistic regression searches the settings that the references search, on the labels that it believes;
one round a forest gets the setting that is best on the noisy labels and the features as they came. The runner scales
the features, for all methods alike.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from unmuddle.cleaning import HybridCleaner
from unmuddle.experiments.ddc import find_cells
from unmuddle.experiments.methods import Answer, Task, method
from unmuddle.experiments.references import (
    CLEANLAB,
    Prepare,
    Prepared,
    as_given,
    by_clip_pca4,
    by_clip_pca80,
    by_rpca,
    clean_labels,
    learn,
    search_logistic,
    tune_forest,
    tune_logistic,
)


@method("hybrid", "HybridCleaner")
def fit_hybrid(task: Task) -> Answer:
    """With its own choice of estimator."""
    return clean(task, None)


@method("hybrid-logistic", "HybridCleaner, logistic regression")
def fit_hybrid_logistic(task: Task) -> Answer:
    """Round tuned logistic regression."""
    return clean(task, search_logistic(task))


@method("hybrid-apart", "HybridCleaner, logistic regression, overlap=False")
def fit_hybrid_apart(task: Task) -> Answer:
    """The same for classes that are said not to overlap."""
    return clean(task, search_logistic(task), overlap=False)


@method("hybrid-forest", "HybridCleaner, forest")
def fit_hybrid_forest(task: Task) -> Answer:
    """Round a tuned forest."""
    return clean(task, tune_forest(task.X, task))


def clean(task: Task, estimator: Any, *, overlap: bool = True) -> Answer:
    """Everything that the cleaner says."""
    cleaner = HybridCleaner(estimator, scale=None, overlap=overlap, random_state=task.random_state)
    issues = cleaner.fit(task.X, task.y).label_issues_.sort_values("row")
    confidence, flags = issues["confidence"].to_numpy(dtype=np.float64), issues["flag"].to_numpy(dtype=bool)
    return Answer(
        predict=cleaner.predict,
        label_scores=confidence,
        labels=np.where(flags, issues["suggested"].to_numpy(dtype=task.y.dtype), task.y),
        features=cleaner.recovered_,
        cell_scores=cleaner.cell_scores_,
        label_confidence=confidence,
        label_flags=flags,
        cell_flags=_mask(cleaner.cell_issues_, task.X.shape),
        noise_rate=_noise_rate(cleaner.noise_report_),
    )


def _mask(issues: Any, shape: tuple[int, ...]) -> Any:
    flagged = issues[issues["flag"].to_numpy(dtype=bool)]
    mask = np.zeros(shape, dtype=bool)
    mask[flagged["row"].to_numpy(dtype=int), flagged["column"].to_numpy(dtype=int)] = True
    return mask


def _noise_rate(report: Any) -> tuple[float, float, float]:
    line = report[(report["part"] == "labels") & (report["quantity"] == "noise rate")].iloc[0]
    return float(line["estimate"]), float(line["low"]), float(line["high"])


@method("robust-pca", "RPCA, then logistic regression, own weight")
def fit_robust_pca(task: Task) -> Answer:
    """Cells by the size of their residual; a classifier on the part of low rank."""
    return learn(task, by_rpca, tune_logistic)


@method("ddc", "DDC, then logistic regression")
def fit_ddc(task: Task) -> Answer:
    """Cells by their standardised residual; a classifier on features whose flagged cells are replaced."""
    cells = find_cells(task.X)
    answer = learn(task, lambda _: Prepared(cells.features, lambda X: X, cells.features), tune_logistic)
    return Answer(answer.predict, features=cells.features, cell_scores=cells.scores, cell_flags=cells.flags)


def _register_forest(name: str, title: str, prepare: Prepare) -> None:
    def fit(task: Task) -> Answer:
        return clean_labels(task, prepare, tune_forest)

    method(f"{name}-forest", f"{title} round a forest", **CLEANLAB)(fit)


_register_forest("cleanlab", "cleanlab", as_given)
_register_forest("rpca-cleanlab", "RPCA, then cleanlab", by_rpca)
_register_forest("clip-pca4-cleanlab", "clip, PCA(4), then cleanlab", by_clip_pca4)
_register_forest("clip-pca80-cleanlab", "clip, PCA(80 %), then cleanlab", by_clip_pca80)
