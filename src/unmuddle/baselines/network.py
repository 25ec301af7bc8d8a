"""A multilayer perceptron; parameters of several networks are stacked along the first axis of every array."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Parameters = dict[str, Any]
"""``hidden``: a list of layers, ``output``: a layer; a layer is a pair of weights and biases."""


def initial_layer(
    rng: np.random.Generator, n_in: int, n_out: int, shape: tuple[int, int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Normal weights of variance 2 / n_in (He and others 2015), biases 0; filled up with zeros to a given shape."""
    rows, columns = shape or (n_in, n_out)
    weights = np.zeros((rows, columns), dtype=np.float32)
    weights[:n_in, :n_out] = rng.normal(0.0, np.sqrt(2.0 / n_in), (n_in, n_out))
    return weights, np.zeros(columns, dtype=np.float32)


def features(parameters: Parameters, X: Array) -> Array:
    """What the hidden layers make of the rows; all entries are non-negative, unless there are none."""
    for weights, biases in parameters["hidden"]:
        X = jax.nn.relu(X @ weights + biases)
    return X


def apply_layer(layer: tuple[Array, Array], X: Array) -> Array:
    """``X W + b``."""
    weights, biases = layer
    return X @ weights + biases


def logits(parameters: Parameters, X: Array, offset: Array) -> Array:
    """Logits of one network; the offset takes classes away that only fill up the array."""
    return apply_layer(parameters["output"], features(parameters, X)) + offset


all_logits = jax.vmap(logits, in_axes=(0, None, None))
"""Logits of every network, one after the other along the first axis."""


def mean_probabilities(parameters: Parameters, X: Array, offset: Array) -> Array:
    """Class probabilities, averaged over the networks."""
    return jax.nn.softmax(all_logits(parameters, X, offset)).mean(axis=0)


def stack(networks: list[Parameters]) -> Parameters:
    """Several networks as one tree of arrays."""
    return jax.tree_util.tree_map(lambda *arrays: jnp.stack(arrays), *networks)
