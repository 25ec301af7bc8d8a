"""Missing cells, rows without a label and weights of rows, against convex programs that know only the definition."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from core.problems import random_problem, with_holes
from unmuddle.core.admm import ADMM
from unmuddle.core.certificate import certify
from unmuddle.core.norms import L1, L21, Huber, SquaredFrobenius
from unmuddle.core.paper import Algorithm1
from unmuddle.core.rpca import decompose

FEATURE_COST = {
    "l1": lambda E: cp.sum(cp.abs(E)),
    "frobenius": cp.sum_squares,
    "huber": lambda E: cp.sum(cp.huber(E, 0.5)),  # ours times 2 delta, which is 1 here
    "l21": lambda E: cp.sum(cp.norm(E, 2, axis=1)),
}
LABEL_COST = {
    "l1": lambda E, w: w @ cp.sum(cp.abs(E), axis=1),
    "frobenius": lambda E, w: w @ cp.sum(cp.square(E), axis=1),
    "huber": lambda E, w: w @ cp.huber(cp.norm(E, 2, axis=1), 0.5),
    "l21": lambda E, w: w @ cp.norm(E, 2, axis=1),
}


def lowest(problem, X, Z, b, feature_norm, label_norm):
    """The least value of the objective over whichever of X, Z and b are variables."""
    (n, c), lambdas = problem.labels.shape, problem.lambdas
    B = X @ Z + np.ones((n, 1)) @ cp.reshape(b, (1, c), order="C")
    seen = (~problem.missing).astype(float)
    weights, bound = problem.label_weights, []
    if label_norm == "none":
        bound, cost = [B[weights > 0] == problem.labels[weights > 0]], 0.0
    else:
        cost = lambdas.labels * LABEL_COST[label_norm](problem.labels - B, weights)
    if feature_norm == "none":
        bound += [cp.multiply(seen, problem.features - X) == 0]
    else:
        cost += lambdas.features * FEATURE_COST[feature_norm](cp.multiply(seen, problem.features - X))
    objective = cp.normNuc(X) + lambdas.projection * cp.normNuc(Z) + cost
    return cp.Problem(cp.Minimize(objective), [*bound, B >= 0, B <= 1]).solve(solver=cp.CLARABEL)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")  # it says so of 1e-9
@pytest.mark.parametrize(
    ("feature_norm", "label_norm"),
    [
        ("l1", "l21"),
        ("frobenius", "huber"),
        ("huber", "frobenius"),
        ("l21", "l1"),
        ("none", "l21"),
        ("frobenius", "none"),
    ],
)
def test_cvxpy_cannot_improve_either_convex_half_of_a_certified_point_with_holes(feature_norm, label_norm):
    problem = with_holes(random_problem(n=24, d=5, feature_norm=feature_norm, label_norm=label_norm))
    point = ADMM().solve(problem, max_iter=6000, tol=1e-6).point
    assert certify(problem, point, tol=1e-5).satisfied
    assert np.linalg.norm(point.Z) > 0.01
    ours = problem.objective(point.X, point.Z, point.b)
    (n, d), c = problem.features.shape, problem.labels.shape[1]
    X, Z, b = cp.Constant(point.X), cp.Constant(point.Z), cp.Constant(point.b)
    if feature_norm != "none":
        assert lowest(problem, X, cp.Variable((d, c)), cp.Variable(c), feature_norm, label_norm) >= ours * (1 - 1e-5)
    if label_norm != "none":  # these hold to a tolerance only, so the other half would have no point at all
        assert lowest(problem, cp.Variable((n, d)), Z, b, feature_norm, label_norm) >= ours * (1 - 1e-5)


def test_algorithm_1_and_the_default_solver_agree_on_a_problem_with_holes():
    problem = with_holes(random_problem(n=24, d=5, feature_norm="frobenius"))
    values = []
    for solver in (Algorithm1(mu=1.0, rho=1.0), ADMM()):
        point = solver.solve(problem, max_iter=2000, tol=1e-5).point
        assert certify(problem, point, tol=1e-4).satisfied
        values.append(problem.objective(point.X, point.Z, point.b))
    assert values[0] == pytest.approx(values[1], rel=1e-5)


def test_a_certificate_with_holes_sees_a_multiplier_that_does_not_belong():
    problem = with_holes(random_problem(n=24, d=5, feature_norm="frobenius"))
    point = ADMM().solve(problem, tol=1e-5).point
    assert certify(problem, point, tol=1e-5).satisfied
    bare = problem.label_weights[:, None] == 0
    M1, M4 = np.where(problem.missing, point.M1 + 0.1, point.M1), np.where(bare, point.M4 + 0.1, point.M4)
    even = replace(problem, label_weights=1.0 - bare[:, 0])
    assert certify(problem, replace(point, M1=M1)).feature_noise > 1e-2
    assert certify(problem, replace(point, M4=M4)).label_noise > 1e-2
    assert certify(even, point).label_noise > 1e-2


@pytest.mark.parametrize("name", ["l1", "frobenius", "huber", "l21"])
def test_the_masked_prox_is_the_minimiser_of_its_definition(name):
    problem = with_holes(random_problem(n=6, d=4, feature_norm=name), cells=0.3)
    E, step, seen = np.random.default_rng(1).normal(size=(6, 4)), 0.7, ~problem.missing
    x = cp.Variable(E.shape)
    cost = step * problem.lambdas.features * FEATURE_COST[name](cp.multiply(seen.astype(float), x))
    cp.Problem(cp.Minimize(cost + cp.sum_squares(x - E) / 2)).solve(solver=cp.CLARABEL)
    found = problem.prox_feature_error(E, step)
    assert np.allclose(found, x.value, atol=1e-6)
    assert np.array_equal(found[problem.missing], E[problem.missing])


@pytest.mark.parametrize("shape", [(20, 15), (12, 25), (30, 8)])
def test_robust_pca_with_missing_cells_is_the_convex_program_of_cvxpy(shape):
    rng = np.random.default_rng(0)
    M = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])) + 0.2 * rng.normal(size=shape)
    M += np.where(rng.random(shape) < 0.08, 5.0, 0.0)
    missing, weight = rng.random(shape) < 0.25, 1 / np.sqrt(0.75 * max(shape))
    found = decompose(np.where(missing, 0.0, M), weight, missing=missing)
    L = cp.Variable(shape)
    cost = cp.normNuc(L) + weight * cp.sum(cp.abs(cp.multiply((~missing).astype(float), M - L)))
    best = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    assert found.converged
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert np.linalg.norm(found.low_rank - L.value) <= 1e-4 * np.linalg.norm(L.value)


# Closest points by the cells that are seen ------------------------------------------------------------------------


def rows_with_holes(n=12, d=9, r=3):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.normal(size=(d, r)))[0].T
    rows, missing = rng.normal(size=(n, r)) @ basis + rng.laplace(0, 0.2, (n, d)), rng.random((n, d)) < 0.3
    missing[0], missing[1], missing[2] = True, False, np.arange(d) >= 2  # nothing, all, too little to settle it
    return np.where(missing, 1e6, rows), missing, basis


@pytest.mark.parametrize("norm", [SquaredFrobenius(), L21()])
def test_the_closest_point_by_seen_cells_is_that_of_least_squares(norm):
    rows, missing, basis = rows_with_holes()
    points = norm.closest_by_seen(rows, basis, missing)
    for row, gone, point in zip(rows, missing, points, strict=True):
        positions = np.linalg.lstsq(basis[:, ~gone].T, row[~gone], rcond=None)[0]  # the shortest, if there are many
        assert np.allclose(point, positions @ basis)
    assert not points[0].any()


def test_under_l1_no_linear_program_finds_a_closer_point_by_seen_cells():
    rows, missing, basis = rows_with_holes()
    points, (r, d) = L1().closest_by_seen(rows, basis, missing), basis.shape
    assert np.allclose((points @ basis.T) @ basis, points)
    for row, gone, point in zip(rows, missing, points, strict=True):
        cut, n = basis[:, ~gone], d - gone.sum()
        above = np.block([[cut.T, -np.eye(n)], [-cut.T, -np.eye(n)]])
        bounds, cost = [(None, None)] * r + [(0, None)] * n, np.r_[np.zeros(r), np.ones(n)]
        best = linprog(cost, above, np.r_[row[~gone], -row[~gone]], bounds=bounds).fun if n else 0.0
        assert np.abs(row - point)[~gone].sum() <= best + 1e-7


def test_under_huber_no_search_finds_a_closer_point_by_seen_cells():
    rows, missing, basis = rows_with_holes()
    points = Huber(0.1).closest_by_seen(rows, basis, missing)
    for row, gone, point in zip(rows, missing, points, strict=True):

        def cost(a, row=row, gone=gone):
            sizes = np.abs(row - a @ basis)[~gone]
            return np.where(sizes < 0.1, sizes**2 / 0.2, sizes - 0.05).sum()

        best = minimize(cost, point @ basis.T + 0.01, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
        assert cost(point @ basis.T) <= best.fun + 1e-8
