"""Algorithm 1 against a transcription of the printed equations and against what is known of it."""

from dataclasses import asdict

import numpy as np
import pytest

import oracles
from core.problems import ALL_NORMS, random_problem, wine_problem
from unmuddle.core.paper import Algorithm1, State, initial_state, step

LETTERS = ["X", "Z", "B", "b", "J", "K", "E_f", "E_l", "M1", "M2", "M3", "M4", "M5"]
ORACLE_NAME = {"huber": "huber_rows"}  # by rows on the label side


def random_state(problem, seed):
    rng = np.random.default_rng(seed)
    zeros = initial_state(problem)
    state = State(**{name: rng.normal(size=getattr(zeros, name).shape) for name in LETTERS})
    return state if problem.intercept else State(**{**{n: getattr(state, n) for n in LETTERS}, "b": zeros.b})


@pytest.mark.parametrize("box", [True, False], ids=["box", "free"])
@pytest.mark.parametrize("intercept", [True, False], ids=["intercept", "plain"])
@pytest.mark.parametrize(("feature_norm", "label_norm"), ALL_NORMS)
def test_one_iteration_equals_the_transcription_of_the_paper(feature_norm, label_norm, intercept, box):
    problem = random_problem(feature_norm=feature_norm, label_norm=label_norm, intercept=intercept, box=box)
    for seed, mu in enumerate((0.1, 1.0, 17.0, 1e20)):  # at the last the nuclear norm of X is lost in rounding
        before = random_state(problem, seed)
        after = step(problem, before, mu)
        lambdas = (problem.lambdas.projection, problem.lambdas.features, problem.lambdas.labels)
        expected = oracles.transcribed_iteration(
            problem.features,
            problem.labels,
            {name: getattr(before, name) for name in LETTERS},
            mu,
            lambdas,
            feature_norm,
            ORACLE_NAME.get(label_norm, label_norm),
            0.5,
            intercept,
            box,
        )
        for name in LETTERS:
            error = np.linalg.norm(getattr(after, name) - expected[name])
            assert error <= 1e-12 * max(np.linalg.norm(expected[name]), 1.0), name


def test_the_start_is_all_zeros():
    state = initial_state(random_problem())
    assert not any(np.any(value) for value in asdict(state).values())


def test_the_printed_schedule_and_stopping_rule_are_kept():
    solution = Algorithm1().solve(wine_problem())
    trace = solution.trace
    assert np.allclose(trace["mu"], 1e-3 * 1.2 ** np.arange(solution.n_iter), rtol=1e-12)
    residuals = np.max([trace[name] for name in trace if name.startswith("residual")], axis=0)
    assert np.all(residuals[:-1] > 1e-6)
    assert residuals[-1] <= 1e-6
    assert not solution.out_of_iterations


def test_iterations_never_exceed_their_limit():
    solution = Algorithm1().solve(wine_problem(), max_iter=7)
    assert solution.n_iter == len(solution.trace["mu"]) == 7
    assert solution.out_of_iterations


def test_the_trace_holds_what_an_independent_run_measures():
    """Residuals, objective, Lagrangian and Theorem 1's four quantities, recomputed from the transcription."""
    problem = random_problem(intercept=False)
    X, Y, mu, rho = problem.features, problem.labels, 0.2, 1.3
    trace = Algorithm1(mu=mu, rho=rho).solve(problem, max_iter=6).trace
    s = {name: getattr(initial_state(problem), name) for name in LETTERS}
    for t in range(6):
        old, s = s, oracles.transcribed_iteration(X, Y, s, mu, (0.1, 0.3, 0.1), "l1", "l21", 0.5, False, True)
        gaps = {
            "features": (X - s["X"] - s["E_f"], s["M1"]),
            "labels": (Y - s["B"] - s["E_l"], s["M2"]),
            "projection": (s["Z"] - s["J"], s["M3"]),
            "bilinear": (s["B"] - s["K"] @ s["J"], s["M4"]),
            "copy": (s["X"] - s["K"], s["M5"]),
        }
        objective = (
            np.linalg.norm(s["X"], "nuc")
            + 0.1 * np.linalg.norm(s["Z"], "nuc")
            + 0.3 * oracles.norm_value("l1", s["E_f"])
            + 0.1 * oracles.norm_value("l21", s["E_l"])
        )
        lagrangian = objective + sum(np.sum(M * gap) + mu / 2 * np.sum(gap**2) for gap, M in gaps.values())
        expected = {f"residual_{name}": np.linalg.norm(gap) for name, (gap, _) in gaps.items()}
        expected |= {f"mu_change_{name}": mu * np.linalg.norm(s[name] - old[name]) for name in ("K", "J", "E_f", "E_l")}
        expected |= {"objective": objective, "augmented_lagrangian": lagrangian, "mu": mu}
        assert set(trace) == set(expected)
        for name, value in expected.items():
            assert np.isclose(trace[name][t], value, rtol=1e-8, atol=1e-10), name
        mu *= rho


def test_the_objective_is_that_of_the_model():
    problem = random_problem(feature_norm="huber", label_norm="huber")
    rng = np.random.default_rng(3)
    X, Z, b = rng.normal(size=(40, 6)), rng.normal(size=(6, 3)), rng.normal(size=3)
    expected = (
        np.linalg.norm(X, "nuc")
        + 0.1 * np.linalg.norm(Z, "nuc")
        + 0.3 * oracles.norm_value("huber", problem.features - X, 0.5)
        + 0.1 * oracles.norm_value("huber_rows", problem.labels - X @ Z - b, 0.5)
    )
    assert np.isclose(problem.objective(X, Z, b), expected, rtol=1e-13)


def test_the_printed_schedule_freezes_above_the_objective_that_constant_penalties_agree_on():
    """Known figures for this case: 152.53 as printed (to the second decimal), 151.38 with a constant penalty."""
    problem = wine_problem()

    def objective_at_the_end(solver, max_iter=None):
        point = solver.solve(problem, max_iter).point
        return problem.objective(point.X, point.Z, point.b)

    assert abs(objective_at_the_end(Algorithm1()) - 152.53) < 0.05
    for mu in (0.3, 1.0):
        assert abs(objective_at_the_end(Algorithm1(mu=mu, rho=1.0), 2000) - 151.38) < 0.005


def test_overflow_ends_with_the_last_finite_point():
    problem = random_problem()
    solution = Algorithm1(mu=1e-3, rho=1e80).solve(problem)
    assert not solution.finite
    assert all(np.isfinite(value).all() for value in vars(solution.point).values())
