"""RobustPCA as a transformer."""

import numpy as np
import pytest

from unmuddle import RobustPCA
from unmuddle.errors import StationarityWarning


@pytest.fixture(scope="module")
def spiked():
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(520, 3)) @ rng.normal(size=(3, 50))
    sparse = np.where(rng.random((520, 50)) < 0.05, 10.0, 0.0)
    return low_rank, sparse


def test_the_parts_are_recovered_and_new_rows_are_cleaned(spiked):
    low_rank, sparse = spiked
    model = RobustPCA().fit(low_rank[:500] + sparse[:500])
    assert model.rank_ == 3
    assert np.allclose(model.low_rank_, low_rank[:500], atol=1e-5)
    assert np.array_equal(np.abs(model.sparse_) > 1e-3, sparse[:500] != 0)
    assert np.allclose(model.transform(low_rank[500:] + sparse[500:]), low_rank[500:], atol=1e-4)


def test_fitting_and_transforming_at_once_is_the_same(spiked):
    X = spiked[0] + spiked[1]
    assert np.array_equal(RobustPCA().fit_transform(X), RobustPCA().fit(X).transform(X))


def test_the_weight_does_not_depend_on_orientation(spiked):
    X = spiked[0] + spiked[1]
    assert RobustPCA().fit(X).objective_ == pytest.approx(RobustPCA().fit(X.T).objective_, rel=1e-6)


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_scaled_columns_come_back_in_their_units(spiked, scale):
    X = (spiked[0] + spiked[1]) * np.geomspace(1, 1e4, 50) + 100
    model = RobustPCA(scale=scale).fit(X)
    assert np.all(np.abs(model.low_rank_ + model.sparse_ - X) <= 1e-4 * X.std(axis=0))


def test_too_few_iterations_warn(spiked):
    with pytest.warns(StationarityWarning, match="max_iter"):
        RobustPCA(max_iter=2).fit(spiked[0])
