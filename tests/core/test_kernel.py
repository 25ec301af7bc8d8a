"""Kernel ridge regression: rows really left out, scikit-learn's, and its own predictions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge

from unmuddle.core.kernel import PENALTIES, WIDTHS, Choice, fit_ridge, ridge_path, squared_distances

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Q = RNG.dirichlet(np.ones(3), 40)
WEIGHTS = np.where(np.arange(40) % 9 == 0, 0.0, RNG.uniform(0.2, 2.0, 40))
LANDMARKS = X[::3]


def ridge_by_the_book(rows, targets, weights, gamma, penalty):
    """The predictor of least ``sum_i w_i |q_i - k_i a - b|^2 + penalty a^T K a``, by one linear system."""
    K = np.exp(-gamma * cdist(LANDMARKS, LANDMARKS, "sqeuclidean"))
    F = np.column_stack([np.exp(-gamma * cdist(rows, LANDMARKS, "sqeuclidean")), np.ones(len(rows))])
    system = F.T @ (F * weights[:, None])
    system[:-1, :-1] += penalty * K
    solved = np.linalg.solve(system, F.T @ (targets * weights[:, None]))
    return lambda Z: np.exp(-gamma * cdist(Z, LANDMARKS, "sqeuclidean")) @ solved[:-1] + solved[-1]


@pytest.mark.parametrize("weights", [np.ones(40), WEIGHTS], ids=["equal", "weighted"])
@pytest.mark.parametrize("choice", [Choice(1.0, 0.1), Choice(4.0, 1e-3), Choice(0.5, 100.0)])
def test_predictions_for_rows_left_out_are_those_of_a_fit_without_them(choice, weights):
    ridge, left_out = fit_ridge(X, Q, LANDMARKS, choice, weights)
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        predict = ridge_by_the_book(X[kept], Q[kept], weights[kept], ridge.gamma, choice.penalty)
        assert np.allclose(left_out[i], predict(X[i : i + 1]), atol=1e-8)
    everyone = ridge_by_the_book(X, Q, weights, ridge.gamma, choice.penalty)
    new = RNG.normal(size=(7, 3))
    assert np.allclose(ridge.predict(new), everyone(new), atol=1e-8)


def test_a_row_of_weight_zero_is_predicted_as_if_new():
    ridge, left_out = fit_ridge(X, Q, LANDMARKS, Choice(1.0, 0.1), WEIGHTS)
    silent = WEIGHTS == 0
    assert np.allclose(left_out[silent], ridge.predict(X[silent]), atol=1e-9)


def test_with_all_rows_as_landmarks_it_is_scikit_learns_on_the_centred_kernel():
    choice = Choice(2.0, 0.3)
    ridge, _ = fit_ridge(X, Q, X, choice, np.ones(40))
    centring = np.eye(40) - 1 / 40
    K = centring @ np.exp(-ridge.gamma * cdist(X, X, "sqeuclidean")) @ centring
    expected = KernelRidge(alpha=choice.penalty, kernel="precomputed").fit(K, Q - Q.mean(axis=0)).predict(K)
    assert np.allclose(ridge.predict(X), expected + Q.mean(axis=0), atol=1e-6)


def test_the_path_has_every_choice_once_with_what_the_single_fit_says():
    path = dict(ridge_path(X, Q, LANDMARKS, WEIGHTS))
    assert set(path) == {Choice(width, float(penalty)) for width in WIDTHS for penalty in PENALTIES}
    for choice in list(path)[::9]:
        assert np.allclose(path[choice], fit_ridge(X, Q, LANDMARKS, choice, WEIGHTS)[1])


def test_widths_are_relative_to_the_median_squared_distance():
    ridge, _ = fit_ridge(X, Q, LANDMARKS, Choice(2.0, 1.0), np.ones(40))
    apart = cdist(X, LANDMARKS, "sqeuclidean")
    assert ridge.gamma == pytest.approx(2.0 / np.median(apart[apart > 0]))
    larger, left_out = fit_ridge(10 * X, Q, 10 * LANDMARKS, Choice(2.0, 1.0), np.ones(40))
    assert larger.gamma == pytest.approx(ridge.gamma / 100)
    assert np.allclose(left_out, fit_ridge(X, Q, LANDMARKS, Choice(2.0, 1.0), np.ones(40))[1])


def test_equal_rows_get_the_mean_of_the_others():
    _, left_out = fit_ridge(np.ones((6, 2)), Q[:6], np.ones((2, 2)), Choice(1.0, 1.0), np.ones(6))
    others = (Q[:6].sum(axis=0) - Q[:6]) / 5
    assert np.allclose(left_out, others)


def test_squared_distances_are_those_of_scipy_and_not_negative():
    assert np.allclose(squared_distances(X, LANDMARKS), cdist(X, LANDMARKS, "sqeuclidean"))
    assert squared_distances(1e6 + X, 1e6 + X).min() == 0.0
