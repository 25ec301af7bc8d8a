"""The bound of a fitted model: its norms by hand and by invariance, and what the theorem does not cover."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from unmuddle import FLRClassifier, generalization_bound
from unmuddle.core.problem import Lambdas
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators.bound import measure_norms
from unmuddle.estimators.scaling import Scaling
from unmuddle.tuning.record import Setting, Trial, Tuning

pytestmark = pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 30)
    X = 3 * np.eye(3, 5)[y] + rng.laplace(0, 0.3, (90, 5))
    y[::10] = 1
    return X, y


def fit(data, **changes):
    setting = {"fit_intercept": False, "lambda_labels": 0.1, "scale": None, **changes}
    return FLRClassifier.natural(**setting).fit(*data)


def fit_scaled(data):
    return fit(data, scale="standard", lambda_labels=0.3, max_iter=100)


def by_hand():
    """Four rows of three columns in units 2, 1 and 4 wide, as if they had been fitted."""
    model = FLRClassifier.natural(fit_intercept=False)
    centre, scale = np.array([10.0, 0.0, -1.0]), np.array([2.0, 1.0, 4.0])
    X, E_f = np.eye(4, 3) * [3.0, 2.0, 1.0], np.zeros((4, 3))
    E_f[2:] = [[1, -1, 0], [2, 0, -0.5]]
    model._scaling, model._scaled_intercept, model.tuning_ = Scaling(centre, scale), np.zeros(3), None
    model.classes_, model.projection_ = np.arange(3), np.diag([0.25, 0.25, 0.5])
    model.recovered_features_, model.feature_errors_ = centre + scale * X, scale * E_f
    model.label_errors_ = np.eye(3)[[0, 1, 2, 0]] - X @ model.projection_
    return model


def test_the_example_of_four_rows_and_three_columns_worked_by_hand():
    norms = measure_norms(by_hand())
    assert norms.X_nuclear == pytest.approx(6, abs=1e-10)  # 3 + 2 + 1
    assert norms.Z_nuclear == pytest.approx(1, abs=1e-10)  # 1/4 + 1/4 + 1/2
    assert norms.given_frobenius == pytest.approx(4.5, abs=1e-10)  # 9 + 4 + (1 + 1 + 1) + (4 + 1/4) = 20.25
    assert norms.E_f_entrywise == pytest.approx(4.5, abs=1e-10)  # 1 + 1 + 2 + 1/2
    assert norms.E_f_induced == pytest.approx(3, abs=1e-10)  # the first column, 1 + 2
    assert norms.E_l_rows == pytest.approx(2.25, abs=1e-10)  # 1/4 + 1/2 + 1/2 + 1
    assert norms.XZ_frobenius == pytest.approx(1.0307764064044151, abs=1e-10)  # 0.5625 + 0.25 + 0.25 = 1.0625
    bound = generalization_bound(by_hand(), delta=0.05, lipschitz=2.0, loss_bound=3.0)
    assert bound.value == pytest.approx(9.0425536252690435, abs=1e-10)  # see tests/core/test_bound.py


def test_standardised_features_have_the_length_that_follows_from_their_number(data):
    assert generalization_bound(fit_scaled(data)).norms.given_frobenius == pytest.approx(np.sqrt(90 * 5), rel=1e-3)


def test_the_units_of_the_columns_do_not_matter_where_they_are_standardised(data):
    X, y = data
    bound, moved = (generalization_bound(fit_scaled((A, y))) for A in (X, X * [1, 10, 0.1, 3, 1000] + 7))
    for term in ("label_term", "nuclear_term", "feature_term", "induced_feature_term"):
        assert getattr(moved, term) == pytest.approx(getattr(bound, term), rel=1e-6)
        assert getattr(bound, term) > 0


def test_algorithm_1_is_covered_with_the_norms_that_numpy_finds(data):
    X, y = data
    model = FLRClassifier.paper(scale=None, max_iter=50).fit(X, y)
    norms = generalization_bound(model).norms
    assert norms.X_nuclear == pytest.approx(np.linalg.norm(model.recovered_features_, "nuc"), rel=1e-9)
    assert norms.Z_nuclear == pytest.approx(np.linalg.norm(model.coef_, "nuc"), rel=1e-9)
    assert norms.E_l_rows == pytest.approx(sum(map(np.linalg.norm, model.label_errors_)), rel=1e-12)


def test_without_feature_errors_both_readings_of_their_norm_agree(data):
    bound = generalization_bound(fit(data, feature_norm="none"))
    assert bound.norms.E_f_entrywise == 0
    assert bound.feature_term == bound.induced_feature_term > 0


def test_an_intercept_is_refused(data):
    with pytest.raises(InvalidParameterError, match=r"without an intercept.*got fit_intercept=True.*paper\(\)"):
        generalization_bound(fit(data, fit_intercept=True))


@pytest.mark.parametrize(("name", "norm"), [("feature_norm", "frobenius"), ("feature_norm", "huber"),
                                            ("label_norm", "frobenius"), ("label_norm", "l1")])  # fmt: skip
def test_a_norm_of_another_kind_is_refused_by_name(data, name, norm):
    with pytest.raises(InvalidParameterError, match=rf"{name} 'l.*got '{norm}'"):
        generalization_bound(fit(data, **{name: norm}, max_iter=20))


def test_the_norm_that_was_chosen_decides_not_the_word_auto(data):
    model = fit(data, max_iter=20).set_params(label_norm="auto")
    chosen = Trial(Setting("l1", "huber", 0.2, 1.0, 0.1), Lambdas(1.0, 1.0, 0.1))
    model.tuning_ = Tuning((chosen,), chosen, "")
    with pytest.raises(InvalidParameterError, match=r"label_norm 'l21'.*got 'huber'"):
        generalization_bound(model)
    row_sparse = replace(chosen, setting=replace(chosen.setting, label_norm="l21"))
    model.tuning_ = replace(model.tuning_, chosen=row_sparse)
    assert generalization_bound(model).value > 0


def test_missing_cells_and_labels_are_refused(data):
    X, y = data
    holes, some = X.copy(), y.astype(object)
    holes[3, 1], some[4] = np.nan, None
    with pytest.raises(InvalidParameterError, match="no missing cells; got 1 of them"):
        generalization_bound(fit((holes, y), max_iter=20))
    with pytest.raises(InvalidParameterError, match="no missing labels; got 1 of them"):
        generalization_bound(fit((X, some), max_iter=20))


def test_what_is_not_a_fitted_model_of_ours_is_refused(data):
    with pytest.raises(NotFittedError):
        generalization_bound(FLRClassifier.paper())
    with pytest.raises(InvalidParameterError, match=r"FLRClassifier.*got LogisticRegression"):
        generalization_bound(LogisticRegression().fit(*data))
