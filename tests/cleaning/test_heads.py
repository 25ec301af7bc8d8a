"""What the judges say of a row does not depend on the row's own label."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from cleaning.planted import blobs
from unmuddle.cleaning import heads
from unmuddle.cleaning.heads import (
    FEW,
    FOLDS,
    LEAVES,
    Given,
    hear_clouds,
    hear_forest,
    hear_kernel,
    hear_linear,
    make_folds,
    memorised,
    sample_rows,
    teach_linear,
    tune_kernel,
    tune_linear,
)
from unmuddle.core.kernel import Choice
from unmuddle.core.mixture import Axes

X, Y = blobs(60, apart=1.0)
GIVEN = Given.of(Y, np.ones(60), 3, seed=0)


def relabelled(row):
    """The same labels and folds, but for one row."""
    codes = Y.copy()
    codes[row] = (codes[row] + 1) % 3
    return replace(GIVEN, codes=codes)


@pytest.mark.parametrize(
    ("hear", "setting", "tolerance"),
    [(hear_linear, 0.1, 1e-3), (hear_linear, 10.0, 1e-3), (hear_kernel, Choice(1.0, 0.1), 1e-9)],
    ids=["linear smooth", "linear rough", "kernel"],
)
def test_a_changed_label_changes_what_is_said_of_other_rows_only(hear, setting, tolerance):
    before = hear(X, GIVEN, setting).held_out
    for row in (0, 17, 40):
        after = hear(X, relabelled(row), setting).held_out
        assert np.abs(after[row] - before[row]).max() < tolerance
        assert np.abs(np.delete(after - before, row, axis=0)).max() > 10 * tolerance


def test_a_changed_label_changes_what_clouds_say_of_other_folds_only():
    axes = Axes.of(X)
    rows = axes.rotate(X)
    before = heads._clouds_held_out(rows, axes.variances, GIVEN, 0.1)
    for row in (0, 17, 40):
        after = heads._clouds_held_out(rows, axes.variances, relabelled(row), 0.1)
        fold = next(test for _, test in GIVEN.folds if row in test)
        assert np.array_equal(after[fold], before[fold])
        assert np.abs(np.delete(after - before, fold, axis=0)).max() > 1e-3


def test_clouds_are_as_sure_of_noisy_labels_as_these_let_them_be():
    rng = np.random.default_rng(0)
    rows, codes = blobs(400, apart=4.0)
    wrong = rng.random(400) < 0.3
    noisy = np.where(wrong, (codes + rng.integers(1, 3, 400)) % 3, codes)
    heard = hear_clouds(rows, Given.of(noisy, np.ones(400), 3, seed=0))
    assert np.mean(heard.held_out.argmax(axis=1) == codes) > 0.98
    losses = [
        log_loss(noisy, np.exp(power * np.log(heard.held_out)) / np.sum(heard.held_out**power, axis=1, keepdims=True))
        for power in (0.8, 1.0, 1.25)
    ]
    assert np.argmin(losses) == 1
    assert np.mean(heard.head.predict(rows).argmax(axis=1) == codes) > 0.98


def test_kernel_predictions_for_rows_left_out_are_those_of_a_fit_without_them():
    choice = Choice(1.0, 0.1)
    left_out = hear_kernel(X, GIVEN, choice).held_out
    for row in (3, 31):
        without = np.where(np.arange(60) == row, -1, Y)
        weights = np.where(np.arange(60) == row, 0.0, 1.0)
        refitted = hear_kernel(X, replace(GIVEN, codes=without, weights=weights), choice).head
        assert np.allclose(refitted.predict(X[[row]]), left_out[row], atol=1e-8)


@pytest.mark.parametrize(
    ("right", "few", "leaf", "number"),
    [
        ((0.5, 0.6, 0.7), False, 2, 3),
        ((0.5, 0.6, 0.6), False, 1, 3),
        ((0.5, 0.5, 0.9), False, 2, 3),
        ((0.6, 0.5, 0.9), False, 0, 2),
        ((0.6, 0.5, 0.9), True, 2, 3),
    ],
)
def test_smaller_leaves_are_tried_until_they_harm_and_of_few_rows_all(monkeypatch, right, few, leaf, number):
    tried = []

    def grow(X, given, leaf, most):
        tried.append(leaf)
        return leaf

    monkeypatch.setattr(heads, "_grow", grow)
    monkeypatch.setattr(heads, "_out_of_bag", lambda leaf: leaf)
    monkeypatch.setattr(Given, "accuracy", lambda given, leaf: right[LEAVES.index(leaf)])
    assert heads._tune_leaf(X, replace(GIVEN, few=few)) == LEAVES[leaf]
    assert tried == list(LEAVES[:number])


def test_trees_that_did_not_meet_a_row_do_not_repeat_its_label():
    noise = np.random.default_rng(0).normal(size=(150, 3))
    codes = np.random.default_rng(1).integers(0, 2, 150)
    heard = hear_forest(noise, Given.of(codes, np.ones(150), 2, seed=0))
    seen = (heard.head.predict(noise).argmax(axis=1) == codes).mean()
    unseen = (heard.held_out.argmax(axis=1) == codes).mean()
    assert unseen < 0.65 < seen


def test_rows_without_a_label_or_weight_are_heard_and_have_no_say():
    weights = np.where(np.arange(60) % 4 == 0, 0.0, 1.0)
    codes = np.where(np.arange(60) % 5 == 0, -1, Y)
    given = Given.of(codes, weights, 3, seed=0)
    assert (given.codes[(weights == 0) | (codes < 0)] == -1).all()
    assert given.known.sum() == ((weights > 0) & (codes >= 0)).sum()
    assert np.array_equal(given.targets.sum(axis=1), given.known)
    other = Given.of(np.where(weights == 0, (Y + 1) % 3, codes), weights, 3, seed=0)
    for hear in (
        lambda g: hear_linear(X, g, 1.0),
        lambda g: hear_kernel(X, g, Choice(1.0, 0.1)),
        lambda g: hear_forest(X, g),
    ):
        said = hear(given).held_out
        assert np.isfinite(said).all()
        assert np.array_equal(said, hear(other).held_out)


def test_a_class_that_a_fold_does_not_meet_gets_no_votes_and_no_error():
    codes = np.where(np.arange(60) == 5, 3, Y)
    given = Given.of(codes, np.ones(60), 4, seed=0)
    for heard in (hear_linear(X, given, 1.0), hear_kernel(X, given, Choice(1.0, 0.1)), hear_forest(X, given)):
        assert heard.held_out.shape == (60, 4)
        assert heard.held_out[5].argmax() != 3
        assert heard.head.predict(X).shape == (60, 4)


@pytest.mark.parametrize(
    "codes", [np.arange(50) % 3, np.array([0, 1]), np.array([0, 0, 0, 1]), np.where(np.arange(50) % 2, -1, 0)]
)
def test_every_row_is_held_out_once_and_never_with_itself(codes):
    folds = make_folds(codes, seed=0)
    assert len(folds) == min(FOLDS, len(codes))
    assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(len(codes)))
    for train, test in folds:
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == len(codes)


def test_classes_and_rows_without_a_label_are_shared_out_evenly():
    codes = np.repeat([0, 1, -1], [40, 10, 50])
    for _, test in make_folds(codes, seed=3):
        assert [(codes[test] == code).sum() for code in (0, 1, -1)] == [8, 2, 10]


def test_settings_are_chosen_on_labelled_rows_at_most_a_thousand():
    codes = np.where(np.arange(3000) % 2, -1, 0)
    rows = sample_rows(codes, seed=0)
    assert len(np.unique(rows)) == 1000
    assert (codes[rows] == 0).all()
    assert np.array_equal(sample_rows(codes[:200], seed=0), np.arange(0, 200, 2))


def test_chosen_settings_get_far_classes_right():
    far, codes = blobs(60, apart=8.0)
    given = Given.of(codes, np.ones(60), 3, seed=0)
    assert tune_linear(far, given)[1] == 1.0
    assert tune_kernel(far, given)[1] == 1.0


def test_accuracy_counts_labels_by_weight():
    given = Given.of(np.array([0, 1, 1, -1]), np.array([1.0, 2.0, 0.0, 1.0]), 2, seed=0)
    assert given.accuracy(np.eye(2)[[0, 0, 1, 1]]) == pytest.approx(1 / 3)


def test_only_small_tables_get_small_models():
    few, many = (Given.of(np.arange(n) % 2, np.ones(n), 2, seed=0) for n in (FEW - 1, FEW))
    assert few.few
    assert not many.take(np.arange(10)).few
    assert many.n_trees == 100 > few.n_trees
    assert len(many.strengths) == 9 > len(few.strengths)


def test_a_forest_grown_in_batches_is_the_forest_grown_at_once_and_tells_how_far_it_is():
    rows, codes = blobs(120, apart=1.0)
    given, told = Given.of(codes, np.ones(120), 3, seed=0), []
    heard = hear_forest(rows, given, told.append)
    once = clone(heard.head.forest).fit(rows, given.codes, sample_weight=np.ones(120))
    np.testing.assert_array_equal(heard.head.predict(rows), once.predict_proba(rows))
    np.testing.assert_array_equal(heard.held_out, once.oob_decision_function_)
    assert told == [batch / 5 for batch in range(5)]


def test_a_linear_model_memorises_what_it_can():
    """Noise in more columns than rows can be repeated and not foreseen; one column alone can be neither."""
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat(np.arange(3), 20))
    given = replace(GIVEN, codes=labels, folds=make_folds(labels, 0))
    wide, narrow = rng.normal(size=(60, 90)), rng.normal(size=(60, 1))
    assert memorised(hear_linear(wide, given, 10.0), wide, given) == 1.0
    assert memorised(hear_linear(narrow, given, 10.0), narrow, given) < 0.2


def test_nothing_is_memorised_where_all_is_foreseen():
    far, labels = blobs(60, apart=20.0)
    given = Given.of(labels, np.ones(60), 3, seed=0)
    assert memorised(hear_linear(far, given, 1.0), far, given) == 0.0


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_taught_model_is_logistic_regression_on_every_class_with_its_chance(share):
    rng = np.random.default_rng(1)
    weights, likely = rng.uniform(0.5, 2.0, 60), rng.dirichlet(np.ones(3), 60)
    given = replace(GIVEN, weights=weights)
    chances = (share * likely + (1 - share) * np.eye(3)[Y]) * weights[:, None]
    oracle = LogisticRegression(C=0.3, tol=1e-8, max_iter=2000)
    oracle.fit(np.repeat(X, 3, axis=0), np.tile(np.arange(3), 60), sample_weight=chances.ravel())
    taught = teach_linear(X, given, 0.3, likely, share)
    assert taught.predict(X) == pytest.approx(oracle.predict_proba(X), abs=2e-3)
