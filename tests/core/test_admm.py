"""The default solver ends at certified points, the same ones whatever the route."""

import tracemalloc
from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import oracles
from core.problems import ALL_NORMS, random_problem, wine_problem
from unmuddle.core import admm
from unmuddle.core.admm import ADMM, begin, meet_labels
from unmuddle.core.blocks import row_workers
from unmuddle.core.certificate import certify, judge
from unmuddle.core.halves import fit_projection
from unmuddle.core.iteration import Iteration
from unmuddle.core.paper import Algorithm1
from unmuddle.core.problem import Lambdas
from unmuddle.core.result import Point, Status
from unmuddle.core.scales import scale_lambdas
from unmuddle.errors import InvalidParameterError


def with_natural_lambdas(problem):
    lambdas = scale_lambdas(problem.features, problem.labels, problem.feature_norm, problem.label_norm)
    return replace(problem, lambdas=lambdas)


@pytest.mark.parametrize("box", [True, False], ids=["box", "free"])
@pytest.mark.parametrize(("feature_norm", "label_norm"), [pair for pair in ALL_NORMS if pair[1] != "none"])
def test_the_end_point_is_certified_under_every_norm(feature_norm, label_norm, box):
    problem = random_problem(n=80, d=7, feature_norm=feature_norm, label_norm=label_norm, box=box)
    problem = with_natural_lambdas(problem)
    solution = ADMM().solve(problem, tol=1e-3)
    assert certify(problem, solution.point, tol=1e-3).satisfied


@pytest.mark.parametrize("feature_norm", ["l1", "frobenius", "huber", "l21"])
def test_without_label_errors_the_labels_are_met_at_a_certified_point(feature_norm):
    """A hard bilinear constraint, the slowest case to converge; cut short it says so."""
    problem = with_natural_lambdas(random_problem(n=80, d=7, feature_norm=feature_norm, label_norm="none"))
    solution = ADMM().solve(problem, tol=1e-3)
    assert judge(problem, solution, tol=1e-3)[1] is Status.CONVERGED
    X, Z, b = solution.point.X, solution.point.Z, solution.point.b
    assert np.linalg.norm(X @ Z + b - problem.labels) <= 1e-3 * np.linalg.norm(problem.labels)
    assert judge(problem, ADMM().solve(problem, max_iter=5), tol=1e-3)[1] is Status.MAX_ITER


@pytest.mark.parametrize("shape", [(40, 6), (12, 30)], ids=["tall", "wide"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "plain"])
@pytest.mark.parametrize(
    ("feature_norm", "label_norm"), [("l1", "l21"), ("frobenius", "huber"), ("huber", "frobenius"), ("l21", "l1")]
)
def test_one_iteration_equals_a_dense_transcription_of_its_derivation(shape, feature_norm, label_norm, intercept):
    """docs/solver.md with everything formed: M5, K, X, E_f, thin SVDs and d x d inverses."""
    problem = random_problem(
        n=shape[0], d=shape[1], feature_norm=feature_norm, label_norm=label_norm, intercept=intercept, box=False
    )
    X_, Y = problem.features, problem.labels
    (n, d), l1, l2, l3 = X_.shape, problem.lambdas.projection, problem.lambdas.features, problem.lambdas.labels
    with row_workers(n, d, 3) as workers:
        iteration = Iteration.of(problem, workers)
        s = begin(iteration, "ridge")
        for _ in range(8):
            iteration.step(s)
        M4, J, b, M3, C = (getattr(s, name).copy() for name in ("M4", "J", "b", "M3", "C"))
        mx, my, mz = s.penalty
        E = oracles.shrink_error(feature_norm, s.U, l2 / mx, 0.5)
        M1, M5 = mx * (s.U - E), -M4 @ J.T
        K = 2 * s.S - X_ + E - M1 / mx + M5 / mx
        assert np.allclose(s.KJ, K @ J + b, atol=1e-9)
        iteration.step(s)  # the tenth will change the penalties; this one measures

    ones = np.ones((n, 1))
    X = oracles.shrink_singular_values((X_ - E + M1 / mx + K - M5 / mx) / 2, 1 / (2 * mx))
    Z = oracles.shrink_singular_values(J - M3 / mz, l1 / mz)
    KJ = K @ J + ones * b
    names = {"huber": "huber_rows"}
    B = Y - oracles.shrink_error(names.get(label_norm, label_norm), Y - KJ + M4 / my, l3 / my, 0.5)
    residual = max(np.linalg.norm(X_ - X - E), 0.0)
    B, Z, X_relaxed = 1.6 * B - 0.6 * KJ, 1.6 * Z - 0.6 * J, 1.6 * X - 0.6 * (X_ - E)
    assert np.allclose(C, B + M4 / my, atol=1e-9)
    E_new = oracles.shrink_error(feature_norm, X_ - X_relaxed + M1 / mx, l2 / mx, 0.5)
    M1 = M1 + mx * (X_ - X_relaxed - E_new)
    T, Z_target = X + M5 / mx, Z + M3 / mz

    def best_copy(J, b):
        return (mx * T + my * (C - ones * b) @ J.T) @ np.linalg.inv(mx * np.eye(d) + my * J @ J.T)

    K_new = best_copy(J, b)
    centre = np.eye(n) - np.ones((n, n)) / n if intercept else np.eye(n)
    J_new = np.linalg.inv(mz * np.eye(d) + my * K_new.T @ centre @ K_new) @ (mz * Z_target + my * K_new.T @ centre @ C)
    b = (C - K_new @ J_new).mean(axis=0) if intercept else b
    K_new = best_copy(J_new, b)
    M4 = M4 + my * (B - K_new @ J_new - ones * b)
    expected = {"J": J_new, "b": b, "M3": M3 + mz * (Z - J_new), "M4": M4, "KJ": K_new @ J_new + b}
    expected["U"] = E_new + M1 / mx
    M5 = M5 + mx * (X - K_new)
    expected["S"] = (X_ - E_new + M1 / mx + K_new - M5 / mx) / 2
    for name, value in expected.items():
        assert np.linalg.norm(getattr(s, name) - value) <= 1e-9 * max(np.linalg.norm(value), 1e-3), name
    assert np.allclose(M5 + M4 @ J_new.T, 0, atol=1e-9)
    residual = max(residual, np.linalg.norm(X - K_new)) / np.linalg.norm(X_)
    assert s.residuals["residual_features"] == pytest.approx(residual, rel=1e-6)
    change = mx * max(np.linalg.norm(K_new - K), np.linalg.norm(E_new - E)) / np.linalg.norm(M1)
    assert s.residuals["dual_features"] == pytest.approx(change, rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_it_ends_where_algorithm_1_with_a_constant_penalty_ends(intercept):
    """Another algorithm from another start, on the case whose printed schedule freezes."""
    problem = wine_problem(intercept=intercept)
    ours = ADMM().solve(problem, tol=1e-6, max_iter=5000).point
    theirs = Algorithm1(mu=0.3, rho=1.0).solve(problem, max_iter=5000, tol=1e-8).point
    assert certify(problem, ours, tol=1e-6).satisfied
    gap = problem.objective(ours.X, ours.Z, ours.b) - problem.objective(theirs.X, theirs.Z, theirs.b)
    assert abs(gap) <= 1e-5 * problem.objective(theirs.X, theirs.Z, theirs.b)


def end_point(problem, **options):
    return ADMM(**options).solve(problem, tol=1e-6, max_iter=5000).point


def assert_same(problem, first, second):
    one, other = (problem.objective(p.X, p.Z, p.b) for p in (first, second))
    assert abs(one - other) <= 1e-6 * one
    assert np.linalg.norm(first.Z - second.Z) <= 1e-4 * np.linalg.norm(first.Z)


@pytest.mark.parametrize("n_blocks", [1, 3, 7])
def test_the_number_of_row_blocks_does_not_matter(n_blocks):
    problem = wine_problem(intercept=True)
    assert_same(problem, end_point(problem), end_point(problem, n_blocks=n_blocks))


def test_the_number_of_threads_does_not_matter():
    problem = wine_problem(intercept=True)
    points = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            points.append(end_point(problem, n_blocks=4))
    assert np.array_equal(points[0].Z, points[1].Z)


def test_the_order_of_rows_does_not_matter():
    problem = wine_problem(intercept=True)
    order = np.random.default_rng(0).permutation(len(problem.features))
    shuffled = replace(problem, features=problem.features[order], labels=problem.labels[order])
    assert_same(problem, end_point(problem), replace(end_point(shuffled), X=end_point(shuffled).X[np.argsort(order)]))


def test_a_tiny_change_of_the_input_changes_the_result_little():
    problem = wine_problem(intercept=True)
    noise = 1e-10 * np.random.default_rng(0).normal(size=problem.features.shape)
    assert_same(problem, end_point(problem), end_point(replace(problem, features=problem.features + noise)))


def test_the_data_are_not_changed():
    problem = wine_problem()
    before = problem.features.copy(), problem.labels.copy()
    ADMM().solve(problem, max_iter=20)
    assert np.array_equal(problem.features, before[0])
    assert np.array_equal(problem.labels, before[1])


def test_errors_have_exact_zeros_and_complete_the_point():
    problem = with_natural_lambdas(random_problem(n=80, d=7))
    solution = ADMM().solve(problem, tol=1e-5)
    E_f = problem.features - solution.point.X
    assert np.mean(solution.E_f == 0) > 0.2
    assert np.linalg.norm(E_f - solution.E_f) <= 1e-3 * np.linalg.norm(problem.features)


def test_a_start_at_zero_is_possible_and_a_large_lambda_collapses():
    problem = replace(random_problem(), lambdas=Lambdas(100.0, 0.3, 0.1))
    for start in ("ridge", "zero"):
        solution = ADMM(start=start).solve(problem)
        assert judge(problem, solution, 1e-3)[1] is Status.COLLAPSED


def test_the_trace_names_residuals_and_penalties():
    trace = ADMM().solve(wine_problem(), max_iter=12).trace
    for name in ("features", "labels", "projection"):
        assert {f"residual_{name}", f"dual_{name}", f"mu_{name}"} <= set(trace)
        assert len(trace[f"mu_{name}"]) == 12


def test_overflow_is_reported_and_harmless():
    problem = random_problem()
    problem = replace(problem, features=problem.features * 1e160)
    solution = ADMM().solve(problem, max_iter=50)
    assert judge(problem, solution, 1e-3)[1] is Status.NON_FINITE
    assert all(np.isfinite(value).all() for value in vars(solution.point).values())


def test_wide_data_end_where_algorithm_1_with_a_constant_penalty_ends():
    """More columns than rows, through the n x n Gram matrix; the other algorithm knows nothing of it."""
    problem = with_natural_lambdas(random_problem(n=30, d=60))
    ours = ADMM().solve(problem, tol=1e-6, max_iter=5000).point
    theirs = Algorithm1(mu=0.3, rho=1.0).solve(problem, max_iter=5000, tol=1e-8).point
    assert certify(problem, ours, tol=1e-6).satisfied
    assert_same(problem, ours, theirs)


@pytest.mark.parametrize("shape", [(300, 20), (40, 90)], ids=["tall", "wide"])
def test_single_precision_gives_the_same_classifier(shape):
    problem = with_natural_lambdas(random_problem(n=shape[0], d=shape[1]))
    single = replace(problem, features=problem.features.astype(np.float32))
    one, other = ADMM().solve(problem), ADMM().solve(single)
    assert other.point.X.dtype == other.point.M1.dtype == other.E_f.dtype == np.float32
    assert certify(single, other.point, tol=1e-3).satisfied
    scores, single_scores = (problem.predict(problem.features, s.point.Z, s.point.b) for s in (one, other))
    assert np.abs(scores - single_scores).max() <= 1e-2 * np.abs(scores).max()
    assert np.mean(scores.argmax(axis=1) == single_scores.argmax(axis=1)) >= 0.99


def test_a_warm_start_ends_at_the_same_point_sooner():
    problem = wine_problem(intercept=True)
    cold = ADMM().solve(problem, tol=1e-5)
    again = ADMM(start=cold).solve(problem, tol=1e-5)
    assert again.n_iter <= 25 < cold.n_iter
    assert_same(problem, cold.point, again.point)
    changed = replace(problem, lambdas=replace(problem.lambdas, projection=1.1 * problem.lambdas.projection))
    warm, fresh = ADMM(start=cold).solve(changed, tol=1e-6), ADMM().solve(changed, tol=1e-6)
    assert_same(changed, warm.point, fresh.point)
    assert warm.n_iter < fresh.n_iter


def test_a_warm_start_must_fit_the_problem():
    solution = ADMM().solve(random_problem(n=30), max_iter=5)
    with pytest.raises(InvalidParameterError, match=r"start .* same size.*\(30, 6\).*\(40, 6\)"):
        ADMM(start=solution).solve(random_problem(n=40))


def test_the_start_that_meets_the_labels_is_feasible_and_ends_certified():
    problem = with_natural_lambdas(random_problem(n=80, d=7))
    point = meet_labels(problem, np.random.default_rng(0).normal(size=(7, 3)), problem.features.mean(axis=0))
    b = (problem.labels - point.X @ point.Z).mean(axis=0)
    assert np.abs(point.X @ point.Z + b - problem.labels).max() <= 1e-12
    assert certify(problem, ADMM(start="labels").solve(problem).point, tol=1e-3).satisfied


def test_the_projection_half_agrees_with_a_convex_solver():
    problem = with_natural_lambdas(random_problem(n=40, d=6, box=True))
    X = ADMM().solve(problem, max_iter=10).point.X
    start = Point(X, np.zeros((6, 3)), np.zeros(3), np.zeros_like(X), np.zeros((40, 3)))
    with row_workers(40, 6) as workers:
        found = start
        for _ in range(10):
            found = fit_projection(problem, found, (0.1, 1.0), workers)
    value = problem.lambdas.projection * np.linalg.norm(found.Z, "nuc") + problem.lambdas.labels * np.sum(
        np.linalg.norm(problem.labels - X @ found.Z - found.b, axis=1)
    )
    Z, b = cp.Variable((6, 3)), cp.Variable((1, 3))
    B = X @ Z + np.ones((40, 1)) @ b
    errors = cp.sum(cp.norm(problem.labels - B, 2, axis=1))
    cost = problem.lambdas.projection * cp.normNuc(Z) + problem.lambdas.labels * errors
    best = cp.Problem(cp.Minimize(cost), [B >= 0, B <= 1]).solve(solver=cp.CLARABEL)
    assert value == pytest.approx(best, rel=1e-4)


def test_held_projections_stay_and_the_features_become_optimal_for_them():
    """With Z and b held the problem is convex, and all conditions but those on Z and b must come to hold."""
    problem = with_natural_lambdas(random_problem(n=60, d=6, label_norm="frobenius", box=False))
    with row_workers(60, 6) as workers:
        iteration = Iteration.of(problem, workers)
        s = begin(iteration, "ridge")
        J = s.J.copy()
        for _ in range(800):
            iteration.step(s, hold=True)
        assert np.array_equal(s.J, J)
        X = iteration.recover(s).rows(slice(0, 60))
    E = oracles.shrink_error("l1", s.U, problem.lambdas.features / s.penalty.x, 0.5)
    M4 = 2 * problem.lambdas.labels * (problem.labels - X @ J - s.b)  # minus the gradient of the label term
    G = s.penalty.x * (s.U - E) + M4 @ J.T
    assert np.linalg.norm(G, 2) <= 1 + 1e-4
    assert np.vdot(G, X) >= (1 - 1e-4) * np.linalg.norm(X, "nuc")


def test_a_solve_that_does_not_settle_goes_on_by_halves_and_says_how_it_ended(monkeypatch):
    """Cut short after 60 joint iterations, for a tolerance out of reach: the halves bring the point closer."""
    problem = with_natural_lambdas(random_problem(n=80, d=7, label_norm="frobenius", box=False))
    monkeypatch.setattr(admm, "HALVES", 0.9)
    solution = ADMM().solve(problem, max_iter=600, tol=1e-9)
    worst = certify(problem, solution.point).worst
    assert worst < certify(problem, ADMM().solve(problem, max_iter=60, tol=1e-9).point).worst
    assert judge(problem, solution, tol=1e-12)[1] in (Status.STALLED, Status.MAX_ITER)


def test_a_callback_can_stop_the_solve():
    solution = ADMM().solve(wine_problem(), on_step=lambda n_iter, record: n_iter == 7)
    assert solution.n_iter == 7
    assert solution.out_of_iterations


@pytest.mark.slow
def test_the_solve_needs_at_most_five_arrays_beside_the_data():
    """Two looks at the certificate, so that a best point is kept; tiles are small next to data of this size."""
    problem = with_natural_lambdas(random_problem(n=20_000, d=256))
    tracemalloc.start()
    ADMM().solve(problem, max_iter=51, tol=1e-9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 5 * problem.features.nbytes
