"""Algorithm 1 of the paper, kept to the letter as the reference.

All variables start at zero; X, Z, B, (b), J, K, E_f, E_l are updated in this order, then the five multipliers, then
``mu := rho mu``; it stops when the five residuals, in absolute Frobenius norm, are at most ``tol``. The printed test
``iter > iter_max`` would allow one iteration more than it says; here ``max_iter`` is what it says.

The paper has no intercept. With one, ``b`` is updated in closed form before J and joins ``K J`` wherever that stands.

It is not the solver to use: growing penalties freeze it away from a stationary point, and the small penalties of the
first iterations magnify rounding errors. With ``rho = 1`` and ``mu`` large enough for the problem it converges.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from numbers import Real
from typing import NamedTuple

import numpy as np
from scipy import linalg

from unmuddle.core.problem import Problem
from unmuddle.core.prox import Array, threshold_singular_values
from unmuddle.core.result import OnStep, Point, Solution, Trace, ignore
from unmuddle.core.spectrum import nuclear_norm
from unmuddle.errors import InvalidParameterError

MAX_ITER, TOL = 1000, 1e-6
"""The printed ``iter_max`` and ``epsilon``."""


class Gaps(NamedTuple):
    """What is left of the five equality constraints."""

    features: Array
    labels: Array
    projection: Array
    bilinear: Array
    copy: Array


@dataclass(frozen=True)
class State:
    """Every variable of Algorithm 1.

    Known from the updates: ``X_nuclear`` and ``Z_nuclear``, the nuclear norms, and ``gaps``.
    """

    X: Array
    Z: Array
    B: Array
    b: Array
    J: Array
    K: Array
    E_f: Array
    E_l: Array
    M1: Array
    M2: Array
    M3: Array
    M4: Array
    M5: Array
    X_nuclear: float = 0.0
    Z_nuclear: float = 0.0
    gaps: Gaps | None = None

    @property
    def KJ(self) -> Array:
        """The bilinear part of the labels, with the intercept."""
        return self.K @ self.J + self.b

    def is_finite(self) -> bool:
        """Whether no variable has overflowed."""
        return all(bool(np.isfinite(value).all()) for name, value in vars(self).items() if name != "gaps")


@dataclass(frozen=True)
class Residuals:
    """Frobenius norms of the five equality constraints."""

    features: float
    labels: float
    projection: float
    bilinear: float
    copy: float

    @classmethod
    def of(cls, gaps: Gaps) -> Residuals:
        """After an iteration."""
        return cls(*map(_norm, gaps))

    def within(self, tol: float) -> bool:
        """The printed stopping rule."""
        return max(vars(self).values()) <= tol


@dataclass(frozen=True)
class Algorithm1:
    """The printed algorithm with its schedule of penalties.

    Parameters
    ----------
    mu : float
        Penalty of the first iteration.
    rho : float
        Factor on the penalty after each iteration; 1 keeps it constant.
    """

    mu: float = 1e-3
    rho: float = 1.2

    def __post_init__(self) -> None:
        for name, value, least in (("mu", self.mu, 0.0), ("rho", self.rho, 1.0)):
            if not (isinstance(value, Real) and least <= value < np.inf and value > 0):
                rule = f"a finite number {'above 0' if least == 0 else 'of at least 1'}"
                raise InvalidParameterError(f"Algorithm1: {name} must be {rule}; got {value!r}.")

    def solve(
        self,
        problem: Problem,
        max_iter: int | None = None,
        tol: float | None = None,
        on_step: OnStep = ignore,
    ) -> Solution:
        """Iterate until the five residuals are at most ``tol`` or the iterations run out."""
        max_iter = MAX_ITER if max_iter is None else max_iter
        tol = TOL if tol is None else tol
        state, mu, records = initial_state(problem), self.mu, list[dict[str, float]]()
        for n_iter in range(1, max_iter + 1):
            following = try_step(problem, state, mu)
            if following is None:
                return _solution(state, records, finite=False)
            gaps = following.gaps or measure_gaps(problem, following)
            residuals = Residuals.of(gaps)
            records.append(_record(problem, state, following, gaps, residuals, mu))
            stop = on_step(n_iter, records[-1])
            state, mu = following, self.rho * mu
            if residuals.within(tol):
                return _solution(state, records)
            if stop:
                break
        return _solution(state, records, out_of_iterations=True)


def initial_state(problem: Problem) -> State:
    """All zeros."""
    (n, d), c = problem.features.shape, problem.labels.shape[1]
    nd, nc, dc = np.zeros((n, d)), np.zeros((n, c)), np.zeros((d, c))
    return State(X=nd, Z=dc, B=nc, b=np.zeros(c), J=dc, K=nd, E_f=nd, E_l=nc, M1=nd, M2=nc, M3=dc, M4=nc, M5=nd)


def try_step(problem: Problem, state: State, mu: float) -> State | None:
    """One iteration, or None where it leaves the finite numbers."""
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            following = step(problem, state, mu)
        except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
            return None
    return following if following.is_finite() else None


def step(problem: Problem, state: State, mu: float) -> State:
    """One pass over all variables and multipliers."""
    for update in (_update_X, _update_Z, _update_B, _update_b, _update_J, _update_K, _update_E, _update_M):
        state = update(problem, state, mu)
    return state


def _update_X(problem: Problem, s: State, mu: float) -> State:
    X_hat = (mu * (problem.features - s.E_f + s.K) - s.M5 + s.M1) / (2 * mu)
    if _is_lost(1 / (2 * mu), X_hat):
        return replace(s, X=X_hat, X_nuclear=nuclear_norm(X_hat))
    X, singular_values = threshold_singular_values(X_hat, 1 / (2 * mu))
    return replace(s, X=X, X_nuclear=float(singular_values.sum()))


def _is_lost(step: float, matrix: Array) -> bool:
    """Whether thresholding by ``step`` changes a matrix by less than rounding: so it is when the penalty has grown."""
    largest = _norm(matrix) / np.sqrt(min(matrix.shape))  # the largest singular value is no smaller
    return bool(step < np.finfo(matrix.dtype).eps * largest)


def _update_Z(problem: Problem, s: State, mu: float) -> State:
    Z, singular_values = threshold_singular_values(s.J - s.M3 / mu, problem.lambdas.projection / mu)
    return replace(s, Z=Z, Z_nuclear=float(singular_values.sum()))


def _update_B(problem: Problem, s: State, mu: float) -> State:
    B = (mu * (problem.labels - s.E_l + s.KJ) + s.M2 - s.M4) / (2 * mu)
    return replace(s, B=problem.project_labels(B))


def _update_b(problem: Problem, s: State, mu: float) -> State:
    if not problem.intercept:
        return s
    return replace(s, b=(s.B - s.K @ s.J + s.M4 / mu).mean(axis=0))


def _update_J(problem: Problem, s: State, mu: float) -> State:
    K, B = s.K, s.B - s.b
    left = np.eye(K.shape[1]) + K.T @ K
    right = s.Z + K.T @ B + (s.M3 + K.T @ s.M4) / mu
    return replace(s, J=linalg.solve(left, right, assume_a="pos"))


def _update_K(problem: Problem, s: State, mu: float) -> State:
    J, B = s.J, s.B - s.b
    right = s.M5 / mu + (s.M4 / mu + B) @ J.T + s.X
    inner = J.T @ J + np.eye(J.shape[1])  # (J J^T + I)^-1 = I - J (J^T J + I)^-1 J^T, a c x c system
    return replace(s, K=right - right @ J @ linalg.solve(inner, J.T, assume_a="pos"))


def _update_E(problem: Problem, s: State, mu: float) -> State:
    E_f = problem.prox_feature_error(problem.features - s.X + s.M1 / mu, 1 / mu)
    E_l = problem.prox_label_error(problem.labels - s.B + s.M2 / mu, 1 / mu)
    return replace(s, E_f=E_f, E_l=E_l)


def _update_M(problem: Problem, s: State, mu: float) -> State:
    gaps = measure_gaps(problem, s)
    return replace(
        s,
        M1=s.M1 + mu * gaps.features,
        M2=s.M2 + mu * gaps.labels,
        M3=s.M3 + mu * gaps.projection,
        M4=s.M4 + mu * gaps.bilinear,
        M5=s.M5 + mu * gaps.copy,
        gaps=gaps,
    )


def measure_gaps(problem: Problem, s: State) -> Gaps:
    """The five equality constraints, each its left side less its right."""
    return Gaps(
        features=problem.features - s.X - s.E_f,
        labels=problem.labels - s.B - s.E_l,
        projection=s.Z - s.J,
        bilinear=s.B - s.KJ,
        copy=s.X - s.K,
    )


def objective(problem: Problem, s: State) -> float:
    """F with the errors of the state, which complete X and B only in the limit."""
    errors = problem.feature_cost(s.E_f), problem.label_cost(s.E_l)
    return problem.weigh(s.X_nuclear, s.Z_nuclear, *errors)


def augmented_lagrangian(problem: Problem, s: State, gaps: Gaps, residuals: Residuals, mu: float) -> float:
    """The paper's L at a state: objective, multipliers on the gaps, and the penalty."""
    multipliers = s.M1, s.M2, s.M3, s.M4, s.M5
    return (
        objective(problem, s)
        + sum(float(np.vdot(M, gap)) for M, gap in zip(multipliers, gaps, strict=True))
        + mu / 2 * sum(value**2 for value in vars(residuals).values())
    )


def _record(problem: Problem, old: State, new: State, gaps: Gaps, residuals: Residuals, mu: float) -> dict[str, float]:
    """What the trace keeps of an iteration; the last four are what Theorem 1 assumes to vanish."""
    return {
        **{f"residual_{name}": value for name, value in asdict(residuals).items()},
        "objective": objective(problem, new),
        "augmented_lagrangian": augmented_lagrangian(problem, new, gaps, residuals, mu),
        "mu": mu,
        "mu_change_K": mu * _norm(new.K - old.K),
        "mu_change_J": mu * _norm(new.J - old.J),
        "mu_change_E_f": mu * _norm(new.E_f - old.E_f),
        "mu_change_E_l": mu * _norm(new.E_l - old.E_l),
    }


def _solution(
    s: State, records: list[dict[str, float]], *, out_of_iterations: bool = False, finite: bool = True
) -> Solution:
    point = Point(X=s.X, Z=s.Z, b=s.b, M1=s.M1, M4=s.M4)
    return Solution(point, s.E_f, s.E_l, len(records), Trace(records), out_of_iterations, finite)


def _norm(matrix: Array) -> float:
    return float(np.linalg.norm(matrix))
