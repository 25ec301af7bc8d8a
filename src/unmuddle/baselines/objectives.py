"""What each method minimises over a batch, as a function of the parameters of its networks.

``knobs`` are the numbers of a method and of the epoch; they are arguments, so that none of them is compiled in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import Array

from unmuddle.baselines import losses
from unmuddle.baselines.network import Parameters, all_logits
from unmuddle.baselines.selection import keep_smallest, mean_over

Knobs = Mapping[str, Any]


class Batch(NamedTuple):
    """Rows to learn from; those that only fill up the arrays are not ``real`` and count for nothing.

    ``weights`` are what a method thinks of the rows, ``offset`` takes away classes that do not exist, ``key`` is a
    source of random numbers.
    """

    X: Array
    targets: Array
    weights: Array
    real: Array
    offset: Array
    key: Array


Objective = Callable[[Parameters, Batch, Knobs], Array]


def plain(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Cross entropy, the mean over the batch."""
    return mean_over(losses.cross_entropy(_only(parameters, batch), batch.targets), batch.real)


def generalised(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Generalised cross entropy less that of the truncation point, over rows that are not pruned."""
    Z, q = _only(parameters, batch), knobs["q"]
    pruned_loss = (1.0 - knobs["truncation"] ** q) / q
    excess = losses.generalised_cross_entropy(Z, batch.targets, q) - pruned_loss
    return mean_over(batch.weights * excess, batch.real)


def symmetric(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Symmetric cross entropy, the mean over the batch."""
    Z = _only(parameters, batch)
    rows = losses.symmetric_cross_entropy(Z, batch.targets, knobs["alpha"], knobs["beta"], knobs["floor"])
    return mean_over(rows, batch.real)


def forward(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Cross entropy of noisy labels, predicted through the transition matrix."""
    rows = losses.forward_corrected(_only(parameters, batch), batch.targets, knobs["transition"])
    return mean_over(rows, batch.real)


def determinant(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Minus the determinant-based mutual information of labels and predictions."""
    return losses.determinant_loss(_only(parameters, batch), batch.targets, batch.real)


def small_loss(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Cross entropy over the rows on which it is small."""
    rows = losses.cross_entropy(_only(parameters, batch), batch.targets)
    return mean_over(rows, _keep(rows, batch, knobs))


def taught(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Two networks, each under cross entropy over the rows that the other one would keep; the sum of both."""
    first, second = (losses.cross_entropy(Z, batch.targets) for Z in all_logits(parameters, batch.X, batch.offset))
    return mean_over(first, _keep(second, batch, knobs)) + mean_over(second, _keep(first, batch, knobs))


def joint(parameters: Parameters, batch: Batch, knobs: Knobs) -> Array:
    """Two networks under one loss, over the rows on which it is small."""
    Z1, Z2 = all_logits(parameters, batch.X, batch.offset)
    rows = losses.joint_loss(Z1, Z2, batch.targets, knobs["agreement"])
    return mean_over(rows, _keep(rows, batch, knobs))


def _only(parameters: Parameters, batch: Batch) -> Array:
    """Logits of a method that has one network."""
    return all_logits(parameters, batch.X, batch.offset)[0]


def _keep(rows: Array, batch: Batch, knobs: Knobs) -> Array:
    rivals = jnp.where(knobs["per_class"], batch.targets @ batch.targets.T, 1.0)
    return keep_smallest(rows, batch.real, knobs["forget"], rivals)
