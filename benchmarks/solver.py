"""Speed, memory and reliability of the solvers, one ``name: value`` a line.

``python -m benchmarks.solver`` takes about a minute, ``python -m benchmarks.solver --full`` about half an hour: all
random problems, the larger sizes, and the comparisons with Algorithm 1. Times are only ever compared with others of the
same process, with as many BLAS threads as the machine has cores.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyrpca
import skpcp
from scipy import linalg
from threadpoolctl import threadpool_limits

from benchmarks import transcription
from benchmarks.problems import low_rank_problem, random_problem
from unmuddle import FLRClassifier, flr_path
from unmuddle.core import paper
from unmuddle.core.admm import ADMM
from unmuddle.core.certificate import certify, is_collapsed
from unmuddle.core.paper import Algorithm1
from unmuddle.core.problem import Problem
from unmuddle.core.result import Point, Solution
from unmuddle.core.rpca import decompose
from unmuddle.core.scales import scale_lambdas
from unmuddle.core.spectrum import nuclear_norm

LOW = 0.75
"""Multiple of the feature weight at which the recovered features have the rank of the clean ones. At 1, the default,
some of the dense noise stays in them, and half of all directions with it."""

SMALL = 20_000
"""Entries of the largest random problem in the quick mode."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all problems and sizes")
    full = parser.parse_args().full
    problem = low_rank_problem(10_000)
    report_speed(problem, full)
    report_memory(problem)
    show("robust_pca_best_other_over_ours", robust_pca_ratio())
    report_reliability(range(200) if full else range(12), 2000 * 300 if full else SMALL, full)
    report_invariance(range(60) if full else range(3))
    report_path()
    if full:
        report_certificate_race()


def show(name: str, value: float) -> None:
    print(f"{name}: {value:.3g}", flush=True)


def report_speed(problem: Problem, full: bool) -> None:
    low = with_beta(problem, LOW)
    plain, floor = transcription_seconds(problem), floor_seconds(problem.features)
    for suffix, case in (("", low), ("_default_lambdas", problem)):
        ours, single = seconds_per_iteration(case), seconds_per_iteration(in_single(case))
        show(f"transcription_over_ours_per_iteration{suffix}", plain / ours)
        show(f"iteration_over_floor{suffix}", ours / floor)
        show(f"float32_over_float64_per_iteration{suffix}", single / ours)
        if full:
            larger = with_beta(low_rank_problem(40_000), LOW if case is low else 1.0)
            show(f"n_40000_over_n_10000_per_iteration{suffix}", seconds_per_iteration(larger) / ours)
            report_single(case, suffix)


def report_single(case: Problem, suffix: str) -> None:
    """Whole solves in both precisions."""
    times, classes = [], []
    for problem in (case, in_single(case)):
        start = time.perf_counter()
        point = ADMM().solve(problem).point
        times.append(time.perf_counter() - start)
        classes.append(problem.predict(case.features, point.Z, point.b).argmax(axis=1))
    show(f"float32_over_float64_solve{suffix}", times[1] / times[0])
    show(f"float32_same_predictions_percent{suffix}", 100 * float(np.mean(classes[0] == classes[1])))


def with_beta(problem: Problem, beta: float) -> Problem:
    norms = problem.feature_norm, problem.label_norm
    return replace(problem, lambdas=scale_lambdas(problem.features, problem.labels, *norms, beta=beta))


def in_single(problem: Problem) -> Problem:
    return replace(problem, features=problem.features.astype(np.float32))


def best_of(repeats: int, function: Callable[[], object]) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def seconds_per_iteration(problem: Problem) -> float:
    """From the times at which iterations end, which leaves out the start and the certificate."""
    ends: list[float] = []
    ADMM().solve(problem, max_iter=16, tol=1e-12, on_step=lambda n_iter, record: ends.append(time.perf_counter()))
    return float(np.median(np.diff(ends)))


def transcription_seconds(problem: Problem) -> float:
    """One iteration of Algorithm 1 by a thin SVD and d x d systems."""
    state = transcription.step(problem, paper.initial_state(problem), 1.0)
    return best_of(2, lambda: transcription.step(problem, state, 1.0))


def floor_seconds(X: np.ndarray) -> float:
    """One Gram matrix, one product of the size of the data, one symmetric eigendecomposition."""
    gram, square = X.T @ X, np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1]))
    return (
        best_of(5, lambda: X.T @ X)
        + best_of(5, lambda: X @ square)
        + best_of(5, lambda: linalg.eigh(gram, driver="evd"))
    )


def report_memory(problem: Problem) -> None:
    """Peaks in arrays of the size of the data: two looks at the certificate, so that a best point is kept."""
    size, codes = problem.features.nbytes, problem.labels.argmax(axis=1)
    show("peak_arrays_solve", peak(lambda: ADMM().solve(problem, max_iter=26, tol=1e-9)) / size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        show(
            "peak_arrays_fit",
            peak(lambda: FLRClassifier.natural(max_iter=26, tol=1e-9).fit(problem.features, codes)) / size,
        )


def peak(function: Callable[[], object]) -> float:
    tracemalloc.start()
    kept = function()
    result = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del kept
    return result


def robust_pca_ratio() -> float:
    """2000 x 300, rank 10, 5 % spikes, all three to the same objective within 1e-5."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(2000, 10)) @ rng.normal(size=(10, 300)) + 10.0 * (rng.random((2000, 300)) < 0.05)
    weight = 1 / np.sqrt(2000)
    found = {}

    def theirs() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            found["pyrpca"] = pyrpca.rpca_pcp_ialm(M, weight)[0]

    def other() -> None:
        found["skpcp"] = skpcp.PCP(max_iter=500).fit(M).low_rank_

    def ours() -> None:
        found["ours"] = decompose(M, weight).low_rank

    times = {"pyrpca": best_of(2, theirs), "skpcp": best_of(2, other), "ours": best_of(2, ours)}
    values = {name: np.linalg.norm(L, "nuc") + weight * np.abs(M - L).sum() for name, L in found.items()}
    equal = [name for name, value in values.items() if abs(value - values["ours"]) <= 1e-5 * values["ours"]]
    return min(times[name] for name in equal if name != "ours") / times["ours"] if len(equal) > 1 else np.nan


def report_reliability(seeds: range, largest: int, full: bool) -> None:
    """Random problems: how many end certified at 1e-3 within 2000 iterations, and below Algorithm 1."""
    failed, collapsed, other_end, iterations, above = list[int](), 0, 0, list[int](), list[tuple[int, float]]()
    for seed in seeds:
        problem = random_problem(seed, largest)
        solution = ADMM().solve(problem, max_iter=2000, tol=1e-3)
        good = certify(problem, solution.point, 1e-3).satisfied
        if good and is_collapsed(problem, solution.point):
            collapsed += 1
            if not is_collapsed(problem, ADMM(start="zero").solve(problem, max_iter=2000, tol=1e-3).point):
                good, other_end = False, other_end + 1
        if good:
            iterations.append(solution.n_iter)
        else:
            failed.append(seed)
        if full:
            gap = compare_with_algorithm_1(problem, solution)
            if gap > 1e-6:
                above.append((seed, round(gap, 6)))
    show("random_problems", len(seeds))
    show("certified_percent", 100 * len(iterations) / len(seeds))
    print(f"not_certified_seeds: {failed}")
    show("collapsed_percent", 100 * collapsed / len(seeds))
    show("collapsed_from_one_start_only", other_end)
    iterations = iterations or [0]
    show("iterations_median", float(np.median(iterations)))
    show("iterations_90_percent", float(np.quantile(iterations, 0.9)))
    if full:
        show("objective_not_above_algorithm_1_percent", 100 - 100 * len(above) / len(seeds))
        print(f"objective_above_algorithm_1: {above}")
        either = [s for s, _ in above if not reaches_algorithm_1(random_problem(s, largest))]
        show("objective_not_above_with_start_labels_as_well_percent", 100 - 100 * len(either) / len(seeds))
        print(f"objective_above_from_both_starts: {either}", flush=True)


def compare_with_algorithm_1(problem: Problem, solution: Solution, tol: float = 1e-5) -> float:
    """How far F, solved to a tighter tolerance where it matters, is above that of Algorithm 1's end point."""
    theirs = boxed_objective(problem, Algorithm1().solve(problem).point)
    gap = boxed_objective(problem, solution.point) / theirs - 1
    if 1e-6 < gap < 1e-2:
        point = ADMM().solve(problem, max_iter=10_000, tol=tol).point
        gap = boxed_objective(problem, point) / theirs - 1
    return float(gap)


def reaches_algorithm_1(problem: Problem) -> bool:
    theirs = boxed_objective(problem, Algorithm1().solve(problem).point)
    point = ADMM(start="labels").solve(problem, max_iter=2000, tol=1e-4).point
    return boxed_objective(problem, point) <= theirs * (1 + 1e-6)


def boxed_objective(problem: Problem, point: Point) -> float:
    """F with recovered labels projected into the box."""
    E_l = problem.labels - problem.project_labels(problem.predict(point.X, point.Z, point.b))
    errors = problem.feature_norm.value(problem.features - point.X), problem.label_norm.value(E_l)
    return problem.weigh(nuclear_norm(point.X), nuclear_norm(point.Z), *errors)


def report_invariance(seeds: range) -> None:
    """Runs solved to 1e-6: the same end point for other row orders, blocks, threads and inputs that differ by 1e-10."""
    solved, differing = 0, list[tuple[int, str]]()
    for seed in seeds:
        problem = random_problem(seed, SMALL)
        first = ADMM().solve(problem, max_iter=5000, tol=1e-6).point
        if certify(problem, first, 1e-6).satisfied:
            solved += 1
            for name, other in variants(problem, seed):
                if not same_end(*other, problem, first):
                    differing.append((seed, name))
    show("solved_to_1e-6", solved)
    show("same_end_point_percent", 100 - 100 * len({seed for seed, _ in differing}) / max(solved, 1))
    print(f"other_end_points: {differing}", flush=True)


def variants(problem: Problem, seed: int) -> list[tuple[str, tuple[Problem, int | None, int]]]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(problem.features))
    shuffled = replace(problem, features=problem.features[order], labels=problem.labels[order])
    moved = replace(problem, features=problem.features + 1e-10 * rng.normal(size=problem.features.shape))
    blocks = [(f"{count} blocks", (problem, count, 2)) for count in (1, 3, 7)]
    return [("order", (shuffled, None, 2)), ("input", (moved, None, 2)), ("threads", (problem, None, 1)), *blocks]


def same_end(other: Problem, n_blocks: int | None, threads: int, problem: Problem, first: Point) -> bool:
    with threadpool_limits(threads):
        point = ADMM(n_blocks=n_blocks).solve(other, max_iter=5000, tol=1e-6).point
    one, two = problem.objective(first.X, first.Z, first.b), other.objective(point.X, point.Z, point.b)
    size = max(float(np.linalg.norm(first.Z)), 1e-6)
    return abs(one - two) <= 1e-6 * one and float(np.linalg.norm(point.Z - first.Z)) <= 1e-4 * size


def report_path() -> None:
    """Twenty settings in one call against twenty cold fits."""
    problem = low_rank_problem(300, d=16, c=4, rank=4)
    X, y = problem.features, problem.labels.argmax(axis=1)
    projection, features, labels = vars(problem.lambdas).values()
    weights = np.geomspace(0.5, 2, 20)
    settings = [(projection * weight, features, labels) for weight in weights]
    start = time.perf_counter()
    path = flr_path(X, y, settings)
    warm = time.perf_counter() - start
    names = ("lambda_projection", "lambda_features", "lambda_labels")
    start = time.perf_counter()
    cold = [FLRClassifier.natural(**dict(zip(names, setting, strict=True))).fit(X, y) for setting in settings]
    show("path_over_cold_time", warm / (time.perf_counter() - start))
    show("path_over_cold_iterations", sum(s.n_iter for s in path) / sum(model.n_iter_ for model in cold))
    gaps = [abs(step.objective / model.objective_ - 1) for step, model in zip(path, cold, strict=True)]
    show("path_largest_change_of_objective", max(gaps))


def report_certificate_race() -> None:
    """Time to a certificate of 1e-4 against Algorithm 1 with constant penalties, each cut off at 20 times ours."""
    problem = with_beta(low_rank_problem(2000, d=128), LOW)
    start = time.perf_counter()
    ADMM().solve(problem)
    ours = time.perf_counter() - start
    ratios = {mu: race(problem, mu, 20 * ours) / ours for mu in (0.1, 0.3, 1.0, 3.0, 10.0)}
    show("certificate_time_best_constant_penalty_over_ours_2000_x_128", min(ratios.values()))


def race(problem: Problem, mu: float, limit: float) -> float:
    """Seconds of Algorithm 1 until it is certified or the limit is reached; looking at the certificate is free."""
    state, spent, n_iter = paper.initial_state(problem), 0.0, 0
    while spent < limit:
        start = time.perf_counter()
        state, n_iter = paper.step(problem, state, mu), n_iter + 1
        spent += time.perf_counter() - start
        point = Point(state.X, state.Z, state.b, state.M1, state.M4)
        if n_iter % 25 == 0 and certify(problem, point, 1e-4).satisfied:
            break
    return spent


if __name__ == "__main__":
    main()
