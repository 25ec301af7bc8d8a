"""Norms and lambdas from the noisy data alone. ``tune`` is given X and noisy labels: clean ones cannot matter."""

import inspect
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifierCV

from unmuddle import FLRClassifier, Status
from unmuddle.core.admm import ADMM
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.tuning import AUTO, Given, Scale, Setting, Trial, Wishes, tune
from unmuddle.tuning.folds import split
from unmuddle.tuning.judge import Court, Judged, credit, mean_and_error
from unmuddle.tuning.search import best, pose_plainly, preferred, smoothest
from unmuddle.tuning.tails import feature_norm_of

SEED = 0


def planted(n=72, classes=4, columns=5, rate=0.3, seed=SEED):
    """Overlapping classes, some labels redrawn: at the natural multiples several of them are written off as noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = 1.5 * rng.normal(size=(classes, columns))[y] + rng.normal(size=(n, columns))
    noisy = np.where(rng.random(n) < rate, rng.integers(0, classes, n), y)
    return X, y, noisy


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def automatic(data):
    X, _, noisy = data
    return FLRClassifier(tol=1e-3, random_state=SEED).fit(X, noisy)


def test_nothing_but_features_and_given_labels_goes_in():
    assert list(inspect.signature(tune).parameters) == ["given", "wishes", "rng", "pose"]
    assert [field.name for field in fields(Given)] == ["features", "labels", "missing", "label_weights"]


def test_the_choice_beats_the_natural_multiples_where_these_write_off_classes(data, automatic):
    X, y, noisy = data
    natural = FLRClassifier.natural(tol=1e-3).fit(X, noisy)
    assert automatic.status_ is not Status.COLLAPSED
    assert automatic.score(X, y) >= natural.score(X, y) + 0.05


def test_the_reason_names_the_choice_and_the_table_marks_it(automatic):
    tuning = automatic.tuning_
    chosen = tuning.chosen.setting
    for word in (f"{chosen.feature_norm!r}", f"{chosen.label_norm!r}", f"alpha={chosen.alpha:.3g}"):
        assert word in tuning.reason
    table = tuning.to_frame()
    assert len(table) == len(tuning.trials) >= 2
    (row,) = table[table["chosen"]].to_dict("records")
    assert (row["lambda_projection"], row["lambda_features"]) == (
        automatic.lambdas_.projection,
        automatic.lambdas_.features,
    )
    assert row["score"] == tuning.chosen.score
    assert np.isfinite(table[["score", "standard_error", "seconds"]].to_numpy()).all()


def test_units_and_class_names_do_not_change_the_choice_under_a_seed(data, automatic):
    X, _, noisy = data
    names = np.array(["b", "d", "a", "c"])
    for features, labels in ((10 * X, noisy), (X, names[noisy])):
        other = FLRClassifier(tol=1e-3, random_state=SEED).fit(features, labels)
        assert other.tuning_.chosen.setting == automatic.tuning_.chosen.setting


def test_what_the_caller_fixes_stays_fixed(data):
    X, _, noisy = data
    fixed = {"feature_norm": "l1", "label_norm": "huber", "lambda_features": 0.3, "lambda_labels": 0.1}
    model = FLRClassifier(**fixed, tol=1e-3, random_state=SEED).fit(X, noisy)
    assert (model.lambdas_.features, model.lambdas_.labels) == (0.3, 0.1)
    settings = [trial.setting for trial in model.tuning_.trials]
    assert {(setting.feature_norm, setting.label_norm, setting.label_weight) for setting in settings} == {
        ("l1", "huber", 0.1)
    }
    assert len({setting.alpha for setting in settings}) == len(settings) > 1


def test_without_anything_automatic_nothing_is_tried(data):
    X, _, noisy = data
    assert FLRClassifier.natural(tol=1e-3).fit(X, noisy).tuning_ is None


def test_the_natural_preset_fixes_norms_and_leaves_lambdas_to_their_scales():
    model = FLRClassifier.natural(lambda_labels=0.2)
    assert (model.feature_norm, model.label_norm) == ("l1", "l21")
    assert (model.lambda_projection, model.lambda_features, model.lambda_labels) == (None, None, 0.2)
    assert FLRClassifier().lambda_projection == FLRClassifier().feature_norm == AUTO


@pytest.mark.parametrize("label_norm", ["frobenius", "l21"])
def test_lambdas_of_a_part_have_the_minimiser_of_the_whole(label_norm):
    """Every row four times: by homogeneity the projection is that of the single rows, if lambdas are carried right."""
    X, _, noisy = planted(n=60, classes=3, columns=4)
    X, Y = (X - X.mean(axis=0)) / X.std(axis=0), np.eye(3)[noisy]
    whole = np.tile(X, (4, 1)), np.tile(Y, (4, 1))
    scale, setting = Scale.of(Given(*whole), Wishes()), Setting("l1", label_norm, 0.1, 2.0, 0.05)
    large = ADMM().solve(Problem(*whole, *scale.norms(setting), scale.lambdas(setting)), 4000, 1e-6)
    small = ADMM().solve(Problem(X, Y, *scale.norms(setting), scale.lambdas_of_part(setting, Given(X, Y))), 4000, 1e-6)
    assert np.abs(large.point.Z).max() > 0.01
    assert np.allclose(large.point.Z, small.point.Z, atol=1e-3 * np.abs(large.point.Z).max())


def test_given_lambdas_are_carried_to_a_part_as_their_scales_are():
    X, _, noisy = planted(n=60, classes=3, columns=4)
    Y, wishes = np.eye(3)[noisy], Wishes(lambda_projection=7.0, lambda_features=0.2)
    scale, setting = (
        Scale.of(Given(np.tile(X, (4, 1)), np.tile(Y, (4, 1))), wishes),
        Setting("l1", "l21", 0.1, 1.0, 0.05),
    )
    part = scale.lambdas_of_part(setting, Given(X, Y))
    assert (part.projection, part.features, part.labels) == pytest.approx((7.0 / 2, 0.2 * 2, 0.05 * 2))


def test_folds_part_a_sample_and_share_out_every_class():
    codes = np.repeat([0, 1, 2], [1000, 300, 5000])
    folds = split(codes, np.random.default_rng(0), sample=630)
    held = np.concatenate([judged for _, judged in folds])
    assert len(held) == len(set(held)) == 630
    for learn, judged in folds:
        assert not set(learn) & set(judged)
        assert set(learn) | set(judged) == set(held)
        assert np.abs(np.bincount(codes[judged]) - np.array([100, 30, 500]) / len(folds)).max() <= 1


def test_a_predicted_label_has_credit_and_the_margin_breaks_ties():
    scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.4, 0.6], [0.5, 0.5]])
    sure, fair, wrong, tied = credit(scores, np.zeros(4, dtype=int))
    assert sure > fair > 1 > 0 == tied > wrong


@pytest.mark.parametrize(
    ("spoil", "norm"),
    [
        (lambda rng, shape: rng.normal(0, 0.5, shape), "frobenius"),
        (lambda rng, shape: rng.normal(0, 0.2, shape) + 4 * (rng.random(shape) < 0.1), "huber"),
    ],
)
def test_tails_of_the_residual_give_the_feature_norm(spoil, norm):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20))
    assert feature_norm_of(X + spoil(rng, X.shape), 0.5)[0] == norm


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (np.array([[0.0, 1.0], [1.0, 0.0]]), [0, 1]),
        (np.random.default_rng(0).normal(size=(30, 3)), [0] * 29 + [1]),
        (np.ones((30, 3)), [0, 1] * 15),
    ],
    ids=["two rows", "a class of one row", "constant features"],
)
def test_where_nothing_can_be_judged_natural_multiples_are_taken_with_a_reason(X, y):
    model = FLRClassifier(max_iter=100, random_state=0).fit(X, y)
    natural = FLRClassifier.natural(max_iter=100).fit(X, y)
    assert model.tuning_.trials == ()
    assert "natural multiples" in model.tuning_.reason
    assert model.lambdas_ == natural.lambdas_


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
def test_where_every_setting_collapses_natural_multiples_are_taken_with_a_reason(data):
    X, _, noisy = data
    model = FLRClassifier(lambda_projection=1e6, max_iter=100, random_state=0).fit(X, noisy)
    assert {trial.status for trial in model.tuning_.trials} == {"collapsed"}
    assert "collapsed" in model.tuning_.reason


def test_a_collapsed_setting_is_never_chosen_and_a_smoother_one_only_if_it_is_as_good():
    def judged(alpha, right, status):
        rows = np.arange(100) < right
        trial = Trial(Setting("l1", "l21", alpha, 1.0, 0.1), Lambdas(1.0, 1.0, 0.1), rows.mean(), 0.05, 0.0, status)
        return Judged(trial, rows.astype(float))

    rough, same, worse = judged(0.1, 80, "ranked"), judged(0.2, 80, "ranked"), judged(0.4, 60, "ranked")
    hardly, surely = judged(0.1, 81, "ranked"), judged(0.1, 90, "ranked")  # by one standard error, and by three
    collapsed = judged(0.8, 95, "collapsed")
    assert best([rough, worse, collapsed]) is rough
    assert smoothest([rough, same, worse, collapsed]) is same
    assert best([collapsed]) is smoothest([collapsed]) is None
    assert preferred(rough, [hardly, worse, collapsed], 0.0) is hardly
    assert preferred(rough, [hardly, worse, collapsed], 1.1) is rough
    assert preferred(rough, [hardly, surely], 1.1) is surely


def test_what_the_caller_fixed_is_carried_to_a_fold_as_if_it_had_been_chosen():
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 3000)
    X = 0.5 * rng.normal(size=(3, 20))[y] + rng.normal(size=(3000, 20))
    given, setting = Given(X, np.eye(3)[y]), Setting("frobenius", "frobenius", 0.25, 1.0, 0.05)
    part = given.part(np.arange(400))
    free = Scale.of(given, Wishes("frobenius", "frobenius"), denoised=True)
    chosen, of_part = free.lambdas(setting), free.lambdas_of_part(setting, part)
    features = Scale.of(given, Wishes("frobenius", "frobenius", AUTO, chosen.features), denoised=True)
    assert features.lambdas(setting) == chosen
    assert features.lambdas_of_part(setting, part).projection == pytest.approx(of_part.projection)
    both = Scale.of(given, Wishes("frobenius", "frobenius", chosen.projection, chosen.features), denoised=True)
    assert both.lambdas(setting) == chosen
    root = np.sqrt(3000 / 400)
    assert both.lambdas_of_part(setting, part).projection == pytest.approx(chosen.projection / root, rel=0.2)
    assert both.lambdas_of_part(setting, part).features == pytest.approx(chosen.features * root, rel=0.3)


def test_a_search_round_lambdas_that_it_would_have_chosen_tells_as_many_labels():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 2000)
    X = rng.normal(size=(3, 20))[y] + 1.5 * rng.normal(size=(2000, 20))
    free = FLRClassifier(feature_norm="frobenius", random_state=0).fit(X, y)
    fixed = FLRClassifier(feature_norm="frobenius", lambda_features=free.lambdas_.features, random_state=0).fit(X, y)
    assert fixed.tuning_.chosen.score == pytest.approx(free.tuning_.chosen.score, abs=0.02)


def test_noisy_features_lose_their_noise_and_labels_are_told_as_well_as_by_ridge_regression():
    """Ten classes under noise three times as large; held against the best threshold of one who knows the truth."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 10, 1200)
    clean = rng.normal(size=(10, 64))[y] + 0.3 * rng.normal(size=(1200, 10)) @ rng.normal(size=(10, 64))
    noisy, given = clean + 3.0 * rng.normal(size=clean.shape), np.where(rng.random(1200) < 0.2, (y + 1) % 10, y)
    train, test = np.arange(800), np.arange(800, 1200)
    model = FLRClassifier(scale=None, random_state=0).fit(noisy[train], given[train])
    U, s, Vt = np.linalg.svd(noisy[train], full_matrices=False)
    lowered = [(U * np.maximum(s - step, 0.0)) @ Vt for step in np.linspace(0.0, s[0], 50)]
    best_known = min(np.linalg.norm(each - clean[train]) for each in lowered)
    ridge = RidgeClassifierCV(alphas=np.geomspace(1.0, 1e5, 6)).fit(noisy[train], given[train])
    assert model.tuning_.chosen.setting.beta == 1.0
    assert np.linalg.norm(model.recovered_features_ - clean[train]) < 1.2 * best_known
    assert model.score(noisy[test], y[test]) > ridge.score(noisy[test], y[test]) - 0.03


# Missing cells, rows without a label, weights --------------------------------------------------------------------


@pytest.fixture(scope="module")
def holed(data):
    """A tenth of the cells missing, a fifth of the rows without a label."""
    X, _, noisy = data
    rng = np.random.default_rng(3)
    return rng.random(X.shape) < 0.1, rng.random(len(noisy)) < 0.2


def fit_hidden(X, y, missing, hidden):
    """A fit of a table whose missing cells hide something."""
    values = np.where(missing, hidden, X)
    columns = [pd.arrays.FloatingArray(column, mask) for column, mask in zip(values.T, missing.T, strict=True)]
    return FLRClassifier(tol=1e-3, random_state=SEED).fit(pd.DataFrame(dict(enumerate(columns))), y)


def test_an_automatic_fit_with_holes_is_repeatable_whatever_stood_in_them(data, holed):
    (X, _, noisy), (missing, bare) = data, holed
    y = np.where(bare, np.nan, noisy)
    plain = FLRClassifier(tol=1e-3, random_state=SEED).fit(np.where(missing, np.nan, X), y)
    assert len(plain.tuning_.trials) > 2
    assert plain.status_ is Status.CONVERGED
    other = fit_hidden(X, y, missing, 1e6)
    assert other.tuning_ == plain.tuning_
    assert np.array_equal(other.coef_, plain.coef_)


def test_the_choice_does_not_see_missing_cells_nor_labels_without_weight(data, holed):
    (X, _, noisy), (missing, bare) = data, holed
    Y, rng = np.eye(4)[noisy], np.random.default_rng(5)
    other = np.where(bare[:, None], np.eye(4)[rng.integers(0, 4, len(Y))], Y)
    assert (other != Y).any()
    wishes, weights = Wishes(label_norm="l21", lambda_features=None, lambda_labels=0.3), np.where(bare, 0.0, 1.0)
    one, two = (
        tune(Given(np.where(missing, fill, X), labels, missing, weights), wishes, np.random.default_rng(0))
        for fill, labels in ((0.0, Y), (50.0, other))
    )
    assert [trial.score for trial in one.trials] == pytest.approx([trial.score for trial in two.trials], rel=1e-9)
    assert one.chosen.setting == two.chosen.setting


def test_a_mask_of_nothing_and_even_weights_change_no_score(data):
    X, _, noisy = data
    given, wishes = Given(X, np.eye(4)[noisy]), Wishes(label_norm="l21", lambda_features=None, lambda_labels=0.3)
    even = replace(given, missing=np.zeros(X.shape, dtype=bool), label_weights=np.ones(len(X)))
    one, other = (tune(each, wishes, np.random.default_rng(0)) for each in (given, even))
    assert other.chosen.setting == one.chosen.setting
    assert [trial.score for trial in other.trials] == pytest.approx([trial.score for trial in one.trials])


def test_rows_without_a_label_are_learned_from_in_every_fold_and_never_judged():
    codes = np.where(np.arange(900) < 400, np.arange(900) % 3, -1)
    folds = split(codes, np.random.default_rng(0), sample=600)
    assert len(folds) == 3
    assert sorted(np.concatenate([judged for _, judged in folds])) == list(range(400))
    for learn, _ in folds:
        bare = learn[codes[learn] < 0]
        assert len(set(bare)) == 200
        assert np.array_equal(bare, folds[0][0][codes[folds[0][0]] < 0])


def test_few_labels_among_many_rows_are_too_few():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.where(np.arange(40) < 8, np.arange(40) % 2, np.nan)
    model = FLRClassifier(max_iter=50, random_state=0)
    with pytest.warns():
        model.fit(X, y)
    assert "too few rows to judge by (8," in model.tuning_.reason


def test_whole_weights_count_as_copies_in_the_mean():
    values, weights = np.array([1.0, 0.0, 0.25, 1.0]), np.array([2.0, 1.0, 3.0, 0.0])
    mean, _ = mean_and_error(values, weights)
    assert mean == pytest.approx(np.repeat(values, weights.astype(int)).mean())
    assert mean_and_error(values, 7 * weights) == pytest.approx(mean_and_error(values, weights))
    assert mean_and_error(values, None) == pytest.approx((values.mean(), values.std() / 2))


def test_the_score_of_a_trial_is_that_of_the_heavy_rows(data):
    """Rows of class 0 weigh nearly all, so the score is the share of them that is predicted, the margin aside."""
    X, _, noisy = data
    weights = np.where(noisy == 0, 1.0, 1e-6)
    given = Given(X, np.eye(4)[noisy], label_weights=weights / weights.mean())
    court = Court.of(Scale.of(given, Wishes()), split(given.codes, np.random.default_rng(0)), pose_plainly)
    judged = court.judge(Setting("frobenius", "frobenius", 0.05, 3.0, 1.0))
    heavy = np.concatenate([held.codes for _, held in court.folds]) == 0
    assert judged.trial.score == pytest.approx(judged.credit[heavy].mean(), abs=1e-4)
    assert abs(judged.credit.mean() - judged.trial.score) > 0.05


@pytest.mark.parametrize(("gross", "norm"), [(0.0, "frobenius"), (0.1, "huber")])
def test_tails_are_of_the_cells_seen(gross, norm):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20)) + rng.normal(0, 0.3, (300, 20))
    X += 6 * (rng.random(X.shape) < gross)
    missing = rng.random(X.shape) < 0.2
    missing[:, 7] = True
    found = [feature_norm_of(np.where(missing, fill, X), 0.3, missing) for fill in (0.0, 1e3)]
    assert found[0] == found[1]
    assert found[0][0] == norm
