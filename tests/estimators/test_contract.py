"""scikit-learn's own battery, and the ways in which its users combine estimators."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from unmuddle import Algorithm1, FLRClassifier, RobustPCA


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
@parametrize_with_checks(
    [FLRClassifier.natural(), FLRClassifier.paper(), RobustPCA()],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "weights are on labels: features count once for each row"
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def wine():
    return load_wine(return_X_y=True)


@pytest.fixture(scope="module")
def fitted(wine):
    return FLRClassifier.natural(tol=1e-3).fit(*wine)


def test_pickled_and_cloned_models_agree(wine, fitted):
    X, y = wine
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).decision_function(X), fitted.decision_function(X))
    again = clone(fitted).fit(X, y)
    assert np.array_equal(again.decision_function(X), fitted.decision_function(X))
    other = FLRClassifier.natural(solver=Algorithm1(mu=0.5, rho=1.0))
    assert clone(other).solver == other.solver


@pytest.mark.filterwarnings("ignore::unmuddle.errors.MemorizedWarning")  # all labels are right
def test_an_automatic_fit_is_repeatable_and_leaves_its_parameters_alone():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = 2.0 * y[:, None] + rng.normal(size=(60, 3))
    model = FLRClassifier(tol=1e-3, random_state=0)
    before = model.get_params()
    again = clone(model.fit(X, y)).fit(X, y)
    assert model.get_params() == before
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert pickle.loads(pickle.dumps(model)).tuning_ == model.tuning_ == again.tuning_


def test_a_grid_search_in_a_pipeline_works(wine):
    X, y = wine
    pipeline = make_pipeline(RobustPCA(scale="standard"), FLRClassifier.natural(tol=1e-3))
    search = GridSearchCV(pipeline, {"flrclassifier__label_norm": ["l21", "frobenius"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


def test_recovered_features_feed_another_classifier(wine):
    X, y = wine
    pipeline = make_pipeline(FLRClassifier.natural(tol=1e-3), StandardScaler(), LogisticRegression()).fit(X, y)
    assert pipeline.score(X, y) > 0.9


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dataframes_keep_their_column_names(wine, library):
    X, y = wine
    names = [f"c{i}" for i in range(13)]
    frame = pd.DataFrame(X, columns=names) if library == "pandas" else pl.DataFrame(X, schema=names)
    labels = np.array(["red", "white", "pink"])[y]
    model = FLRClassifier.natural(tol=1e-3).set_output(transform=library).fit(frame, labels)
    assert list(model.feature_names_in_) == names
    assert set(model.predict(frame)) <= {"red", "white", "pink"}
    assert type(model.transform(frame)) is type(frame)
    assert list(model.transform(frame).columns) == names
    assert list(model.get_feature_names_out()) == names
