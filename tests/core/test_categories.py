"""Categories in a normal model of rows: against linear discriminant analysis, and cells that were made wrong."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from unmuddle.core.categories import judge_categories, learn_categories
from unmuddle.core.cellwise import CellModel, Pairs, fit_cells
from unmuddle.core.margins import Bulk, Densities
from unmuddle.estimators.scaling import standard_scaling

N = 300


def rows_of(n_categories, apart, seed=0):
    """Codes, their columns of 0 and 1 (one for two categories), and four columns that depend on them."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(n_categories, N, p=rng.dirichlet(np.full(n_categories, 3.0)))
    codes[:n_categories] = np.arange(n_categories)
    others = apart * rng.normal(size=(n_categories, 4))[codes] + rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4))
    shown = np.eye(n_categories)[codes] if n_categories > 2 else codes[:, None].astype(float)
    return codes, shown, others


def exact_model(X, ridge=0.0):
    """The moments of the rows as they are."""
    covariance = np.cov(X.T, bias=True) + ridge * np.eye(X.shape[1])
    every = np.ones(X.shape, dtype=bool)
    return CellModel(
        X.mean(axis=0), covariance, np.linalg.inv(covariance), Densities.of(X, every), Bulk.of(X),
        Pairs.of(X, every, ()), np.zeros(X.shape[1]), np.ones(X.shape[1]), 0.5, 0.05, every[0],
    )  # fmt: skip


@pytest.mark.parametrize("n_categories", [2, 3, 6])
def test_chances_of_categories_are_those_of_discriminant_analysis(n_categories):
    codes, shown, others = rows_of(n_categories, 1.0)
    X = np.column_stack([shown, others])
    model = exact_model(X, ridge=1e-9 if n_categories > 2 else 0.0)
    (category,) = learn_categories(X, [np.arange(shown.shape[1])], model, X)
    deviations = X - model.mean
    found = np.exp(category.log_chances(deviations, deviations @ model.precision, model))
    order = [int(codes[(shown == level).all(axis=1)][0]) for level in category.levels]
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(others, codes).predict_proba(others)
    np.testing.assert_allclose(found, expected[:, order], atol=1e-4)


def judge(shown, others, blocks=None):
    X = np.column_stack([shown, others])
    blocks = [np.arange(shown.shape[1])] if blocks is None else blocks
    single = np.ones(X.shape[1], dtype=bool)
    single[np.concatenate(blocks)] = False
    X = standard_scaling(X).apply(X)
    model, judged = fit_cells(X, single=single)
    return judge_categories(X, learn_categories(X, blocks, model, judged.rows), model, judged)


@pytest.mark.parametrize("n_categories", [2, 5, 20])
def test_categories_that_have_nothing_to_do_with_the_rows_are_left_alone(n_categories):
    _, shown, others = rows_of(n_categories, 0.0)
    assert not judge(shown, others).wrong[:, : shown.shape[1]].any()


@pytest.mark.parametrize("n_categories", [2, 4])
def test_wrong_categories_are_found_and_put_right(n_categories):
    codes, shown, others = rows_of(n_categories, 6.0)
    spoilt = np.random.default_rng(1).permutation(N)[:30]
    given = codes.copy()
    given[spoilt] = (codes[spoilt] + 1) % n_categories
    wrongly = np.eye(n_categories)[given] if n_categories > 2 else given[:, None].astype(float)
    judged = judge(wrongly, others)
    found = np.flatnonzero(judged.wrong[:, 0])
    rightly = np.intersect1d(found, spoilt)
    assert len(rightly) >= 25
    assert len(found) - len(rightly) <= 3
    truth = standard_scaling(wrongly).apply(shown)[rightly]
    assert np.isclose(judged.rows[rightly, : shown.shape[1]], truth).all(axis=1).sum() >= 25


def test_the_order_of_categories_does_not_matter():
    _, shown, others = rows_of(5, 1.5)
    turned = [3, 0, 4, 1, 2]
    one, two = judge(shown, others), judge(shown[:, turned], others)
    np.testing.assert_allclose(one.log_odds[:, 0], two.log_odds[:, 0], atol=1e-5)
    np.testing.assert_array_equal(one.wrong[:, turned], two.wrong[:, :5])


def test_a_missing_category_is_not_wrong():
    _, shown, others = rows_of(3, 6.0)
    shown[:20] = np.nan
    judged = judge(shown, others)
    assert not judged.wrong[:20, :3].any()
    assert np.isneginf(judged.log_odds[:20, :3]).all()
