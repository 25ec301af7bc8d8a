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
    W = fit_logistic(X, np.eye(3)[HARD], C, WEIGHTS[None], change=1e-15)[:, 0]
    assert np.allclose(W[:-1], expected.coef_.T, atol=1e-5)
    assert np.allclose(predict_logistic(X, W), expected.predict_proba(X), atol=1e-6)


def test_a_soft_label_is_a_row_for_each_class_weighted_by_its_share(to_the_end):
    rows, labels = np.repeat(X, 3, axis=0), np.tile(np.arange(3), len(X))
    weights = (SOFT * WEIGHTS[:, None]).ravel()
    expected = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(rows, labels, weights)
    W = fit_logistic(X, SOFT, 2.0, WEIGHTS[None], change=1e-15)[:, 0]
    assert np.allclose(W[:-1], expected.coef_.T, atol=1e-5)
    assert np.allclose(predict_logistic(X, W), expected.predict_proba(X), atol=1e-6)


def test_the_gradient_given_to_the_optimiser_is_that_of_the_objective(monkeypatch):
    seen = []

    def spy(fun, x0, **_):
        seen.append((fun, x0))
        return type("Found", (), {"x": x0})

    monkeypatch.setattr(logistic, "minimize", spy)
    weights, start = np.stack([WEIGHTS, WEIGHTS**2]), RNG.normal(size=(5, 2, 3))
    fit_logistic(X, SOFT, 0.5, weights, start)
    fun, flat = seen[0]
    value, gradient = fun(flat)

    def total(flat):
        return sum(
            objective(W, SOFT, 0.5, w) for W, w in zip(flat.reshape(5, 2, 3).swapaxes(0, 1), weights, strict=True)
        )

    assert np.array_equal(flat, start.ravel())
    assert value == pytest.approx(total(flat))
    assert np.allclose(gradient, approx_fprime(flat, total, 1e-6), atol=1e-3)


@pytest.mark.parametrize("together", [10**9, 0])
def test_fits_made_at_once_are_those_made_alone(together, to_the_end, monkeypatch):
    monkeypatch.setattr(logistic, "TOGETHER", together)
    weights = np.stack([WEIGHTS, np.where(np.arange(120) < 60, WEIGHTS, 0.0), np.ones(120)])
    start = RNG.normal(size=(5, 3, 3))
    found = fit_logistic(X, np.eye(3)[HARD], 1.0, weights, start, change=1e-15)
    for place, each in enumerate(weights):
        kept = each > 0
        alone = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X[kept], HARD[kept], each[kept])
        assert np.allclose(found[:-1, place], alone.coef_.T, atol=1e-5)
        assert np.allclose(predict_logistic(X, found[:, place]), alone.predict_proba(X), atol=1e-6)


def test_as_it_is_used_the_objective_is_within_a_thousandth_per_cent_of_the_least():
    expected = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(X, HARD)
    least = objective(np.vstack([expected.coef_.T, expected.intercept_]), np.eye(3)[HARD], 1.0, np.ones(120))
    W = fit_logistic(X, np.eye(3)[HARD], 1.0, np.ones((1, 120)))[:, 0]
    found = objective(W, np.eye(3)[HARD], 1.0, np.ones(120))
    assert least * (1 - 1e-9) <= found <= least * (1 + 1e-5)


def test_rows_of_weight_zero_say_nothing(to_the_end):
    weights = np.where(np.arange(120) < 60, WEIGHTS, 0.0)
    some = fit_logistic(X[:60], SOFT[:60], 1.0, WEIGHTS[None, :60])
    assert np.allclose(fit_logistic(X, SOFT, 1.0, weights[None]), some, atol=1e-5)
