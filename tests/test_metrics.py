"""The five scores against their definitions, by loops and closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmuddle.errors import InvalidDataError
from unmuddle.metrics import Ranking, accuracy, cell_detection, feature_error, label_error_ranking, labels_right

BRIEF = settings(max_examples=100, deadline=None)
# Few values, so that ties are many; at least one row of each sort.
RANKINGS = st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=2, max_size=30).filter(
    lambda rows: len({changed for changed, _ in rows}) == 2
)


def apart(rows):
    changed, scores = zip(*rows, strict=True)
    return np.array(changed), np.array(scores, dtype=float)


def auc_by_pairs(changed, scores):
    """Count every pair of a changed and an unchanged row."""
    wins = [
        1.0 if a > b else 0.5 if a == b else 0.0
        for a, is_changed in zip(scores, changed, strict=True)
        if is_changed
        for b, other in zip(scores, changed, strict=True)
        if not other
    ]
    return sum(wins) / len(wins)


def average_precision_by_rows(changed, scores):
    """The mean over changed rows of the precision among all rows that score as high or higher."""
    precisions = []
    for score, is_changed in zip(scores, changed, strict=True):
        if is_changed:
            above = [flag for flag, other in zip(changed, scores, strict=True) if other >= score]
            precisions.append(sum(above) / len(above))
    return sum(precisions) / len(precisions)


# ----------------------------------------------------------------------------------------------------------------
# Rankings


@BRIEF
@given(RANKINGS)
def test_rankings_agree_with_counting(rows):
    changed, scores = apart(rows)
    ranking = label_error_ranking(changed, scores)
    assert ranking.auc == pytest.approx(auc_by_pairs(changed, scores), abs=1e-12)
    assert ranking.average_precision == pytest.approx(average_precision_by_rows(changed, scores), abs=1e-12)
    assert cell_detection(changed[:, None], scores[:, None]) == pytest.approx(ranking.auc, abs=1e-12)


@BRIEF
@given(RANKINGS)
def test_only_the_order_of_scores_matters(rows):
    changed, scores = apart(rows)
    plain = label_error_ranking(changed, scores)
    for monotone in (np.exp, np.arctan, lambda s: 1e6 * s - 5.0, lambda s: s**3):
        assert label_error_ranking(changed, monotone(scores)) == plain
    assert label_error_ranking(changed, -scores).auc == pytest.approx(1 - plain.auc, abs=1e-12)


def test_the_best_the_worst_and_the_uninformed_ranking():
    """With p of n rows changed: all first gives 1; all last gives the mean of k / (n - p + k); no order gives p / n."""
    changed = np.array([True] * 3 + [False] * 7)
    assert label_error_ranking(changed, changed.astype(float)) == Ranking(1.0, 1.0)
    last = label_error_ranking(changed, [-1, -2, -3, 0, 0, 0, 0, 0, 0, 0])
    assert last.auc == 0.0
    assert last.average_precision == pytest.approx((1 / 8 + 2 / 9 + 3 / 10) / 3)
    tied = label_error_ranking(changed, np.zeros(10))
    assert tied.auc == 0.5
    assert tied.average_precision == pytest.approx(0.3)


@pytest.mark.parametrize("all_or_none", [True, False])
def test_a_ranking_without_two_sides_is_nan(all_or_none):
    ranking = label_error_ranking(np.full(4, all_or_none), np.arange(4.0))
    assert math.isnan(ranking.auc)
    assert math.isnan(ranking.average_precision)
    assert math.isnan(cell_detection(np.full((2, 2), all_or_none), np.eye(2)))


def test_cells_are_compared_over_the_whole_matrix():
    changed = np.array([[True, False, False], [False, False, True]])
    scores = np.array([[3.0, 1.0, 2.0], [9.0, 3.0, 8.0]])
    assert cell_detection(changed, scores) == auc_by_pairs(changed.ravel(), scores.ravel()) == 5.5 / 8
    assert cell_detection(changed.T, scores.T) == cell_detection(changed, scores)


# ----------------------------------------------------------------------------------------------------------------
# Shares and errors


@pytest.mark.parametrize("share", [accuracy, labels_right])
@pytest.mark.parametrize("as_label", [int, str, float])
def test_shares_count_equal_labels(share, as_label):
    truth, given = [1, 2, 3, 1, 2, 2, 1, 3], [1, 2, 1, 1, 3, 2, 2, 3]
    expected = 5 / 8
    assert share([as_label(v) for v in truth], [as_label(v) for v in given]) == expected
    mixed = np.array([as_label(v) for v in given], dtype=object)
    assert share(np.array([as_label(v) for v in truth]), mixed) == expected
    assert share(truth, truth) == 1.0


@BRIEF
@given(st.floats(-3, 3), st.integers(0, 2**32))
def test_feature_error_of_a_multiple_is_known(factor, seed):
    """|cX - X| / |X| = |c - 1|."""
    X = np.random.default_rng(seed).normal(size=(6, 4))
    assert feature_error(X, factor * X) == pytest.approx(abs(factor - 1), abs=1e-12)


def test_feature_error_is_the_root_of_summed_squares():
    truth, found = np.random.default_rng(0).normal(size=(2, 5, 3))
    above = sum((a - b) ** 2 for a, b in zip(truth.ravel(), found.ravel(), strict=True))
    below = sum(a**2 for a in truth.ravel())
    assert feature_error(truth, found) == pytest.approx(math.sqrt(above / below), rel=1e-12)
    assert feature_error(100 * truth, 100 * found) == pytest.approx(feature_error(truth, found), rel=1e-12)


def test_feature_error_of_half_precision_does_not_overflow():
    X = np.full((100, 100), 1000.0, dtype=np.float16)
    assert feature_error(X, 2 * X) == pytest.approx(1.0, rel=1e-12)


def test_feature_error_relative_to_nothing_is_nan():
    assert math.isnan(feature_error(np.zeros((2, 2)), np.eye(2)))


# ----------------------------------------------------------------------------------------------------------------
# Refusals

MASK, SCORES = np.array([True, False, True]), np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: accuracy([1, 2], [1, 2, 3]), ["y_true and y_pred", "(2,)", "(3,)"]),
        (lambda: labels_right([1, 2], [[1], [2]]), ["repaired", "(2, 1)", "ravel"]),
        (lambda: accuracy([], []), ["y_true", "(0,)"]),
        (lambda: accuracy(["1", "2"], [1, 2]), ["y_true and y_pred", "one kind", "int64", "astype"]),
        (lambda: label_error_ranking(MASK, SCORES[:2]), ["changed and scores", "(3,)", "(2,)"]),
        (lambda: label_error_ranking([1, 0, 1], SCORES), ["changed", "mask", "int64", "astype"]),
        (lambda: label_error_ranking(MASK, [1.0, np.nan, 2.0]), ["scores", "finite", "[1]"]),
        (lambda: label_error_ranking(MASK, [1.0, 2.0, np.inf]), ["scores", "finite", "[2]"]),
        (lambda: label_error_ranking(MASK, ["a", "b", "c"]), ["scores", "numbers"]),
        (lambda: label_error_ranking(MASK[:, None], SCORES[:, None]), ["scores", "1 dimension", "(3, 1)"]),
        (lambda: cell_detection(MASK, SCORES), ["scores", "2 dimension", "(3,)"]),
        (lambda: cell_detection(np.eye(2, dtype=bool), np.full((2, 2), np.nan)), ["scores", "4 are NaN", "[0, 0]"]),
        (lambda: feature_error(np.eye(2), np.eye(3)), ["X_true and X_recovered", "(2, 2)", "(3, 3)"]),
        (lambda: feature_error(np.eye(2), np.diag([1, np.nan])), ["X_recovered", "1 are NaN", "[1, 1]", "Impute"]),
        (lambda: feature_error(np.full((2, 2), np.inf), np.eye(2)), ["X_true", "finite"]),
    ],
)
def test_bad_input_is_refused_in_words(call, words):
    with pytest.raises(InvalidDataError) as raised:
        call()
    for word in words:
        assert word in str(raised.value)
