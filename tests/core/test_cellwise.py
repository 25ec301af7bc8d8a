"""The normal model with wrong cells: dense formulas of its covariance, and cells that were planted."""

import numpy as np
import pytest
from scipy.stats import t
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from unmuddle.core import cellwise, filling
from unmuddle.core.cellwise import Pairs, fit_cells, is_uneven, log_t
from unmuddle.core.filling import fill
from unmuddle.core.grades import Grades, find_grades
from unmuddle.estimators.scaling import inner_scaling

N, D = 800, 12


def correlated(n=N, d=D, seed=0, noise=0.3):
    """Rows of rank 2 with noise, every column of deviation 1."""
    rng = np.random.default_rng(seed)
    loadings = np.array([np.cos(np.arange(d)), np.sin(np.arange(d))])
    return (rng.normal(size=(n, 2)) @ loadings + noise * rng.normal(size=(n, d))) / np.sqrt(1 + noise**2)


def test_tails_of_residuals_are_those_of_students_t():
    rng = np.random.default_rng(0)
    residuals, variances = rng.normal(size=(5, 3)), rng.random((5, 3)) + 0.1
    found = log_t(residuals, variances)
    assert np.allclose(found, t.logpdf(residuals, 5, scale=np.sqrt(variances)))


def test_the_shares_of_wrong_cells_are_learned_from_their_evidence():
    """The evidence is a true log likelihood ratio of N(2, 1) to N(0, 1), so that the mixture is exact."""
    rng = np.random.default_rng(0)
    wrong, far = rng.random(60_000) < 0.2, np.arange(60_000) < 20_000
    wrong[far] = rng.random(20_000) < 0.7
    x = rng.normal(size=60_000) + 2 * wrong
    evidence = (2 * x - 2)[:, None]
    found = (0.5, 0.05)
    for _ in range(5):
        found = cellwise._learn_chances(evidence, np.ones_like(evidence, dtype=bool), far[:, None], found)
    assert found == pytest.approx((0.7, 0.2), abs=0.015)


def test_gross_cells_are_found_and_repaired():
    X, rng = correlated(), np.random.default_rng(1)
    bad = rng.random(X.shape) < 0.1
    spoilt = np.where(bad, rng.choice([-1, 1], X.shape) * rng.uniform(6, 12, X.shape), X)
    _, judged = fit_cells(spoilt)
    assert judged.wrong[bad].mean() > 0.99
    assert judged.wrong[~bad].mean() < 0.01
    assert np.sqrt(np.mean((judged.rows - X)[bad] ** 2)) < 0.4


def test_cells_swapped_within_their_column_stand_out_from_their_row():
    """Their columns have exactly the cells they had: only the other cells of a row can tell."""
    X, rng = correlated(noise=0.1), np.random.default_rng(1)
    bad, spoilt = rng.random(X.shape) < 0.02, X.copy()
    for j in range(D):
        spoilt[bad[:, j], j] = np.roll(X[bad[:, j], j], 1)
    changed = np.abs(spoilt - X) > 1.0
    _, judged = fit_cells(spoilt)
    ranks = judged.log_odds[~bad]
    above = np.searchsorted(np.sort(ranks), judged.log_odds[changed]) / len(ranks)
    assert above.mean() > 0.97
    assert judged.wrong[~bad].mean() < 0.02
    assert np.mean((judged.rows - X)[changed] ** 2) < 0.1 * np.mean((spoilt - X)[changed] ** 2)


def low_rank(seed=0, n=400, d=40, noise=0.1):
    """Rows of rank four, and the same with every seventh cell or so swapped within its column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) @ rng.normal(size=(4, d)) / 2 + noise * rng.normal(size=(n, d))
    bad, spoilt = rng.random(X.shape) < 0.15, X.copy()
    for j in range(d):
        spoilt[bad[:, j], j] = rng.permutation(X[bad[:, j], j])
    return X, spoilt, np.abs(spoilt - X) > 1.0, bad


@pytest.mark.parametrize("seed", range(3))
def test_many_swapped_cells_do_not_hide_behind_the_spread_that_they_make(seed):
    X, spoilt, changed, bad = low_rank(seed)
    _, judged = fit_cells(spoilt)
    assert judged.wrong[changed].mean() > 0.9
    assert judged.wrong[~bad].mean() < 0.01
    assert np.mean((judged.rows - X)[changed] ** 2) < 0.1 * np.mean((spoilt - X)[changed] ** 2)


def test_rows_of_another_kind_are_not_taken_for_wrong_cells():
    """A third of the rows have no structure; the others are of low rank, so the former contradict them everywhere."""
    X, *_ = low_rank()
    X[::3] = np.random.default_rng(1).permuted(X[::3], axis=0)
    _, judged = fit_cells(X)
    assert judged.wrong.mean() < 0.02


def test_wrong_cells_by_chance_are_even_and_crowded_ones_are_not():
    """Chance is told by the false alarms of a test of Pearson's index, at two deviations and a quarter."""
    rng = np.random.default_rng(0)
    judged = rng.random((200, 30)) < 0.9
    uneven = [is_uneven(judged & (rng.random(judged.shape) < 0.1), judged) for _ in range(200)]
    assert np.mean(uneven) < 0.02
    crowded = rng.random((200, 1)) < 0.3
    assert is_uneven(judged & crowded & (rng.random(judged.shape) < 0.3), judged)
    assert not is_uneven(np.zeros_like(judged), judged)
    assert not is_uneven(judged, judged)


def test_clean_normal_data_have_almost_no_wrong_cell():
    model, judged = fit_cells(correlated())
    assert judged.wrong.mean() < 0.003
    assert np.allclose(model.covariance, np.cov(correlated().T), atol=0.05)


def test_missing_cells_are_recovered_better_than_by_means_and_never_called_wrong():
    X = correlated()
    missing = np.random.default_rng(1).random(X.shape) < 0.2
    model, judged = fit_cells(np.where(missing, np.nan, X))
    error = np.sqrt(np.mean((judged.rows - X)[missing] ** 2))
    assert error < 0.5 * X[missing].std()
    assert not judged.wrong[missing].any()
    assert np.all(judged.log_odds[missing] == -np.inf)
    kept = ~missing & ~judged.wrong
    assert np.allclose(judged.rows[kept], X[kept], atol=1e-12)
    again = model.judge(np.where(missing, np.nan, X))
    assert np.sqrt(np.mean((again.rows - X)[missing] ** 2)) < 0.5 * X[missing].std()


def test_the_model_judges_new_rows_by_what_it_learned():
    model, _ = fit_cells(correlated())
    X, rng = correlated(200, seed=5), np.random.default_rng(6)
    bad = rng.random(X.shape) < 0.05
    judged = model.judge(np.where(bad, 12.0, X))
    assert judged.wrong[bad].mean() > 0.99
    assert judged.wrong[~bad].mean() < 0.01
    alone = model.judge(np.where(bad, 12.0, X)[:1])
    assert np.allclose(alone.rows, judged.rows[:1], atol=1e-9)


def test_a_row_without_any_cell_is_the_mean():
    X = correlated()
    X[3] = np.nan
    model, judged = fit_cells(X)
    assert np.allclose(judged.rows[3], model.mean, atol=1e-9)
    assert np.allclose(model.judge(X[3:4]).rows, model.mean, atol=1e-9)


def test_a_column_without_any_cell_leaves_the_others_as_they_were():
    X = correlated(seed=2)
    X[::50, 0] = 9.0
    model, judged = fit_cells(np.column_stack([X, np.full(N, np.nan)]))
    expected, alone = fit_cells(X)
    assert np.allclose(judged.rows[:, :D], alone.rows, atol=0.05)
    assert np.allclose(model.covariance[:D, :D], expected.covariance, atol=0.02)
    assert np.all(judged.rows[:, D] == judged.rows[0, D])
    assert model.covariance[D, D] == pytest.approx(1.0, abs=0.1)


def test_variances_count_what_is_not_known_of_missing_cells():
    """Columns that say nothing of each other: filled in with means alone, they would lose two fifths of it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    model, _ = fit_cells(np.where(rng.random(X.shape) < 0.4, np.nan, X))
    assert np.allclose(model.covariance, np.eye(4), atol=0.1)


def test_the_many_equal_cells_of_a_spiked_column_are_not_wrong():
    """The column explains each of them far better than its row does, for that is what a spike is."""
    X = np.column_stack([correlated(), np.where(np.random.default_rng(7).random(N) < 0.2, 2.0, 0.0)])
    model, judged = fit_cells(X)
    assert not judged.wrong[X[:, D] == 0, D].any()
    again = model.judge(X)
    assert not again.wrong[X[:, D] == 0, D].any()
    assert model.shift[D] > 0.5
    assert np.median(np.abs(again.log_odds - judged.log_odds)[:, D]) < 0.1


@pytest.mark.parametrize(
    "X",
    [
        np.column_stack([correlated(60), np.zeros(60)]),
        np.column_stack([correlated(60), correlated(60)]),
        correlated(60)[:, :1],
        correlated(1),
        np.zeros((4, 3)),
        np.full((4, 3), np.nan),
        correlated(20, 60),
    ],
    ids=["constant column", "duplicated columns", "one column", "one row", "zeros", "nothing", "wide"],
)
def test_odd_tables_give_finite_rows_and_keep_cells_that_are_not_wrong(X):
    model, judged = fit_cells(X)
    for found in (judged, model.judge(X)):
        assert np.isfinite(found.rows).all()
        assert not np.isnan(found.log_odds).any()
        kept = ~np.isnan(X) & ~found.wrong
        assert np.allclose(found.rows[kept], X[kept], atol=1e-9)


def test_stopping_early_changes_next_to_nothing(monkeypatch):
    """Against all rounds that are allowed; fewer than these are needed."""
    X = correlated()
    fills = []
    monkeypatch.setattr(cellwise, "fill", lambda *inputs: fills.append(0) or fill(*inputs))
    model, _ = fit_cells(X, rounds=40)
    assert len(fills) < 20
    monkeypatch.setattr(cellwise, "STILL", -1.0)
    expected, _ = fit_cells(X, rounds=40)
    assert len(fills) > 41
    assert np.allclose(model.covariance, expected.covariance, atol=1e-4)


def spoilt_table():
    rng = np.random.default_rng(3)
    X = correlated(150)
    X[rng.random(X.shape) < 0.1] = 7.0
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def test_results_do_not_depend_on_how_many_rows_are_filled_together(monkeypatch):
    _, expected = fit_cells(spoilt_table())
    monkeypatch.setattr(filling, "BATCH", 50)
    _, found = fit_cells(spoilt_table())
    assert np.array_equal(found.wrong, expected.wrong)
    assert np.allclose(found.rows, expected.rows, atol=1e-9)


def test_reordered_rows_and_columns_give_reordered_results():
    X, rng = spoilt_table(), np.random.default_rng(4)
    rows, columns = rng.permutation(len(X)), rng.permutation(D)
    _, expected = fit_cells(X)
    _, found = fit_cells(X[np.ix_(rows, columns)])
    assert np.array_equal(found.wrong, expected.wrong[np.ix_(rows, columns)])
    assert np.allclose(found.rows, expected.rows[np.ix_(rows, columns)], atol=1e-8)
    seen = np.isfinite(found.log_odds)
    assert np.allclose(found.log_odds[seen], expected.log_odds[np.ix_(rows, columns)][seen], atol=1e-7)


def test_a_column_of_two_values_is_judged_by_discriminant_analysis():
    """Its odds are those of the share of a value against its chance given the rest of the row."""
    rng = np.random.default_rng(0)
    codes = (rng.random(400) < 0.3).astype(int)
    codes[:2] = 0, 1
    others = np.outer(codes, [1.0, 0.5, -1.0]) + rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
    X = np.column_stack([codes, others])
    mean, S, every = X.mean(axis=0), np.cov(X.T, bias=True), np.ones(X.shape, dtype=bool)
    pairs = Pairs.of(X, every, (Grades(0, np.array([0.0, 1.0]), 0.0, 1.0, strict=True),))
    found = pairs.evidence(X, fill(X, every, mean, np.linalg.inv(S)), mean, np.diag(S))[:, 0]
    chances = LinearDiscriminantAnalysis(solver="lsqr").fit(others, codes).predict_proba(others)
    shares = np.bincount(codes) / len(codes)
    expected = np.log(shares[codes]) - np.log(chances[np.arange(400), codes])
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_columns_that_go_with_no_other_keep_their_tails_and_rare_values():
    """Nothing in a row says that its cells are wrong, and none is far off."""
    rng = np.random.default_rng(0)
    marks = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 600, p=[0.01, 0.02, 0.9, 0.04, 0.03])
    rare = (rng.random(600) < 0.02).astype(float)
    X = np.column_stack([rng.exponential(size=600), rng.gamma(2.0, size=600), rng.poisson(1.5, 600), marks, rare])
    scaling = inner_scaling(X)
    grades = find_grades(X, range(5))
    assert [each.column for each in grades] == [2, 3, 4]
    graded = tuple(each.scale(scaling.centre[each.column], scaling.scale[each.column]) for each in grades)
    _, judged = fit_cells(scaling.apply(X), graded=graded)
    assert not judged.wrong[:, 2:].any()
    assert judged.wrong[:, :2].mean() < 0.025
    assert fit_cells(scaling.apply(X))[1].wrong[:, 3:].mean() > 0.05  # as numbers like any others
