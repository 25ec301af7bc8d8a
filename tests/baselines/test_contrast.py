"""The losses of RRL: the reference's values, and what padding, empty classes and rows of zeros must not do."""

import numpy as np
import pytest

from baselines.precision import double

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")
contrast = pytest.importorskip("unmuddle.baselines.contrast")
jnp = jax.numpy

# Compiled as a whole, which is how networks use them, and much quicker here.
normalise, class_prototypes = jax.jit(contrast.normalise), jax.jit(contrast.class_prototypes)
instance_losses, prototype_losses = jax.jit(contrast.instance_losses), jax.jit(contrast.prototype_losses)
reconstruction_losses = jax.jit(contrast.reconstruction_losses)

F = np.array([[1, 0], [0.6, 0.8], [0, 1]])
G = np.array([[0.8, 0.6], [0, 1], [-0.6, 0.8]])
INSTANCE = [0.50789388, 1.48040301, 1.51086202]

MIXED = np.array([[0.8, 0.6], [0.28, 0.96], [0.6, 0.8]])
TARGETS = 0.7 * np.eye(2)[[0, 1, 1]] + 0.3 * np.eye(2)[[0, 1, 1]][[1, 2, 0]]
PROTOTYPE = [0.61437009, 0.09862933, 0.61437009]


def padded(rows, n, fill=7.0):
    """The same rows with n more, which hold nonsense."""
    return np.vstack([rows, np.full((n, rows.shape[1]), fill)])


# ----------------------------------------------------------------------------------------------------------------
# Values of the reference


def test_instance_losses_are_those_of_the_reference():
    with double():
        losses = instance_losses(jnp.array(F), jnp.array(G), jnp.ones(3), 0.3)
        np.testing.assert_allclose(losses, INSTANCE, atol=6e-9)
        assert float(losses.mean()) == pytest.approx(1.16638630, abs=6e-9)


def test_prototype_losses_are_those_of_the_reference():
    with double():
        losses = prototype_losses(jnp.array(MIXED), jnp.eye(2), jnp.array(TARGETS), 0.3, jnp.ones(2))
        np.testing.assert_allclose(losses, PROTOTYPE, atol=6e-9)
        assert float(losses.mean()) == pytest.approx(0.44245650, abs=6e-9)


def test_the_reconstruction_loss_is_that_of_the_reference():
    with double():
        V, R = jnp.array([[3.0, 4.0, 0.0]]), jax.nn.relu(jnp.array([[2.0, 5.0, -1.0]]))
        np.testing.assert_allclose(reconstruction_losses(V, R), [0.66666667], atol=6e-9)


def test_instance_losses_are_those_of_a_loop():
    rng = np.random.default_rng(0)
    f, g = rng.standard_normal((2, 7, 4))
    expected = []
    for i in range(7):
        others = [row for j in range(7) if j != i for row in (f[j], g[j])]
        all_terms = [np.exp(f[i] @ row / 0.5) for row in (g[i], *others)]
        expected.append(-np.log(all_terms[0] / sum(all_terms)))
    with double():
        np.testing.assert_allclose(instance_losses(f, g, jnp.ones(7), 0.5), expected, rtol=1e-10)


def test_class_prototypes_are_the_directions_of_weighted_means():
    rng = np.random.default_rng(1)
    f, targets, weights = rng.standard_normal((8, 3)), rng.dirichlet(np.ones(2), 8), rng.random(8)
    means = [np.average(f, axis=0, weights=weights * targets[:, k]) for k in range(2)]
    with double():
        found = class_prototypes(f, targets, weights, jnp.zeros((2, 3)))
        np.testing.assert_allclose(found, [mean / np.linalg.norm(mean) for mean in means], rtol=1e-10)


# ----------------------------------------------------------------------------------------------------------------
# Padding


@pytest.mark.parametrize("fill", [0.0, 7.0, np.nan])
def test_padded_rows_change_neither_instance_losses_nor_their_gradient(fill):
    f, g, real = padded(F, 2, fill), padded(G, 2, fill), np.array([1.0, 1, 1, 0, 0])

    def total(f, g, real):
        return instance_losses(f, g, real, 0.3).sum()

    with double():
        losses = instance_losses(jnp.array(f), jnp.array(g), jnp.array(real), 0.3)
        np.testing.assert_allclose(losses, [*INSTANCE, 0, 0], atol=6e-9)
        slopes = jax.jit(jax.grad(total, argnums=(0, 1)))
        alone = slopes(jnp.array(F), jnp.array(G), jnp.ones(3))
        among = slopes(jnp.array(f), jnp.array(g), jnp.array(real))
        for small, large in zip(alone, among, strict=True):
            np.testing.assert_allclose(large, padded(np.array(small), 2, 0.0), atol=1e-12)


def test_a_batch_without_real_rows_has_losses_and_gradients_of_zero():
    def total(f):
        return instance_losses(f, f, jnp.zeros(3), 0.3).sum()

    value, gradient = jax.jit(jax.value_and_grad(total))(jnp.array(F))
    assert float(value) == 0.0
    assert not np.asarray(gradient).any()


def test_unknown_classes_change_neither_prototype_losses_nor_their_gradient():
    prototypes, targets = padded(np.eye(2), 2), np.hstack([TARGETS, np.zeros((3, 2))])
    known = np.array([1.0, 1, 0, 0])

    def total(f, prototypes, targets, known):
        return prototype_losses(f, prototypes, targets, 0.3, known).sum()

    with double():
        losses = prototype_losses(MIXED, prototypes, targets, 0.3, known)
        np.testing.assert_allclose(losses, PROTOTYPE, atol=6e-9)
        slopes = jax.jit(jax.grad(total))
        alone = slopes(jnp.array(MIXED), jnp.eye(2), jnp.array(TARGETS), jnp.ones(2))
        among = slopes(jnp.array(MIXED), jnp.array(prototypes), jnp.array(targets), jnp.array(known))
        np.testing.assert_allclose(among, alone, atol=1e-12)


def test_prototype_losses_are_finite_where_no_class_is_known():
    def total(f):
        return prototype_losses(f, jnp.eye(2), jnp.array(TARGETS), 0.3, jnp.zeros(2)).sum()

    value, gradient = jax.jit(jax.value_and_grad(total))(jnp.array(MIXED))
    assert float(value) == 0.0
    assert not np.asarray(gradient).any()


@pytest.mark.parametrize("fill", [0.0, 7.0, np.nan])
def test_rows_without_weight_do_not_move_prototypes(fill):
    targets, previous = np.eye(2)[[0, 1, 1]], np.eye(2)
    with double():
        alone = class_prototypes(F, targets, jnp.ones(3), previous)
        among = class_prototypes(padded(F, 2, fill), padded(targets, 2), np.array([1.0, 1, 1, 0, 0]), previous)
        np.testing.assert_allclose(among, alone, rtol=1e-12)


# ----------------------------------------------------------------------------------------------------------------
# Empty classes, rows of zeros


def test_a_class_without_rows_keeps_its_previous_prototype():
    previous = np.array([[0.0, 1.0], [0.6, -0.8]])
    found = np.asarray(class_prototypes(F, np.eye(2)[[0, 0, 0]], jnp.ones(3), previous))
    np.testing.assert_allclose(found[1], previous[1], rtol=1e-6)
    np.testing.assert_allclose(found[0], F.sum(axis=0) / np.linalg.norm(F.sum(axis=0)), rtol=1e-6)


def test_a_class_whose_mean_has_no_direction_keeps_its_previous_prototype():
    found = class_prototypes(jnp.array([[1.0, 0.0], [-1.0, 0.0]]), jnp.ones((2, 1)), jnp.ones(2), jnp.ones((1, 2)))
    assert np.asarray(found).tolist() == [[1.0, 1.0]]


@jax.jit
@jax.value_and_grad
def value_and_slope(Z):
    return (np.array([[1.0, -2.0], [0.5, 3.0]]) * normalise(Z)).sum()


@pytest.mark.parametrize("length", [0.0, 1e-30, 1e-19, 1e-12, 1.1e-12, 1e-6, 1.0, 1e15])
def test_normalised_rows_and_their_gradient_are_finite_at_any_length(length):
    Z = np.array([[0.6 * length, 0.8 * length], [1.0, 2.0]], dtype=np.float32)
    value, gradient = value_and_slope(Z)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


def test_rows_that_have_a_direction_get_unit_length():
    Z = np.random.default_rng(3).standard_normal((6, 4))
    with double():
        np.testing.assert_allclose(normalise(Z), Z / np.linalg.norm(Z, axis=1, keepdims=True), rtol=1e-12)
