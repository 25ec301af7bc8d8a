"""What the methods do: learn what is easy, resist noise that cross entropy does not, and step round their traps."""

import numpy as np
import pytest
from sklearn.base import clone

from baselines.precision import double
from unmuddle import baselines
from unmuddle.baselines import base
from unmuddle.baselines.base import hold_out
from unmuddle.baselines.batches import stratified_batches
from unmuddle.baselines.forward import read_anchors
from unmuddle.baselines.lqf import principal_components
from unmuddle.errors import DivergedWarning

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")

from unmuddle.baselines import objectives, robust, training  # noqa: E402 - behind the guard
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
        batches = stratified_batches(*arguments)
        dealt.extend(batches)
        return batches

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


@pytest.mark.slow
def test_rrl_relabels_rows_that_were_given_a_wrong_label():
    """Neighbours and network agree on what most rows of a cloud say."""
    rng = np.random.default_rng(0)
    X, y = blobs(400, rng)
    wrong = rng.random(400) < 0.2
    model = baselines.RRLClassifier(validation_fraction=0, random_state=0)
    model.fit(X, np.where(wrong, 1 - y, y))
    assert np.array_equal(model.trained_rows_, np.arange(400))
    assert (model.labels_ == y).mean() > 0.95
    assert (model.labels_[wrong] == y[wrong]).mean() > 0.9
    half = clone(model).set_params(low=0.5).fit(X, np.where(wrong, 1 - y, y))
    assert np.array_equal(half.labels_, model.labels_)  # chance, for two classes


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


@pytest.mark.parametrize("method", METHODS[1:])
def test_labels_of_rows_held_out_choose_the_epoch_and_nothing_else(method, monkeypatch):
    """With all of them changed and too few epochs to choose among, every network is the same."""
    X, y = blobs(200, np.random.default_rng(0))
    held_out = hold_out(y, 0.2, np.random.default_rng(1))
    monkeypatch.setattr(base, "hold_out", lambda *_: held_out)
    changed = np.where(np.isin(np.arange(200), held_out), 1 - y, y)
    model = method(n_epochs=5, learning_rate=0.01, random_state=0)
    first, second = (model.fit(X, labels).predict_proba(X) for labels in (y, changed))
    assert np.array_equal(first, second)
    assert np.array_equal(np.setdiff1d(np.arange(200), model.trained_rows_), held_out)
    assert model.validation_scores_.max() < 0.9  # of the changed labels


@pytest.mark.parametrize("method", [baselines.RRLClassifier, baselines.CoTeachingClassifier])
def test_a_users_own_setting_of_jax_changes_nothing(method):
    """Double precision switched on: the same random numbers, and single precision all the same."""
    X, y = blobs(60, np.random.default_rng(0))
    model = method(n_epochs=15, random_state=0)
    single = model.fit(X, y).predict_proba(X)
    with double():
        assert np.allclose(model.fit(X, y).predict_proba(X), single, atol=1e-3)


def knobs_of(model, X, y, monkeypatch):
    """What a method hands to the training loop."""
    seen = {}
    train = Course.train

    def spy(self, objective, parameters, knobs=None, **options):
        seen.update(knobs or {}, **(options.get("each_epoch") or {}), before=options.get("before"))
        return train(self, objective, parameters, knobs, **options)

    monkeypatch.setattr(Course, "train", spy)
    model.fit(X, y)
    return seen


@pytest.mark.parametrize(
    "method", [baselines.CoTeachingClassifier, baselines.JoCoRClassifier, baselines.MentorNetClassifier]
)
def test_selecting_methods_follow_the_published_schedules(method, monkeypatch):
    X, y = blobs(40, np.random.default_rng(0))
    seen = knobs_of(method(noise_rate=0.45, n_epochs=20, random_state=0), X, y, monkeypatch)
    assert np.allclose(seen["forget"][:11], [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.45])
    assert seen["beta"].tolist() == [0.9] * 8 + [0.1] * 12


def test_rrl_begins_without_contrast_and_may_let_prototypes_in_slowly(monkeypatch):
    X, y = blobs(40, np.random.default_rng(0))
    seen = knobs_of(baselines.RRLClassifier(n_epochs=40, random_state=0), X, y, monkeypatch)
    assert seen["prototype_weight"].tolist() == [0.0] * 2 + [5.0] * 38
    assert seen["instance_weight"].tolist() == [0.0] * 2 + [1.0] * 38
    seen = knobs_of(baselines.RRLClassifier(ramp=True, n_epochs=40, random_state=0), X, y, monkeypatch)
    assert seen["prototype_weight"].tolist() == [0.0, 0.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5] + [5.0] * 32


def test_pruning_asks_the_best_networks_and_not_the_latest(monkeypatch):
    """The best ones put every row into its class, the latest ones none."""
    X, y = blobs(40, np.random.default_rng(0))
    model = baselines.GCEClassifier(truncated=True, n_epochs=6, validation_fraction=0, random_state=0)
    before = knobs_of(model, X, y, monkeypatch)["before"]
    monkeypatch.setattr(Course, "predict", lambda self, good: np.eye(2)[self.codes if good else 1 - self.codes])
    before(training.Progress(2, now=False, best=True))
    assert model.kept_.all()
    change = before(training.Progress(12, now=True, best=False))
    assert model.kept_.all()  # where all would go, all stay
    assert float(change.data.weights.sum()) == 40
    assert before(training.Progress(3, now=True, best=True)) is None


def rrl_value(weights, targets, X, instance=1.0, prototype=5.0):
    """RRL's objective at a network drawn once, with the random numbers of one seed."""
    budget = Budget(hidden=(6,), n_epochs=1, batch_size=8, learning_rate=0.01, weight_decay=0.0)
    course = Course(X, np.arange(8) % 2, 2, np.array([], dtype=int), budget, np.random.default_rng(0))
    parameters = {**course.networks(1), "embedding": course.layer(6, 4), "reconstruction": course.layer(4, 6)}
    data = course.data
    batch = objectives.Batch(
        data.X[:8],
        jax.numpy.pad(targets, ((0, 0), (0, data.targets.shape[1] - 2))),
        weights,
        data.real[:8],
        data.offset,
        jax.random.wrap_key_data(np.arange(4, dtype=np.uint32), impl="rbg"),
    )
    knobs = {
        "temperature": 0.3,
        "jitter": 0.1,
        "drop": 0.15,
        "columns": np.arange(data.X.shape[1]) < X.shape[1],
        "instance_weight": instance,
        "prototype_weight": prototype,
        "prototypes": np.pad(np.eye(2, 4), ((0, data.targets.shape[1] - 2), (0, 0))),
    }
    return float(robust.objective(parameters, batch, knobs))


def test_labels_of_rows_that_are_not_clean_do_not_count_in_rrl_but_their_features_do():
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(8, 3)), np.eye(2)[np.arange(8) % 2]
    weights = np.array([1.0, 1, 1, 1, 0, 0, 1, 0])
    other_targets, other_X = targets.copy(), X.copy()
    other_targets[[4, 5, 7]] = other_targets[[4, 5, 7], ::-1]
    other_X[4] += 1.0
    value = rrl_value(weights, targets, X)
    assert rrl_value(weights, other_targets, X) == value
    assert rrl_value(weights, other_targets[::-1].copy(), X) != value
    assert abs(rrl_value(weights, targets, other_X) - value) > 1e-3
    assert rrl_value(np.zeros(8), targets, X) == rrl_value(np.zeros(8), other_targets, X)


def test_the_terms_of_rrl_add_up_with_their_weights():
    rng = np.random.default_rng(0)
    X, targets, weights = rng.normal(size=(8, 3)), np.eye(2)[np.arange(8) % 2], np.ones(8)
    base_value = rrl_value(weights, targets, X, 0.0, 0.0)
    instance = rrl_value(weights, targets, X, 1.0, 0.0) - base_value
    prototype = rrl_value(weights, targets, X, 0.0, 1.0) - base_value
    assert instance > 0.1
    assert prototype > 0.1
    both = base_value + 2 * instance + 5 * prototype
    assert rrl_value(weights, targets, X, 2.0, 5.0) == pytest.approx(both, rel=1e-5)


def test_columns_that_cannot_tell_classes_apart_leave_the_network_under_cross_entropy():
    """One binary column and three classes: U has rank 2, the determinant is 0."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (120, 1)).astype(float), np.arange(120) % 3
    model = baselines.DMIClassifier(hidden_layer_sizes=(16,), n_epochs=40, random_state=0)
    with pytest.warns(DivergedWarning, match="no longer finite"):
        model.fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()


def test_decorrelated_columns_are_uncorrelated_and_of_unit_size():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    found = principal_components(np.column_stack([X, X[:, 0]]))  # the last one says nothing new
    assert np.allclose(np.diag(found.T @ found / 300), [0, 1, 1, 1, 1], atol=1e-8)
    assert np.allclose(found.T @ found / 300, np.diag([0, 1, 1, 1, 1]), atol=1e-8)
    y = rng.integers(0, 2, 300)
    model = baselines.LQFClassifier(decorrelate=True, n_epochs=2, random_state=0).fit(X, y)
    assert np.allclose(model.transition_.sum(axis=1), 1.0)


def test_an_epoch_is_compiled_once_for_sizes_that_are_rounded_to_the_same():
    X, y = blobs(120, np.random.default_rng(0))
    baselines.CrossEntropyClassifier(n_epochs=1, random_state=0).fit(X, y)
    compiled = training.run_epoch._cache_size()
    for rows in (100, 90, 101):
        baselines.CrossEntropyClassifier(n_epochs=2, random_state=1).fit(X[:rows], y[:rows])
    assert training.run_epoch._cache_size() == compiled
