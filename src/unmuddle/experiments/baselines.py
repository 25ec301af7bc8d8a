"""The paper's competitors and their kin.

Networks have settings fixed beforehand and choose an epoch by noisy labels that they do not train on; RPCA has nine
settings that the runner chooses among. Features come scaled. Co-teaching, JoCoR and MentorNet estimate the noise rate;
a second method of each is told it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from unmuddle import baselines
from unmuddle.experiments.methods import LARGE, Answer, Setting, Task, method

MULTIPLES, STRENGTHS = (1.0, 2.0, 3.0), (0.01, 0.1, 1.0)
"""Of RPCA's own weight, from smooth to rough, and C of the logistic regression behind it."""

JAX = {"requires": "optax", "needs": "baselines"}  # which requires jax itself


def _rpca_settings(task: Task) -> list[Setting]:
    return [{"multiple": multiple, "C": C} for multiple in MULTIPLES for C in STRENGTHS]


@method("rpca", "RPCA, then logistic regression", settings=_rpca_settings, tune_once=LARGE)
def fit_rpca(task: Task, setting: Setting) -> Answer:
    """The weight of the sparse part as a multiple of its default; new rows, clean here, by orthogonal projection."""
    model = baselines.RPCAClassifier(
        LogisticRegression(C=setting["C"], max_iter=1000),
        lambda_sparse=setting["multiple"] / np.sqrt(max(task.X.shape)),
        mode="projection",
        scale=None,
    ).fit(task.X, task.y)
    recovered = model.rpca_.low_rank_
    return _answer(
        model,
        task,
        model.estimator_.predict_proba(recovered),
        features=recovered,
        cell_scores=np.abs(task.X - recovered),
    )


def _register(name: str, title: str, kind: type, **settings: Any) -> None:
    def learn(task: Task, **knowledge: Any) -> Answer:
        model = kind(scale=None, random_state=task.random_state, **settings, **knowledge)
        return _answer(model.fit(task.X, task.y), task)

    def fit(task: Task) -> Answer:
        return learn(task)

    def fit_told(task: Task) -> Answer:
        return learn(task, noise_rate=task.noise_rate)

    method(name, title, **JAX)(fit)
    if issubclass(kind, baselines.SelectingClassifier):
        method(f"{name}-told", f"{title}, told the noise rate", told=True, **JAX)(fit_told)


def _answer(model: Any, task: Task, probabilities: NDArray[np.floating] | None = None, **more: Any) -> Answer:
    """What the classes of the training rows are, in the eyes of a fitted model."""
    if probabilities is None:
        probabilities = model.predict_proba(task.X)
    given = np.searchsorted(model.classes_, task.y)
    return Answer(
        predict=model.predict,
        label_scores=1.0 - probabilities[np.arange(len(given)), given],
        labels=model.classes_[probabilities.argmax(axis=1)],
        **more,
    )


_register("cross-entropy", "network, cross entropy", baselines.CrossEntropyClassifier)
_register("gce", "GCE", baselines.GCEClassifier)
_register("gce-truncated", "GCE, truncated", baselines.GCEClassifier, truncated=True)
_register("sce", "SCE", baselines.SCEClassifier)
_register("coteaching", "Co-teaching", baselines.CoTeachingClassifier)
_register("jocor", "JoCoR", baselines.JoCoRClassifier)
_register("mentornet", "MentorNet (small losses)", baselines.MentorNetClassifier)
_register("dmi", "L_DMI", baselines.DMIClassifier)
_register("forward", "forward correction, anchors", baselines.ForwardClassifier)
_register("lqf", "LQF", baselines.LQFClassifier)
_register("rrl", "RRL", baselines.RRLClassifier)
