"""Speed and reliability of the solvers, one ``name: value`` a line.

``python -m benchmarks.solver`` takes about a minute, ``python -m benchmarks.solver --full`` many. Times are only ever
compared with others of the same process; as many BLAS threads as the machine has cores.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable

import numpy as np
import pyrpca
import skpcp
from scipy import linalg

from benchmarks.problems import low_rank_problem, random_problem
from unmuddle.core import paper
from unmuddle.core.admm import ADMM
from unmuddle.core.certificate import certify, is_collapsed
from unmuddle.core.problem import Problem
from unmuddle.core.rpca import decompose


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all problems and sizes")
    full = parser.parse_args().full
    problem = low_rank_problem(10_000)
    ours = seconds_per_iteration(problem)
    show("transcription_over_ours_per_iteration", transcription_seconds(problem) / ours)
    show("iteration_over_floor", ours / floor_seconds(problem.features))
    if full:
        show("n_40000_over_n_10000_per_iteration", seconds_per_iteration(low_rank_problem(40_000)) / ours)
    show("robust_pca_best_other_over_ours", robust_pca_ratio())
    report_reliability(*((200, 2000 * 300) if full else (60, 20_000)))


def show(name: str, value: float) -> None:
    print(f"{name}: {value:.3g}", flush=True)


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
    ADMM().solve(problem, max_iter=24, tol=1e-12, on_step=lambda n_iter, record: ends.append(time.perf_counter()))
    return float(np.median(np.diff(ends)))


def transcription_seconds(problem: Problem) -> float:
    """One iteration of Algorithm 1 by a thin SVD and d x d systems."""
    state = paper.step(problem, paper.initial_state(problem), 1.0)
    return best_of(2, lambda: paper.step(problem, state, 1.0))


def floor_seconds(X: np.ndarray) -> float:
    """One Gram matrix, one product of the size of the data, one symmetric eigendecomposition."""
    gram, square = X.T @ X, np.random.default_rng(0).normal(size=(X.shape[1], X.shape[1]))
    return (
        best_of(5, lambda: X.T @ X)
        + best_of(5, lambda: X @ square)
        + best_of(5, lambda: linalg.eigh(gram, driver="evd"))
    )


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


def report_reliability(count: int, largest: int) -> None:
    """Random problems: how many end certified at 1e-3 within 2000 iterations, and what the others have in common."""
    certified, collapsed, without_labels, iterations = 0, 0, 0, []
    for seed in range(count):
        problem = random_problem(seed, largest)
        solution = ADMM().solve(problem, max_iter=2000, tol=1e-3)
        if certify(problem, solution.point, 1e-3).satisfied:
            certified += 1
            collapsed += is_collapsed(problem, solution.point)
            iterations.append(solution.n_iter)
        else:
            without_labels += problem.label_norm.fixes_zero
    show("random_problems", count)
    show("certified_percent", 100 * certified / count)
    show("collapsed_percent", 100 * collapsed / count)
    show("not_certified_with_label_norm_none", without_labels)
    show("iterations_median", float(np.median(iterations)))
    show("iterations_90_percent", float(np.quantile(iterations, 0.9)))


if __name__ == "__main__":
    main()
