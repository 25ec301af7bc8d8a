"""Schedules and batches against published values and what must hold of every batch."""

import numpy as np
import pytest

from unmuddle.baselines.batches import default_batch_size, pad_batches, shuffled_batches, stratified_batches
from unmuddle.baselines.schedules import forget_rates, momenta, step_sizes


def test_the_forget_rate_grows_as_in_co_teaching():
    found = forget_rates(0.45, 200)
    assert np.allclose(found[:12], [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.45, 0.45])
    assert np.all(found[10:] == 0.45)


def test_the_exponent_acts_on_the_rate_until_the_last_gradual_epoch():
    squared, root = forget_rates(0.4, 20, exponent=2.0), forget_rates(0.4, 20, exponent=0.5)
    assert squared[9] == pytest.approx(0.16)
    assert squared[10] == 0.4
    assert root[9] == pytest.approx(0.632, abs=5e-4)
    assert root[10] == 0.4


def test_the_forget_rate_fits_into_few_epochs():
    assert forget_rates(0.3, 4).shape == (4,)
    assert np.allclose(forget_rates(0.3, 4), [0, 0.1 / 3, 0.2 / 3, 0.1])


def test_steps_shrink_as_in_co_teaching():
    found = step_sizes(1e-3, 200)
    expected = {0: 1e-3, 80: 1e-3, 81: 0.00099166667, 100: 0.00083333333, 140: 0.0005, 199: 8.3333333e-6}
    for epoch, size in expected.items():
        assert found[epoch] == pytest.approx(size, rel=1e-7)


def test_momentum_falls_when_steps_begin_to_shrink():
    found = momenta(200)
    assert np.all(found[:80] == 0.9)
    assert np.all(found[80:] == 0.1)


CODES = np.repeat([0, 1, 2, 3, 4, 5], [70, 76, 17, 13, 9, 29])
"""Glass: classes of 9 to 76 rows."""


@pytest.mark.parametrize("deal", [shuffled_batches, stratified_batches])
@pytest.mark.parametrize("size", [1, 16, 32, 64, 500])
def test_every_row_is_in_one_batch(deal, size):
    batches = deal(CODES, size, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(batches)), np.arange(len(CODES)))
    assert max(map(len, batches)) - min(map(len, batches)) <= (1 if deal is shuffled_batches else 6)


@pytest.mark.parametrize("size", [1, 16, 32, 64, 500])
def test_stratified_batches_hold_every_class(size):
    for seed in range(20):
        for batch in stratified_batches(CODES, size, np.random.default_rng(seed)):
            assert set(CODES[batch]) == set(range(6))


@pytest.mark.parametrize(("size", "share"), [(16, 0.81), (32, 0.36), (64, 0.04)])
def test_shuffled_batches_of_such_data_often_miss_a_class(size, share):
    """Why the determinant loss needs the other kind; the shares are published for Glass."""
    missing = [
        len(set(CODES[batch])) < 6
        for seed in range(100)
        for batch in shuffled_batches(CODES, size, np.random.default_rng(seed))
    ]
    assert np.mean(missing) == pytest.approx(share, abs=0.06)


def test_filling_up_uses_the_row_that_counts_for_nothing():
    found = pad_batches([np.array([3, 1, 2]), np.array([0, 4])], 5)
    assert found.shape == (16, 32)
    assert found[0, :4].tolist() == [3, 1, 2, 5]
    assert found[1, :3].tolist() == [0, 4, 5]
    assert np.all(found[2:] == 5)


def test_the_default_batch_is_a_quarter_of_small_data():
    assert [default_batch_size(n) for n in (2, 40, 142, 4000)] == [1, 10, 35, 128]
