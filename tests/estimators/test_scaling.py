"""Scaling against scikit-learn's scalers and its own inverse."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.preprocessing import StandardScaler

from unmuddle.estimators.scaling import SCALINGS, inner_scaling

X = np.random.default_rng(0).normal(3, 2, (50, 4))


def test_standard_is_that_of_scikit_learn():
    assert np.allclose(SCALINGS["standard"](X).apply(X), StandardScaler().fit_transform(X))


def test_robust_is_median_and_deviation_and_falls_back_where_that_is_zero():
    mostly_zero = np.column_stack([X, np.where(np.arange(50) < 10, 5.0, 0.0), np.ones(50)])
    scaling = SCALINGS["robust"](mostly_zero)
    assert np.allclose(scaling.centre[:4], np.median(X, axis=0))
    assert np.allclose(scaling.scale[:4], 1.4826 * np.median(np.abs(X - np.median(X, axis=0)), axis=0))
    assert scaling.scale[4] == pytest.approx(mostly_zero[:, 4].std())
    assert scaling.scale[5] == 1


@pytest.mark.parametrize("kind", ["standard", "robust", None])
@pytest.mark.parametrize("factor", [1.0, 1e300, 1e-300])
def test_what_is_scaled_can_be_undone(kind, factor):
    scaling = SCALINGS[kind](X * factor)
    assert np.allclose(scaling.undo(scaling.apply(X * factor)), X * factor, rtol=1e-12)


def test_inner_scaling_is_median_and_inner_range_of_the_cells_that_are_there():
    holes = np.where(np.random.default_rng(1).random(X.shape) < 0.2, np.nan, X)
    for data in (X, holes):
        scaling = inner_scaling(data)
        for j, column in enumerate(data.T):
            seen = column[~np.isnan(column)]
            low, high = np.percentile(seen, [15, 85])
            assert scaling.centre[j] == pytest.approx(np.median(seen))
            assert scaling.scale[j] == pytest.approx((high - low) / (2 * norm.ppf(0.85)), rel=1e-4)


def test_inner_scaling_measures_a_normal_sample_by_its_deviation_even_with_wrong_cells_on_both_sides():
    sample = np.random.default_rng(0).normal(5, 3, (20_000, 1))
    assert inner_scaling(sample).scale[0] == pytest.approx(3, rel=0.03)
    sample[:1000], sample[1000:2000] = 30, -20
    assert inner_scaling(sample).scale[0] == pytest.approx(3, rel=0.3)


def test_inner_scaling_of_spiked_columns_is_a_share_of_their_deviation():
    spiked, nearly = np.zeros(100), np.random.default_rng(0).normal(0, 1e-3, 100)
    spiked[:10], nearly[:10] = 5.0, 5.0
    scaling = inner_scaling(np.column_stack([spiked, nearly, np.ones(100), np.full(100, np.nan)]))
    assert scaling.scale[0] == pytest.approx(spiked.std() / 2)
    assert scaling.scale[1] == pytest.approx(nearly.std() / 4)
    assert np.array_equal(scaling.centre[2:], [1, 0])
    assert np.all(scaling.scale[2:] > 0)


@pytest.mark.parametrize("gross", [1e3, 1e9, -1e200])
def test_a_few_gross_cells_hardly_change_the_inner_scaling(gross):
    spoilt = np.vstack([X] * 10)
    spoilt[:15, 0] = gross
    assert inner_scaling(spoilt).scale[0] == pytest.approx(inner_scaling(X).scale[0], rel=0.1)


@pytest.mark.parametrize("factor", [1e300, 1e-300, -2.0])
def test_inner_scaling_follows_the_units(factor):
    assert np.allclose(inner_scaling(X * factor).apply(X * factor), np.sign(factor) * inner_scaling(X).apply(X))
