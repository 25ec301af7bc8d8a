"""Robust PCA as a baseline: its reference values, against the recipe written out, and the classifier behind it."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from oracles import relative_error, spiked
from unmuddle.baselines.rpca import MULTIPLES, RPCAClassifier
from unmuddle.core.prox import prox_nuclear
from unmuddle.core.rpca import decompose
from unmuddle.errors import InvalidDataError, InvalidParameterError


def by_the_book(M, weight, tol=1e-7):
    """The inexact augmented Lagrangian as Lin, Chen and Ma print it: the low-rank part and the iterations."""
    largest = np.linalg.norm(M, 2)
    L, Y = np.zeros_like(M), M / max(largest, np.abs(M).max() / weight)
    mu, mu_max, residual, n_iter = 1.25 / largest, 1e7 * 1.25 / largest, np.inf, 0
    while residual >= tol:
        T = M - L + Y / mu
        S = np.sign(T) * np.maximum(np.abs(T) - weight / mu, 0)
        U, s, Vt = np.linalg.svd(M - S + Y / mu, full_matrices=False)
        L = (U * np.maximum(s - 1 / mu, 0)) @ Vt
        Y, mu = Y + mu * (M - L - S), min(1.5 * mu, mu_max)
        residual, n_iter = np.linalg.norm(M - L - S) / np.linalg.norm(M), n_iter + 1
    return L, n_iter


def test_singular_value_thresholding_of_a_two_by_two_matrix():
    assert np.allclose(prox_nuclear(np.array([[3.0, 1.0], [1.0, 2.0]]), 1.0), [[2, 1], [1, 1]], atol=1e-14)


@pytest.mark.parametrize(
    ("m", "n", "rank", "share", "tol", "error", "n_iter"),
    [
        (100, 100, 5, 0.05, 1e-7, 7.7e-8, 18),
        (200, 200, 10, 0.05, 1e-7, 3.3e-8, 18),
        (200, 200, 10, 0.1, 1e-7, 9.7e-8, 20),
        (500, 50, 3, 0.05, 1e-7, 7.0e-8, 18),
        (200, 200, 10, 0.05, 1e-9, 4.1e-10, 24),
        (200, 200, 40, 0.3, 1e-7, 0.47, 36),
    ],
)
def test_error_and_iterations_are_those_of_the_book(m, n, rank, share, tol, error, n_iter):
    """The last case is the negative control: what cannot be recovered is not. Ours takes half a step more."""
    low_rank, sparse = spiked(m, n, rank, share)
    theirs, their_n_iter = by_the_book(low_rank + sparse, 1 / np.sqrt(max(m, n)), tol)
    assert relative_error(theirs, low_rank) == pytest.approx(error, rel=0.05)
    assert their_n_iter == n_iter
    found = decompose(low_rank + sparse, 1 / np.sqrt(max(m, n)), tol=tol)
    assert found.n_iter == n_iter
    assert relative_error(found.low_rank, low_rank) < 1.05 * error
    assert relative_error(found.low_rank, theirs) < 10 * tol


def test_the_case_without_random_numbers_has_rank_two():
    i, j = np.meshgrid(np.arange(40), np.arange(30), indexing="ij")
    low_rank = np.cos(0.3 * i) * np.sin(0.2 * j + 1) + 0.5 * np.sin(0.7 * i) * np.cos(0.5 * j)
    sparse = np.where((7 * i + 11 * j) % 37 == 0, 4.0 * (-1.0) ** (i + j), 0.0)
    found = decompose(low_rank + sparse, 1 / np.sqrt(40))
    assert np.linalg.matrix_rank(found.low_rank, tol=1e-6 * np.linalg.norm(low_rank, 2)) == 2
    assert np.array_equal(np.abs(found.sparse) > 1e-3, sparse != 0)


@pytest.mark.parametrize(
    ("m", "n", "rank", "error", "error_at_twice"),
    [(150, 13, 2, 0.485, 0.259), (170, 9, 2, 0.447, 0.117), (1000, 21, 3, 0.0767, 3.8e-4)],
)
def test_thin_tables_are_not_recovered_and_want_a_larger_weight(m, n, rank, error, error_at_twice):
    """Figures of the textbook iteration on our draws; published ones, of draws that are not stated, are near."""
    low_rank, sparse = spiked(m, n, rank, 0.05)
    for weight, expected in [(1 / np.sqrt(m), error), (2 / np.sqrt(m), error_at_twice)]:
        assert relative_error(by_the_book(low_rank + sparse, weight)[0], low_rank) == pytest.approx(expected, rel=0.02)
        assert relative_error(decompose(low_rank + sparse, weight).low_rank, low_rank) == pytest.approx(
            expected, rel=0.02
        )


def reasons(estimator):
    if estimator.mode != "transductive":
        return {}
    return {"check_methods_subset_invariance": "rows asked about together are decomposed together"}


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
@parametrize_with_checks(
    [
        RPCAClassifier(),
        RPCAClassifier(mode="projection", lambda_sparse=0.3),
        RPCAClassifier(mode="transductive", lambda_sparse=0.3),
    ],
    expected_failed_checks=reasons,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def low_rank_classes():
    """Three factors behind forty columns, classes by one of them, one cell in twenty spiked."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(500, 3))
    X = factors @ rng.normal(size=(3, 40))
    X += np.where(rng.random(X.shape) < 0.05, rng.choice([-15.0, 15.0], X.shape), 0.0)
    return X[:300], X[300:], np.where(factors[:300, 0] > 0, "up", "down"), np.where(factors[300:, 0] > 0, "up", "down")


@pytest.mark.parametrize("mode", ["inductive", "transductive"])
def test_new_rows_with_spikes_are_classified_better_than_without_cleaning(low_rank_classes, mode):
    X, X_new, y, y_new = low_rank_classes
    bare = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    model = RPCAClassifier(mode=mode, lambda_sparse=None).fit(X, y)
    assert model.score(X_new, y_new) > 0.96
    assert model.score(X_new, y_new) > bare.score(X_new, y_new) + 0.1


def test_transductive_scores_are_those_of_the_stacked_matrix_by_hand(low_rank_classes):
    X, X_new, y, _ = low_rank_classes
    model = RPCAClassifier(mode="transductive", lambda_sparse=None, tol=1e-10).fit(X, y)
    stacked = np.vstack([X, X_new])
    low_rank, _ = by_the_book((stacked - stacked.mean(axis=0)) / stacked.std(axis=0), 1 / np.sqrt(500), tol=1e-10)
    by_hand = LogisticRegression(max_iter=1000).fit(low_rank[:300], y)
    assert np.allclose(model.decision_function(X_new), by_hand.decision_function(low_rank[300:]), atol=1e-3)
    assert np.array_equal(model.predict(X_new), by_hand.predict(low_rank[300:]))


def test_inductive_scores_are_those_of_the_cleaned_rows(low_rank_classes):
    X, X_new, y, _ = low_rank_classes
    model = RPCAClassifier(lambda_sparse=0.05).fit(X, y)
    assert model.lambda_sparse_ == 0.05
    centre, deviation = X.mean(axis=0), X.std(axis=0)
    by_hand = LogisticRegression(max_iter=1000).fit((model.rpca_.low_rank_ - centre) / deviation, y)
    cleaned = (model.rpca_.transform(X_new) - centre) / deviation
    assert np.allclose(model.predict_proba(X_new), by_hand.predict_proba(cleaned), atol=1e-6)


def test_projected_scores_are_those_of_the_projection_by_hand(low_rank_classes):
    X, X_new, y, _ = low_rank_classes
    model = RPCAClassifier(mode="projection", lambda_sparse=0.05).fit(X, y)
    centre, deviation = X.mean(axis=0), X.std(axis=0)
    low_rank = (model.rpca_.low_rank_ - centre) / deviation
    by_hand = LogisticRegression(max_iter=1000).fit(low_rank, y)
    projected = (X_new - centre) / deviation @ np.linalg.pinv(low_rank, rcond=1e-7) @ low_rank
    assert np.allclose(model.predict_proba(X_new), by_hand.predict_proba(projected), atol=1e-6)


@pytest.mark.parametrize("mode", ["inductive", "transductive"])
def test_later_changes_of_the_given_array_do_not_change_predictions(wine, mode):
    X, y = wine[0].copy(), wine[1]
    model = RPCAClassifier(mode=mode, lambda_sparse=None).fit(X, y)
    before = model.predict_proba(wine[0][:20])
    X[:] = 0.0
    assert np.array_equal(model.predict_proba(wine[0][:20]), before)


@pytest.mark.parametrize("mode", ["inductive", "transductive"])
def test_the_weight_with_the_best_accuracy_in_five_folds_is_used(wine, mode):
    X, y = wine[0][::2], wine[1][::2]
    model = RPCAClassifier(mode=mode, random_state=0).fit(X, y)
    tried = model.cv_results_
    assert np.array_equal(tried["multiple"], MULTIPLES)
    assert np.allclose(tried["lambda_sparse"] * np.sqrt(len(X)), MULTIPLES)
    assert model.lambda_sparse_ == pytest.approx(tried["lambda_sparse"][tried["accuracy"].argmax()])
    again = clone(model).fit(X, y)
    assert np.array_equal(again.cv_results_["accuracy"], tried["accuracy"])
    assert clone(model).set_params(lambda_sparse=None).fit(X, y).lambda_sparse_ == pytest.approx(1 / np.sqrt(len(X)))


def test_a_class_of_one_row_and_a_table_of_two_rows_are_fitted(wine):
    X, y = wine
    alone = np.where(np.arange(len(y)) == 0, "alone", "other")
    assert set(RPCAClassifier(random_state=0).fit(X, alone).classes_) == {"alone", "other"}
    model = RPCAClassifier().fit(X[[0, -1]], [0, 1])
    assert np.isnan(model.cv_results_["accuracy"]).all()
    assert model.lambda_sparse_ == pytest.approx(1 / np.sqrt(13))


def test_a_grid_search_reaches_the_estimator_inside(wine):
    X, y = wine
    names = np.array(["red", "white", "pink"])[y]
    model = RPCAClassifier(LogisticRegression(max_iter=1000), lambda_sparse=0.15)
    search = GridSearchCV(make_pipeline(MinMaxScaler(), model), {"rpcaclassifier__estimator__C": [1e-4, 1.0]}, cv=3)
    search.fit(X, names)
    assert search.best_params_ == {"rpcaclassifier__estimator__C": 1.0}
    assert search.best_score_ > 0.9
    assert set(search.predict(X)) == {"red", "white", "pink"}


def test_a_model_offers_what_its_estimator_offers(wine):
    for estimator in (None, Perceptron(), KNeighborsClassifier(), RandomForestClassifier(5)):
        inside = LogisticRegression() if estimator is None else estimator
        model = RPCAClassifier(estimator, lambda_sparse=0.15)
        for fitted in (model, clone(model).fit(*wine)):
            for method in ("predict_proba", "decision_function"):
                assert hasattr(fitted, method) == hasattr(inside, method)


def test_pickled_models_agree(wine):
    for mode in ("inductive", "transductive"):
        model = RPCAClassifier(mode=mode, lambda_sparse=0.15).fit(*wine)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict_proba(wine[0]), model.predict_proba(wine[0]))


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("mode", "deductive"),
        ("lambda_sparse", "auto"),
        ("lambda_sparse", -1.0),
        ("lambda_sparse", [0.1]),
        ("estimator", StandardScaler()),
        ("estimator", LogisticRegression),
        ("estimator", "svm"),
        ("scale", "minmax"),
        ("max_iter", 0),
        ("tol", 0.0),
    ],
)
def test_bad_parameters_are_refused_by_name_rule_and_value(wine, parameter, value):
    model = RPCAClassifier(**{parameter: value})
    assert hasattr(model, "decision_function") is (parameter != "estimator" or value is LogisticRegression)
    with pytest.raises(InvalidParameterError) as raised:
        model.fit(*wine)
    for word in (parameter, "must be", repr(value)):
        assert word in str(raised.value)


def test_bad_data_are_refused(wine):
    X, y = wine
    with pytest.raises(InvalidDataError, match="at least 2 classes"):
        RPCAClassifier().fit(X, np.zeros(len(X)))
    model = RPCAClassifier(lambda_sparse=None).fit(X, y)
    with pytest.raises(InvalidDataError, match="NaN"):
        model.predict(np.full((1, 13), np.nan))
