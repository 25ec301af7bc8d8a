"""RRL's network and its objective: a classifier, an embedding of its features and their reconstruction."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from unmuddle.baselines import contrast
from unmuddle.baselines.contrast import instance_losses, normalise, prototype_losses, reconstruction_losses
from unmuddle.baselines.losses import NOWHERE, cross_entropy
from unmuddle.baselines.network import Parameters, apply_layer, features
from unmuddle.baselines.objectives import Batch, Knobs
from unmuddle.baselines.selection import mean_over


def objective(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Cross entropy and prototypes over the rows that count as clean; views and reconstructions over all."""
    network = _one(parameters)
    n_rows, n_cells = len(batch.X), batch.X.size
    n_chances = 2 * n_cells + 2 * n_rows + 15
    chances = jax.random.uniform(batch.key, (n_chances,), dtype=jnp.float32)  # all at once, which compiles quickly
    for_cells, for_mixing = chances[: 2 * n_cells], chances[2 * n_cells :]
    view = _second_view(batch.X, for_cells.reshape(2, *batch.X.shape), knobs)
    V, V_view = features(network, batch.X), features(network, view)
    E, E_view = apply_layer(network["embedding"], V), apply_layer(network["embedding"], V_view)
    Z = apply_layer(network["output"], V) + batch.offset
    temperature = knobs["temperature"]
    rebuilt = reconstruction_losses(V, _rebuild(network, E)) + reconstruction_losses(V_view, _rebuild(network, E_view))
    between_views = instance_losses(normalise(E), normalise(E_view), batch.real, temperature)
    return (
        mean_over(cross_entropy(Z, batch.targets), batch.weights)
        + mean_over(rebuilt, batch.real)
        + knobs["instance_weight"] * mean_over(between_views, batch.real)
        + knobs["prototype_weight"] * _prototype_loss(network, view, batch, for_mixing, knobs)
    )


@jax.jit
def embed(parameters: Parameters, X: Array) -> Array:
    """Embeddings at unit length."""
    network = _one(parameters)
    return normalise(apply_layer(network["embedding"], features(network, X)))


class_prototypes = jax.jit(contrast.class_prototypes)


def _prototype_loss(network: Parameters, view: Array, batch: Batch, chances: Array, knobs: Knobs) -> Array:
    """Rows mixed with one another, both views of them, against the prototypes of both classes."""
    X = jnp.concatenate([batch.X, view])
    targets, weights = (jnp.concatenate([array, array]) for array in (batch.targets, batch.weights))
    share = jnp.sort(chances[:15])[7]  # the middle one of 15 is distributed as Beta(8, 8)
    partners = partners_among(weights, chances[15:])
    mixed, mixed_targets = (share * array + (1.0 - share) * array[partners] for array in (X, targets))
    f = normalise(apply_layer(network["embedding"], features(network, mixed)))
    known = batch.offset > NOWHERE / 2
    rows = prototype_losses(f, knobs["prototypes"], mixed_targets, knobs["temperature"], known)
    return mean_over(rows, weights)


def partners_among(weights: Array, chances: Array) -> Array:
    """A random partner for each row with weight, among those with weight, no two the same."""
    order = jnp.argsort(chances + (weights == 0))
    place = jnp.cumsum(weights > 0) - 1
    return order[jnp.maximum(place, 0)]


def _second_view(X: Array, chances: Array, knobs: Knobs) -> Array:
    """Rows with a little normal noise on every cell, and some cells at 0."""
    noise = jax.scipy.special.ndtri(jnp.clip(chances[0], 1e-7, 1.0 - 1e-7))
    kept = chances[1] >= knobs["drop"]
    return (X + knobs["jitter"] * noise) * kept * knobs["columns"]


def _rebuild(network: Parameters, E: Array) -> Array:
    return jax.nn.relu(apply_layer(network["reconstruction"], E))


def _one(parameters: Parameters) -> Parameters:
    return jax.tree_util.tree_map(lambda array: array[0], parameters)
