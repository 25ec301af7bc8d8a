"""Shrinkage: scikit-learn's weight, and scipy's density of held-out rows."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import ledoit_wolf_shrinkage

from unmuddle.core import covariance
from unmuddle.core.covariance import choose_share, shrinkage, split_rows


@pytest.mark.parametrize("shape", [(200, 5), (30, 40), (400, 20)])
def test_the_weight_of_the_identity_is_that_of_scikit_learn(shape):
    X = np.random.default_rng(0).normal(size=shape) * np.linspace(1, 3, shape[1])
    X -= X.mean(axis=0)
    assert shrinkage(X) == pytest.approx(ledoit_wolf_shrinkage(X, assume_centered=True), rel=1e-10)


def test_without_any_variance_the_identity_has_all_the_weight():
    assert shrinkage(np.zeros((5, 3))) == 1.0


@pytest.mark.parametrize(("noise", "largest"), [(0.01, 0.1), (3.0, 1.0)])
def test_the_share_of_the_weight_makes_halves_likeliest_by_each_other(noise, largest):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + noise * rng.normal(size=(60, 8))
    X -= X.mean(axis=0)
    halves = split_rows(X)
    found = []
    for share in covariance.SHARES:
        total = 0.0
        for own, other in (halves, halves[::-1]):
            S, weight = own.T @ own / len(own), share * ledoit_wolf_shrinkage(own, assume_centered=True)
            S = (1 - weight) * S + (weight * np.trace(S) / 8 + covariance.RIDGE) * np.eye(8)
            total += multivariate_normal(np.zeros(8), S).logpdf(other).sum()
        found.append(total)
    chosen = choose_share(X, np.zeros((8, 8)))
    assert chosen == covariance.SHARES[int(np.argmax(found))] <= largest
    assert choose_share(X[:3], np.zeros((8, 8))) == 1.0


def test_equal_rows_are_in_one_half_and_halves_are_about_as_large():
    X = np.random.default_rng(0).normal(size=(200, 5))
    first, second = split_rows(np.repeat(X, 2, axis=0))
    assert len(first) + len(second) == 400
    assert 150 < len(first) < 250
    assert not {tuple(row) for row in first} & {tuple(row) for row in second}
    assert np.array_equal(split_rows(X)[0], split_rows(X)[0])
