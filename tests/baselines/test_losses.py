"""Losses, their gradients and their invariances against values of the reference implementations and closed forms."""

import numpy as np
import pytest

from baselines.fixtures import CODES, REAL, Z1, Z2, T, Y, padded
from baselines.precision import double

jax = pytest.importorskip("jax", reason="the networks need the extra `baselines`")
jnp = jax.numpy

from unmuddle.baselines import losses, objectives  # noqa: E402 - behind the guard


@pytest.fixture(autouse=True)
def double_precision():
    with double():
        yield


def softmax(Z):
    exps = np.exp(Z - Z.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def logit_gradient(loss, *arguments):
    """Of each row's own loss, by automatic differentiation."""
    return np.asarray(jax.grad(lambda Z: loss(Z, jnp.asarray(Y), *arguments).sum())(jnp.asarray(Z1)))


def close(found, expected):
    assert np.allclose(found, expected, rtol=0, atol=1e-8)


CE1 = [0.24131130, 1.00194285, 0.37153903, 1.09861229, 2.13284523, 0.16984602]
CE2 = [0.79891618, 0.66237955, 0.67716991, 1.66425216, 0.55495692, 0.40760596]


def test_cross_entropy_has_its_known_values():
    close(losses.cross_entropy(Z1, Y), CE1)
    close(losses.cross_entropy(Z2, Y), CE2)
    close(
        np.exp(losses.log_likelihoods(Z1, Y)), [0.78559703, 0.36716540, 0.68967209, 0.33333333, 0.11849965, 0.84379473]
    )
    close(losses.cross_entropy(Z1, Y).mean(), 0.83601612)
    close(losses.cross_entropy(Z2, Y).mean(), 0.79421345)


def test_generalised_cross_entropy_has_its_known_values():
    rows = [0.22203109, 0.72012799, 0.32715433, 0.76648135, 1.10757225, 0.16013786]
    close(losses.generalised_cross_entropy(Z1, Y, 0.7), rows)
    means = {0.7: 0.55058414, 1e-6: 0.83601554, 1.0: 0.47698963, 0.3: 0.68778199, 0.5: 0.61236103, 0.9: 0.49937343}
    for q, mean in means.items():
        close(losses.generalised_cross_entropy(Z1, Y, q).mean(), mean)
    gradient = logit_gradient(losses.generalised_cross_entropy, 0.7) / 6
    close(gradient[0], [-0.03018001, 0.02467441, 0.00550560])
    close(gradient[4], [0.03279116, 0.00022095, -0.03301210])


def test_truncation_prunes_the_rows_it_is_known_to_prune():
    at_half = float((1 - 0.5**0.7) / 0.7)
    rows = np.asarray(losses.generalised_cross_entropy(Z1, Y, 0.7))
    kept = rows < at_half
    assert at_half == pytest.approx(0.54918256, abs=1e-8)
    assert kept.tolist() == [True, False, True, False, False, True]
    close(np.minimum(rows, at_half).mean(), 0.39281183)
    for weights, value in ((kept, -0.15637073), (np.ones(6), 0.00140158)):
        batch = objectives.Batch(
            jnp.asarray(Z1), jnp.asarray(Y), jnp.asarray(weights, dtype=float), jnp.asarray(REAL), jnp.zeros(3), None
        )
        handing_through = {"hidden": [], "output": (jnp.eye(3)[None], jnp.zeros((1, 3)))}
        close(objectives.generalised(handing_through, batch, {"q": 0.7, "truncation": 0.5}), value)


@pytest.mark.parametrize(
    ("floor", "reverse", "symmetric"),
    [
        (np.log(1e-4), 4.39323681, {(0.1, 1): 4.47683842, (1, 1): 5.22925293, (6, 0.1): 5.45542040}),
        (-4.0, 1.90795850, {(0.1, 1): 1.99156012, (1, 1): 2.74397462, (6, 0.1): 5.20689257}),
    ],
)
def test_symmetric_cross_entropy_has_its_known_values(floor, reverse, symmetric):
    close(losses.reverse_cross_entropy(Z1, Y, floor).mean(), reverse)
    for (alpha, beta), mean in symmetric.items():
        close(losses.symmetric_cross_entropy(Z1, Y, alpha, beta, floor).mean(), mean)


def test_forward_correction_has_its_known_values():
    rows = [0.55632198, 1.26025149, 0.46762397, 0.87546874, 1.83728107, 0.65028432]
    close(losses.forward_corrected(Z1, Y, T), rows)
    close(losses.forward_corrected(Z1, Y, T).mean(), 0.94120526)
    close(losses.forward_corrected(Z1, Y, np.eye(3)), CE1)


def test_predictions_are_not_put_through_a_second_softmax():
    """A mistake in circulation: noisy probabilities taken for logits; its mean is known as well."""
    mistaken = losses.cross_entropy(softmax(Z1) @ T, Y).mean()
    close(mistaken, 1.01476818)


def test_forward_correction_survives_impossible_labels():
    """Logits at which single-precision probabilities vanish, and a transition matrix with zeros."""
    never = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    value, gradient = jax.value_and_grad(lambda Z: losses.forward_corrected(Z, jnp.asarray(Y), never).sum())(200.0 * Z1)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    assert np.abs(gradient).max() > 0


def test_gradients_are_those_derived_by_hand():
    p, p_y = softmax(Z1), softmax(Z1)[np.arange(6), CODES][:, None]
    close(logit_gradient(losses.cross_entropy), p - Y)
    close(logit_gradient(losses.generalised_cross_entropy, 0.7), -(p_y**0.7) * (Y - p))
    close(logit_gradient(losses.reverse_cross_entropy, -4.0), -4.0 * p_y * (Y - p))
    close(logit_gradient(losses.forward_corrected, T), p * (1 - T[:, CODES].T / (p @ T)[np.arange(6), CODES][:, None]))
    q = softmax(Z2)
    log_ratio = np.log(p / q)
    divergence = (p * log_ratio).sum(axis=1, keepdims=True)
    by_hand = 0.35 * (p - Y) + 0.65 * (p * (log_ratio - divergence) + p - q)
    close(
        jax.grad(lambda Z: losses.joint_loss(Z, jnp.asarray(Z2), jnp.asarray(Y), 0.65).sum())(jnp.asarray(Z1)), by_hand
    )


def test_divergences_have_their_known_values():
    close(losses.divergence(Z2, Z1), [0.26767079, 0.05999449, 0.58268368, 0.06046542, 0.78506532, 0.25169700])
    close(losses.divergence(Z1, Z2), [0.23600044, 0.06387534, 0.40376845, 0.06563988, 0.60521342, 0.15373981])


def test_the_joint_loss_has_its_known_means_and_symmetries():
    for agreement, mean in {0.1: 1.52613684, 0.65: 0.95362687, 0.9: 0.69339506}.items():
        close(losses.joint_loss(Z1, Z2, Y, agreement).mean(), mean)
        close(losses.joint_loss(Z1, Z2, Y, agreement), losses.joint_loss(Z2, Z1, Y, agreement))
    close(losses.joint_loss(Z1, Z1, Y, 1.0), 0.0)
    moved = Z1 + np.arange(6.0)[:, None]
    close(losses.joint_loss(moved, Z2, Y, 0.65), losses.joint_loss(Z1, Z2, Y, 0.65))


def test_the_determinant_loss_has_its_known_value_and_gradient():
    U = [
        [0.78559703, 0.17529039, 0.03911257],
        [0.38994507, 1.02300542, 0.58704951],
        [1.21822027, 0.45231994, 1.32945979],
    ]
    close(Y.T @ softmax(Z1), U)
    close(np.exp(-losses.determinant_loss(Z1, Y, REAL)), 0.85248540)
    close(losses.determinant_loss(Z1, Y, REAL), 0.15959920)
    gradient = logit_gradient(losses.determinant_loss, REAL)
    close(gradient[0], [-0.22303502, 0.13483631, 0.08819871])
    close(gradient[4], [0.07875934, 0.00405207, -0.08281141])
    p, slopes = softmax(Z1), -np.linalg.inv(Y.T @ softmax(Z1)).T[CODES]
    close(gradient, p * (slopes - (slopes * p).sum(axis=1, keepdims=True)))


def test_variants_of_the_determinant_loss_differ_as_published():
    """With 0.001 inside the logarithm and with counts divided by the rows, which we do without."""
    determinant = float(np.exp(-losses.determinant_loss(Z1, Y, REAL)))
    normalised = float(np.exp(-losses.determinant_loss(Z1, Y, REAL / 6)))
    close(-np.log(determinant + 0.001), 0.15842684)
    close(normalised, 0.00394669)
    close(-np.log(normalised), 5.53487760)
    close(-np.log(normalised + 0.001), 5.30903628)


def test_noise_shifts_the_determinant_loss_and_leaves_its_gradient_alone():
    """Labels as soft as the noise makes them: U becomes T^T U."""
    noisy = jnp.asarray(Y @ T)
    shift = losses.determinant_loss(Z1, noisy, REAL) - losses.determinant_loss(Z1, Y, REAL)
    assert float(shift) == pytest.approx(1.20397280, abs=1e-8)
    gradient = jax.grad(lambda Z: losses.determinant_loss(Z, noisy, jnp.asarray(REAL)))(jnp.asarray(Z1))
    assert np.allclose(gradient, logit_gradient(losses.determinant_loss, REAL), rtol=0, atol=1e-14)


def test_the_determinant_does_not_know_the_names_of_predicted_classes():
    value = losses.determinant_loss(Z1, Y, REAL)
    close(losses.determinant_loss(Z1[:, [2, 0, 1]], Y, REAL), value)
    close(losses.determinant_loss(Z1, Y, REAL / 6) - value, 5.37527841)  # 1 / n as the weight adds K log n


def test_the_determinant_loss_keeps_its_gradient_with_many_classes():
    """Where a small number inside the logarithm would take it away: |det U| is 10^-10 at most for ten classes."""
    rng = np.random.default_rng(0)
    codes = np.arange(200) % 10
    Z = rng.normal(size=(200, 10)) + 0.3 * np.eye(10)[codes]
    gradient = jax.grad(losses.determinant_loss)(jnp.asarray(Z), jnp.eye(10)[codes], jnp.full(200, 1 / 200))
    U = np.eye(10)[codes].T @ softmax(Z) / 200
    p, slopes = softmax(Z), -np.linalg.inv(U).T[codes] / 200
    close(gradient, p * (slopes - (slopes * p).sum(axis=1, keepdims=True)))
    assert np.abs(np.linalg.det(U)) < 1e-10
    assert np.linalg.norm(gradient) > 0.01


@pytest.mark.parametrize(
    "loss",
    [
        losses.cross_entropy,
        lambda Z, targets: losses.generalised_cross_entropy(Z, targets, 0.7),
        lambda Z, targets: losses.symmetric_cross_entropy(Z, targets, 0.1, 1.0, -4.0),
        lambda Z, targets: losses.forward_corrected(
            Z, targets, np.block([[T, np.zeros((3, 2))], [np.zeros((2, 3)), np.eye(2)]]) if Z.shape[1] == 5 else T
        ),
        lambda Z, targets: (
            losses.joint_loss(Z, Z[::-1], targets, 0.5)
            if len(Z) == 6
            else losses.joint_loss(Z, jnp.concatenate([Z[:6][::-1], Z[6:]]), targets, 0.5)
        ),
    ],
    ids=["cross entropy", "generalised", "symmetric", "forward", "joint"],
)
def test_classes_that_fill_up_change_neither_losses_nor_gradients(loss):
    wide, wide_targets, real = map(jnp.asarray, padded(Z1, Y))
    close(loss(wide, wide_targets)[:6], loss(jnp.asarray(Z1), jnp.asarray(Y)))
    narrow_gradient = jax.grad(lambda Z: loss(Z, jnp.asarray(Y)).sum())(jnp.asarray(Z1))
    wide_gradient = jax.grad(lambda Z: (loss(Z, wide_targets) * real).sum())(wide)
    close(wide_gradient[:6, :3], narrow_gradient)
    assert np.isfinite(wide_gradient).all()


def test_rows_and_classes_that_fill_up_do_not_change_the_determinant():
    wide, wide_targets, real = map(jnp.asarray, padded(Z1, Y))
    close(losses.determinant_loss(wide, wide_targets, real), 0.15959920)
    gradient = jax.grad(losses.determinant_loss)(wide, wide_targets, real)
    close(gradient[:6, :3], logit_gradient(losses.determinant_loss, REAL))
    close(gradient[6:], 0.0)
