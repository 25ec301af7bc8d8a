"""Noise reaches its stated rate and level, and its masks are true."""

import numpy as np
import pytest

from unmuddle.noise import add_gaussian, redraw_uniformly, spoil_cells


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.61, 1.0])
def test_redrawing_picks_exactly_its_share_of_rows(rate):
    y = np.repeat(["a", "b", "c"], 37)
    noisy = redraw_uniformly(y, rate, np.random.default_rng(0))
    assert noisy.selected.sum() == round(rate * 111)
    assert np.array_equal(noisy.changed, noisy.values != y)
    assert not (noisy.changed & ~noisy.selected).any()


def test_redrawn_labels_are_uniform_over_all_classes():
    """Each class is drawn n/3 times give or take 5 standard deviations."""
    y = np.repeat([0, 1, 2], 10000)
    counts = np.bincount(redraw_uniformly(y, 1.0, np.random.default_rng(1)).values)
    assert np.all(np.abs(counts - 10000) < 5 * np.sqrt(30000 * 2 / 9))


def test_gaussian_noise_has_its_deviation():
    X = np.ones((500, 20))
    noisy = add_gaussian(X, 0.5, np.random.default_rng(2))
    assert noisy.changed.all()
    assert (noisy.values - X).std() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(2 * 10000))


def test_spoiled_cells_are_counted_and_shifted_exactly():
    X = np.random.default_rng(3).normal(size=(30, 7))
    spoiled = spoil_cells(X, 0.1, 3.0, np.random.default_rng(4))
    assert spoiled.changed.sum() == 21
    assert np.allclose(np.abs(spoiled.values - X)[spoiled.changed], 3.0)
    assert np.array_equal(spoiled.values[~spoiled.changed], X[~spoiled.changed])
