"""Cells given the others of their row: dense formulas of the covariance."""

import numpy as np
import pytest

from unmuddle.core import filling
from unmuddle.core.filling import complete, fill


def covariance_of(d, seed=0):
    root = np.random.default_rng(seed).normal(size=(d, d + 2))
    return root @ root.T / d + 0.1 * np.eye(d)


def condition(S, mean, x, target, known):
    """Mean and covariance of some cells given others, by the textbook."""
    gain = S[np.ix_(target, known)] @ np.linalg.inv(S[np.ix_(known, known)])
    return mean[target] + gain @ (x[known] - mean[known]), S[np.ix_(target, target)] - gain @ S[np.ix_(known, target)]


@pytest.mark.parametrize("batch", [filling.BATCH, 40])
@pytest.mark.parametrize("d", [1, 2, 7])
def test_filled_cells_and_residuals_are_conditional_moments_of_the_covariance(d, batch, monkeypatch):
    monkeypatch.setattr(filling, "BATCH", batch)
    rng = np.random.default_rng(d)
    S, mean, X = covariance_of(d, d), rng.normal(size=d), 2 * rng.normal(size=(30, d))
    observed = rng.random((30, d)) < 0.6
    observed[0], observed[1] = True, False
    found = fill(X, observed, mean, np.linalg.inv(S))
    assert np.allclose(complete(X, observed, mean, np.linalg.inv(S)), found.rows, atol=1e-9)
    total = np.zeros((d, d))
    for i, x in enumerate(X):
        M = np.flatnonzero(~observed[i])
        expected, spread = condition(S, mean, x, M, np.flatnonzero(observed[i]))
        assert np.allclose(found.rows[i, M], expected, atol=1e-9)
        assert np.array_equal(found.rows[i, observed[i]], (mean + (x - mean))[observed[i]])
        total[np.ix_(M, M)] += spread
        for j in range(d):
            others = np.array([k for k in np.flatnonzero(observed[i]) if k != j], dtype=int)
            expected, spread = condition(S, mean, x, np.array([j]), others)
            assert found.residuals[i, j] == pytest.approx(x[j] - expected[0], abs=1e-9)
            assert found.variances[i, j] == pytest.approx(spread[0, 0], rel=1e-8)
    assert np.allclose(found.covariance, total, atol=1e-9)


@pytest.mark.parametrize("noise", [1.0, 1e-4])
def test_wide_rows_have_conditional_variances_too_even_if_all_that_told_a_cell_is_masked(noise):
    d, rng = filling.WIDE, np.random.default_rng(0)
    loadings = np.repeat(rng.normal(size=(3, d // 2)), 2, axis=1)
    S = loadings.T @ loadings + np.kron(np.diag(rng.uniform(0.5, 2.0, d // 2)), np.ones((2, 2))) + noise * np.eye(d)
    observed = np.tile([True, False], (20, d // 2)) ^ (rng.random((20, d)) < 0.2)
    found = fill(rng.normal(size=(20, d)), observed, np.zeros(d), np.linalg.inv(S))
    for i in range(20):
        known = np.flatnonzero(observed[i])
        expected = 1.0 / np.diag(np.linalg.inv(S[np.ix_(known, known)]))
        assert np.allclose(found.variances[i, known], expected, rtol=1e-4)
