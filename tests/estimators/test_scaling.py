"""Scaling against scikit-learn's scalers and its own inverse."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from unmuddle.estimators.scaling import SCALINGS

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
