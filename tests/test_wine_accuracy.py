"""The classifier on hybrid noise, with lambdas chosen on noisy labels alone."""

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from unmuddle import FLRClassifier
from unmuddle.core.norms import L1, L21
from unmuddle.core.scales import scale_lambdas
from unmuddle.datasets import load_wine
from unmuddle.noise import add_gaussian, redraw_uniformly


def smoothest_within_one_standard_error(results):
    """Settings come from smooth to rough: take the first that is within one standard error of the best."""
    best = np.argmax(results["mean_test_score"])
    error = results["std_test_score"][best] / np.sqrt(5)
    return int(np.argmax(results["mean_test_score"] >= results["mean_test_score"][best] - error))


def clean_accuracy(seed):
    """80/20, Gaussian noise of 0.2, 30 % of labels redrawn; 5-fold accuracy on noisy labels picks from 18 settings."""
    wine, rng = load_wine(), np.random.default_rng(seed)
    order = rng.permutation(178)
    train, test = order[:142], order[142:]
    scaler = StandardScaler().fit(wine.X[train])
    X = add_gaussian(scaler.transform(wine.X[train]), 0.2, rng).values
    y = redraw_uniformly(wine.y[train], 0.3, rng).values
    scaled, one_hot = StandardScaler().fit_transform(X), (y[:, None] == np.unique(wine.y)).astype(float)
    settings = [
        scale_lambdas(scaled, one_hot, L1(), L21(), alpha=alpha, beta=beta, label_weight=weight)
        for alpha in (0.5, 0.2, 0.05)
        for beta in (3, 1, 0.6)
        for weight in (0.05, 0.2)
    ]
    grid = [
        {"lambda_projection": [s.projection], "lambda_features": [s.features], "lambda_labels": [s.labels]}
        for s in settings
    ]
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(FLRClassifier.natural(tol=1e-3), grid, cv=folds, refit=smoothest_within_one_standard_error)
    return search.fit(X, y).score(scaler.transform(wine.X[test]), wine.y[test])


def quiet_accuracy(seed):
    import warnings  # noqa: PLC0415 - in the worker's process

    from unmuddle.errors import UnmuddleWarning  # noqa: PLC0415

    warnings.simplefilter("ignore", UnmuddleWarning)  # some of the 18 settings collapse or memorise, as they may
    return clean_accuracy(seed)


@pytest.mark.slow
def test_wine_with_lambdas_from_noisy_labels_reaches_95_percent():
    accuracies = Parallel(n_jobs=2)(delayed(quiet_accuracy)(seed) for seed in range(5))
    print("clean test accuracy by seed:", np.round(accuracies, 3), "mean", round(float(np.mean(accuracies)), 4))
    assert np.mean(accuracies) >= 0.95
