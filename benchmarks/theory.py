"""The figures of docs/theory.md: ``python -m benchmarks.theory [--study]``.

What Theorem 1 assumes, in a run of Algorithm 1. Theorem 2 reckoned with and fitted: how its terms grow, what its
readings differ by, and which fits it prefers; ``--study`` runs the quick form of its study and prints the verdict.
"""

from __future__ import annotations

import sys
import warnings
from math import log, sqrt

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from unmuddle import FLRClassifier, generalization_bound
from unmuddle.core.bound import Norms, bound_risk
from unmuddle.errors import UnmuddleWarning
from unmuddle.experiments.studies.bound import LABEL_WEIGHT, BoundStudy, low_rank_classes, make_model
from unmuddle.noise import add_laplacian, flip


def assume() -> None:
    print("Algorithm 1 on Wine: mu times the change of K, J, E_f, E_l, which Theorem 1 assumes to vanish; mu; residual")
    lambdas = {"lambda_projection": 0.101, "lambda_features": 0.313, "lambda_labels": 0.039}
    model = FLRClassifier.paper(**lambdas).fit(*load_wine(return_X_y=True))
    names = "mu_change_K", "mu_change_J", "mu_change_E_f", "mu_change_E_l", "mu", "residual_features"
    for t in (20, 40, 60, 80, model.n_iter_ - 1):
        print(f"  iteration {t + 1:3d}  " + "  ".join(f"{model.trace_[name][t]:8.2g}" for name in names))
    print(f"  {model.status_.name}: {model.certificate_}")


def reckon() -> None:
    print(
        "A fifth of the labels wrong, each off by sqrt 2, c = 10, d = 512: label term, its exact value, C4, confidence"
    )
    for n in (500, 2000, 8000, 32_000):
        rows = 0.2 * n * sqrt(2)
        bound = bound_risk(n, 512, 10, Norms(0.0, 0.0, 0.0, 0.0, rows))
        exact = rows / (n * sqrt(10))
        terms = bound.label_term, exact, bound.constant_term, bound.confidence_term
        print(f"  n = {n:6d}  " + "  ".join(f"{term:8.4f}" for term in terms))


def judge_constant() -> None:
    print(
        "Classes: 2 C4, which a bound without noise has at least unless scores are shrunk; exact over one-hot; over box"
    )
    for c in (2, 3, 4, 8, 9, 10, 100):
        one_hot = (1 - 2.0 ** (1 - c)) / c
        print(f"  c = {c:3d}  {2 * sqrt(2 / c):.3f}  {2 * one_hot:.3f}  1.000    q = {log(c) / (log(c) - 1):.2f}")


def fit_and_compare() -> None:
    print("Fits to 1000 rows, 20 % wrong labels, by lambda 3; labels right: of the training rows after recovery")
    rng = np.random.default_rng(0)
    clean, truth = low_rank_classes(3000, rng, np.random.default_rng(1))
    given, labels = add_laplacian(clean, 0.5, rng).values, flip(truth, 0.2, rng).values
    for times in (0.6, 1.0, 2.0, 4.0):
        model = make_model(1000).set_params(lambda_labels=times * LABEL_WEIGHT / sqrt(1000), lambda_projection=12.0)
        model.fit(given[:1000], labels[:1000])
        bound = generalization_bound(model)
        labels_right = np.mean(model.recovered_labels_.argmax(axis=1) == truth[:1000])
        frobenius = bound.norms.Z_nuclear * np.linalg.norm(model.recovered_features_) / sqrt(4000)
        print(
            f"  {times:3.1f}  memorised {model.memorized_:4.0%}  labels right {labels_right:.3f}  "
            f"|E_l|_21 {bound.norms.E_l_rows:6.1f}  bound {bound.value:6.2f}  entrywise {bound.feature_term:7.1f}  "
            f"induced {bound.induced_feature_term:6.2f}  with |X|_F {frobenius:6.2f}  ({model.status_.name})"
        )


def run_study() -> None:
    study = BoundStudy()
    print(study.verdict(pd.DataFrame([{**point, **study.measure(point)} for point in study.points(quick=True)])))


if __name__ == "__main__":
    warnings.simplefilter("ignore", UnmuddleWarning)
    assume()
    reckon()
    judge_constant()
    fit_and_compare()
    if "--study" in sys.argv[1:]:
        run_study()
