"""Logistic regression on soft labels against scikit-learn's and finite differences."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from unmuddle.core import logistic
from unmuddle.core.logistic import fit_logistic, predict_logistic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
HARD = (X[:, :3] + RNG.normal(size=(120, 3))).argmax(axis=1)
SOFT = RNG.dirichlet(np.ones(3), 120) * 0.5 + 0.5 * np.eye(3)[HARD]
WEIGHTS = RNG.uniform(0.2, 2.0, 120)


def objective(W, Q, C, weights):
    logs = log_softmax(X @ W[:-1] + W[-1], axis=1)
    return -np.sum(weights[:, None] * Q * logs) + np.sum(W[:-1] ** 2) / (2 * C)


@pytest.fixture
def to_the_end(monkeypatch):
    monkeypatch.setattr(logistic, "GRADIENT", 1e-9)
    monkeypatch.setattr(logistic, "MAX_ITER", 5000)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_on_hard_labels_it_is_that_of_scikit_learn(C, to_the_end):
    expected = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, HARD, WEIGHTS)
    W = fit_logistic(X, np.eye(3)[HARD], C, weights=WEIGHTS, change=1e-15)
    assert np.allclose(W[:-1], expected.coef_.T, atol=1e-5)
    assert np.allclose(predict_logistic(X, W), expected.predict_proba(X), atol=1e-6)


def test_a_soft_label_is_a_row_for_each_class_weighted_by_its_share(to_the_end):
    rows, labels = np.repeat(X, 3, axis=0), np.tile(np.arange(3), len(X))
    weights = (SOFT * WEIGHTS[:, None]).ravel()
    expected = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(rows, labels, weights)
    W = fit_logistic(X, SOFT, 2.0, weights=WEIGHTS, change=1e-15)
    assert np.allclose(W[:-1], expected.coef_.T, atol=1e-5)
    assert np.allclose(predict_logistic(X, W), expected.predict_proba(X), atol=1e-6)


def test_the_gradient_given_to_the_optimiser_is_that_of_the_objective(monkeypatch):
    seen = []

    def spy(fun, x0, **_):
        seen.append((fun, x0))
        return type("Found", (), {"x": x0})

    monkeypatch.setattr(logistic, "minimize", spy)
    start = RNG.normal(size=(5, 3))
    fit_logistic(X, SOFT, 0.5, start, WEIGHTS)
    fun, flat = seen[0]
    value, gradient = fun(flat)
    assert np.array_equal(flat, start.ravel())
    assert value == pytest.approx(objective(start, SOFT, 0.5, WEIGHTS))
    slopes = approx_fprime(flat, lambda w: objective(w.reshape(5, 3), SOFT, 0.5, WEIGHTS), 1e-6)
    assert np.allclose(gradient, slopes, atol=1e-3)


def test_as_it_is_used_the_objective_is_within_a_thousandth_per_cent_of_the_least():
    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, HARD)
    least = objective(np.vstack([expected.coef_.T, expected.intercept_]), np.eye(3)[HARD], 1.0, np.ones(120))
    found = objective(fit_logistic(X, np.eye(3)[HARD], 1.0), np.eye(3)[HARD], 1.0, np.ones(120))
    assert least * (1 - 1e-9) <= found <= least * (1 + 1e-5)


def test_rows_of_weight_zero_say_nothing(to_the_end):
    weights = np.where(np.arange(120) < 60, WEIGHTS, 0.0)
    some = fit_logistic(X[:60], SOFT[:60], 1.0, weights=WEIGHTS[:60])
    assert np.allclose(fit_logistic(X, SOFT, 1.0, weights=weights), some, atol=1e-5)
