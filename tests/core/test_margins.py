"""Columns by themselves: kernel estimates, normal and skewed samples, lumps, and what goes with classes."""

import numpy as np
import pytest
from scipy.stats import cauchy, chi2_contingency, gaussian_kde, norm

from unmuddle.core import margins
from unmuddle.core.margins import (
    Bulk,
    Densities,
    find_lumped,
    find_unknown,
    go_with_classes,
    reach_of_classes,
)
from unmuddle.estimators.scaling import inner_scaling


def test_densities_of_columns_are_gaussian_kernel_estimates():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=500), rng.exponential(size=500), np.round(rng.normal(size=500))])
    present = rng.random(X.shape) < 0.8
    densities = Densities.of(X, present)
    for j in range(3):
        cells = X[present[:, j], j]
        spread = min(cells.std(), np.subtract(*np.quantile(cells, [0.75, 0.25])) / 1.34)
        width = 0.9 * spread * len(cells) ** -0.2
        expected = gaussian_kde(cells, width / cells.std(ddof=1))
        at = np.linspace(cells.min(), cells.max(), 100)
        grid = np.tile(at[:, None], (1, 3))
        assert np.allclose(np.exp(densities.log(grid)[:, j]), expected(at), atol=0.01 * expected(at).max())


def test_densities_integrate_to_one_even_of_constant_or_empty_columns_and_under_gross_cells():
    X = np.random.default_rng(1).normal(size=(300, 4))
    X[:, 1], X[0, 2] = 2.0, 1e3
    present = np.ones(X.shape, dtype=bool)
    present[:, 3] = False
    densities = Densities.of(X, present)
    assert np.allclose(densities.values.sum(axis=1) * densities.steps, 1.0, atol=0.01)


def test_a_cell_unlike_any_seen_is_as_likely_as_one_more_cell_from_anywhere():
    X = np.random.default_rng(1).normal(size=(300, 2))
    densities = Densities.of(X, np.ones(X.shape, dtype=bool))
    at = np.array([[50.0, -1e6]])
    assert np.allclose(densities.log(at), cauchy.logpdf(at, scale=margins.FAR) - np.log(301))


def far_share(column):
    X = column[:, None]
    X = inner_scaling(X).apply(X)
    return Bulk.of(X).is_far(X).mean()


def test_the_bulk_of_a_normal_column_ends_at_three_and_a_half_deviations():
    quantiles = norm.ppf((np.arange(100_000) + 0.5) / 100_000)[:, None]
    bulk = Bulk.of(inner_scaling(quantiles).apply(quantiles))
    assert (bulk.low[0], bulk.high[0]) == pytest.approx((-3.5, 3.5), abs=0.01)


@pytest.mark.parametrize("skew", [0.5, 1.0])
def test_a_long_tail_lengthens_the_bulk_on_its_side_alone(skew):
    """Fewer cells are far out than would be with one deviation for both sides, more than with one for each."""
    column = np.exp(skew * norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    low, middle, high = np.quantile(column, [0.15, 0.5, 0.85])
    both = np.mean(np.abs(column - middle) > 3.5 * (high - low) / 2.0729)
    each = np.mean(column > middle + 3.5 * (high - middle) / 1.0364)
    assert each < far_share(column) < both
    assert far_share(-column) == far_share(column)


def test_gross_cells_on_one_side_are_far_out_all_the_same():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    X[:100] = rng.uniform(8, 12, (100, 1))
    scaled = inner_scaling(X).apply(X)
    assert Bulk.of(scaled).is_far(scaled)[:100].all()


def test_no_missing_cell_is_far_out_and_an_empty_column_has_a_bulk():
    X = np.full((20, 2), np.nan)
    X[:10, 0] = np.arange(10)
    bulk = Bulk.of(X)
    assert np.isfinite(bulk.low).all()
    assert np.isfinite(bulk.high).all()
    assert not bulk.is_far(X)[10:].any()


def test_only_zeros_with_next_to_nothing_else_are_unknown():
    column = np.zeros((6, 50))
    column[1, :4], column[2, :5], column[3, :] = 7.0, 7.0, 100.0
    column[3, 0], column[4, :48], column[5, :3] = 0.0, np.nan, -1.0
    assert find_unknown(column.T).tolist() == [False, True, False, False, False, True]


def test_columns_whose_cells_share_their_values_are_lumped():
    rng = np.random.default_rng(0)
    counts, smooth = rng.poisson(3.0, 3000).astype(float), rng.normal(size=3000)
    mixed = np.where(rng.random(3000) < 0.5, counts, smooth)
    holed = np.where(rng.random(3000) < 0.3, np.nan, counts)
    X = np.column_stack([counts, smooth, mixed, holed, np.full(3000, np.nan)])
    assert find_lumped(X).tolist() == [True, False, False, True, False]


def chance_table(far, member):
    return np.array([[np.sum(far & member), np.sum(~far & member)], [np.sum(far & ~member), np.sum(~far & ~member)]])


def test_cells_far_out_go_with_a_class_if_the_likelihood_ratio_of_a_table_says_so():
    rng = np.random.default_rng(0)
    codes = rng.choice([-1, 0, 1, 2], 600, p=[0.1, 0.6, 0.25, 0.05])
    rates = np.linspace(0.02, 0.6, 12)
    far = rng.random((600, 12)) < np.where((codes == 2)[:, None], rates, 0.02)
    known = codes >= 0
    found = go_with_classes(far, codes)
    for j in range(12):
        for k in range(3):
            table = chance_table(far[known, j], codes[known] == k)
            statistic = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
            odds = np.divide(*(table + 0.5).T[0] / (table + 0.5).T[1])
            enough = table[0, 0] >= max(5, 0.2 * table[0].sum())
            said = statistic / 2 > np.log(36 / margins.CHANCE) and odds > margins.ODDS and enough
            assert found[k, j] == said
    assert found[2, -1]
    assert not found[:, 0].any()


def test_a_bulk_reaches_as_far_as_a_class_does_and_no_farther_and_codes_are_no_look():
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(600) < 30, 1, 0)
    X = rng.normal(size=(600, 3))
    X[:30, 0] += 20.0
    X[100:103, 0] = 1e6
    X[:30, 1] = 999.0
    bulk = Bulk.of(X)
    found = reach_of_classes(X, bulk.is_far(X), codes, bulk)
    assert not found.is_far(X)[:30, 0].any()
    assert found.high[0] < 30.0
    assert found.is_far(X)[100:103, 0].all()
    assert (found.high[1], found.low[0]) == (bulk.high[1], bulk.low[0])


def test_gross_cells_of_other_classes_do_not_lengthen_the_reach_of_a_class():
    rng = np.random.default_rng(0)
    codes = np.where(np.arange(600) < 60, 1, 0)
    X = rng.normal(size=(600, 1))
    X[:60] += 20.0
    X[100:120] = np.linspace(500.0, 1000.0, 20)[:, None]
    bulk = Bulk.of(X)
    found = reach_of_classes(X, bulk.is_far(X), codes, bulk)
    assert not found.is_far(X)[:60].any()
    assert found.is_far(X)[100:120].all()


def test_errors_that_pass_the_end_in_the_class_on_their_side_do_not_go_with_it():
    rng = np.random.default_rng(0)
    codes = np.arange(3000) % 2
    X = rng.normal(size=(3000, 1)) + 4.0 * codes[:, None]
    wrong = rng.random(X.shape) < 0.1
    X[wrong] += 10.0 * rng.choice([-1.0, 1.0], int(wrong.sum()))
    bulk = Bulk.of(inner_scaling(X).apply(X))
    assert not go_with_classes(bulk.is_far(inner_scaling(X).apply(X)), codes).any()


def test_cells_far_out_that_fall_on_all_classes_alike_go_with_none():
    rng = np.random.default_rng(1)
    far, codes = rng.random((500, 200)) < 0.15, rng.integers(0, 5, 500)
    assert not go_with_classes(far, codes).any()
    assert not go_with_classes(far, np.full(500, -1)).any()
