"""One iteration of Algorithm 1 as a reader of the page would write it: a thin SVD, d x d systems, everything formed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unmuddle.core.paper import State
from unmuddle.core.problem import Problem


def step(problem: Problem, s: State, mu: float) -> State:
    """All updates in the printed order; no intercept."""
    X_noisy, Y_noisy, eye = problem.features, problem.labels, np.eye(problem.features.shape[1])
    X = shrink((mu * (X_noisy - s.E_f + s.K) - s.M5 + s.M1) / (2 * mu), 1 / (2 * mu))
    Z = shrink(s.J - s.M3 / mu, problem.lambdas.projection / mu)
    B = problem.project_labels((mu * (Y_noisy - s.E_l + s.K @ s.J) + s.M2 - s.M4) / (2 * mu))
    J = np.linalg.solve(eye + s.K.T @ s.K, Z + s.K.T @ B + (s.M3 + s.K.T @ s.M4) / mu)
    K = np.linalg.solve(J @ J.T + eye, ((s.M4 @ J.T + s.M5) / mu + B @ J.T + X).T).T
    E_f = problem.prox_feature_error(X_noisy - X + s.M1 / mu, 1 / mu)
    E_l = problem.prox_label_error(Y_noisy - B + s.M2 / mu, 1 / mu)
    M1, M2 = s.M1 + mu * (X_noisy - X - E_f), s.M2 + mu * (Y_noisy - B - E_l)
    M3, M4, M5 = s.M3 + mu * (Z - J), s.M4 + mu * (B - K @ J), s.M5 + mu * (X - K)
    return replace(s, X=X, Z=Z, B=B, J=J, K=K, E_f=E_f, E_l=E_l, M1=M1, M2=M2, M3=M3, M4=M4, M5=M5)


def shrink(matrix: np.ndarray, step: float) -> np.ndarray:
    """Singular values lowered by a step."""
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    return (U * np.maximum(s - step, 0.0)) @ Vt
