"""Columns of amounts: where normal tails would end, and where scipy finds more than they have."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control, norm
from scipy.stats import t as student

from unmuddle.core.tails import Tails

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


@pytest.mark.parametrize("width", [1.3, 2.0])
def test_wide_amounts_reach_far_down_and_what_is_a_thousand_times_smaller_still_is_too_small(width):
    rng = np.random.default_rng(1)
    X = np.exp(rng.normal(0.0, width, (500, 2)))
    assert X.min() < 1 / 30
    assert not Tails.of(X).too_small(X).any()
    wrong = np.zeros(X.shape, dtype=bool)
    wrong[:4, 0] = True
    X[:4, 0] = 1e-5 * np.array([1.0, 2.0, 3.0, 5.0])
    assert (Tails.of(X).too_small(X) == wrong).all()


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
def test_an_amount_too_small_to_be_divided_by_gives_no_warning():
    column = 1e200 * np.linspace(0.5, 2.0, 50)[:, None]
    column[0] = 1e-200
    assert not Tails.of(column).too_small(column)[1:].any()


@pytest.mark.filterwarnings("error")
def test_tails_of_amounts_of_any_size_give_no_warning():
    tiny, huge = np.geomspace(1e-320, 1e-290, 100), np.geomspace(1e-300, 1e300, 100)
    X = np.column_stack([tiny, huge, np.r_[tiny[:60], huge[60:]], np.full(100, 5e-324)])
    tails = Tails.of(X)
    assert (tails.depth(X) >= 0).all()
    assert not np.isnan(tails.even(np.full((2, 4), 1e308))[:, 1]).any()
