"""Logistic regression on labels that are themselves probabilities, several fits to the same rows at once.

Fits that differ in the weights of the rows alone, as those that leave out a fold each, share their products with X: one
wide product takes less time than several narrow ones, and one search fewer steps than several.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

from unmuddle.core.prox import Array

MAX_ITER, CHANGE, GRADIENT = 200, 1e-7, 1e-4
"""Steps at most; relative change of the objective, and largest entry of its gradient for each row, at the end."""

TOGETHER = 4_000_000
"""Scores of all fits up to which they are held at once; larger fits are made one after the other."""


def fit_logistic(
    X: Array, Q: Array, C: float, weights: Array, start: Array | None = None, change: float = CHANGE
) -> Array:
    """Coefficients that minimise the weighted cross entropy to Q plus ``|W|^2 / (2 C)``, for each row of ``weights``.

    ``W[:, k]`` is of the k-th fit, its intercepts in the last row. Products with X are taken in its precision, all else
    in double; a relative ``change`` of the sum of all objectives ends it.
    """
    (n, d), n_classes, n_fits = X.shape, Q.shape[1], len(weights)
    first = np.zeros((d + 1, n_fits, n_classes)) if start is None else start
    if n_fits > 1 and n * n_fits * n_classes > TOGETHER:
        ones = [slice(k, k + 1) for k in range(n_fits)]
        return np.concatenate([fit_logistic(X, Q, C, weights[k], first[:, k], change) for k in ones], axis=1)
    targets = Q[:, None, :] * weights.T[:, :, None]
    totals = targets.sum(axis=2, keepdims=True)

    def objective(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(d + 1, -1)
        logs = (X @ W[:-1].astype(X.dtype) + W[-1]).reshape(targets.shape)
        logs -= logs.max(axis=2, keepdims=True)
        slopes = np.exp(logs)
        sums = slopes.sum(axis=2, keepdims=True)
        logs -= np.log(sums)
        slopes *= totals / sums
        slopes -= targets
        flat_slopes = slopes.reshape(n, -1)
        gradient = np.vstack([X.T @ flat_slopes.astype(X.dtype) + W[:-1] / C, flat_slopes.sum(axis=0)])
        return float(-np.vdot(targets, logs) + 0.5 * np.vdot(W[:-1], W[:-1]) / C), gradient.ravel()

    found: Array = minimize(
        objective,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": MAX_ITER, "ftol": change, "gtol": GRADIENT * n},
    ).x
    return found.reshape(first.shape)


def predict_logistic(X: Array, W: Array) -> Array:
    """Probabilities of the classes, by the coefficients of one fit."""
    return softmax(X @ W[:-1].astype(X.dtype) + W[-1], axis=1)
