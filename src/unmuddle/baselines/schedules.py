"""What changes from epoch to epoch: how many rows are forgotten, how long steps are, how much momentum they have."""

from __future__ import annotations

import numpy as np

from unmuddle.core.prox import Array

GRADUAL = 10
"""Epochs over which the forget rate grows, as in Co-teaching's reference code."""

DECAY_START = 0.4
"""Share of the epochs after which steps shrink linearly to nothing: 80 of 200 in Co-teaching's reference code."""

MOMENTUM, LATE_MOMENTUM = 0.9, 0.1
"""Adam's first decay rate before and after the steps begin to shrink."""


def forget_rates(rate: float, n_epochs: int, *, gradual: int = GRADUAL, exponent: float = 1.0) -> Array:
    """The share of rows left out in each epoch: up to ``rate ** exponent`` in ``gradual`` steps, then ``rate``.

    >>> forget_rates(0.45, 12).round(2).tolist()
    [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.45, 0.45]
    """
    rates = np.full(n_epochs, float(rate))
    growing = np.linspace(0.0, rate**exponent, gradual)[:n_epochs]
    rates[: len(growing)] = growing
    return rates


def step_sizes(size: float, n_epochs: int) -> Array:
    """Constant, then linear to zero, which the epoch after the last one would reach."""
    start = int(DECAY_START * n_epochs)
    epochs = np.arange(n_epochs)
    return size * np.minimum(1.0, (n_epochs - epochs) / (n_epochs - start))


def momenta(n_epochs: int) -> Array:
    """Adam's first decay rate, switched down when the steps begin to shrink."""
    return np.where(np.arange(n_epochs) < int(DECAY_START * n_epochs), MOMENTUM, LATE_MOMENTUM)
