"""Bad input: an error that names parameter, rule, value and remedy, or a correct fit; never NaN."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from unmuddle import ADMM, Algorithm1, FLRClassifier, HybridCleaner, RobustPCA
from unmuddle.baselines.rpca import RPCAClassifier
from unmuddle.errors import InvalidDataError, InvalidParameterError, UnmuddleError

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = RNG.normal(size=(60, 5)) + Y[:, None]


def with_cell(value):
    spoiled = X.copy()
    spoiled[7, 3] = value
    return spoiled


@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        (with_cell(np.inf), Y, ["infinity", "row 7, column 3"]),
        (X, np.zeros(60), ["y must hold at least 2 classes", "1 class"]),
        (X, Y[:50], ["60 in X", "50 in y"]),
        (X, None, ["y", "None"]),
        (X, np.where(np.arange(60) == 4, np.inf, Y), ["y", "infinity", "row 4", "NaN or None"]),
        (X, np.array(["a", None] * 30, dtype=object), ["y", "2 classes", "'a'", "30 rows that have a label"]),
        (X, pd.Series(["a", pd.NA] * 30), ["y", "2 classes", "'a'", "30 rows that have a label"]),
        (X, np.full(60, np.nan), ["y", "2 classes", "none of its 60 rows"]),
        (X[:, :0], Y, ["0 feature"]),
        (pd.DataFrame(X).add_prefix("c").assign(kind="red"), Y, ["X must hold numbers", "'red'", "HybridCleaner"]),
        (X[:0], Y[:0], ["0 sample"]),
        (X[:1], Y[:1], ["1 sample"]),
        (X[0], Y, ["2D"]),
        (X, RNG.normal(size=60), ["continuous"]),
        (np.array([["a", "b"]] * 60), Y, ["could not convert"]),
    ],
)
def test_bad_data_is_refused_in_words(features, labels, words):
    with np.errstate(over="ignore"), pytest.raises(ValueError) as raised:  # noqa: PT011 - the words are checked
        FLRClassifier.natural().fit(features, labels)
    for word in words:
        assert word in str(raised.value)


def test_column_names_are_used_in_messages():
    frame = pd.DataFrame(with_cell(np.inf), columns=list("abcde"))
    with pytest.raises(InvalidDataError, match="column 'd'"):
        FLRClassifier.natural().fit(frame, Y)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.where(np.arange(60) == 9, -1.0, 1.0), ["from 0", "-1.0 at row 9"]),
        (np.where(np.arange(60) == 9, np.nan, 1.0), ["nan at row 9"]),
        (np.ones(59), ["60 rows", "(59,)"]),
        (["heavy"] * 60, ["number", "list"]),
        (np.zeros(60), ["above zero", "all 60"]),
        (Y == 1, ["2 classes", "20 rows that have a label"]),
    ],
)
def test_bad_weights_are_refused_in_words(weights, words):
    with pytest.raises(InvalidDataError) as raised:
        FLRClassifier.natural().fit(X, Y, sample_weight=weights)
    for word in words:
        assert word in str(raised.value)


def test_a_list_of_marks_for_no_label_is_refused():
    with pytest.raises(InvalidParameterError, match="unlabeled must be a single label"):
        FLRClassifier.natural(unlabeled=[-1, -2]).fit(X, Y)


@pytest.mark.parametrize("estimator", [FLRClassifier, HybridCleaner, RPCAClassifier])
@pytest.mark.parametrize("seed", ["seven", -1, 2.5, [0.5]])
def test_a_bad_random_state_is_refused_in_words(estimator, seed):
    with pytest.raises(
        InvalidParameterError, match=r"random_state must be an integer.*; got .*Pass an integer"
    ) as raised:
        estimator(random_state=seed).fit(X, Y)
    assert repr(seed) in str(raised.value)


def test_a_baseline_refuses_missing_cells_and_labels_and_names_who_takes_them():
    with pytest.raises(InvalidDataError, match=r"1 cells, the first at row 7, column 3.*RobustPCA.*FLRClassifier"):
        RPCAClassifier().fit(with_cell(np.nan), Y)
    with pytest.raises(InvalidDataError, match=r"1 are missing.*row 4.*FLRClassifier"):
        RPCAClassifier().fit(X, np.where(np.arange(60) == 4, np.nan, Y))


def test_sparse_matrices_are_refused_with_a_remedy():
    with pytest.raises(TypeError, match="parse"):
        FLRClassifier.natural().fit(sparse.csr_array(X), Y)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("lambda_projection", -1.0),
        ("lambda_features", 0.0),
        ("lambda_labels", np.nan),
        ("lambda_labels", np.inf),
        ("lambda_projection", "large"),
        ("lambda_features", True),
        ("lambda_features", [0.1]),
        ("feature_delta", -0.5),
        ("label_delta", "auto"),
        ("feature_norm", "l3"),
        ("label_norm", ["l21"]),
        ("scale", "minmax"),
        ("solver", "simplex"),
        ("max_iter", 0),
        ("max_iter", 1.5),
        ("tol", 0),
        ("certificate_tol", None),
        ("fit_intercept", "yes"),
        ("verbose", "no"),
        ("lambda_labels", 10**400),
        ("lambda_labels", 1e308),
        ("lambda_features", 1e-320),
        ("solver", Algorithm1),
        ("box", 1),
    ],
)
def test_bad_parameters_are_refused_by_name_rule_and_value(parameter, value):
    with pytest.raises(InvalidParameterError) as raised:
        FLRClassifier.natural(**{parameter: value}).fit(X, Y)
    message = str(raised.value)
    assert parameter in message
    assert "must be" in message
    assert repr(value) in message
    assert isinstance(raised.value, UnmuddleError)


@pytest.mark.parametrize(
    ("solver", "settings"),
    [
        (Algorithm1, {"mu": 0}),
        (Algorithm1, {"mu": "a"}),
        (Algorithm1, {"rho": 0.5}),
        (Algorithm1, {"rho": np.inf}),
        (ADMM, {"start": "rigde"}),
        (ADMM, {"n_blocks": 0}),
        (ADMM, {"n_blocks": 2.5}),
    ],
)
def test_bad_settings_of_solvers_are_refused_by_name(solver, settings):
    (name,) = settings
    with pytest.raises(InvalidParameterError, match=f"{name} must be"):
        solver(**settings)


def test_two_norms_of_none_are_refused():
    with pytest.raises(InvalidParameterError, match="both be 'none'"):
        FLRClassifier.natural(feature_norm="none", label_norm="none").fit(X, Y)


def test_exact_labels_from_too_few_columns_are_refused():
    with pytest.raises(InvalidDataError, match="at least 2 columns for 3 classes; got 1"):
        FLRClassifier.natural(label_norm="none").fit(X[:, :1], Y)


@pytest.mark.parametrize(
    ("parameter", "value"), [("lambda_sparse", -1), ("scale", "x"), ("max_iter", None), ("tol", -1)]
)
def test_bad_parameters_of_robust_pca_are_refused(parameter, value):
    with pytest.raises(InvalidParameterError, match=parameter):
        RobustPCA(**{parameter: value}).fit(X)


ODD_DATA = {
    "a constant column": np.column_stack([X, np.full(60, 7.0)]),
    "only constant columns": np.ones((60, 3)),
    "all zeros": np.zeros((60, 4)),
    "very large": X * 1e300,
    "very small": X * 1e-300,
    "smaller than can be inverted": X * 1e-310,
    "one column of next to nothing": np.column_stack([X, np.where(Y == 0, 5e-324, 0.0)]),
    "one huge cell": with_cell(1e12),
    "one column": X[:, :1],
    "more columns than rows": np.tile(X, 30) + RNG.normal(size=(60, 150)),
    "integers": (10 * X).astype(int),
    "objects that are numbers": X.astype(object),
    "booleans": X > 0,
    "single precision": X.astype(np.float32),
    "Fortran order": np.asfortranarray(X),
    "read only": np.frombuffer(X.tobytes()).reshape(60, 5),
    "duplicate rows": np.repeat(X[:3], 20, axis=0),
    "missing cells": with_cell(np.nan),
    "a row and a column of missing cells": np.where((np.arange(60) == 3)[:, None] | (np.arange(5) == 2), np.nan, X),
    "nothing but missing cells": np.full((60, 4), np.nan),
}


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
@pytest.mark.parametrize("solver", ["admm", "paper"])
@pytest.mark.parametrize("name", ODD_DATA)
def test_odd_data_is_fitted_without_a_nan(name, solver):
    data = ODD_DATA[name]
    model = FLRClassifier.natural(solver=solver, max_iter=300).fit(data, Y)
    for attribute in (
        "coef_",
        "intercept_",
        "recovered_features_",
        "recovered_labels_",
        "objective_",
    ):
        assert np.isfinite(getattr(model, attribute)).all(), attribute
    assert np.array_equal(np.isfinite(model.feature_errors_), ~pd.isna(data))
    assert np.isfinite(model.predict_proba(data)).all()
    assert np.isfinite(model.transform(data)).all()


def test_scaling_makes_huge_units_harmless():
    plain, huge = FLRClassifier.natural(tol=1e-3).fit(X, Y), FLRClassifier.natural(tol=1e-3).fit(X * 1e300, Y)
    assert np.array_equal(plain.predict(X), huge.predict(X * 1e300))


def test_huge_values_without_scaling_are_refused_with_a_remedy():
    with pytest.raises(InvalidDataError, match="scale='standard'"):
        FLRClassifier.natural(scale=None).fit(X * 1e200, Y)


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
def test_every_row_a_class_of_its_own_is_fitted():
    model = FLRClassifier.natural(max_iter=200).fit(X[:4], ["a", "b", "c", "d"])
    assert np.isfinite(model.predict_proba(X)).all()


def test_prediction_refuses_bad_rows():
    model = FLRClassifier.natural(tol=1e-3).fit(X, Y)
    with pytest.raises(InvalidDataError, match="infinity"):
        model.predict(with_cell(-np.inf))
    with pytest.raises(ValueError, match="features"):
        model.transform(X[:, :3])
