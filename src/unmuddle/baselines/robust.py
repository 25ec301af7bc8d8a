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
    view_key, mix_key = jax.random.split(batch.key)
    view = _second_view(batch.X, view_key, knobs)
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
        + knobs["prototype_weight"] * _prototype_loss(network, view, batch, mix_key, knobs)
    )


@jax.jit
def embed(parameters: Parameters, X: Array) -> Array:
    """Embeddings at unit length."""
    network = _one(parameters)
    return normalise(apply_layer(network["embedding"], features(network, X)))


class_prototypes = jax.jit(contrast.class_prototypes)


def _prototype_loss(network: Parameters, view: Array, batch: Batch, key: Array, knobs: Knobs) -> Array:
    """Rows mixed with one another, both views of them, against the prototypes of both classes."""
    share_key, partner_key = jax.random.split(key)
    X = jnp.concatenate([batch.X, view])
    targets, weights = (jnp.concatenate([array, array]) for array in (batch.targets, batch.weights))
    share = jnp.sort(jax.random.uniform(share_key, (15,)))[7]  # the middle one of 15 is distributed as Beta(8, 8)
    partners = partners_among(weights, partner_key)
    mixed, mixed_targets = (share * array + (1.0 - share) * array[partners] for array in (X, targets))
    f = normalise(apply_layer(network["embedding"], features(network, mixed)))
    known = batch.offset > NOWHERE / 2
    rows = prototype_losses(f, knobs["prototypes"], mixed_targets, knobs["temperature"], known)
    return mean_over(rows, weights)


def partners_among(weights: Array, key: Array) -> Array:
    """A random partner for each row with weight, among those with weight, no two the same."""
    order = jnp.argsort(jax.random.uniform(key, weights.shape) + (weights == 0))
    place = jnp.cumsum(weights > 0) - 1
    return order[jnp.maximum(place, 0)]


def _second_view(X: Array, key: Array, knobs: Knobs) -> Array:
    """Rows with a little noise on every cell and some cells at their mean, which is 0."""
    noise_key, drop_key = jax.random.split(key)
    noisy = X + knobs["jitter"] * jax.random.normal(noise_key, X.shape)
    kept = jax.random.uniform(drop_key, X.shape) >= knobs["drop"]
    return noisy * kept * knobs["columns"]


def _rebuild(network: Parameters, E: Array) -> Array:
    return jax.nn.relu(apply_layer(network["reconstruction"], E))


def _one(parameters: Parameters) -> Parameters:
    return jax.tree_util.tree_map(lambda array: array[0], parameters)
