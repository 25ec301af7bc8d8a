"""Losses of rows as functions of their logits Z and one-hot labels, and the one loss that only a batch has.

Logits of classes that only fill up an array are ``NOWHERE``: their probability is exactly 0, their logarithm finite.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

NOWHERE = -1e9
"""The logit of a class that does not exist."""

LEAST_TRANSITION = 1e-12
"""Transitions below this count as this in logarithms."""


def log_likelihoods(Z: Array, targets: Array) -> Array:
    """Logarithms of the probability of each row's label; the expectation of it under soft labels."""
    return (targets * jax.nn.log_softmax(Z)).sum(axis=-1)


def cross_entropy(Z: Array, targets: Array) -> Array:
    """``-log p_y``."""
    return -log_likelihoods(Z, targets)


def generalised_cross_entropy(Z: Array, targets: Array, q: float | Array) -> Array:
    """``(1 - p_y^q) / q`` (Zhang and Sabuncu 2018): cross entropy as q goes to 0, absolute error at 1."""
    return -jnp.expm1(q * log_likelihoods(Z, targets)) / q


def reverse_cross_entropy(Z: Array, targets: Array, floor: float | Array) -> Array:
    """``-A (1 - p_y)``, where A stands for the logarithm of 0 (Wang and others 2019)."""
    return floor * jnp.expm1(log_likelihoods(Z, targets))


def symmetric_cross_entropy(
    Z: Array, targets: Array, alpha: float | Array, beta: float | Array, floor: float | Array
) -> Array:
    """``alpha CE + beta RCE``."""
    return alpha * cross_entropy(Z, targets) + beta * reverse_cross_entropy(Z, targets, floor)


def forward_corrected(Z: Array, targets: Array, transition: Array) -> Array:
    """``-log (p T)_y``: cross entropy of the noisy label that a clean prediction leads to (Patrini and others 2017)."""
    leading_here = jnp.log(jnp.maximum(targets @ transition.T, LEAST_TRANSITION))
    return -jax.nn.logsumexp(jax.nn.log_softmax(Z) + leading_here, axis=-1)


def divergence(Z1: Array, Z2: Array) -> Array:
    """``KL(p1 || p2)`` of the two predictions for each row."""
    log_p, log_q = jax.nn.log_softmax(Z1), jax.nn.log_softmax(Z2)
    return (jnp.exp(log_p) * (log_p - log_q)).sum(axis=-1)


def joint_loss(Z1: Array, Z2: Array, targets: Array, agreement: float | Array) -> Array:
    """``(1 - L)(CE1 + CE2) + L (KL(p1 || p2) + KL(p2 || p1))`` (JoCoR, Wei and others 2020)."""
    supervised = cross_entropy(Z1, targets) + cross_entropy(Z2, targets)
    return (1 - agreement) * supervised + agreement * (divergence(Z1, Z2) + divergence(Z2, Z1))


def determinant_loss(Z: Array, targets: Array, real: Array) -> Array:
    """``-log |det U|``, with ``U = Y^T P`` (L_DMI, Xu and others 2019); every class must be among the real rows.

    There is no small number in the logarithm: it would take the gradient away where the determinant is small, as it
    always is with many classes.
    """
    known = (Z > NOWHERE / 2).any(axis=0)
    U = (targets * real[:, None]).T @ jax.nn.softmax(Z) + jnp.diag(1.0 - known)
    return -jnp.linalg.slogdet(U)[1]
