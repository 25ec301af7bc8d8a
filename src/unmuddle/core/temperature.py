"""From scores to probabilities: a softmax over one temperature."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from unmuddle.core.prox import Array

LOWEST, HIGHEST = 0.05, 20.0
"""Scores are near 0 and 1: below the lowest all probabilities are 0 or 1, above the highest all are equal."""


def fit_temperature(scores: Array, codes: NDArray[np.intp], weights: Array | None = None) -> float:
    """The temperature under which the given class numbers, each with its weight, are most likely."""
    rows = np.arange(len(codes))

    def loss(log_temperature: float) -> float:
        terms = log_softmax(scores / np.exp(log_temperature), axis=1)[rows, codes]
        return -float(terms.mean() if weights is None else np.average(terms, weights=weights))

    return float(np.exp(minimize_scalar(loss, bounds=(np.log(LOWEST), np.log(HIGHEST)), method="bounded").x))
