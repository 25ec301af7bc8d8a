"""FLR as printed, and our own: at natural multiples, and automatic."""

from __future__ import annotations

from typing import Any

import numpy as np

from unmuddle.core.norms import FEATURE_NORMS, LABEL_NORMS
from unmuddle.core.scales import scale_lambdas
from unmuddle.estimators import FLRClassifier
from unmuddle.experiments.methods import LARGE, Answer, Setting, Task, method

ALPHAS, BETAS, LABELS = (0.8, 0.4, 0.1), (0.6, 1.0, 3.0), (0.05, 0.2, 0.5)
"""Multiples of the natural sizes of lambda 1 and lambda 2, from smooth to rough, and lambda 3 itself."""

SQUARE = tuple((alpha, beta, LABELS[(i + j) % 3]) for i, alpha in enumerate(ALPHAS) for j, beta in enumerate(BETAS))
"""Nine settings of three lambdas: a Latin square, in which every two values of two lambdas meet once."""


def _settings(feature_norm: str) -> Any:
    def offer(task: Task) -> list[Setting]:
        return [{"feature_norm": feature_norm, "alpha": a, "beta": b, "lambda_labels": c} for a, b, c in SQUARE]

    return offer


def _fit_printed(task: Task, setting: Setting) -> Answer:
    """Algorithm 1 with its own schedule, no intercept, lambdas at multiples of the scales of the data given."""
    one_hot = (task.y[:, None] == np.unique(task.y)).astype(float)
    norms = FEATURE_NORMS[setting["feature_norm"]](1.0), LABEL_NORMS["l21"](1.0)
    lambdas = scale_lambdas(
        task.X, one_hot, *norms, alpha=setting["alpha"], beta=setting["beta"], label_weight=setting["lambda_labels"]
    )
    return _answer(
        FLRClassifier.paper(
            feature_norm=setting["feature_norm"],
            lambda_projection=lambdas.projection,
            lambda_features=lambdas.features,
            lambda_labels=lambdas.labels,
            scale=None,
        ),
        task,
    )


for _norm, _title in (("frobenius", "squared Frobenius"), ("l1", "l1")):
    method(f"flr-{_norm}", f"FLR as printed, {_title}", settings=_settings(_norm), tune_once=LARGE)(_fit_printed)


@method("unmuddle", "unmuddle, natural multiples")
def fit_natural(task: Task) -> Answer:
    """The default of old, under its old name: stored records are of this. Features come scaled already."""
    return _answer(FLRClassifier.natural(scale=None), task)


@method("unmuddle-auto", "unmuddle, default")
def fit_default(task: Task) -> Answer:
    """``FLRClassifier()`` as it is: norms and lambdas chosen on the noisy data."""
    return _answer(FLRClassifier(scale=None, random_state=task.random_state), task)


def _answer(model: FLRClassifier, task: Task) -> Answer:
    model.fit(task.X, task.y)
    given = np.searchsorted(model.classes_, task.y)
    return Answer(
        predict=model.predict,
        label_scores=1.0 - model.recovered_labels_[np.arange(len(given)), given],
        labels=model.classes_[model.recovered_labels_.argmax(axis=1)],
        features=model.recovered_features_,
        cell_scores=np.abs(model.feature_errors_),
    )
