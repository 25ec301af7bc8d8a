"""Noise on features keeps to its definition: counts, sizes, distributions and masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmuddle.noise import add_gaussian, add_laplacian, remove_cells, spoil_cells, spoil_rows, swap_cells

RATES = st.floats(0.0, 1.0)
SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 7))
SEEDS = st.integers(0, 2**32)
BRIEF = settings(max_examples=60, deadline=None)


def distinct(shape):
    """No two values are equal, so every moved value shows."""
    return np.arange(np.prod(shape), dtype=float).reshape(shape)


# ----------------------------------------------------------------------------------------------------------------
# Exact counts


@BRIEF
@given(shape=SHAPES, rate=RATES, seed=SEEDS)
def test_exactly_the_stated_number_of_cells_is_shifted_by_the_stated_size(shape, rate, seed):
    X = distinct(shape)
    spoiled = spoil_cells(X, rate, 3.0, np.random.default_rng(seed))
    shift = spoiled.values - X
    assert sorted(np.abs(shift).ravel()) == [0.0] * (X.size - round(rate * X.size)) + [3.0] * round(rate * X.size)
    assert np.array_equal(spoiled.changed, shift != 0)
    assert np.array_equal(spoiled.selected, [any(row != 0) for row in shift])


@BRIEF
@given(shape=SHAPES, rate=RATES, seed=SEEDS)
def test_exactly_the_stated_number_of_cells_is_removed(shape, rate, seed):
    X = distinct(shape)
    removed = remove_cells(X, rate, np.random.default_rng(seed))
    assert np.isnan(removed.values).sum() == round(rate * X.size)
    assert np.array_equal(removed.changed, np.isnan(removed.values))
    assert np.array_equal(removed.values[~removed.changed], X[~removed.changed])
    assert np.array_equal(removed.selected, [any(np.isnan(row)) for row in removed.values])


@BRIEF
@given(shape=SHAPES, rate=RATES, seed=SEEDS)
def test_swapping_moves_the_stated_number_in_each_column_and_keeps_its_values(shape, rate, seed):
    X = distinct(shape)
    swapped = swap_cells(X, rate, np.random.default_rng(seed))
    count = round(rate * len(X))
    assert (swapped.values != X).sum(axis=0).tolist() == [0 if count == 1 else count] * X.shape[1]
    assert np.array_equal(np.sort(swapped.values, axis=0), np.sort(X, axis=0))
    assert np.array_equal(swapped.changed, swapped.values != X)
    assert np.array_equal(swapped.selected, [any(row) for row in swapped.changed])


@BRIEF
@given(shape=SHAPES, rate=RATES, seed=SEEDS)
def test_exactly_the_stated_number_of_rows_is_shifted_by_the_stated_length(shape, rate, seed):
    X = np.zeros(shape)
    spoiled = spoil_rows(X, rate, 2.0, np.random.default_rng(seed))
    lengths = np.sqrt((spoiled.values**2).sum(axis=1))
    assert spoiled.selected.sum() == round(rate * len(X))
    assert np.allclose(lengths, np.where(spoiled.selected, 2.0 * np.sqrt(shape[1]), 0.0), rtol=1e-12, atol=0)
    assert np.array_equal(spoiled.changed, spoiled.values != 0)


# ----------------------------------------------------------------------------------------------------------------
# Distributions. All bounds are 5 standard deviations of the estimate, from closed forms.

N_DRAWS = 200_000


@pytest.mark.parametrize(("add", "kurtosis"), [(add_gaussian, 3.0), (add_laplacian, 6.0)])
def test_additive_noise_has_mean_zero_and_its_deviation(add, kurtosis):
    """The variance of a squared draw is (kurtosis - 1) sigma^4."""
    noise = add(np.ones((N_DRAWS // 20, 20)), 0.5, np.random.default_rng(2)).values - 1.0
    assert abs(noise.mean()) < 5 * 0.5 / np.sqrt(N_DRAWS)
    assert abs((noise**2).mean() - 0.25) < 5 * 0.25 * np.sqrt((kurtosis - 1) / N_DRAWS)


@pytest.mark.parametrize(
    ("add", "mean_size", "variance_of_size"),
    [(add_gaussian, np.sqrt(2 / np.pi), 1 - 2 / np.pi), (add_laplacian, np.sqrt(0.5), 0.5)],
)
def test_additive_noise_has_the_absolute_moment_of_its_distribution(add, mean_size, variance_of_size):
    """Sizes are half-normal or exponential; the two means, 0.798 and 0.707, are 11 bounds apart."""
    sizes = np.abs(add(np.zeros((N_DRAWS // 20, 20)), 1.0, np.random.default_rng(3)).values)
    assert abs(sizes.mean() - mean_size) < 5 * np.sqrt(variance_of_size / N_DRAWS)


def test_shifts_of_cells_go_both_ways_alike():
    signs = np.sign(spoil_cells(np.zeros((100, 100)), 1.0, 4.0, np.random.default_rng(4)).values)
    assert abs(signs.mean()) < 5 / 100


def test_every_cell_is_picked_alike():
    """A cell is picked in a quarter of 4000 draws."""
    rng = np.random.default_rng(5)
    counts = sum(remove_cells(np.zeros((3, 4)), 0.25, rng).changed.astype(int) for _ in range(4000))
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(4000 * 3 / 16))


def test_both_circles_of_three_values_are_equally_likely_in_each_column_by_itself():
    """Two columns of two circles each: four outcomes of 1000 in 4000 draws."""
    rng, X = np.random.default_rng(6), np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    outcomes = [tuple(swap_cells(X, 1.0, rng).values[0]) for _ in range(4000)]
    counts = [outcomes.count((a, b)) for a in (1.0, 2.0) for b in (1.0, 2.0)]
    assert sum(counts) == 4000
    assert np.all(np.abs(np.array(counts) - 1000) < 5 * np.sqrt(4000 * 3 / 16))


def test_directions_of_row_shifts_are_uniform():
    """On the unit sphere E u_i^4 = 3 / (d (d + 2)), so squares of cells deviate by size^2 sqrt(3 d / (d + 2) - 1)."""
    shift = spoil_rows(np.zeros((20_000, 4)), 1.0, 2.0, np.random.default_rng(7)).values
    assert np.all(np.abs(shift.mean(axis=0)) < 5 * 2.0 / np.sqrt(20_000))
    assert np.all(np.abs((shift**2).mean(axis=0) - 4.0) < 5 * 4.0 * np.sqrt((3 * 4 / 6 - 1) / 20_000))


# ----------------------------------------------------------------------------------------------------------------
# Edges


def test_only_values_that_differ_count_as_changed():
    ties = np.array([[1.0], [1.0], [1.0], [2.0]])
    swapped = swap_cells(ties, 1.0, np.random.default_rng(0))
    assert swapped.selected.all()
    assert swapped.changed.sum() == 2
    still = spoil_cells(ties, 1.0, 0.0, np.random.default_rng(0))
    assert still.selected.all()
    assert not still.changed.any()
    lost = add_gaussian(np.full((3, 2), 1e20), 1.0, np.random.default_rng(0))
    assert lost.selected.all()
    assert not lost.changed.any()


def test_one_row_cannot_be_swapped_with_itself():
    swapped = swap_cells([[1.0, 2.0]], 1.0, np.random.default_rng(0))
    assert not swapped.selected.any()
    assert swapped.values.tolist() == [[1.0, 2.0]]


NOISES = [
    lambda X, rng: add_gaussian(X, 0.5, rng),
    lambda X, rng: add_laplacian(X, 0.5, rng),
    lambda X, rng: spoil_cells(X, 0.5, 4.0, rng),
    lambda X, rng: swap_cells(X, 0.5, rng),
    lambda X, rng: spoil_rows(X, 0.5, 4.0, rng),
    lambda X, rng: remove_cells(X, 0.5, rng),
]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(
    ("given_type", "expected"),
    [("float64", "float64"), ("float32", "float32"), ("float16", "float64"), ("int64", "float64"), ("bool", "float64")],
)
def test_single_precision_stays_and_all_else_becomes_double(noise, given_type, expected):
    X = (np.arange(24).reshape(6, 4) % 2).astype(given_type)
    noisy = noise(X, np.random.default_rng(0))
    assert noisy.values.dtype == expected
    assert noisy.changed.shape == X.shape
    assert noisy.selected.shape == (6,)
    assert noisy.changed.dtype == noisy.selected.dtype == bool


@pytest.mark.parametrize("noise", NOISES)
def test_layout_in_memory_and_container_do_not_matter(noise):
    X = distinct((6, 4))
    plain = noise(X, np.random.default_rng(0)).values
    assert np.array_equal(plain, noise(np.asfortranarray(X), np.random.default_rng(0)).values, equal_nan=True)
    assert np.array_equal(plain, noise(X.tolist(), np.random.default_rng(0)).values, equal_nan=True)
