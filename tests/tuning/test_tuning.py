"""Norms and lambdas from the noisy data alone. ``tune`` is given X and noisy labels: clean ones cannot matter."""

import inspect

import numpy as np
import pytest

from unmuddle import FLRClassifier, Status
from unmuddle.core.admm import ADMM
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.tuning import AUTO, Scale, Setting, Trial, Wishes, tune
from unmuddle.tuning.folds import split
from unmuddle.tuning.judge import Judged, credit
from unmuddle.tuning.search import best, smoothest
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
    assert list(inspect.signature(tune).parameters) == ["features", "labels", "wishes", "rng", "pose"]


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
    whole, once = (np.tile(X, (4, 1)), np.tile(Y, (4, 1))), np.arange(60)
    scale, setting = Scale.of(*whole, Wishes()), Setting("l1", label_norm, 0.1, 2.0, 0.05)
    large = ADMM().solve(Problem(*whole, *scale.norms(setting), scale.lambdas(setting)), 4000, 1e-6)
    small = ADMM().solve(Problem(X, Y, *scale.norms(setting), scale.lambdas_of_part(setting, once)), 4000, 1e-6)
    assert np.abs(large.point.Z).max() > 0.01
    assert np.allclose(large.point.Z, small.point.Z, atol=1e-3 * np.abs(large.point.Z).max())


def test_given_lambdas_are_carried_to_a_part_as_their_scales_are():
    X, _, noisy = planted(n=60, classes=3, columns=4)
    Y, wishes = np.eye(3)[noisy], Wishes(lambda_projection=7.0, lambda_features=0.2)
    scale, setting = Scale.of(np.tile(X, (4, 1)), np.tile(Y, (4, 1)), wishes), Setting("l1", "l21", 0.1, 1.0, 0.05)
    part = scale.lambdas_of_part(setting, np.arange(60))
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
    collapsed = judged(0.8, 95, "collapsed")
    assert best([rough, worse, collapsed]) is rough
    assert smoothest([rough, same, worse, collapsed]) is same
    assert best([collapsed]) is smoothest([collapsed]) is None
