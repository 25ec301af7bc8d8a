"""Columns by themselves: kernel estimates, normal and skewed samples, marks and counts."""

import numpy as np
import pytest
from scipy.stats import cauchy, chi2_contingency, false_discovery_control, gaussian_kde, norm
from scipy.stats import t as student

from unmuddle.core import margins
from unmuddle.core.margins import (
    Bulk,
    Densities,
    Grades,
    Tails,
    find_grades,
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


NORMAL = norm.ppf((np.arange(20_000) + 0.5) / 20_000)
LAST = norm.isf(0.05 / 20_000)
"""Beyond this one cell alone would be more than a normal tail has, at a false discovery rate of 0.05."""


@pytest.mark.parametrize(
    ("column", "end"),
    [
        (np.exp(10 + 0.8 * NORMAL), np.exp(10 + 0.8 * LAST)),
        ((9 + NORMAL) ** 2, (9 + LAST) ** 2),
        (100 + 8 * NORMAL, 100 + 8 * LAST),
        (np.r_[np.zeros(50_000), np.exp(NORMAL)], np.exp(LAST)),
        (np.r_[np.full(500, -99.0), np.exp(NORMAL)], np.exp(LAST)),
    ],
    ids=["logarithms", "roots", "as they are", "mostly zero", "a few negative"],
)
def test_a_tail_ends_where_it_would_on_the_scale_on_which_a_column_is_normal(column, end):
    tails = Tails.of(column[:, None])
    assert tails.depth(np.array([[end]]))[0, 0] == pytest.approx(1.0, rel=0.01)
    assert tails.depth(np.array([[-1.0], [np.quantile(column[column > 0], 0.3)]])).tolist() == [[0.0], [0.0]]
    cells = np.geomspace(np.median(column[column > 0]), 100 * end, 50)[:, None]
    assert (np.diff(tails.depth(cells), axis=0) > 0).all()
    assert np.allclose(Tails.of(1000 * column[:, None]).depth(1000 * cells), tails.depth(cells))


@pytest.mark.parametrize(("right", "gross"), [(2000, 60), (40, 6)])
def test_a_tail_ends_where_scipy_finds_more_cells_than_a_normal_one_has(right, gross):
    logs = np.r_[np.random.default_rng(0).normal(size=right), np.linspace(3.0, 6.0, gross)]
    depth = Tails.of(np.exp(logs)[:, None]).depth(np.exp(logs)[:, None])[:, 0]
    found = []
    for share in (0.75, 0.85):
        low, middle, high = np.quantile(logs, [1 - share, 0.5, share])
        assert high - middle > middle - low  # more skewed than logarithms make even, so these are taken
        deviation = np.sqrt((high - middle) * (middle - low)) / norm.ppf(share)
        chances = student(0.37 * (len(logs) - 1)).sf((logs - middle) / deviation)
        found.append(false_discovery_control(chances) <= 0.05)
    assert np.array_equal(depth > 1.0, max(found, key=np.sum))
    assert gross / 2 <= np.sum(depth > 1.0) <= gross


def test_columns_of_either_sign_and_those_without_amounts_have_no_tail():
    X = np.column_stack([np.zeros(100), np.full(100, np.nan), np.linspace(-1, 9, 100)])
    assert np.isinf(Tails.of(X).depth(X)).all()


def test_amounts_that_are_all_alike_may_be_many_times_as_large_only_where_most_cells_are_zero():
    few, most = (np.repeat([0.0, 1 / 9], counts)[:, None] for counts in ([80, 20], [20, 80]))
    end = 2 ** student(0.37 * 19).isf(0.05 / 20) / 9
    at = np.array([[1 / 9], [3 / 9], [end], [2.0]])
    assert np.allclose(Tails.of(few).depth(at[:3])[:, 0], [0.0, np.log(3) / np.log(9 * end), 1.0])
    assert (Tails.of(most).depth(at)[:, 0] > 1.0).tolist() == [False, True, True, True]


def test_one_gross_cell_does_not_lengthen_a_tail():
    column = 100 + NORMAL[::50]
    ends = [Tails.of(np.r_[column, gross][:, None]).depth(np.array([[106.0]])) for gross in (1e3, 1e6, 1e12)]
    assert ends[0] > 1.0
    assert np.ptp(ends) < 1e-9


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
def test_amounts_a_thousand_times_too_small_are_below_all_others_and_small_ones_are_not(unit):
    rng = np.random.default_rng(0)
    X = unit * np.exp(rng.normal(0.0, 0.6, (400, 2)))
    X[:3, 0] /= 1000.0
    X[3:5, 1] = -999.0 * unit  # a code
    X[5, 1] = 0.0
    X[6] /= 1000.0  # all of it is small
    wrong = np.zeros(X.shape, dtype=bool)
    wrong[:3, 0] = wrong[3:5, 1] = True
    tails = Tails.of(X)
    assert (tails.too_small(X) == wrong).all()
    assert (tails.depth_below(X)[wrong] > 1.0).all()
    lowest = X[7:].min(axis=0)
    assert tails.too_small(np.array([lowest / 2.0, [lowest[0] / 100.0, unit]])).tolist() == [
        [False, False],
        [True, False],
    ]


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.gamma(0.5, 10.0, 1000),
        lambda rng: rng.exponential(5.0, 1000),
        lambda rng: 10.0 ** rng.uniform(-3.0, 3.0, 1000),
        lambda rng: np.exp(rng.standard_t(4, 1000)),
        lambda rng: rng.beta(0.5, 0.5, 1000),
        lambda rng: rng.normal(4.0, 1.5, 1000),
        lambda rng: np.round(rng.gamma(2.0, 3.0, 1000)),
        lambda rng: np.where(rng.random(1000) < 0.1, rng.integers(1, 8, 1000), rng.integers(30, 60, 1000)),
    ],
)
def test_no_amount_of_a_column_as_it_grew_is_too_small(draw):
    for seed in range(5):
        column = draw(np.random.default_rng(seed))[:, None].astype(float)
        assert not Tails.of(column).too_small(column).any()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: 1000.0 * (rng.pareto(1.5, 500) + 1.0),
        lambda rng: 1000.0 * (rng.pareto(3.0, 500) + 1.0),
        lambda rng: 2000.0 + rng.lognormal(6.0, 1.2, 500),
        lambda rng: 20.0 + 10.0 * rng.pareto(2.0, 500),
        lambda rng: 500.0 + rng.exponential(200.0, 500),
    ],
)
def test_a_long_tail_over_a_floor_goes_on_and_what_is_far_beyond_it_does_not(draw):
    for seed in range(4):
        column = draw(np.random.default_rng(seed))[:, None]
        tails = Tails.of(column)
        assert (tails.depth(column) > 1.0).sum() <= 5  # of 500; by logarithms as they are 13 to 26
        assert tails.depth(1e4 * column.max(keepdims=True))[0, 0] > 1.0


def test_the_tail_of_classes_apart_is_the_shorter_one():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(1000) < 0.6, 3 + 0.5 * rng.normal(size=1000), 9 + rng.normal(size=1000))
    assert column.max() < 13
    column[:4] = 25.0
    assert Tails.of(column[:, None]).depth(column[:4, None]).min() > 1.0


@pytest.mark.filterwarnings("error")
def test_tails_of_amounts_of_any_size_give_no_warning():
    tiny, huge = np.geomspace(1e-320, 1e-290, 100), np.geomspace(1e-300, 1e300, 100)
    X = np.column_stack([tiny, huge, np.r_[tiny[:60], huge[60:]], np.full(100, 5e-324)])
    tails = Tails.of(X)
    assert (tails.depth(X) >= 0).all()
    assert not np.isnan(tails.even(np.full((2, 4), 1e308))[:, 1]).any()


def test_only_zeros_with_next_to_nothing_else_are_unknown():
    column = np.zeros((6, 50))
    column[1, :4], column[2, :5], column[3, :] = 7.0, 7.0, 100.0
    column[3, 0], column[4, :48], column[5, :3] = 0.0, np.nan, -1.0
    assert find_unknown(column.T).tolist() == [False, True, False, False, False, True]


def grades_of(*columns):
    X = np.column_stack(columns)
    return {each.column: each for each in find_grades(X, range(X.shape[1]))}


def test_columns_of_few_numbers_are_grades_but_a_single_odd_cell_is_none():
    rare, odd, two = np.zeros(50), np.full(50, 7.0), np.repeat([2.5, 9.1], 25)
    rare[3], odd[3] = 1.0, 700.0
    thirds, halves, marks = (
        np.tile([1 / 3, 2 / 3, 1.0], 17)[:50],
        np.tile([0.5, 1.0, 2.5], 17)[:50],
        np.arange(50) % 5.0,
    )
    marks[7] = 99.0
    found = grades_of(np.arange(50.0), rare, odd, two, np.full(50, np.nan), np.ones(50), thirds, halves, marks)
    assert {column: each.levels.tolist() for column, each in found.items()} == {
        1: [0.0, 1.0],
        3: [2.5, 9.1],
        6: [1 / 3, 2 / 3, 1.0],
        7: [0.5, 1.0, 2.5],
        8: [0.0, 1.0, 2.0, 3.0, 4.0],
    }
    assert [each.strict for each in found.values()] == [True, True, False, False, False]


def test_a_stray_cell_does_not_make_grades_numbers_like_any_others():
    yes, marks = np.repeat([0.0, 1.0], [90, 10]), np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    yes[0], marks[0] = 0.37, 3.7
    found = grades_of(yes, marks)
    assert found[0].levels.tolist() == [0.0, 1.0]
    assert not found[0].strict
    assert found[1].levels.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_amounts_among_zeros_are_no_grades_for_a_few_whole_numbers():
    assert not grades_of(np.r_[np.zeros(980), np.linspace(0.13, 9.1, 18), 2.0, 8.0])


def test_rare_grades_are_in_the_bulk_and_codes_far_off_are_not():
    column = np.repeat([3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 19.0], [900, 20, 30, 40, 2, 1, 7])
    grades = grades_of(column)[0]
    assert grades.levels.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    scaling = inner_scaling(column[:, None])
    scaled = scaling.apply(column[:, None])
    graded = (grades.scale(float(scaling.centre[0]), float(scaling.scale[0])),)
    assert np.unique(column[Bulk.of(scaled, graded).is_far(scaled)[:, 0]]).tolist() == [19.0]
    assert np.unique(column[Bulk.of(scaled).is_far(scaled)[:, 0]]).tolist() == [6.0, 19.0]


def test_cells_snap_to_the_nearest_grade():
    cells = np.random.default_rng(0).uniform(-3, 12, 200)
    levels = np.array([0.0, 1.0, 2.0, 7.0])
    expected = levels[np.abs(cells[:, None] - levels).argmin(axis=1)]
    assert np.array_equal(Grades(0, levels, 0.0, 7.0, strict=False).snap(cells), expected)


def test_columns_whose_cells_share_their_values_are_lumped():
    rng = np.random.default_rng(0)
    counts, smooth = rng.poisson(3.0, 3000).astype(float), rng.normal(size=3000)
    mixed = np.where(rng.random(3000) < 0.5, counts, smooth)
    holed = np.where(rng.random(3000) < 0.3, np.nan, counts)
    X = np.column_stack([counts, smooth, mixed, holed, np.full(3000, np.nan)])
    assert find_lumped(X).tolist() == [True, False, False, True, False]


@pytest.mark.parametrize(
    ("values", "shares"),
    [
        ([19, 7, 0], [0.85, 0.1, 0.05]),
        ([200, 304, 404, 500], [0.9, 0.06, 0.03, 0.01]),
        ([0.19, 0.07, 0.0], [0.9, 0.06, 0.04]),
        ([9.99, 19.99, 49.99, 99.99], [0.6, 0.3, 0.06, 0.04]),
    ],
)
def test_numbers_that_are_met_often_are_values_of_their_column_however_far_apart(values, shares):
    column = np.random.default_rng(0).choice(values, 1000, p=shares).astype(float)
    (grades,) = find_grades(column[:, None], [0])
    assert sorted(grades.levels) == sorted(values)
    assert grades.low <= min(values) <= max(values) <= grades.high


@pytest.mark.parametrize(("code", "share"), [(99, 0.05), (-1, 0.05), (999, 0.002), (77, 0.002)])
def test_what_people_write_for_nothing_is_no_grade_nor_is_a_rare_number_far_off(code, share):
    column = np.random.default_rng(0).choice([2, 3, 4, 5, code], 1000, p=[0.4, 0.3, 0.2, 0.1 - share, share])
    (grades,) = find_grades(column[:, None].astype(float), [0])
    assert grades.levels.tolist() == [2, 3, 4, 5]
    assert not grades.low <= code <= grades.high


@pytest.mark.parametrize("values", [[0.0], [-1.4, 0.7], [0.0, 1.0]])
def test_errors_of_one_size_up_and_down_make_no_values_of_their_own(values):
    rng = np.random.default_rng(0)
    right, off = rng.choice(values, 1000), rng.random(1000) < 0.15
    column = right + 8.0 * np.where(off, rng.choice([-1.0, 1.0], 1000), 0.0)
    for each in find_grades(column[:, None], [0]):
        assert not ((column >= each.low) & (column <= each.high) & off).any()


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


@pytest.mark.parametrize("odd", [77.0, 888.0, -77.0, 50.0, 1e6])
def test_a_number_many_times_as_large_as_the_marks_is_none_however_common(odd):
    column = np.random.default_rng(0).integers(1, 6, 500).astype(float)
    column[:10] = odd
    (grades,) = find_grades(column[:, None], [0])
    assert grades.levels.tolist() == [1, 2, 3, 4, 5]


def test_many_strays_among_marks_take_no_square_of_memory():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(200_000) < 0.045, rng.integers(6, 10**7, 200_000), rng.integers(1, 6, 200_000))
    (grades,) = find_grades(column[:, None].astype(float), [0])
    assert grades.levels.tolist() == [1, 2, 3, 4, 5]


def test_cells_far_out_that_fall_on_all_classes_alike_go_with_none():
    rng = np.random.default_rng(1)
    far, codes = rng.random((500, 200)) < 0.15, rng.integers(0, 5, 500)
    assert not go_with_classes(far, codes).any()
    assert not go_with_classes(far, np.full(500, -1)).any()
