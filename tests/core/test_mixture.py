"""Clouds against a transcription with dense matrices, and discriminant analysis."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from unmuddle.core import mixture
from unmuddle.core.mixture import Axes, fit_clouds


def clouds(n, seed=0, apart=2.0, d=4, n_classes=3):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    middles = apart * rng.normal(size=(n_classes, d))
    return middles[codes] + rng.normal(size=(n, d)) @ rng.normal(size=(d, d)), codes


def differences(scores):
    """Scores are log chances up to a constant for each row."""
    return scores - scores[:, :1]


def dense_em(X, targets, shrink, steps):
    """The model as it is written, with densities of scipy and no rotation."""
    n, d = X.shape
    X = X - X.mean(axis=0)
    total = X.T @ X / n
    labelled = targets.sum(axis=1) > 0
    shares, error = targets, 0.2
    for step in range(steps + 1):
        counts = shares.sum(axis=0)
        means = shares.T @ X / counts[:, None]
        between = sum(c * np.outer(m, m) for c, m in zip(counts, means, strict=True)) / counts.sum()
        S = (1 - shrink) * (total - between) + shrink * np.trace(total) / d * np.eye(d)
        densities = np.column_stack([multivariate_normal(m, S).logpdf(X) for m in means])
        logs = np.log(counts / counts.sum()) + densities
        if step < steps:
            shares, error = dense_shares(logs, targets, labelled, error)
    return logs


def dense_shares(logs, targets, labelled, error):
    joint, n_classes = np.exp(logs), targets.shape[1]
    for i in np.flatnonzero(labelled):
        own = targets[i].argmax()
        joint[i] *= np.where(np.arange(n_classes) == own, 1 - error, error / (n_classes - 1))
    shares = joint / joint.sum(axis=1, keepdims=True)
    wrong = [1 - shares[i, targets[i].argmax()] for i in np.flatnonzero(labelled)]
    return shares, np.clip(np.mean(wrong), 0.01, 0.9)


@pytest.mark.parametrize("steps", [0, 1, 4])
@pytest.mark.parametrize("shrink", [0.0, 0.3])
@pytest.mark.parametrize("hidden", [0, 25])
def test_scores_are_those_of_a_transcription(monkeypatch, steps, shrink, hidden):
    monkeypatch.setattr(mixture, "MADE_UP", 0.0)
    X, codes = clouds(90)
    targets = np.eye(3)[codes]
    targets[:hidden] = 0.0
    axes = Axes.of(X)
    rows = axes.rotate(X)
    found = fit_clouds(rows, axes.variances, targets, shrink, steps)
    assert np.allclose(differences(found.scores(rows)), differences(dense_em(X, targets, shrink, steps)), atol=1e-7)


def test_without_steps_it_is_discriminant_analysis(monkeypatch):
    monkeypatch.setattr(mixture, "MADE_UP", 0.0)
    X, codes = clouds(120, seed=1)
    axes = Axes.of(X)
    W = axes.undo(fit_clouds(axes.rotate(X), axes.variances, np.eye(3)[codes], 0.0, steps=0))
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, codes).decision_function(X)
    assert np.allclose(differences(X @ W[:-1] + W[-1]), differences(expected), atol=1e-7)


def test_scores_do_not_depend_on_rotation_or_units():
    X, codes = clouds(80, seed=2)
    turned = 7.0 * X @ np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0] + 5.0
    scores = []
    for rows in (X, turned):
        axes = Axes.of(rows)
        rotated = axes.rotate(rows)
        scores.append(differences(fit_clouds(rotated, axes.variances, np.eye(3)[codes], 0.2).scores(rotated)))
    assert np.allclose(*scores, atol=1e-6)


def test_a_weight_of_two_is_a_row_twice_in_the_first_step(monkeypatch):
    monkeypatch.setattr(mixture, "MADE_UP", 0.0)
    X, codes = clouds(60, seed=4)
    axes, targets = Axes.of(X), np.eye(3)[codes]
    rows = axes.rotate(X)
    weights = np.where(np.arange(60) < 20, 2.0, 1.0)
    weighted = fit_clouds(rows, axes.variances, targets * weights[:, None], 0.1, steps=0)
    twice = np.repeat(np.arange(60), weights.astype(int))
    repeated = fit_clouds(rows[twice], axes.variances, targets[twice], 0.1, steps=0)
    assert np.allclose(weighted.scores(rows), repeated.scores(rows), atol=1e-9)


def test_rows_correct_what_labels_say_wrongly():
    """Forty per cent of the labels of 60 rows are wrong; by the rows the classes are far apart."""
    wrong = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = np.repeat([0, 1, 2], 20)
        X = 3.0 * np.eye(3, 6)[codes] + rng.normal(size=(60, 6))
        given = np.where(rng.random(60) < 0.4, (codes + rng.integers(1, 3, 60)) % 3, codes)
        axes = Axes.of(X)
        rows = axes.rotate(X)
        fitted = (fit_clouds(rows, axes.variances, np.eye(3)[given], 0.1, steps) for steps in (0, mixture.STEPS))
        wrong.append([np.mean(each.scores(rows).argmax(axis=1) != codes) for each in fitted])
    first, last = np.mean(wrong, axis=0)
    assert last < 0.8 * first


def test_columns_without_variance_and_classes_without_rows_do_no_harm():
    X, codes = clouds(50, seed=6)
    X = np.column_stack([X, np.ones(50), X[:, 0]])
    axes = Axes.of(X)
    rows = axes.rotate(X)
    scores = fit_clouds(rows, axes.variances, np.eye(5)[codes], 0.05).scores(rows)
    assert np.isfinite(scores).all()
    assert set(scores.argmax(axis=1)) <= {0, 1, 2}


def test_a_wide_table_has_as_many_axes_as_its_rows_span():
    rng = np.random.default_rng(7)
    codes = np.arange(40) % 2
    X = rng.normal(size=(40, 20_000)) + 0.2 * codes[:, None]
    axes = Axes.of(X)
    rows = axes.rotate(X)
    assert rows.shape == (40, 39)
    centred = X - X.mean(axis=0)
    assert np.allclose(rows @ rows.T, centred @ centred.T)
    assert np.allclose(np.mean(rows**2, axis=0), axes.variances)
    found = fit_clouds(rows, axes.variances, np.eye(2)[codes], 0.5)
    W = axes.undo(found)
    assert np.allclose(X @ W[:-1] + W[-1], found.scores(rows), atol=1e-6)


def test_rows_that_are_all_alike_leave_the_classes_as_frequent_as_their_labels():
    X, targets = np.ones((9, 12)), np.eye(2)[[0] * 6 + [1] * 3]
    axes = Axes.of(X)
    scores = fit_clouds(axes.rotate(X), axes.variances, targets, 0.5).scores(axes.rotate(X))
    assert (scores.argmax(axis=1) == 0).all()
