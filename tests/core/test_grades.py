"""Columns of few values: marks, counts and codes."""

import numpy as np
import pytest

from unmuddle.core.grades import Grades, find_grades
from unmuddle.core.margins import Bulk
from unmuddle.estimators.scaling import inner_scaling


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
