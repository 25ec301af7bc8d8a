"""The default solver: two-block ADMM that stops at a certified point.

``iteration.py`` says what an iteration does, ``penalties.py`` how its penalties move. Here: where it starts, when it
looks at the certificate, and which point it hands back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unmuddle.core.blocks import row_workers, tiles
from unmuddle.core.certificate import certify_rows, feature_step, step_feature_error
from unmuddle.core.halves import FEATURE_STEPS, alternate
from unmuddle.core.iteration import Iteration
from unmuddle.core.penalties import Penalties, first_penalties, is_time_to_balance
from unmuddle.core.problem import Problem, mean_label
from unmuddle.core.prox import Array
from unmuddle.core.result import OnStep, Point, Solution, Trace, ignore
from unmuddle.core.sides import Recovery, solve_positive
from unmuddle.core.spectrum import gram_of, singular_values, spectral_norm
from unmuddle.core.state import State
from unmuddle.errors import InvalidParameterError

MAX_ITER, TOL = 2000, 1e-4

RECHECK = (20, 25)
"""Iterations between two looks at the certificate, when the residuals are below the tolerance and when not; a look
costs more than an iteration."""

HALVES = 0.15
"""Part of the iterations that is kept for the fall-back."""

NEGLIGIBLE = 1e-10
"""Part of the largest below which a singular value, or an inner product, is rounding."""

PENALTY_NAMES = ("mu_features", "mu_labels", "mu_projection")

STARTS = ("ridge", "labels", "zero")

RIDGE = 1e-2
"""Ridge of the first projection, as a part of the largest eigenvalue."""


@dataclass(frozen=True)
class ADMM:
    """The default solver.

    Parameters
    ----------
    start : {"ridge", "labels", "zero"} or Solution
        Where to start: the given data with a projection from ridge regression, or with none; ``"labels"`` changes the
        data so that they show the given labels, which finds points that memorise labels, often of lower objective;
        the solution of a similar problem is a warm start.
    n_blocks : int or None
        Number of row blocks; None makes blocks that fit the processor's cache.
    """

    start: str | Solution = "ridge"
    n_blocks: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.start, Solution) and self.start not in STARTS:
            raise InvalidParameterError(
                f"ADMM: start must be one of {', '.join(map(repr, STARTS))}; got {self.start!r}."
            )
        if self.n_blocks is not None and not (isinstance(self.n_blocks, int) and self.n_blocks >= 1):
            raise InvalidParameterError(
                f"ADMM: n_blocks must be an integer of at least 1, or None; got {self.n_blocks!r}."
            )

    def solve(
        self, problem: Problem, max_iter: int | None = None, tol: float | None = None, on_step: OnStep = ignore
    ) -> Solution:
        """Iterate until the certificate of the current point is at most ``tol``."""
        max_iter, tol = MAX_ITER if max_iter is None else max_iter, TOL if tol is None else tol
        n, d = problem.features.shape
        if isinstance(self.start, Solution):
            check_start(problem, self.start)
        with row_workers(n, d, self.n_blocks) as workers, np.errstate(over="ignore", invalid="ignore"):
            return _Run(Iteration.of(problem, workers), tol).go(self.start, max_iter, on_step)


def begin(iteration: Iteration, start: str | Solution) -> State:
    """From the data: K = X~, the projection from ridge regression or zero; or from another problem's solution."""
    if isinstance(start, Solution):
        return resume(iteration, start)
    problem, workers = iteration.problem, iteration.workers
    X, Y = problem.features, problem.labels
    n, d = X.shape
    b = problem.intercept * mean_label(Y, problem.label_weights)
    R = _label_deviations(problem, b)
    (sums,) = workers.total(lambda rows: (X[rows].sum(axis=0, dtype=np.float64),))
    centre = problem.intercept * sums / n
    if n >= d:

        def sums_of(rows: slice) -> tuple[Array, Array]:
            centred = X[rows] - centre  # before the product: afterwards digits would be lost, and definiteness
            return gram_of(centred), centred.T @ R[rows]

        gram, cross = workers.total_of_tiles(sums_of, d)
    else:
        centred = X - centre
        gram = workers.factorise(gram_of, centred.T)
    eigenvalues = np.maximum(workers.factorise(np.linalg.eigvalsh, gram), 0.0)
    J = np.zeros((d, Y.shape[1]))
    if start != "zero":
        ridge = gram + RIDGE * max(float(eigenvalues[-1]), 1e-300) * np.eye(len(gram))
        J = workers.factorise(solve_positive, ridge, cross if n >= d else R)
        J = J if n >= d else (centred.T @ J).astype(np.float64, copy=False)
    wanted = start == "labels" or (problem.label_norm.fixes_zero and start == "ridge")
    point = meet_labels(problem, J, centre) if wanted else None
    if point is not None:
        penalties = first_penalties(problem, eigenvalues, spectral_norm(point.Z))
        return iteration.begin(point.Z, b - centre @ point.Z, *penalties, point)
    return iteration.begin(J, b - centre @ J, *first_penalties(problem, eigenvalues, spectral_norm(J)))


def _label_deviations(problem: Problem, b: Array) -> Array:
    """``Y~ - 1 b^T`` with the weights of the rows; those without a label are made up for by the others."""
    R, weights = problem.labels - b, problem.label_weights
    return R if weights is None else R * (weights * (len(R) / weights.sum()))[:, None]


def resume(iteration: Iteration, start: Solution) -> State:
    """From the point and the penalties at which a similar problem, of the same size, was left."""
    problem, point, trace = iteration.problem, start.point, start.trace
    X = point.X if point.X.any() else problem.features
    eigenvalues = np.square(singular_values(X))
    penalty, balance = first_penalties(problem, eigenvalues, spectral_norm(point.Z))
    if "mu_features" in trace:
        penalty = Penalties(*(float(trace[name][-1]) for name in PENALTY_NAMES))
    return iteration.begin(point.Z, point.b, penalty, balance, point)


def check_start(problem: Problem, start: Solution) -> None:
    """A warm start must be of the size of the problem."""
    point = start.point
    if point.X.shape != problem.features.shape or point.M4.shape != problem.labels.shape:
        raise InvalidParameterError(
            f"ADMM: start must be the solution of a problem of the same size; it has {point.X.shape} features and "
            f"{point.M4.shape} labels, the problem {problem.features.shape} and {problem.labels.shape}."
        )


def meet_labels(problem: Problem, J: Array, centre: Array) -> Point | None:
    """A point with ``X Z + 1 b^T = Y~``, for labels that are fixed: from afar their multiplier would run away.

    The projection becomes t times its polar factor Q, and X shows the labels over t in the directions Q instead of
    what the data show there; t makes the two alike. None if the data show nothing of the labels.
    """
    X, Y = problem.features, problem.labels
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    kept = s > NEGLIGIBLE * s.max(initial=0.0)
    Q, R = U[:, kept] @ Vt[kept], Y - problem.intercept * mean_label(Y, problem.label_weights)
    shown = X @ Q - centre @ Q
    if problem.label_weights is not None:  # rows without a label may show what they like
        R, shown = (np.where(problem.label_weights[:, None] > 0, array, 0.0) for array in (R, shown))
    alike = float(np.vdot(R, shown))
    if alike <= NEGLIGIBLE * np.linalg.norm(R) * np.linalg.norm(shown):
        return None
    t = float(np.vdot(R, R)) / alike
    return Point(X=X + (R / t - shown) @ Q.T, Z=t * Q, b=R[0] * 0.0, M1=np.zeros_like(X), M4=np.zeros_like(Y))


@dataclass
class _Run:
    """One solve: the iteration, what has been measured, and the best state seen."""

    iteration: Iteration
    tol: float
    records: list[dict[str, float]] = field(default_factory=list)
    best: State | None = None
    best_worst: float = np.inf
    looked_at: int = 0

    def go(self, start: str | Solution, max_iter: int, on_step: OnStep) -> Solution:
        try:
            s = begin(self.iteration, start)
        except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
            return self.give_up()
        halves = self.count_halves(max_iter)
        last = max_iter - halves
        while s.n_iter < last:
            if self.wants_look(s) and self.look(s) <= self.tol:
                return self.solution(s)
            if not self.try_step(s):
                return self.give_up()
            if on_step(s.n_iter, self.records[-1]):
                halves = 0
                break
        if self.look(s) <= self.tol:
            return self.solution(s)
        if self.best is None:
            return self.give_up()
        del s  # its memory is needed now
        return self.go_by_halves(max_iter, on_step) if halves else self.solution(self.best, out_of_iterations=True)

    def count_halves(self, max_iter: int) -> int:
        """Iterations that are kept for the fall-back.

        None where they would not do for a round, where X fixes Z, and on wide data, whose projection half would need a
        d x d inverse.
        """
        kept = int(HALVES * max_iter)
        problem = self.iteration.problem
        wide = problem.features.shape[0] < problem.features.shape[1]
        return 0 if kept < FEATURE_STEPS or wide or problem.label_norm.fixes_zero else kept

    def go_by_halves(self, max_iter: int, on_step: OnStep) -> Solution:
        """The fall-back, from the best point so far, until a round no longer makes it better by a tenth."""
        before, iteration = np.inf, self.iteration
        while len(self.records) + FEATURE_STEPS <= max_iter and self.best is not None:
            if self.best_worst > 0.9 * before:
                return self.solution(self.best)
            before, s = self.best_worst, self.best
            try:
                s = alternate(iteration, s, self.point_of(s.copy())[0])
            except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
                return self.give_up()
            self.records += [{**s.residuals, **_named(s.penalty)}] * FEATURE_STEPS
            stop = on_step(len(self.records), self.records[-1])
            if s.is_finite and self.look(s) <= self.tol:
                return self.solution(s)
            if stop:
                break
        return self.solution(self.best, out_of_iterations=True) if self.best is not None else self.give_up()

    def wants_look(self, s: State) -> bool:
        since = s.n_iter - self.looked_at
        return since >= RECHECK[1] or (since >= RECHECK[0] and max(s.residuals.values()) <= self.tol)

    def try_step(self, s: State) -> bool:
        """One iteration, unless it leaves the finite numbers."""
        try:
            self.iteration.step(s)
        except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
            return False
        self.records.append({**s.residuals, **_named(s.penalty)})
        if is_time_to_balance(s.n_iter):
            s.balance.notice(s.penalty, s.residuals)
        return s.is_finite

    def look(self, s: State) -> float:
        """The worst of the certificate at the point of a state; a copy is kept of the best that is not good enough."""
        self.looked_at = s.n_iter
        try:
            worst = self.certify(s)
        except (np.linalg.LinAlgError, ValueError):  # LAPACK refuses matrices that are not finite
            return np.inf
        if self.tol < worst and (worst < self.best_worst or self.best is None):
            self.best = s.copy(into=self.best)
        self.best_worst = min(self.best_worst, worst)
        return worst

    def certify(self, s: State) -> float:
        problem, found = self.iteration.problem, self.iteration.recover(s)
        (M1_square,) = self.iteration.workers.total(lambda block: (_square_of_multiplier(problem, s, block),))
        small = self.iteration.project(s), s.b, self.label_multiplier(s)[1]
        t = feature_step(problem, float(np.sqrt(M1_square)))
        return certify_rows(
            problem,
            small,
            lambda rows: _large(problem, s, found, rows),
            t,
            self.iteration.workers,
            self.tol,
            np.sqrt(found.squares),
        ).worst

    def label_multiplier(self, s: State) -> tuple[Array, Array]:
        """B and M4 at the point of a state."""
        my = s.penalty.y
        B = self.iteration.problem.prox_recovered_labels(s.KJ - s.M4 / my, 1 / my)
        return B, s.M4 + my * (B - s.KJ)

    def solution(self, s: State, *, out_of_iterations: bool = False, finite: bool = True) -> Solution:
        """What is handed back; the state is used up."""
        self.best = None  # its memory is needed now
        point, B = self.point_of(s)
        return self.wrap(point, B, out_of_iterations, finite)

    def point_of(self, s: State) -> tuple[Point, Array]:
        """The point of a state and its recovered labels; X and M1 take the place of S and U."""
        problem, found, (B, M4) = self.iteration.problem, self.iteration.recover(s), self.label_multiplier(s)
        Z = self.iteration.project(s)

        def replace(block: slice) -> None:
            for rows in tiles(block, s.S.shape[1]):
                s.S[rows], s.U[rows] = _large(problem, s, found, rows)

        self.iteration.workers.map(replace)
        return Point(X=s.S, Z=Z, b=s.b, M1=s.U, M4=M4), B

    def give_up(self) -> Solution:
        """The best point seen, or where nothing was seen yet, nothing learned and nothing changed."""
        if self.best is not None:
            return self.solution(self.best, finite=False)
        problem = self.iteration.problem
        X, B = problem.features.copy(), np.zeros_like(problem.labels)
        Z = np.zeros((X.shape[1], B.shape[1]))
        return self.wrap(Point(X, Z, Z.sum(axis=0), np.zeros_like(X), B), B, out_of_iterations=False, finite=False)

    def wrap(self, point: Point, B: Array, out_of_iterations: bool, finite: bool) -> Solution:
        problem = self.iteration.problem
        E_f, E_l = step_feature_error(problem, point), problem.labels - B
        return Solution(point, E_f, E_l, len(self.records), Trace(self.records), out_of_iterations, finite)


def _named(penalty: Penalties) -> dict[str, float]:
    return dict(zip(PENALTY_NAMES, penalty, strict=True))


def _square_of_multiplier(problem: Problem, s: State, block: slice) -> float:
    mx, square = s.penalty.x, 0.0
    for rows in tiles(block, s.U.shape[1]):
        M1 = s.U[rows] - problem.prox_feature_error(s.U[rows], 1 / mx, rows)
        square += mx**2 * float(np.vdot(M1, M1))
    return square


def _large(problem: Problem, s: State, found: Recovery, rows: slice) -> tuple[Array, Array]:
    """X and M1 of the point of a state."""
    X, mx = found.rows(rows), s.penalty.x
    U = problem.features[rows] - X
    U += s.U[rows]
    U -= problem.prox_feature_error(s.U[rows], 1 / mx, rows)
    U -= problem.prox_feature_error(U, 1 / mx, rows)
    U *= mx
    return X, U
