"""Scales of the lambdas against samples and closed forms."""

import numpy as np
import pytest

from core.problems import random_problem
from unmuddle.core.norms import L1, L21, SquaredFrobenius, Zero
from unmuddle.core.scales import marchenko_pastur_median, noise_level, projection_scale, scale_lambdas


@pytest.mark.parametrize(("n", "d"), [(2000, 200), (400, 400), (200, 1000)])
def test_the_median_of_the_law_is_that_of_sampled_noise(n, d):
    noise = np.random.default_rng(0).normal(size=(n, d))
    eigenvalues = np.linalg.svd(noise, compute_uv=False) ** 2 / max(n, d)
    assert abs(marchenko_pastur_median(min(n, d) / max(n, d)) - np.median(eigenvalues)) < 0.01


@pytest.mark.parametrize("shape", [(1000, 50), (100, 300)])
def test_the_noise_level_is_found_under_low_rank_and_gross_cells(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1])) + rng.normal(0, 0.5, shape)
    assert noise_level(X) == pytest.approx(0.5, rel=0.1)
    X[rng.random(shape) < 0.01] += 30
    assert noise_level(X) == pytest.approx(0.5, rel=0.25)
    with_odd_columns = np.column_stack([X, np.full(len(X), 3.0), np.arange(len(X)) % 10 == 0])
    assert noise_level(with_odd_columns) == pytest.approx(0.5, rel=0.25)


def test_the_noise_level_scales_with_the_data_and_never_vanishes():
    X = np.random.default_rng(2).normal(size=(60, 8))
    assert noise_level(1e3 * X) == pytest.approx(1e3 * noise_level(X))
    assert noise_level(np.outer(np.arange(10.0), np.ones(4))) > 0
    assert noise_level(np.ones((5, 3))) == 1.0


def test_the_projection_scale_is_where_zero_becomes_optimal_for_squared_labels():
    """min over Z, b of ``l1 |Z|_* + l3 |Y - XZ - b|_F^2`` is Z = 0 just from ``2 l3 |Xc^T Yc|_2`` on."""
    problem = random_problem()
    X, Y = problem.features, problem.labels - problem.labels.mean(axis=0)
    X = X - X.mean(axis=0)
    scale = projection_scale(problem.features, problem.labels, SquaredFrobenius(), 0.3)
    U, _, Vt = np.linalg.svd(X.T @ Y)
    direction = 1e-6 * np.outer(U[:, 0], Vt[0])

    def change(l1):
        return 1e-6 * l1 + 0.3 * (np.sum((Y - X @ direction) ** 2) - np.sum(Y**2))

    assert change(0.99 * scale) < 0 < change(1.01 * scale)


def test_the_projection_scale_of_shrunk_features_is_where_zero_becomes_stationary():
    """At Z = 0 the features lose ``1 / (2 l2)`` of every singular value; their oracle is an SVD."""
    problem = random_problem(n=60, d=8)
    X, Y = problem.features - problem.features.mean(axis=0), problem.labels - problem.labels.mean(axis=0)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    threshold = SquaredFrobenius().threshold(0.5 / s[3])
    assert threshold == pytest.approx(s[3])
    shrunk = (U * np.maximum(s - s[3], 0.0)) @ Vt
    found = projection_scale(problem.features, problem.labels, SquaredFrobenius(), 0.3, threshold=threshold)
    assert found == pytest.approx(2 * 0.3 * np.linalg.norm(shrunk.T @ Y, 2))
    assert L1().threshold(0.1) == 0.0
    nothing = projection_scale(problem.features, problem.labels, SquaredFrobenius(), 0.3, threshold=2 * s[0])
    assert nothing == pytest.approx(0.05 * projection_scale(problem.features, problem.labels, SquaredFrobenius(), 0.3))


def test_the_default_weights_are_the_published_scales():
    problem = random_problem(n=90, d=6)
    lambdas = scale_lambdas(problem.features, problem.labels, L1(), L21(), alpha=0.5, beta=2, label_weight=0.1)
    assert lambdas.features == pytest.approx(2 / np.sqrt(90))
    assert lambdas.labels == 0.1
    rows = scale_lambdas(problem.features, problem.labels, L21(), Zero(), alpha=0.5)
    assert rows.projection == pytest.approx(0.5 * np.linalg.norm(problem.features, 2))
    squares = scale_lambdas(problem.features, problem.labels, SquaredFrobenius(), L21())
    level = noise_level(problem.features)
    assert squares.features == pytest.approx(1 / (2 * level * (np.sqrt(90) + np.sqrt(6))))


def test_constant_features_still_give_positive_weights():
    lambdas = scale_lambdas(np.ones((9, 2)), np.eye(3)[np.arange(9) % 3], SquaredFrobenius(), L21())
    assert min(lambdas.projection, lambdas.features, lambdas.labels) > 0


@pytest.mark.parametrize("norm", [L21(), SquaredFrobenius()])
@pytest.mark.parametrize("shape", [(2000, 100), (300, 300)])
def test_random_matrix_weights_put_the_gradient_of_pure_noise_at_spectral_norm_1(norm, shape):
    """There |X|_* begins to win over the noise; the gradients are unit rows, and twice the error."""
    noise = np.random.default_rng(0).normal(0, 0.7, shape)
    unit_rows = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    gradient = unit_rows if norm == L21() else 2 * noise
    assert norm.feature_weight(shape, 0.7) * np.linalg.norm(gradient, 2) == pytest.approx(1, abs=0.05)
