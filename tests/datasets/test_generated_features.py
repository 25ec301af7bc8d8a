"""Generated features that stand in for those of images."""

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from unmuddle.datasets import available, cifar10n, images, load, make_class_features
from unmuddle.errors import InvalidParameterError

RATES = {"clean": 0.0, "aggre": 9.03, "random1": 17.23, "worst": 40.21}  # section 4 of the paper, per cent


@pytest.fixture(scope="module", name="made")
def _made():
    return {labels: make_class_features(labels, n_train=1000, n_test=200) for labels in RATES}


@pytest.mark.parametrize("labels", RATES)
def test_as_many_labels_are_wrong_as_in_the_paper(made, labels):
    wrong = made[labels].y_noisy != made[labels].y_clean
    assert wrong.sum() == round(RATES[labels] / 100 * 1000)
    assert made[labels].noise_rate == wrong.mean()


def test_all_kinds_of_labels_are_of_the_same_rows_and_wrong_ones_stay_wrong(made):
    for other in made.values():
        np.testing.assert_array_equal(other.X_train, made["clean"].X_train)
        np.testing.assert_array_equal(other.y_test, made["clean"].y_test)
    aggre, random1, worst = (made[name].y_noisy != made[name].y_clean for name in ("aggre", "random1", "worst"))
    assert (aggre <= random1).all()
    assert (random1 <= worst).all()


def test_wrong_labels_are_near_the_borders_of_classes_and_are_the_class_beyond(made):
    """LDA, learned from other rows with clean labels, knows where the borders are."""
    worst, rows = made["worst"], np.arange(1000)
    judge = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.9).fit(worst.X_test, worst.y_test)
    chances = judge.predict_proba(worst.X_train)
    wrong = worst.y_noisy != worst.y_clean
    own = chances[rows, worst.y_clean]
    assert own[wrong].mean() < own[~wrong].mean() - 0.1
    chances[rows, worst.y_clean] = -1
    assert np.mean(chances.argmax(axis=1)[wrong] == worst.y_noisy[wrong]) > 0.3  # by chance one of nine


def test_the_shape_is_that_of_the_images_and_the_rank_is_low(made):
    X = np.vstack([made["clean"].X_train, made["clean"].X_test])
    assert X.shape == (1200, 1280)
    assert X.dtype == np.float32
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)
    steps = values[:-1] / values[1:]
    assert steps[20:200].argmax() == 63 - 20  # after 64 factors comes noise alone


def test_classes_can_be_learned_but_not_perfectly(made):
    clean = made["clean"]
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(clean.X_train, clean.y_clean)
    assert 0.75 < model.score(clean.X_test, clean.y_test) < 0.99


def test_a_seed_repeats_itself_and_another_differs():
    first, again, other = (make_class_features(n_train=20, n_test=5, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, other.X_train)


@pytest.mark.parametrize("wrong", [{"labels": "best"}, {"n_train": 9}, {"n_test": 0}])
def test_what_cannot_be_made_is_refused_by_name(wrong):
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        make_class_features(**wrong)


def test_two_parts_are_joined_in_order_with_clean_labels_in_the_test_part(made):
    worst = made["worst"]
    joined = cifar10n.join_parts(worst, "both")
    np.testing.assert_array_equal(joined.X[~joined.test], worst.X_train)
    np.testing.assert_array_equal(joined.X[joined.test], worst.X_test)
    np.testing.assert_array_equal(joined.y_noisy[joined.test], worst.y_test)
    np.testing.assert_array_equal(joined.y_noisy[~joined.test], worst.y_noisy)
    assert joined.scale == "principal"
    alone = cifar10n.join_images(worst, "all")
    assert (alone.test, alone.y_noisy) == (None, None)
    np.testing.assert_array_equal(alone.y, joined.y)


def test_every_image_set_has_a_generated_twin_that_is_called_so(monkeypatch):
    monkeypatch.setattr(images, "make_class_features", lambda labels: make_class_features(labels, 50, 10))
    entries = {entry.name: entry for entry in available()}
    for name in ("c10n-aggre", "c10n-random1", "c10n-worst", "cifar10"):
        twin = entries[f"{name}-generated"]
        assert twin.where() == "generated"
        assert "generated" in twin.title
        data = load(twin.name)
        assert (data.name, data.X.shape) == (twin.name, (60, 1280))
        if name != "cifar10":
            share = RATES[name.removeprefix("c10n-")] / 100
            assert (data.y != data.y_noisy).sum() == round(share * 50)
