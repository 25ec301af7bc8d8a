"""Which rows of a batch a network learns from."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

SLACK = 1e-4
"""What rounding may take from a number of rows before it is rounded down."""


def keep_smallest(losses: Array, real: Array, forget: float | Array, rivals: float | Array = 1.0) -> Array:
    """1 for rows of small loss, 0 for others: as many as the forget rate leaves of the real rows, at least one.

    ``rivals`` is 1 for pairs of rows that are compared, 0 for others: by it so many are kept of every class. Ties go to
    the earlier row. No gradient passes.
    """
    losses = jax.lax.stop_gradient(losses)
    place = jnp.arange(len(losses))
    earlier = (losses[None, :] < losses[:, None]) | (
        (losses[None, :] == losses[:, None]) & (place[None, :] < place[:, None])
    )
    rivals = jnp.broadcast_to(real * rivals, earlier.shape)
    rank = (earlier * rivals).sum(axis=1)
    n_kept = jnp.maximum(1.0, jnp.floor((1.0 - forget) * rivals.sum(axis=1) + SLACK))
    return real * (rank < n_kept)


def mean_over(values: Array, weights: Array) -> Array:
    """Weighted mean; 0 where nothing has weight."""
    return (values * weights).sum() / jnp.maximum(weights.sum(), 1e-12)
