"""What the methods do: learn what is easy, resist noise that cross entropy does not, and step round their traps."""

import numpy as np
import pytest

from unmuddle import baselines

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")

from unmuddle.baselines import objectives, robust, training  # noqa: E402 - behind the guard
from unmuddle.baselines.batches import stratified_batches  # noqa: E402
from unmuddle.baselines.forward import read_anchors  # noqa: E402
from unmuddle.baselines.training import Budget, Course  # noqa: E402

METHODS = [
    baselines.RPCAClassifier,
    baselines.GCEClassifier,
    baselines.CoTeachingClassifier,
    baselines.JoCoRClassifier,
    baselines.DMIClassifier,
    baselines.LQFClassifier,
    baselines.RRLClassifier,
    baselines.SCEClassifier,
    baselines.ForwardClassifier,
    baselines.MentorNetClassifier,
    baselines.CrossEntropyClassifier,
]


def blobs(n_rows, rng, n_columns=2):
    """Two normal clouds five deviations apart; the best rule is right on 99.4 % of rows."""
    y = np.arange(n_rows) % 2
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += 5.0 * y
    return X, y


@pytest.mark.parametrize("method", METHODS)
def test_two_clean_blobs_are_told_apart(method):
    rng = np.random.default_rng(0)
    model = method(random_state=0).fit(*blobs(300, rng))
    assert model.score(*blobs(2000, rng)) >= 0.98


def test_a_given_noise_rate_is_used_and_an_estimated_one_is_close():
    """30 % of labels flipped, in clusters that neighbours of a row share: the case the estimate is made for."""
    rng = np.random.default_rng(0)
    X, y = blobs(1000, rng)
    noisy = np.where(rng.random(1000) < 0.3, 1 - y, y)
    settings = {"n_epochs": 2, "random_state": 0}
    for method in (baselines.CoTeachingClassifier, baselines.JoCoRClassifier, baselines.MentorNetClassifier):
        assert method(noise_rate=0.25, **settings).fit(X, noisy).noise_rate_ == 0.25
        assert method(**settings).fit(X, noisy).noise_rate_ == pytest.approx(0.3, abs=0.06)


def test_lqf_finds_the_transitions_of_clusters():
    rng = np.random.default_rng(1)
    T = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.15, 0.25, 0.6]])
    y = rng.choice(3, size=4000, p=[0.5, 0.3, 0.2])
    noisy = np.array([rng.choice(3, p=T[code]) for code in y])
    X = 3 * np.eye(3)[y] + rng.normal(0, 0.3, (4000, 3))
    model = baselines.LQFClassifier(n_epochs=3, random_state=0).fit(X, noisy)
    assert np.abs(model.transition_ - T).sum() / 6 < 0.04
    unweighted = baselines.ForwardClassifier(transition="consensus", n_epochs=3, random_state=0).fit(X, noisy)
    assert np.abs(unweighted.transition_ - T).sum() / 6 < 0.04
    shrunk = baselines.LQFClassifier(shrink=1.0, n_epochs=1, random_state=0).fit(X, noisy)
    assert np.allclose(shrunk.transition_, np.eye(3))


def test_anchors_are_rows_at_the_97th_percentile():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1, 1, 1], size=101)
    found = read_anchors(probabilities)
    for column in range(3):
        assert (probabilities[:, column] < found[column, column]).sum() == 97
    assert np.allclose(found.sum(axis=1), 1.0)


def test_a_given_transition_is_what_makes_predictions_clean():
    """All labels of class 0 read 1 in half of the rows: cross entropy is torn there, the corrected loss is not."""
    rng = np.random.default_rng(0)
    X, y = blobs(600, rng)
    noisy = np.where((y == 0) & (rng.random(600) < 0.5), 1, y)
    T = [[0.5, 0.5], [0.0, 1.0]]
    settings = {"random_state": 0, "n_epochs": 60, "learning_rate": 0.01, "validation_fraction": 0}
    corrected = baselines.ForwardClassifier(transition=T, **settings).fit(X, noisy)
    plain = baselines.CrossEntropyClassifier(**settings).fit(X, noisy)
    new, truth = blobs(2000, rng)
    of_class_0 = new[truth == 0]
    assert corrected.predict_proba(of_class_0)[:, 0].mean() > 0.9
    assert plain.predict_proba(of_class_0)[:, 0].mean() == pytest.approx(0.5, abs=0.1)


def test_truncation_prunes_wrong_labels():
    rng = np.random.default_rng(0)
    X, y = blobs(400, rng)
    wrong = rng.random(400) < 0.3
    model = baselines.GCEClassifier(truncated=True, validation_fraction=0, random_state=0)
    model.fit(X, np.where(wrong, 1 - y, y))
    assert model.kept_[wrong].mean() < 0.1
    assert model.kept_[~wrong].mean() > 0.9


def glass_like(rng):
    """Six classes of 9 to 76 rows."""
    y = np.repeat(np.arange(6), [70, 76, 17, 13, 9, 29])
    return rng.normal(size=(len(y), 9)) + 1.5 * rng.normal(size=(6, 9))[y], y


def test_no_step_of_the_determinant_loss_has_a_zero_gradient():
    """Every batch of a real run, at the parameters where the second stage starts: a missing class would give 0."""
    X, y = glass_like(np.random.default_rng(0))
    budget = Budget(hidden=(16,), n_epochs=20, batch_size=16, learning_rate=0.01, weight_decay=0.0)
    course = Course(X, y, 6, np.array([], dtype=int), budget, np.random.default_rng(0))
    start = course.train(objectives.plain, course.networks(1)).parameters
    dealt = []

    def deal(*arguments):
        dealt.extend(stratified_batches(*arguments))
        return dealt[-9:]

    trained = course.train(objectives.determinant, start, n_epochs=10, learning_rate=1e-3, deal=deal)
    assert np.isfinite(trained.losses).all()
    assert trained.losses[-1] < trained.losses[0]
    for rows in dealt:
        batch = objectives.Batch(*(array[rows] for array in course.data[:4]), course.data.offset, jax.random.key(0))
        gradient = jax.grad(objectives.determinant)(start, batch, {})
        assert np.linalg.norm(gradient["output"][0]) > 1e-3


def test_a_batch_without_a_class_would_have_no_determinant():
    """The trap itself."""
    X, y = glass_like(np.random.default_rng(0))
    budget = Budget(hidden=(16,), n_epochs=1, batch_size=16, learning_rate=0.01, weight_decay=0.0)
    course = Course(X, y, 6, np.array([], dtype=int), budget, np.random.default_rng(0))
    rows = np.flatnonzero(y != 4)
    batch = objectives.Batch(*(array[rows] for array in course.data[:4]), course.data.offset, jax.random.key(0))
    assert np.isinf(objectives.determinant(course.networks(1), batch, {}))


@pytest.mark.parametrize("method", METHODS[1:])
def test_classes_of_two_rows_are_learned_from(method):
    """Each method on six classes, two of which have two rows: no NaN, and every class has a probability."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(6), [20, 20, 20, 20, 2, 2])
    X = rng.normal(size=(84, 4)) + 4 * rng.normal(size=(6, 4))[y]
    model = method(n_epochs=12, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.loss_curve_).all()
    assert model.predict_proba(X).shape == (84, 6)


def test_a_high_forget_rate_leaves_rows_to_learn_from():
    """At 95 % of three rows a batch nothing would be left; the loss still falls."""
    rng = np.random.default_rng(0)
    X, y = blobs(12, rng)
    model = baselines.CoTeachingClassifier(
        noise_rate=0.95, batch_size=3, n_epochs=40, learning_rate=0.01, validation_fraction=0, random_state=0
    ).fit(X, y)
    assert np.isfinite(model.loss_curve_).all()
    assert 0 < model.loss_curve_[-1] < model.loss_curve_[0]


def test_more_neighbours_than_rows_are_as_many_as_there_are():
    rng = np.random.default_rng(0)
    X, y = blobs(20, rng)
    model = baselines.RRLClassifier(n_neighbors=500, n_epochs=12, random_state=0).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_rrl_relabels_rows_that_were_given_a_wrong_label():
    """With a high bar for given labels: neighbours and network agree on what most rows of a cloud say."""
    rng = np.random.default_rng(0)
    X, y = blobs(400, rng)
    wrong = rng.random(400) < 0.2
    model = baselines.RRLClassifier(low=0.5, validation_fraction=0, random_state=0)
    model.fit(X, np.where(wrong, 1 - y, y))
    assert np.array_equal(model.trained_rows_, np.arange(400))
    assert (model.labels_ == y).mean() > 0.95
    assert (model.labels_[wrong] == y[wrong]).mean() > 0.9


def test_partners_are_drawn_among_rows_with_weight_each_once():
    weights = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])
    chances = np.random.default_rng(0).random(8)
    found = np.asarray(robust.partners_among(weights, chances))
    assert sorted(found[weights > 0]) == [0, 2, 3, 5, 7]


def test_the_middle_of_fifteen_uniform_numbers_is_beta_8_8():
    """How rows are mixed: mean 1/2, variance 1/68."""
    middle = np.sort(np.random.default_rng(0).random((100_000, 15)), axis=1)[:, 7]
    assert middle.mean() == pytest.approx(0.5, abs=0.002)
    assert middle.var() == pytest.approx(1 / 68, rel=0.02)


def test_methods_see_neither_test_data_nor_the_rows_they_are_judged_by():
    """Whoever is trained on rows to be judged by would prefer other epochs if only their labels were changed."""
    rng = np.random.default_rng(0)
    X, y = blobs(200, rng)
    budget = Budget(hidden=(8,), n_epochs=12, batch_size=32, learning_rate=0.01, weight_decay=0.0)
    judged = np.arange(0, 200, 5)
    losses = []
    for labels in (y, np.where(np.isin(np.arange(200), judged), 1 - y, y)):
        course = Course(X, labels, 2, judged, budget, np.random.default_rng(0))
        losses.append(course.train(objectives.plain, course.networks(1)).losses)
    assert losses[0] == losses[1]


def test_one_seed_gives_the_same_networks_with_double_precision_switched_on():
    """A user's own setting of JAX does not change what is computed here."""
    from baselines.precision import double  # noqa: PLC0415

    X, y = blobs(60, np.random.default_rng(0))
    model = baselines.RRLClassifier(n_epochs=6, random_state=0)
    single = model.fit(X, y).predict_proba(X)
    with double():
        assert np.allclose(model.fit(X, y).predict_proba(X), single, atol=0.05)


def test_an_epoch_is_compiled_once_for_sizes_that_are_rounded_to_the_same():
    X, y = blobs(120, np.random.default_rng(0))
    baselines.CrossEntropyClassifier(n_epochs=1, random_state=0).fit(X, y)
    compiled = training.run_epoch._cache_size()
    for rows in (100, 90, 101):
        baselines.CrossEntropyClassifier(n_epochs=2, random_state=1).fit(X[:rows], y[:rows])
    assert training.run_epoch._cache_size() == compiled
