"""Which rows are kept, against published picks and a plain sort."""

import numpy as np
import pytest

from baselines.fixtures import REAL, Z1, Z2, Y
from baselines.precision import double

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")
jnp = jax.numpy

from unmuddle.baselines import losses, objectives  # noqa: E402 - behind the guard
from unmuddle.baselines.objectives import Batch  # noqa: E402
from unmuddle.baselines.selection import keep_smallest, mean_over  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    with double():
        yield


def picks(rows, forget, real=None):
    kept = keep_smallest(jnp.asarray(rows), jnp.ones(len(rows)) if real is None else jnp.asarray(real), forget)
    return set(np.flatnonzero(kept).tolist())


def value(objective, forget, agreement=0.0, n_networks=2):
    """The objective of networks that hand through their input, which is then the logits."""
    layers = np.eye(6)[:, :3], np.eye(6)[:, 3:]
    parameters = {
        "hidden": [],
        "output": (jnp.asarray(np.stack(layers[:n_networks])), jnp.zeros((n_networks, 3))),
    }
    batch = Batch(jnp.hstack([Z1, Z2]), jnp.asarray(Y), jnp.ones(6), jnp.asarray(REAL), jnp.zeros(3), jax.random.key(0))
    return float(objective(parameters, batch, {"forget": forget, "agreement": agreement, "per_class": 0.0}))


def test_each_network_of_co_teaching_keeps_the_rows_it_is_known_to_keep():
    assert picks(losses.cross_entropy(Z1, Y), 0.35) == {5, 0, 2}
    assert picks(losses.cross_entropy(Z2, Y), 0.35) == {5, 4, 1}


def test_co_teaching_has_its_known_losses():
    first, second = losses.cross_entropy(Z1, Y), losses.cross_entropy(Z2, Y)
    for forget, by_second, by_first in ((0.35, 1.10154470, 0.62789735), (0.2, 0.91904328, 0.63651790)):
        assert float(mean_over(first, keep_smallest(second, REAL, forget))) == pytest.approx(by_second, abs=1e-8)
        assert float(mean_over(second, keep_smallest(first, REAL, forget))) == pytest.approx(by_first, abs=1e-8)
        assert value(objectives.taught, forget) == pytest.approx(by_second + by_first, abs=2e-8)
    first_kept = mean_over(first, keep_smallest(second, REAL, 0.35))
    assert float(first_kept) / 3 == pytest.approx(0.36718157, abs=1e-8)  # the reference code divides once more
    assert value(objectives.taught, 0.0) == pytest.approx(0.83601612 + 0.79421345, abs=2e-8)


def test_one_network_keeps_its_own_small_losses():
    """The mean of the three smallest of its six published values."""
    assert value(objectives.small_loss, 0.35, n_networks=1) == pytest.approx(
        (0.16984602 + 0.24131130 + 0.37153903) / 3, abs=1e-8
    )


@pytest.mark.parametrize(
    ("agreement", "kept", "loss"),
    [(0.1, {5, 0, 2}, 0.86310186), (0.65, {5, 1, 0}, 0.60671209), (0.9, {1, 3, 5}, 0.36344488)],
)
def test_jocor_has_its_known_picks_and_losses(agreement, kept, loss):
    assert picks(losses.joint_loss(Z1, Z2, Y, agreement), 0.35) == kept
    assert value(objectives.joint, 0.35, agreement) == pytest.approx(loss, abs=1e-8)


@pytest.mark.parametrize(
    ("n_rows", "forget", "n_kept"), [(10, 0.9, 1), (5, 0.8, 1), (3, 0.99, 1), (10, 0.3, 7), (1, 0.5, 1)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding_never_takes_the_last_row(n_rows, forget, n_kept, dtype):
    """int((1 - 0.9) * 10) and int((1 - 0.8) * 5) are 0."""
    rows = jnp.arange(n_rows, dtype=dtype)
    assert len(picks(rows, jnp.asarray(forget, dtype=dtype))) == n_kept


def test_the_picks_are_those_of_a_stable_sort():
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows, real = rng.integers(0, 6, 20).astype(float), (rng.random(20) < 0.7).astype(float)
        forget = rng.random()
        candidates = np.flatnonzero(real)
        n_kept = max(1, int(np.floor((1 - forget) * len(candidates) + 1e-9)))
        expected = candidates[np.argsort(rows[candidates], kind="stable")][:n_kept]
        assert picks(rows, forget, real) == set(expected.tolist())


def test_by_class_the_rows_of_a_rare_class_stay():
    rows = jnp.asarray([0.1, 0.2, 0.3, 0.4, 5.0, 6.0])
    targets = jnp.eye(2)[jnp.asarray([0, 0, 0, 0, 1, 1])]
    kept = keep_smallest(rows, jnp.ones(6), 0.5, targets @ targets.T)
    assert kept.tolist() == [1, 1, 0, 0, 1, 0]
    assert picks(rows, 0.5) == {0, 1, 2}


def test_no_gradient_passes_through_the_choice():
    def weighted(rows):
        return (keep_smallest(rows, jnp.ones(4), 0.5) * jnp.asarray([1.0, 2.0, 3.0, 4.0])).sum()

    assert np.all(jax.grad(weighted)(jnp.asarray([0.3, 0.1, 0.4, 0.2])) == 0)


def test_the_mean_of_nothing_is_zero():
    assert float(mean_over(jnp.ones(3), jnp.zeros(3))) == 0.0
