"""Time per iteration against n and d, beside the paper's formula."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unmuddle.core.admm import ADMM
from unmuddle.core.paper import Algorithm1
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.core.result import Solver
from unmuddle.core.scales import scale_lambdas
from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.drawing import LOOK_OF, LOOKS, SOLVERS, new_figure, plot_means
from unmuddle.experiments.studies.slopes import Slope, fit_slope
from unmuddle.experiments.studies.study import Point
from unmuddle.experiments.studies.tuned import pose

SIZES: dict[bool, dict[str, tuple[tuple[int, ...], int]]] = {
    False: {"n": ((1000, 2000, 4000, 8000, 16000), 256), "d": ((128, 256, 512, 1024), 2000)},
    True: {"n": ((500, 1000, 2000, 4000), 32), "d": ((16, 32, 64, 128), 500)},
}
"""For each of n and d the sizes, and what the other one is meanwhile."""

REPEATS = {False: 5, True: 3}
ITERATIONS = 12
"""The first of which is not counted; below the first look at the certificate."""

SLACK = 0.15
"""By which a measured slope may exceed one of the formula."""


def printed_formula(n: float, d: float, c: float = data.N_CLASSES) -> float:
    """What the paper gives for an iteration, with its slip ``min(n^2, n d^2)`` for the update of X."""
    return min(n**2, n * d**2) + min(n**2 * d, n * d**2) + 2 * d**3 + n * d + n * c


def mended_formula(n: float, d: float, c: float = data.N_CLASSES) -> float:
    """The same with the cost of the two decompositions as they are: of an n x d and of a d x c matrix."""
    return min(n**2 * d, n * d**2) + min(d**2 * c, d * c**2) + 2 * d**3 + n * d + n * c


def time_iterations(solver: Solver, problem: Problem) -> float:
    """Seconds of an iteration that nothing disturbed: the lower quartile."""
    times = [time.perf_counter()]

    def note(n_iter: int, record: Mapping[str, float]) -> bool:
        times.append(time.perf_counter())
        return n_iter >= ITERATIONS

    solver.solve(problem, max_iter=10 * ITERATIONS, on_step=note)
    return float(np.quantile(np.diff(times)[1:], 0.25))


@dataclass(frozen=True)
class Complexity:
    """Slopes of time per iteration on logarithmic scales."""

    name: str = "complexity"
    title: str = "Time per iteration against the numbers of rows and columns"
    claim: str = (
        "An iteration takes O(min(n^2, n d^2) + min(n^2 d, n d^2) + 2 d^3 + n d + n c) steps, at most quadratic in the "
        "number of rows."
    )
    notes: tuple[str, ...] = (
        "One process and one thread, whatever --jobs says; the lower quartile of 11 iterations, in proportion to the "
        "smallest size of the same repeat, so that slopes depend little on the machine. Data are generated; Laplacian "
        "noise, l1 on features, natural lambdas.",
        "The formula's min(n^2, n d^2) for the update of X is a slip: the singular value decomposition of an n x d "
        "matrix takes min(n^2 d, n d^2). Both forms are drawn. Neither counts what fits the cache or how well a "
        "library uses the processor, so slopes at small sizes are lower.",
        "Bars are standard errors over repeats.",
    )
    alone: bool = True

    def points(self, quick: bool) -> Sequence[Point]:
        """Repeats by what grows by sizes by solvers: what is compared is measured one after the other."""
        return [
            {"source": "generated", "labels": "aggre", "n": size if grows == "n" else other,
             "d": size if grows == "d" else other, "noise": "laplacian", "sigma": 1.0, "grows": grows, "solver": solver,
             "trial": trial}
            for trial in range(REPEATS[quick]) for grows, (sizes, other) in SIZES[quick].items() for size in sizes
            for solver in SOLVERS
        ]  # fmt: skip

    @staticmethod
    def cost(point: Point) -> float:
        """By the formula."""
        return mended_formula(float(point["n"]), float(point["d"]))

    def measure(self, point: Point) -> dict[str, float]:
        """Seconds of an iteration at natural lambdas, and what both formulas say."""
        n, d = float(point["n"]), float(point["d"])
        problem = pose(point, Lambdas(1.0, 1.0, 1.0))
        natural = scale_lambdas(problem.features, problem.labels, problem.feature_norm, problem.label_norm)
        solver: Solver = Algorithm1() if point["solver"] == "paper" else ADMM()
        seconds = time_iterations(solver, pose(point, natural))
        return {"seconds": seconds, "printed": printed_formula(n, d), "mended": mended_formula(n, d)}

    def draw(self, frame: pd.DataFrame) -> Any:
        """What grows across; ratios to the smallest size."""
        figure, axes = new_figure(1, 2, 9.5, 4.8, sharey=True)
        for ax, grows in zip(axes[0], ("n", "d"), strict=True):
            part = relative(frame[frame["grows"] == grows], grows)
            for solver, words in SOLVERS.items():
                mine, slope = part[part["solver"] == solver], slope_of(frame, grows, solver)
                plot_means(ax, mine, grows, "seconds", LOOK_OF[solver], f"{words}: slope {slope}")
            for look, (name, words) in zip(LOOKS[2:], FORMULAS.items(), strict=False):
                line = part.groupby(grows)[name].mean()
                slope = slope_of_formula(frame, grows, name)
                ax.plot(line.index, line, label=f"{words}: slope {slope.value:.2f}", markersize=4, **look._asdict())
            ax.set(xscale="log", yscale="log", xlabel=f"{WORDS[grows]} ({_other(frame, grows)})")
            sizes = sorted(set(part[grows]))
            ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            ax.legend(frameon=False, fontsize=8.5)
        axes[0, 0].set_ylabel("time per iteration / that at the smallest size")
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """Measured slopes of Algorithm 1 against those of the formula over the same sizes."""
        measured = {(grows, solver): slope_of(frame, grows, solver) for grows in ("n", "d") for solver in SOLVERS}
        formula = {grows: slope_of_formula(frame, grows, "printed") for grows in ("n", "d")}
        kept = [measured[grows, "paper"].value <= formula[grows].value + SLACK for grows in ("n", "d")]
        word = "reproduced" if all(kept) else "partly" if any(kept) else "not"
        said = ", ".join(
            f"{measured[grows, 'paper']} in {grows} (printed formula over these sizes {formula[grows].value:.2f}, "
            f"mended {slope_of_formula(frame, grows, 'mended').value:.2f}, default solver {measured[grows, 'admm']})"
            for grows in ("n", "d")
        )
        return f"{word}: as an upper bound; Algorithm 1's time per iteration grows with slope {said}."


FORMULAS = {"printed": "formula as printed", "mended": "formula, mended"}
WORDS = {"n": "rows n", "d": "columns d"}


def relative(frame: pd.DataFrame, grows: str) -> pd.DataFrame:
    """Times and formulas in proportion to the smallest size of the same solver and repeat."""
    frame = frame.sort_values(grows, kind="stable")
    names = ["seconds", *FORMULAS]
    return frame.assign(**(frame[names] / frame.groupby(["solver", "trial"])[names].transform("first")))


def slope_of(frame: pd.DataFrame, grows: str, solver: str) -> Slope:
    """The slope of time: the mean over repeats, with its standard error."""
    part = frame[(frame["grows"] == grows) & (frame["solver"] == solver)]
    slopes = [fit_slope(one[grows], one["seconds"]).value for _, one in part.groupby("trial")]
    error = float(np.std(slopes, ddof=1) / np.sqrt(len(slopes))) if len(slopes) > 1 else float("nan")
    return Slope(float(np.mean(slopes)) if slopes else float("nan"), error)


def slope_of_formula(frame: pd.DataFrame, grows: str, name: str) -> Slope:
    """The slope of a formula over the same sizes."""
    part = frame[frame["grows"] == grows].groupby(grows)[name].mean()
    return fit_slope(part.index, part)


def _other(frame: pd.DataFrame, grows: str) -> str:
    other = {"n": "d", "d": "n"}[grows]
    return f"{other} = {int(frame.loc[frame['grows'] == grows, other].iloc[0]):,}"
