"""Engines recover rows, by themselves the same as together, and leave what is right."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine

from cleaning.planted import planted
from unmuddle import HybridCleaner, RobustPCA
from unmuddle.cleaning.engines import MOST_COLUMNS, Gaussian, Nothing, Transformer, make_engine
from unmuddle.cleaning.heads import make_folds

PROBLEM = planted(120, gross=0.04)
WRONG = PROBLEM.features != PROBLEM.X
HOLES = PROBLEM.X.copy()
HOLES[5, 1] = HOLES[70, 6] = np.nan
FOLDS = make_folds(PROBLEM.y, seed=0)
ENGINES = [Gaussian(), Gaussian(common_units=True), make_engine("rpca", False, 8), Nothing()]


@pytest.fixture(scope="module", params=ENGINES, ids=["gaussian", "common units", "rpca", "nothing"])
def recovered(request):
    return request.param.fit(HOLES, PROBLEM.y, FOLDS)


def test_views_keep_what_they_promise(recovered):
    _, found = recovered
    missing = np.isnan(HOLES)
    for view in found.views.values():
        assert view.shape == HOLES.shape
        assert np.isfinite(view).all()
    assert np.array_equal(found.views["raw"][~missing], HOLES[~missing])
    replaced = found.views["imputed"] != found.views["raw"]
    assert np.array_equal(found.views["imputed"][replaced], found.repaired[replaced])
    assert np.array_equal(np.isnan(found.chances), missing)
    assert (found.scores[missing] == found.scores.min()).all()


def test_new_rows_are_recovered_each_by_itself(recovered):
    fitted, _ = recovered
    together = fitted.recover(HOLES[:6])
    for row in range(6):
        alone = fitted.recover(HOLES[[row]])
        for name, view in alone.views.items():
            assert np.allclose(view[0], together.views[name][row], atol=1e-6)


@pytest.mark.parametrize("engine", ENGINES[:3], ids=["gaussian", "common units", "rpca"])
def test_planted_cells_are_found_and_brought_nearer(engine):
    fitted, found = engine.fit(PROBLEM.X, PROBLEM.y, FOLDS)
    ranks = found.scores.ravel().argsort().argsort().reshape(found.scores.shape)
    assert ranks[WRONG].mean() > 0.9 * ranks.size
    assert (found.chances[WRONG] > 0.5).mean() > 0.8
    assert (found.chances[~WRONG] > 0.5).mean() < 0.06
    gap = np.abs(PROBLEM.X - PROBLEM.features)[WRONG]
    assert np.median(np.abs(found.repaired - PROBLEM.features)[WRONG]) < 0.2 * np.median(gap)
    assert fitted.judges_cells
    assert (fitted.noise() >= 0).all()


def test_the_noise_level_of_a_gaussian_engine_is_near_the_planted_one():
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 10))
    fitted, _ = Gaussian(common_units=True).fit(factors + 0.3 * rng.normal(size=factors.shape), np.zeros(400), [])
    assert np.allclose(fitted.noise(), 0.3, atol=0.05)


def test_incomes_in_a_long_tail_stay_and_those_in_cents_do_not():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=400)
    X = np.column_stack([shared, np.exp(10 + 0.4 * shared + 0.6 * rng.normal(size=400)), rng.exponential(size=400)])
    X[:4, 1] *= 100
    fitted, found = Gaussian().fit(X, np.zeros(400), [])
    wrong = found.chances > 0.5
    assert wrong[:4, 1].all()
    assert wrong[4:].sum() <= 2
    richest = np.argsort(X[4:, 1])[-10:] + 4
    assert np.array_equal(found.views["imputed"][richest, 1], X[richest, 1])
    by_depth = np.argsort(fitted.tails.depth(X[richest])[:, 1])
    assert (np.diff(found.scores[richest, 1][by_depth]) >= 0).all()


def test_rows_with_amounts_in_a_tail_are_no_farther_than_without_them():
    X = np.exp(np.random.default_rng(0).normal(size=(400, 5)))
    fitted, found = Gaussian().fit(X, np.zeros(400), [])
    assert np.mean(fitted.distances(found.views["imputed"]) > chi2(5).isf(1e-4)) < 0.01


def test_a_row_that_contradicts_an_amount_is_heard_and_the_more_the_farther():
    rng = np.random.default_rng(1)
    X = np.exp(0.8 * rng.normal(size=(3000, 1)) + 0.1 * rng.normal(size=(3000, 5)))
    usual = np.argsort(np.abs(X[:, 0] - 1.0))[:6]
    found = []
    for times in (10, 20, 40, 100):
        wrong = X.copy()
        wrong[usual, 0] *= times
        found.append(np.mean(Gaussian().fit(wrong, np.zeros(3000), [])[1].chances[usual, 0]))
    assert min(found) > 0.5
    assert found == sorted(found)


@pytest.mark.parametrize("name", ["A", "Z"])
def test_a_category_is_judged_whatever_its_place_and_its_columns_are_replaced_together(name):
    rng = np.random.default_rng(0)
    codes = rng.choice(4, 600, p=[0.08, 0.32, 0.3, 0.3])
    numbers = 6.0 * np.eye(4)[codes] + 0.5 * rng.normal(size=(600, 4))
    given = codes.copy()
    wrong = np.flatnonzero(codes == 2)[:10]
    given[wrong] = 0
    order = [0, 1, 2, 3] if name == "A" else [1, 2, 3, 0]
    X = np.column_stack([numbers, np.eye(4)[given][:, order]])
    found = Gaussian(blocks=((4, 8),)).fit(X, np.zeros(600), [])[1]
    assert (found.chances[wrong, 4] > 0.5).sum() >= 9
    seen = found.views["imputed"][wrong][found.chances[wrong, 4] > 0.5, 4:]
    assert np.allclose(seen, np.eye(4)[2][order])


def test_what_few_rows_have_beside_zeros_is_not_judged_but_has_a_score():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(100, 3)), np.zeros(100)])
    X[:3, 3] = 7.0
    fitted, found = Gaussian().fit(X, np.zeros(100), [])
    new = np.zeros((4, 4))
    new[:, 3] = 0.1, 7.0, 1e6, -1.0
    for rows, seen in ((X, found), (new, fitted.recover(new))):
        assert np.isfinite(seen.scores).all()
        assert (seen.chances[:, 3] < 0.01).all()
        assert np.array_equal(seen.views["imputed"][:, 3], rows[:, 3])


def test_distances_are_mahalanobis_for_the_fitted_model():
    fitted, found = Gaussian().fit(PROBLEM.features, PROBLEM.y, FOLDS)
    rows = found.views["imputed"]
    scaled = (rows - fitted.scaling.centre) / fitted.scaling.scale - fitted.model.mean
    expected = [row @ np.linalg.solve(fitted.model.covariance, row) for row in scaled]
    assert np.allclose(fitted.distances(rows), expected, rtol=1e-6)


def test_nothing_is_the_median_in_missing_cells_and_judges_no_cell():
    fitted, found = Nothing().fit(HOLES, PROBLEM.y, FOLDS)
    assert found.repaired[5, 1] == np.nanmedian(HOLES[:, 1])
    assert not fitted.judges_cells
    assert fitted.noise() is None
    assert (found.chances[~np.isnan(HOLES)] == 0).all()


class Spy(TransformerMixin, BaseEstimator):
    """Gives every row the mean of the training rows and remembers which rows it was fitted to."""

    fitted_to: list = []  # noqa: RUF012 - shared by clones

    def fit(self, X, y=None):
        self.fitted_to.append((X, y))
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return np.tile(self.mean_, (len(X), 1))


def test_a_transformer_that_uses_labels_recovers_no_row_it_was_fitted_to():
    Spy.fitted_to.clear()
    _, found = Transformer(Spy(), "spy", uses_labels=True).fit(PROBLEM.X, PROBLEM.y, FOLDS)
    for train, test in FOLDS:
        assert np.allclose(found.views["denoised"][test], PROBLEM.X[train].mean(axis=0))
    assert [len(rows) for rows, _ in Spy.fitted_to] == [120, *[len(train) for train, _ in FOLDS]]


def test_a_transformer_that_takes_no_missing_cells_gets_medians():
    Spy.fitted_to.clear()
    fitted, _ = Transformer(Spy(), "spy").fit(HOLES, PROBLEM.y, FOLDS)
    assert Spy.fitted_to[0][0][5, 1] == np.nanmedian(HOLES[:, 1])
    assert np.isfinite(fitted.recover(HOLES).views["raw"]).all()


@pytest.mark.parametrize(
    ("recovery", "n_columns", "name"),
    [
        ("auto", MOST_COLUMNS, "gaussian"),
        ("auto", MOST_COLUMNS + 1, "none"),
        ("gaussian", MOST_COLUMNS + 1, "gaussian"),
        ("none", 2, "none"),
        ("rpca", 2, "rpca"),
        ("flr", 2, "flr"),
        (RobustPCA(), 2, "RobustPCA"),
    ],
)
def test_engines_are_chosen_by_name_and_by_the_number_of_columns(recovery, n_columns, name):
    assert make_engine(recovery, False, n_columns).name == name


def test_a_cell_that_an_engine_hardly_changes_is_not_wrong():
    """Robust PCA leaves most cells as they are to ten digits: the spread of that is no measure of what is off."""
    X, _ = load_wine(return_X_y=True)
    audit = HybridCleaner(recovery=RobustPCA(), random_state=0).fit_clean(X, load_wine().target).audit
    off = np.abs(audit["given"].astype(float) - audit["new"].astype(float))
    spread = np.quantile(X, 0.85, axis=0) - np.quantile(X, 0.15, axis=0)
    assert (off > 0.3 * spread[audit["column"].astype(int)]).all()
