"""What FLRClassifier publishes, and that it is what it says."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.metrics import log_loss

from unmuddle import FLRClassifier, Status, flr_path
from unmuddle.errors import CollapsedWarning, MemorizedWarning, StationarityWarning


@pytest.fixture(scope="module")
def noisy_wine():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(7)
    noisy = y.copy()
    rows = rng.permutation(178)[:40]
    noisy[rows] = (noisy[rows] + rng.integers(1, 3, 40)) % 3
    return X + 0.2 * X.std(axis=0) * rng.normal(size=X.shape), np.array(["a", "b", "c"])[noisy]


@pytest.fixture(scope="module")
def model(noisy_wine):
    return FLRClassifier.natural().fit(*noisy_wine)


def test_the_default_fit_is_certified(model):
    assert model.status_ is Status.CONVERGED
    assert model.certificate_.satisfied
    assert model.certificate_.worst <= 1e-4


def test_scores_are_linear_in_the_units_of_the_user(noisy_wine, model):
    X, _ = noisy_wine
    assert model.coef_.shape == (3, 13)
    assert model.intercept_.shape == (3,)
    assert model.projection_.shape == (13, 3)
    assert np.allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X))
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    steps = model.decision_function(X) - scaled @ model.projection_
    assert np.allclose(steps, steps[0])
    assert np.array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])


def test_two_classes_have_two_rows_of_coefficients_and_one_score(noisy_wine):
    X, y = noisy_wine
    X, y = X[y != "c"], y[y != "c"]
    model = FLRClassifier.natural(tol=1e-3).fit(X, y)
    scores = X @ model.coef_.T + model.intercept_
    assert model.coef_.shape == (2, 13)
    assert model.decision_function(X).shape == (len(X),)
    assert np.allclose(model.decision_function(X), scores[:, 1] - scores[:, 0])
    assert np.array_equal(model.predict(X) == "b", model.decision_function(X) > 0)
    assert np.all(np.argsort(model.predict_proba(X)[:, 1]) == np.argsort(model.decision_function(X)))


def test_probabilities_are_strictly_monotone_in_the_scores(noisy_wine, model):
    X, _ = noisy_wine
    scores, chances = model.decision_function(X), model.predict_proba(X)
    assert np.allclose(chances.sum(axis=1), 1)
    assert np.array_equal(np.argsort(scores, axis=1), np.argsort(chances, axis=1))
    ratios = np.log(chances[:, 0] / chances[:, 1]) / (scores[:, 0] - scores[:, 1])
    assert np.allclose(ratios, 1 / model.temperature_)


def test_no_other_temperature_makes_the_given_labels_likelier(noisy_wine, model):
    X, y = noisy_wine
    best = log_loss(y, model.predict_proba(X))
    for factor in (0.9, 1.1):
        scaled = np.exp(model.decision_function(X) / (factor * model.temperature_))
        assert best <= log_loss(y, scaled / scaled.sum(axis=1, keepdims=True))


def test_recovered_parts_and_errors_add_up_to_what_was_given(noisy_wine, model):
    X, y = noisy_wine
    given = (y[:, None] == model.classes_).astype(float)
    assert np.allclose(model.recovered_features_ + model.feature_errors_, X, atol=1e-3 * X.std(axis=0))
    assert np.allclose(model.recovered_labels_ + model.label_errors_, given, atol=1e-12)
    assert model.recovered_labels_.min() >= 0
    assert model.recovered_labels_.max() <= 1
    same = np.all(model.recovered_labels_ == given, axis=1).mean()
    assert model.memorized_ == pytest.approx(same)


def test_without_the_box_recovered_labels_are_cut_and_errors_are_not(noisy_wine):
    model = FLRClassifier.natural(label_norm="frobenius", box=False, tol=1e-3).fit(*noisy_wine)
    given = (noisy_wine[1][:, None] == model.classes_).astype(float)
    assert np.array_equal(model.recovered_labels_, np.clip(given - model.label_errors_, 0, 1))
    assert model.memorized_ == 0


def test_the_rank_is_that_of_the_recovered_features(noisy_wine, model):
    X, _ = noisy_wine
    scaled = (model.recovered_features_ - X.mean(axis=0)) / X.std(axis=0)
    assert np.linalg.matrix_rank(scaled, tol=1e-6 * np.linalg.norm(scaled, 2)) == model.rank_
    assert model.components_.shape == (model.rank_, 13)


def test_transform_takes_each_row_by_itself_in_the_units_of_the_user(noisy_wine, model):
    X, y = noisy_wine
    together = model.transform(X)
    assert together.shape == X.shape
    assert np.allclose(together[5], model.transform(X[5:6])[0], atol=1e-6 * X.std(axis=0))
    assert np.allclose(model.transform(together), together, atol=1e-6 * X.std(axis=0))
    assert np.array_equal(FLRClassifier.natural().fit_transform(X, y), together)


def test_the_callers_arrays_are_left_alone(noisy_wine):
    X, y = noisy_wine
    before = X.copy(), y.copy()
    FLRClassifier.natural(tol=1e-3).fit(X, y).transform(X)
    assert np.array_equal(X, before[0])
    assert np.array_equal(y, before[1])


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_units_and_offsets_of_columns_do_not_matter(noisy_wine, scale):
    X, y = noisy_wine
    factors, offsets = np.geomspace(1e-6, 1e6, 13), np.linspace(-5, 5, 13)
    first = FLRClassifier.natural(scale=scale, tol=1e-3).fit(X, y)
    second = FLRClassifier.natural(scale=scale, tol=1e-3).fit(X * factors + offsets, y)
    assert np.allclose(first.decision_function(X), second.decision_function(X * factors + offsets), atol=1e-5)
    assert np.allclose(first.recovered_features_ * factors + offsets, second.recovered_features_, rtol=1e-4)


def test_given_lambdas_are_the_papers_and_are_published(noisy_wine):
    X, y = noisy_wine
    model = FLRClassifier.natural(lambda_projection=0.5, lambda_features=0.3, lambda_labels=0.1, tol=1e-3).fit(X, y)
    assert (model.lambdas_.projection, model.lambdas_.features, model.lambdas_.labels) == (0.5, 0.3, 0.1)
    scaled, recovered = ((part - X.mean(axis=0)) / X.std(axis=0) for part in (X, model.recovered_features_))
    given, scores = y[:, None] == model.classes_, model.recovered_features_ @ model.coef_.T + model.intercept_
    objective = (
        np.linalg.norm(recovered, "nuc")
        + 0.5 * np.linalg.norm(model.projection_, "nuc")
        + 0.3 * np.abs(scaled - recovered).sum()
        + 0.1 * np.linalg.norm(given - scores, axis=1).sum()
    )
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def test_the_preset_is_the_published_setting():
    model = FLRClassifier.paper(lambda_labels=0.2)
    assert (model.solver, model.feature_norm, model.label_norm) == ("paper", "l1", "l21")
    assert (model.fit_intercept, model.box, model.lambda_labels) == (False, True, 0.2)
    assert FLRClassifier.paper(box=False).box is False


def test_the_published_algorithm_warns_that_it_is_not_stationary(noisy_wine):
    with pytest.warns(StationarityWarning, match="not stationary.*solver='admm'"):
        model = FLRClassifier.paper().fit(*noisy_wine)
    assert model.status_ is Status.STALLED
    assert {"objective", "augmented_lagrangian", "mu"} <= set(model.trace_)


def test_a_large_projection_weight_collapses_with_a_warning_that_names_it(noisy_wine):
    with pytest.warns(CollapsedWarning, match="Lower lambda_projection"):
        model = FLRClassifier.natural(lambda_projection=1e3).fit(*noisy_wine)
    assert model.status_ is Status.COLLAPSED
    assert not model.projection_.any()


def test_a_small_feature_weight_collapses_with_a_warning_that_names_it(noisy_wine):
    with pytest.warns(CollapsedWarning, match="Raise lambda_features"):
        model = FLRClassifier.natural(lambda_features=1e-3).fit(*noisy_wine)
    assert model.rank_ == 0


def test_a_loose_tolerance_is_named_as_the_cause(noisy_wine):
    with pytest.warns(StationarityWarning, match="Lower tol"):
        FLRClassifier.natural(tol=0.5).fit(*noisy_wine)


def test_running_out_of_iterations_warns(noisy_wine):
    with pytest.warns(StationarityWarning, match="max_iter"):
        model = FLRClassifier.natural(max_iter=3).fit(*noisy_wine)
    assert model.status_ is Status.MAX_ITER
    assert model.n_iter_ == 3


def test_memorising_the_labels_warns():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(MemorizedWarning, match="lambda_projection"):
        model = FLRClassifier.natural(label_norm="l1", lambda_projection=0.2, tol=1e-3, max_iter=4000).fit(X, y)
    assert model.memorized_ > 0.9


@pytest.mark.parametrize("feature_norm", ["l1", "frobenius", "huber", "l21", "none"])
@pytest.mark.parametrize("label_norm", ["l21", "frobenius", "huber", "l1"])
def test_every_pair_of_norms_gives_a_certified_classifier(noisy_wine, feature_norm, label_norm):
    X, y = noisy_wine
    model = FLRClassifier.natural(feature_norm=feature_norm, label_norm=label_norm, tol=1e-3).fit(X, y)
    clean = load_wine(return_X_y=True)
    assert model.status_ is Status.CONVERGED
    assert np.mean(model.predict(clean[0]) == np.array(["a", "b", "c"])[clean[1]]) > 0.7
    assert np.isfinite(model.transform(X)).all()


def test_without_label_errors_the_labels_are_met_exactly(noisy_wine):
    X, y = noisy_wine
    with pytest.warns(MemorizedWarning):
        model = FLRClassifier.natural(feature_norm="frobenius", label_norm="none", tol=1e-3).fit(X, y)
    given = (y[:, None] == model.classes_).astype(float)
    scaled = (model.recovered_features_ - X.mean(axis=0)) / X.std(axis=0)
    assert np.allclose(scaled @ model.projection_ + model._scaled_intercept, given, atol=0.02)
    assert model.memorized_ == 1


def test_progress_is_shown_on_request_only(noisy_wine, capfd):
    FLRClassifier.natural(tol=1e-3).fit(*noisy_wine)
    assert capfd.readouterr() == ("", "")
    FLRClassifier.natural(tol=1e-3, verbose=True).fit(*noisy_wine)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "Recovering" in shown.err


def test_single_precision_stays_single_and_gives_the_same_classes(noisy_wine):
    X, y = noisy_wine
    double, single = FLRClassifier.natural().fit(X, y), FLRClassifier.natural().fit(X.astype(np.float32), y)
    assert single.recovered_features_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert single.transform(X).dtype == double.recovered_features_.dtype == np.float64
    assert np.mean(double.predict(X) == single.predict(X)) >= 0.99
    assert single.status_ is Status.CONVERGED
    assert single.rank_ == double.rank_


def test_single_precision_with_large_offsets_is_scaled_as_double_is(noisy_wine):
    X, y = noisy_wine
    shifted = (X + 1000.0).astype(np.float32)
    double, single = FLRClassifier.natural().fit(shifted.astype(np.float64), y), FLRClassifier.natural().fit(shifted, y)
    assert np.mean(double.predict(shifted) == single.predict(shifted)) >= 0.99


def test_a_warm_start_goes_on_from_the_last_fit(noisy_wine):
    X, y = noisy_wine
    model = FLRClassifier.natural(warm_start=True).fit(X, y)
    cold, Z = model.n_iter_, model.projection_
    model.fit(X, y)
    assert model.n_iter_ <= 25 < cold
    assert np.allclose(model.projection_, Z, atol=1e-3 * np.abs(Z).max())
    model.fit(X[:-10], y[:-10])  # another size: a cold start, no error
    assert model.n_iter_ == FLRClassifier.natural().fit(X[:-10], y[:-10]).n_iter_


def test_a_path_agrees_with_single_fits_and_takes_fewer_iterations(noisy_wine):
    X, y = noisy_wine
    projection, features, labels = vars(FLRClassifier.natural(tol=1e-3).fit(X, y).lambdas_).values()
    settings = [(projection * factor, features, labels) for factor in (1.0, 1.2, 1.4, 100.0, 1.6)]
    path = flr_path(X, y, settings)
    fits = [
        FLRClassifier.natural(lambda_projection=l1, lambda_features=l2, lambda_labels=l3) for l1, l2, l3 in settings
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapsedWarning)
        fits = [fit.fit(X, y) for fit in fits]
    assert [step.status for step in path] == [fit.status_ for fit in fits]
    assert path[3].status is Status.COLLAPSED
    for step, fit in zip(path, fits, strict=True):
        assert step.objective == pytest.approx(fit.objective_, rel=1e-4)
    assert sum(step.n_iter for step in path) < sum(fit.n_iter_ for fit in fits)


def test_scikit_learns_callbacks_see_every_iteration_and_may_stop(noisy_wine):
    pytest.importorskip("sklearn.callback")
    seen = []

    class Stopper:
        def setup(self, estimator, context):
            seen.append("setup")

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context):
            seen.append(context.task_name)
            return seen.count("iteration") == 9

        def teardown(self, estimator, context):
            seen.append("teardown")

    model = FLRClassifier.natural().set_callbacks(Stopper())
    with pytest.warns(StationarityWarning):
        model.fit(*noisy_wine)
    assert model.n_iter_ == 9
    assert seen == ["setup", *["iteration"] * 9, "fit", "teardown"]
    assert clone(model).fit(*noisy_wine).n_iter_ > 9


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_the_defaults_neither_collapse_nor_stall_on_real_data(load):
    assert FLRClassifier.natural().fit(*load(return_X_y=True)).status_ is Status.CONVERGED


@pytest.mark.slow
def test_a_fit_needs_at_most_eight_arrays_beside_the_data():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 20_000)
    X = rng.normal(size=(3, 256))[y] + rng.normal(size=(20_000, 256))
    tracemalloc.start()
    with pytest.warns(StationarityWarning):
        FLRClassifier.natural(max_iter=26, tol=1e-9).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * X.nbytes
