"""The losses of RRL on embeddings: between two views of a row, with class prototypes, and of its reconstruction.

Batches may be padded: rows with ``real`` or weight 0, and classes that are not ``known``, do not count.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

NO_DIRECTION = 1e-24
"""Squared length up to which a row has no direction; the gradient of a normalised one above it is still finite in
single precision."""

NEVER = -1e30
"""A logit that takes no part in a softmax. Unlike minus infinity it leaves all gradients finite."""


def normalise(Z: Array) -> Array:
    """Rows at unit length; those without a direction stay as they are."""
    squares = jnp.sum(Z * Z, axis=1, keepdims=True)
    return Z / jnp.sqrt(jnp.where(squares > NO_DIRECTION, squares, 1.0))


def instance_losses(f: Array, g: Array, real: Array, temperature: float) -> Array:
    """How hard it is to tell ``g_i``, another view of ``f_i``, from both views of all other rows.

    Cross entropy at a temperature, from f to g only; 0 for rows that are not real.
    """
    counts = real > 0
    f, g = jnp.where(counts[:, None], f, 0.0), jnp.where(counts[:, None], g, 0.0)
    same = jnp.eye(len(f), dtype=bool)
    across = jnp.where(counts | same, f @ g.T / temperature, NEVER)
    within = jnp.where(counts & ~same, f @ f.T / temperature, NEVER)
    losses = jax.nn.logsumexp(jnp.hstack([across, within]), axis=1) - jnp.diagonal(across)
    return jnp.where(counts, losses, 0.0)


def prototype_losses(f: Array, prototypes: Array, targets: Array, temperature: float, known: Array) -> Array:
    """Cross entropy of soft targets with the similarities to the prototypes of known classes.

    What targets give to other classes is left out.
    """
    logits = jnp.where(known > 0, f @ prototypes.T / temperature, NEVER)
    return -jnp.sum(jnp.where(known > 0, targets * jax.nn.log_softmax(logits, axis=1), 0.0), axis=1)


def reconstruction_losses(V: Array, R: Array) -> Array:
    """Mean squared error of each row's reconstruction R of V."""
    return jnp.mean(jnp.square(R - V), axis=1)


def class_prototypes(f: Array, targets: Array, weights: Array, previous: Array) -> Array:
    """Directions of the weighted class means; a class without weight, or direction, keeps its previous prototype."""
    counts = weights[:, None] > 0
    shares = jnp.where(counts, weights[:, None] * targets, 0.0)
    mass = jnp.sum(shares, axis=0)[:, None]
    means = shares.T @ jnp.where(counts, f, 0.0) / jnp.where(mass > 0, mass, 1.0)
    squares = jnp.sum(means * means, axis=1, keepdims=True)
    return jnp.where(squares > NO_DIRECTION, normalise(means), previous)
