"""Missing cells, rows without a label and sample weights, as a user meets them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_wine

from unmuddle import FLRClassifier, RobustPCA
from unmuddle.estimators.scaling import SCALINGS


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    return np.where(rng.random(X.shape) < 0.1, np.nan, X), y, rng.random(len(y)) < 0.3


def fit(X, y, **settings):
    return FLRClassifier.natural(tol=1e-3, **settings).fit(X, y)


def same(one, other):
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("coef_", "intercept_", "recovered_features_", "recovered_labels_", "label_errors_", "temperature_")
    )


def test_a_wine_table_with_holes_is_classified_and_its_holes_are_filled(wine):
    X, y, bare = wine
    model = FLRClassifier.natural().fit(X, np.where(bare, np.nan, y))
    missing, given = np.isnan(X), load_wine().data
    assert model.certificate_.satisfied
    assert np.array_equal(np.isnan(model.feature_errors_), missing)
    assert np.array_equal(np.isnan(model.label_errors_), np.repeat(bare[:, None], 3, axis=1))
    assert np.isfinite(model.recovered_features_).all()
    assert ((model.recovered_labels_ >= 0) & (model.recovered_labels_ <= 1)).all()
    assert np.mean(model.predict(X)[bare] == y[bare]) > 0.9
    assert np.mean(model.recovered_labels_[bare].argmax(axis=1) == y[bare]) > 0.9
    off = (model.recovered_features_ - given)[missing] / np.broadcast_to(given.std(axis=0), X.shape)[missing]
    assert np.sqrt(np.mean(off**2)) < 0.9  # the means of the columns would be off by 1


def test_a_low_rank_matrix_with_a_fifth_missing_is_recovered():
    rng = np.random.default_rng(0)
    L = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 40))
    X = np.where(rng.random(L.shape) < 0.2, np.nan, L + np.where(rng.random(L.shape) < 0.03, 10.0, 0.0))
    missing = np.isnan(X)
    model = RobustPCA().fit(X)
    assert np.linalg.norm(model.low_rank_ - L) <= 1e-5 * np.linalg.norm(L)
    assert np.array_equal(np.isnan(model.sparse_), missing)
    assert np.allclose((model.low_rank_ + model.sparse_)[~missing], X[~missing], atol=1e-4)
    assert np.allclose(model.transform(X), L, atol=1e-3)
    found = FLRClassifier.natural(lambda_labels=1e-3).fit(X, L[:, 0] > 0)
    assert np.linalg.norm((found.recovered_features_ - L)[missing]) <= 0.1 * np.linalg.norm(L[missing])


def test_rows_can_be_permuted(wine):
    X, y, bare = wine
    y, order = np.where(bare, np.nan, y), np.random.default_rng(1).permutation(len(y))
    one, other = (FLRClassifier.natural(tol=1e-6).fit(*data) for data in ((X, y), (X[order], y[order])))
    assert np.allclose(one.recovered_features_[order], other.recovered_features_, atol=1e-3 * np.nanstd(X, axis=0))
    assert np.allclose(one.recovered_labels_[order], other.recovered_labels_, atol=1e-3)


@pytest.mark.parametrize("kind", ["None", "NaN", "NA", "Int64", "category", "-1", "weight"])
def test_every_way_to_leave_a_label_out_is_the_same(wine, kind):
    X, y, bare = wine
    expected = fit(X, np.where(bare, np.nan, y))
    series = pd.Series(y)
    labels = {
        "None": [None if gone else int(label) for gone, label in zip(bare, y, strict=True)],
        "NaN": series.astype(float).mask(bare),
        "NA": series.astype(object).mask(bare, pd.NA),
        "Int64": series.astype("Int64").mask(bare),
        "category": series.astype("category").mask(bare),
        "-1": np.where(bare, -1, y),
        "weight": y,
    }[kind]
    model = FLRClassifier.natural(tol=1e-3, unlabeled=-1 if kind == "-1" else None)
    model.fit(X, labels, sample_weight=np.where(bare, 0.0, 2.0) if kind == "weight" else None)
    assert list(model.classes_) == [0, 1, 2]
    assert same(model, expected)


def test_strings_may_be_missing_too(wine):
    X, y, bare = wine
    names = np.array(["a", "b", "c"], dtype=object)[y]
    model = fit(X, np.where(bare, None, names))
    assert list(model.classes_) == ["a", "b", "c"]
    assert np.allclose(model.coef_, fit(X, np.where(bare, np.nan, y)).coef_)
    assert same(model, FLRClassifier.natural(tol=1e-3, unlabeled="?").fit(X, np.where(bare, "?", names)))


@pytest.mark.parametrize("weight", [3.0, 0.1])
def test_equal_weights_are_no_weights(wine, weight):
    X, y, _ = wine
    assert same(FLRClassifier.natural(tol=1e-3).fit(X, y, sample_weight=np.full(len(y), weight)), fit(X, y))


def test_a_label_of_less_weight_is_believed_less():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = np.where(y == 0, -1.0, 1.0)[:, None] + rng.normal(0, 0.5, (80, 4))
    y[::10] = 1 - y[::10]
    errors = [
        np.abs(FLRClassifier.natural().fit(X, y, sample_weight=weights).label_errors_[::10]).sum()
        for weights in (None, np.where(np.arange(80) % 10 == 0, 0.3, 1.0))
    ]
    assert errors[1] > 1.02 * errors[0]


def test_tables_of_pandas_and_polars_may_have_holes(wine):
    X, y, _ = wine
    expected = fit(X, y)
    frame = pd.DataFrame(X)
    assert same(fit(frame.astype("Float64"), y), expected)
    holes = [[None if np.isnan(cell) else cell for cell in row] for row in X]
    assert same(fit(pl.DataFrame(holes, orient="row"), y), expected)
    assert same(fit(holes, y), expected)


def test_new_rows_are_filled_from_their_closest_point_and_otherwise_left_alone(wine):
    X, y, _ = wine
    model = fit(X, y)
    filled = np.where(np.isnan(X), model.transform(X), X)
    assert np.allclose(model.predict_proba(X), model.predict_proba(filled))
    nothing = np.full((1, 13), np.nan)
    assert np.allclose(model.transform(nothing), np.nanmean(X, axis=0))
    assert np.allclose(RobustPCA(scale="robust").fit(X).transform(nothing), np.nanmedian(X, axis=0))


@pytest.mark.parametrize(("kind", "centre"), [("standard", np.nanmean), ("robust", np.nanmedian)])
def test_scaling_is_by_the_cells_that_are_seen(wine, kind, centre):
    X = np.column_stack([wine[0], np.full(178, np.nan)])
    scaling = SCALINGS[kind](X)
    assert np.allclose(scaling.centre[:-1], centre(wine[0], axis=0))
    column = wine[0][~np.isnan(wine[0][:, 4]), 4]
    assert scaling.scale[4] == pytest.approx(SCALINGS[kind](column[:, None]).scale[0])
    assert (scaling.centre[-1], scaling.scale[-1]) == (0.0, 1.0)


def test_single_precision_stays_single(wine):
    X, y, bare = wine
    model = fit(X.astype(np.float32), np.where(bare, np.nan, y))
    assert model.recovered_features_.dtype == model.transform(X.astype(np.float32)).dtype == np.float32
    assert np.allclose(model.recovered_labels_, fit(X, np.where(bare, np.nan, y)).recovered_labels_, atol=0.05)
