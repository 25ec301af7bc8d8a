"""Logistic regression on labels that are themselves probabilities."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from unmuddle.core.prox import Array

MAX_ITER, CHANGE, GRADIENT = 200, 1e-7, 1e-4
"""Steps at most; relative change of the objective, and largest entry of its gradient for each row, at the end."""


def fit_logistic(
    X: Array, Q: Array, C: float, start: Array | None = None, weights: Array | None = None, change: float = CHANGE
) -> Array:
    """Coefficients, the intercepts in the last row, that minimise the cross entropy to Q plus ``|W|^2 / (2 C)``.

    Products with X are taken in its precision, all else in double; a relative ``change`` of the objective ends it.
    """
    n, d = X.shape
    targets = Q if weights is None else Q * weights[:, None]
    totals = targets.sum(axis=1, keepdims=True)

    def objective(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(d + 1, -1)
        logs = log_softmax(X @ W[:-1].astype(X.dtype) + W[-1], axis=1)
        slopes = totals * np.exp(logs) - targets
        gradient = np.vstack([X.T @ slopes.astype(X.dtype) + W[:-1] / C, slopes.sum(axis=0)])
        return float(-np.sum(targets * logs) + 0.5 * np.sum(W[:-1] ** 2) / C), gradient.ravel()

    first = np.zeros((d + 1, Q.shape[1])) if start is None else start
    found: Array = minimize(
        objective,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITER, "ftol": change, "gtol": GRADIENT * n},
    ).x
    return found.reshape(d + 1, -1)


def predict_logistic(X: Array, W: Array) -> Array:
    """Probabilities of the classes."""
    return softmax(X @ W[:-1].astype(X.dtype) + W[-1], axis=1)
