"""Truths that do not come from the package: brute-force minimisers and a plain transcription of the paper."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize

GOLDEN = (np.sqrt(np.longdouble(5)) - 1) / 2


def minimiser_in_one_variable(objective: Callable, low: float, high: float) -> float:
    """Golden-section search in extended precision; good to about 1e-9 for a convex function."""
    low, high = np.longdouble(low), np.longdouble(high)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    f_left, f_right = objective(left), objective(right)
    for _ in range(110):
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - GOLDEN * (high - low)
            f_left = objective(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + GOLDEN * (high - low)
            f_right = objective(right)
    return float((low + high) / 2)


def brute_force_minimum(objective: Callable, starts: list[np.ndarray]) -> float:
    """The lowest value that restarted simplex searches find; it knows nothing of gradients or proximal maps."""
    lowest = np.inf
    for start in starts:
        x = np.ravel(start).astype(float)
        for size in (1.0, 1e-2, 1e-4, 1e-6):
            simplex = np.vstack([x, x + size * np.eye(len(x))])
            found = minimize(
                objective,
                x,
                method="Nelder-Mead",
                options={
                    "initial_simplex": simplex,
                    "xatol": 1e-12,
                    "fatol": 1e-15,
                    "maxiter": 4000,
                    "maxfev": 4000,
                },
            )
            x, lowest = found.x, min(lowest, float(found.fun))
    return lowest


# ----------------------------------------------------------------------------------------------------------------
# The definitions of the norms, entry by entry or row by row


def huber_scalar(size, delta):
    return size * size / (2 * delta) if size <= delta else size - delta / 2


def norm_value(name: str, E: np.ndarray, delta: float = 1.0):
    rows = [np.sqrt(sum(e * e for e in row)) for row in E]
    entries = [abs(e) for row in E for e in row]
    return {
        "l1": lambda: sum(entries),
        "frobenius": lambda: sum(e * e for e in entries),
        "huber": lambda: sum(huber_scalar(e, delta) for e in entries),
        "l21": lambda: sum(rows),
        "huber_rows": lambda: sum(huber_scalar(r, delta) for r in rows),
    }[name]()


# ----------------------------------------------------------------------------------------------------------------
# One iteration of Algorithm 1, transcribed equation by equation with loops and explicit inverses


def shrink_singular_values(A, threshold):
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    return sum((max(s[i] - threshold, 0.0) * np.outer(U[:, i], Vt[i]) for i in range(len(s))), start=np.zeros_like(A))


def shrink_error(name, E_hat, weight, delta):
    """The E-updates: the two printed ones, and the closed forms of the other norms."""
    E = np.zeros_like(E_hat)
    if name == "none":
        return E
    for i in range(E_hat.shape[0]):
        length = np.sqrt(np.sum(E_hat[i] ** 2))
        if name == "l21":
            if length > weight:
                E[i] = (length - weight) / length * E_hat[i]
            continue
        if name == "huber_rows":
            if length > delta + weight:
                E[i] = (length - weight) / length * E_hat[i]
            else:
                E[i] = E_hat[i] * delta / (delta + weight)
            continue
        for j in range(E_hat.shape[1]):
            v = E_hat[i, j]
            if name == "l1":
                E[i, j] = v - weight if v > weight else v + weight if v < -weight else 0.0
            elif name == "frobenius":
                E[i, j] = v / (1 + 2 * weight)
            elif name == "huber":
                inner = abs(v) <= delta + weight
                E[i, j] = v * delta / (delta + weight) if inner else v - np.sign(v) * weight
    return E


def transcribed_iteration(X_given, Y_given, s, mu, lambdas, feature_norm, label_norm, delta, intercept, box):
    """``s`` maps the paper's letters to matrices; a new such mapping comes back."""
    l1, l2, l3 = lambdas
    s = dict(s)
    n, d = X_given.shape
    ones = np.ones((n, 1))

    X_hat = (mu * (X_given - s["E_f"] + s["K"]) - s["M5"] + s["M1"]) / (2 * mu)
    s["X"] = shrink_singular_values(X_hat, 1 / (2 * mu))
    s["Z"] = shrink_singular_values(s["J"] - s["M3"] / mu, l1 / mu)
    shift = ones @ s["b"][None, :]
    B = (mu * (Y_given - s["E_l"] + s["K"] @ s["J"] + shift) + s["M2"] - s["M4"]) / (2 * mu)
    s["B"] = np.array([[min(max(v, 0.0), 1.0) if box else v for v in row] for row in B])
    if intercept:
        s["b"] = np.array([np.mean((s["B"] - s["K"] @ s["J"] + s["M4"] / mu)[:, j]) for j in range(B.shape[1])])
        shift = ones @ s["b"][None, :]
    target = s["B"] - shift
    K = s["K"]
    s["J"] = np.linalg.inv(np.eye(d) + K.T @ K) @ (s["Z"] + K.T @ target + (s["M3"] + K.T @ s["M4"]) / mu)
    J = s["J"]
    s["K"] = ((s["M4"] @ J.T + s["M5"]) / mu + target @ J.T + s["X"]) @ np.linalg.inv(J @ J.T + np.eye(d))
    s["E_f"] = shrink_error(feature_norm, X_given - s["X"] + s["M1"] / mu, l2 / mu, delta)
    s["E_l"] = shrink_error(label_norm, Y_given - s["B"] + s["M2"] / mu, l3 / mu, delta)

    s["M1"] = s["M1"] + mu * (X_given - s["X"] - s["E_f"])
    s["M2"] = s["M2"] + mu * (Y_given - s["B"] - s["E_l"])
    s["M3"] = s["M3"] + mu * (s["Z"] - s["J"])
    s["M4"] = s["M4"] + mu * (s["B"] - s["K"] @ s["J"] - shift)
    s["M5"] = s["M5"] + mu * (s["X"] - s["K"])
    return s


def spiked(m, n, rank, share):
    """A matrix of low rank and spikes of size ten on a share of its cells."""
    rng = np.random.default_rng(0)
    low_rank = rng.normal(size=(m, rank)) @ rng.normal(size=(rank, n))
    sparse = np.zeros(m * n)
    support = rng.permutation(m * n)[: round(share * m * n)]
    sparse[support] = rng.choice([-10.0, 10.0], len(support))
    return low_rank, sparse.reshape(m, n)


def relative_error(found, truth):
    """In Frobenius norm."""
    return np.linalg.norm(found - truth) / np.linalg.norm(truth)
