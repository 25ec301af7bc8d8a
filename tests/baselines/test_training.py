"""The training loop against trajectories that were computed elsewhere, by hand-derived gradients and by autodiff."""

import numpy as np
import pytest

from baselines.fixtures import T, rows_to_descend_on
from baselines.precision import double

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")
optax = pytest.importorskip("optax", reason="the networks need the extra `baselines`")
jnp = jax.numpy

from unmuddle.baselines import objectives  # noqa: E402 - behind the guard
from unmuddle.baselines.batches import stratified_batches  # noqa: E402
from unmuddle.baselines.training import ADAM, Budget, Course, Data, State, run_epoch  # noqa: E402

X, TRUE, GIVEN = rows_to_descend_on()
FIRST = [[0.1, -0.1, 0], [0, 0.1, -0.1], [0.05, 0, -0.05]]
SECOND = [[-0.1, 0, 0.1], [0.1, -0.1, 0], [0, 0.05, -0.05]]
FORGET = 0.2 * np.minimum(np.arange(100) / 9, 1)


@pytest.fixture
def double_precision():
    with double():
        yield


def descend(objective, weights, knobs, step):
    """Gradient descent by the loop itself, on all rows at once, filled up to 32 rows and 4 classes; no biases.

    The weights at the end, the value at them and the value before the last step.
    """
    optimiser = optax.chain(optax.sgd(step), optax.masked(optax.set_to_zero(), {"hidden": [], "output": (False, True)}))
    data = Data(
        jnp.pad(X, ((0, 2), (0, 0))),
        jnp.pad(np.eye(3)[GIVEN], ((0, 2), (0, 1))),
        jnp.pad(np.ones(30), (0, 2)),
        jnp.pad(np.ones(30), (0, 2)),
        jnp.asarray([0.0, 0.0, 0.0, -1e9]),
    )
    stacked = jnp.pad(np.array(weights, dtype=float), ((0, 0), (0, 0), (0, 1)))
    parameters = {"hidden": [], "output": (stacked, jnp.zeros((len(weights), 4)))}
    state = State(parameters, optimiser.init(parameters))
    batches, seeds = jnp.arange(32)[None], jnp.zeros((1, 4), dtype=jnp.uint32)
    for now in knobs:
        state, value = run_epoch(objective, optimiser, state, data, batches, seeds, 1, now)
    _, last = run_epoch(
        objective, optax.set_to_zero(), state._replace(optimiser=()), data, batches, seeds, 1, knobs[-1]
    )
    return np.asarray(state.parameters["output"][0])[:, :, :3], float(last), float(value)


@pytest.mark.parametrize(
    ("objective", "knobs", "loss", "norm", "row", "n_right"),
    [
        ("plain", {}, 0.86862657, 1.88315633, [0.52514689, -0.31133767, -0.21380922], 22),
        (
            "generalised",
            {"q": 0.7, "truncation": 1.0},
            0.46164568,
            4.41870650,
            [1.24709607, -0.81938637, -0.42770970],
            23,
        ),
        (
            "symmetric",
            {"alpha": 0.1, "beta": 1.0, "floor": -4.0},
            1.51357137,
            7.35470826,
            [0.78264620, 0.03053833, -0.81318452],
            22,
        ),
        (
            "forward",
            {"transition": np.pad(T, (0, 1)) + np.diag([0, 0, 0, 1.0])},
            0.82023444,
            4.37672395,
            [1.65850667, -1.31894813, -0.33955854],
            27,
        ),
    ],
)
def test_single_networks_go_where_they_are_known_to_go(double_precision, objective, knobs, loss, norm, row, n_right):
    (W,), value, _ = descend(getattr(objectives, objective), [np.zeros((3, 3))], [knobs] * 200, 0.5)
    assert value == pytest.approx(loss, abs=1e-6)
    assert np.linalg.norm(W) == pytest.approx(norm, abs=1e-6)
    assert np.allclose(W[0], row, rtol=0, atol=1e-6)
    assert ((X @ W).argmax(axis=1) == TRUE).sum() == n_right


def test_co_teaching_goes_where_it_is_known_to_go(double_precision):
    knobs = [{"forget": forget, "per_class": 0.0} for forget in FORGET]
    (W1, W2), _, last = descend(objectives.taught, [FIRST, SECOND], knobs, 0.5)
    assert last == pytest.approx(0.36514034 + 0.36594984, abs=1e-5)
    assert np.linalg.norm(W1) == pytest.approx(4.45941226, abs=1e-5)
    assert np.linalg.norm(W2) == pytest.approx(4.44159248, abs=1e-5)


def test_jocor_goes_where_it_is_known_to_go(double_precision):
    knobs = [{"forget": forget, "per_class": 0.0, "agreement": 0.9} for forget in FORGET]
    _, start, _ = descend(objectives.joint, [FIRST, SECOND], [{**knobs[0], "forget": 0.0}], 1e-12)
    (W1, W2), _, last = descend(objectives.joint, [FIRST, SECOND], knobs, 0.5)
    assert start == pytest.approx(0.23876777, abs=1e-8)
    assert last == pytest.approx(0.12785052, abs=1e-5)
    assert np.linalg.norm(W1) == pytest.approx(1.47330452, abs=1e-5)
    assert np.linalg.norm(W2) == pytest.approx(1.47330452, abs=1e-5)


def test_the_determinant_loss_goes_where_it_is_known_to_go(double_precision):
    start, _, _ = descend(objectives.plain, [np.zeros((3, 3))], [{}] * 200, 0.5)
    _, value, _ = descend(objectives.determinant, start, [{}], 1e-14)
    assert value == pytest.approx(-2.91894179, abs=1e-6)
    (W,), value, _ = descend(objectives.determinant, start, [{}] * 200, 0.01)
    assert value == pytest.approx(-4.47926060, abs=1e-6)
    assert np.linalg.norm(W) == pytest.approx(3.24820701, abs=1e-6)
    assert np.allclose(W[0], [1.36083883, -1.25074867, -0.11009016], rtol=0, atol=1e-6)


def test_without_cross_entropy_first_the_determinant_has_no_gradient_to_follow(double_precision):
    """At W = 0 all predictions are alike, U has rank 1, and the loss is infinite: why there are two stages."""
    _, value, _ = descend(objectives.determinant, [np.zeros((3, 3))], [{}], 1e-14)
    assert not np.isfinite(value) or value > 30


def course(n_epochs=30, judged=(), hidden=(8,), **changes):
    budget = Budget(hidden=hidden, n_epochs=n_epochs, batch_size=8, learning_rate=0.05, weight_decay=0.0)
    return Course(X, GIVEN, 3, np.array(judged, dtype=int), budget, np.random.default_rng(0), **changes)


def test_adam_is_that_of_the_textbook():
    """Kingma and Ba's update with bias corrections, weight decay in the gradient, written out in numpy."""
    rng = np.random.default_rng(0)
    theta, m, v = rng.normal(size=5), np.zeros(5), np.zeros(5)
    state = ADAM.init(jnp.asarray(theta))
    found = jnp.asarray(theta)
    for step, beta in enumerate([0.9, 0.9, 0.9, 0.1, 0.1], start=1):
        gradient = rng.normal(size=5)
        numbers = {"learning_rate": jnp.float32(0.01), "beta": jnp.float32(beta), "decay": jnp.float32(0.1)}
        updates, state = ADAM.update(jnp.asarray(gradient), state._replace(hyperparams=numbers), found)
        found = optax.apply_updates(found, updates)
        whole = gradient + 0.1 * theta
        m, v = beta * m + (1 - beta) * whole, 0.999 * v + 0.001 * whole**2
        theta = theta - 0.01 * (m / (1 - beta**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        assert np.allclose(found, theta, atol=1e-5)


@pytest.mark.parametrize(
    ("objective", "n_networks", "knobs"),
    [
        (objectives.plain, 1, {}),
        (objectives.taught, 2, {"forget": 0.2, "per_class": 0.0}),
        (objectives.joint, 2, {"forget": 0.2, "per_class": 1.0, "agreement": 0.5}),
        (objectives.determinant, 1, {}),
    ],
)
def test_training_does_not_depend_on_how_arrays_are_filled_up(monkeypatch, objective, n_networks, knobs):
    """Rows, columns and classes at twice the size lead to the same networks."""
    from unmuddle.baselines import training  # noqa: PLC0415

    def networks():
        here = course(n_epochs=10)
        trained = here.train(objective, here.networks(n_networks), knobs, deal=stratified_batches, learning_rate=0.01)
        assert len(trained.losses) == 10
        return here.unpad(trained.parameters)[-1]

    small = networks()
    for name in ("round_up", "round_columns_up"):
        original = getattr(training, name)
        monkeypatch.setattr(training, name, lambda *size, original=original: 2 * original(*size))
    large = networks()
    assert np.allclose(small["output"][0], large["output"][0], atol=1e-4)
    assert np.allclose(small["hidden"][0][0], large["hidden"][0][0], atol=1e-4)


def test_the_epoch_is_chosen_by_the_rows_held_out_alone():
    """Their labels decide; what the chosen networks score is what is reported for the window that ends there."""
    here = course(n_epochs=60, judged=range(0, 30, 3))
    trained = here.train(objectives.plain, here.networks(1))
    means = np.convolve(trained.scores, np.full(10, 0.1), mode="valid")
    assert len(trained.scores) == 60
    assert trained.epoch == 9 + np.flatnonzero(means >= means.max() - 1e-9)[-1]


def test_rows_held_out_are_not_trained_on():
    judged = np.arange(0, 30, 3)
    here, other = course(judged=judged), course(judged=judged)
    moved = other.rng
    changed = X.copy()
    changed[judged] += 100.0
    other = Course(changed, GIVEN, 3, judged, other.budget, moved)
    first, second = (
        each.unpad(each.train(objectives.plain, each.networks(1), n_epochs=5).parameters)[0] for each in (here, other)
    )
    assert np.array_equal(here.X, other.X)
    assert here.data.X.shape == other.data.X.shape
    assert np.array_equal(first["output"][0], second["output"][0])


def test_without_rows_to_judge_by_the_last_epoch_is_kept():
    here = course(n_epochs=25)
    trained = here.train(objectives.plain, here.networks(1))
    assert trained.epoch == 24
    assert trained.scores == []
    assert trained.losses[-1] < trained.losses[0]


def test_training_stops_where_numbers_end_and_keeps_what_was_before():
    here = course(n_epochs=30)
    start = here.networks(1)
    trained = here.train(objectives.plain, start, learning_rate=1e30)
    assert here.diverged_at is not None
    assert trained.epoch == here.diverged_at - 1
    assert all(np.isfinite(array).all() for array in jax.tree_util.tree_leaves(trained.parameters))
    assert np.isfinite(trained.losses).all()
