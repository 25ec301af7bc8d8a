"""Residuals, objective, certificate and Theorem 1's assumptions against iterations, for both solvers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unmuddle.core.admm import ADMM
from unmuddle.core.certificate import certify, is_collapsed
from unmuddle.core.paper import Algorithm1
from unmuddle.core.problem import Problem
from unmuddle.core.result import Solution, Solver
from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.drawing import LOOK_OF, LOOKS, SOLVERS, new_figure, plot_band, share_legend
from unmuddle.experiments.studies.study import Point
from unmuddle.experiments.studies.tuned import choose, pose

LABELS = tuple(data.RATES)
ITERATIONS = {
    False: (1, 2, 5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 1000),
    True: (1, 4, 15, 50, 100, 200, 500),
}
SIGMA = {False: 3.0, True: 1.0}
ROWS, TRIALS = {False: 2000, True: 200}, {False: 3, True: 2}

LIMITS = {
    "mu_change_K": r"$\mu\,|\Delta K|$",
    "mu_change_J": r"$\mu\,|\Delta J|$",
    "mu_change_E_f": r"$\mu\,|\Delta E_f|$",
    "mu_change_E_l": r"$\mu\,|\Delta E_l|$",
}
DUAL = "dual_residual"

STATIONARY, CLOSED = 1e-3, 1e-6
"""Certificate up to which a point counts as stationary, and relative residual from which on constraints hold."""


@dataclass(frozen=True)
class Convergence:
    """What either solver hands back when it is stopped after so many iterations."""

    name: str = "convergence"
    title: str = "Convergence of Algorithm 1 and of the default solver"
    claim: str = (
        "Algorithm 1 converges to a stationary point if four products of penalty and change vanish (Theorem 1), and "
        "its loss settles after enough iterations on aggre, random1 and worst."
    )
    notes: tuple[str, ...] = (
        "The printed model with squared Frobenius norm on features, l21 on labels and no intercept, at the lambdas "
        "that FLRClassifier chooses on the noisy data; the same problem for both solvers, Gaussian feature noise.",
        "Every mark is a run that was stopped there. Algorithm 1 hands back its last iterate, the default solver the "
        "one of the best certificate so far; a run that has ended by its own rule stays as it is.",
        "Residual: the largest of the equality constraints, relative to the size of data or projection. Certificate: "
        "the largest violation of a stationarity condition, at most 0.001 for a stationary point. The last row shows "
        "what Theorem 1 assumes to vanish, absolute, and the default solver's dual residual, relative.",
        "Lines are geometric means over trials and bands one standard error.",
    )

    def points(self, quick: bool) -> Sequence[Point]:
        """Labels by trials by solvers by iterations."""
        columns = data.QUICK_COLUMNS if quick else data.COLUMNS
        return [
            {"source": data.source(quick), "labels": labels, "n": ROWS[quick], "d": columns, "noise": "gaussian",
             "sigma": SIGMA[quick], "trial": trial, "solver": solver, "iterations": iterations}
            for labels in LABELS for trial in range(TRIALS[quick]) for solver in SOLVERS
            for iterations in ITERATIONS[quick]
        ]  # fmt: skip

    @staticmethod
    def cost(point: Point) -> float:
        """By iterations, of which few runs take more than 150."""
        return 20.0 + min(float(point["iterations"]), 150.0)

    def measure(self, point: Point) -> dict[str, float]:
        """What the solver would hand back after that many iterations."""
        problem, last = pose(point, choose(point)), int(point["iterations"])
        solver: Solver = Algorithm1() if point["solver"] == "paper" else ADMM()
        solution = solver.solve(problem, on_step=lambda n_iter, record: n_iter >= last)
        return {
            "n_iter": float(solution.n_iter),
            "objective": problem.objective(solution.point.X, solution.point.Z, solution.point.b),
            "certificate": certify(problem, solution.point).worst,
            "collapsed": float(is_collapsed(problem, solution.point)),
            **read_trace(problem, solution),
        }

    def draw(self, frame: pd.DataFrame) -> Any:
        """What is measured down, labels across."""
        figure, axes = new_figure(4, len(LABELS), 10.5, 11.0, sharex=True, sharey="row")
        for column, labels in enumerate(LABELS):
            part = frame[frame["labels"] == labels]
            for row, name in enumerate(ROW_TITLES):
                for solver, words in SOLVERS.items():
                    plot_band(
                        axes[row, column], part[part["solver"] == solver], "iterations", name, LOOK_OF[solver], words
                    )
            for look, (name, words) in zip(LOOKS[2:], LIMITS.items(), strict=True):
                mine = part[part["solver"] == "paper"]
                plot_band(axes[3, column], mine, "iterations", name, look, f"Algorithm 1, {words}")
            mine = part[part["solver"] == "admm"]
            plot_band(axes[3, column], mine, "iterations", DUAL, LOOKS[0], "default solver, dual residual")
            axes[0, column].set_title(labels)
            axes[2, column].axhline(STATIONARY, color="#555555", linewidth=1, linestyle=":")
            axes[3, column].set(xlabel="iterations", xscale="log")
        for ax in axes.ravel():
            ax.set_yscale("log")
            ax.grid(alpha=0.3)
        for ax, title in zip(axes[:, 0], (*ROW_TITLES.values(), "Theorem 1's limits"), strict=True):
            ax.set_ylabel(title)
        for ax in axes[1]:
            ax.set_yscale("linear")
        share_legend(figure, *axes[:, 0])
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """By the last iterate: are constraints met, do the assumptions hold, is the point stationary.

        A point that says the same of every row is stationary too, but nobody wants it: so much is said, and the claim
        does not count as reproduced. Nor does it where nobody looked, as in stores of before.
        """
        ends = frame.sort_values("iterations").groupby(["labels", "trial", "solver"], sort=False).tail(1)
        paper, ours = ends[ends["solver"] == "paper"], ends[ends["solver"] == "admm"]
        closed = bool((paper["residual"] <= CLOSED).all())
        stationary = int((paper["certificate"] <= STATIONARY).sum())
        told = frame.get("collapsed", pd.Series(np.nan, frame.index))
        collapsed, ours_too = (int((told[part.index] == 1).sum()) for part in (paper, ours))
        sound = ((paper["certificate"] <= STATIONARY) & (told[paper.index] == 0)).all()
        word = "reproduced" if closed and sound else "partly" if closed else "not"
        limits = paper[list(LIMITS)].max(axis=1)
        settled = int((ours["certificate"] <= STATIONARY).sum())
        return (
            f"{word}: Algorithm 1 ends with residuals of at most {paper['residual'].max():.0e} in all {len(paper)} "
            f"runs, at a stationary point in {stationary} of them (certificate {_range(paper['certificate'])}), and "
            f"has collapsed to the same scores for every row in {collapsed}; the largest of the products that "
            f"Theorem 1 assumes to vanish ends at {_range(limits)}. The default "
            f"solver, after at most {int(frame['iterations'].max())} iterations, is at a stationary point in {settled} "
            f"of {len(ours)} (certificate {_range(ours['certificate'])}), collapsed in {ours_too}."
        )


ROW_TITLES = {"residual": "largest residual", "objective": "objective F", "certificate": "certificate"}


def read_trace(problem: Problem, solution: Solution) -> dict[str, float]:
    """Residuals of the last iteration in comparable units, and what should vanish."""
    last = {name: float(column[-1]) for name, column in solution.trace.items()}
    if "mu_change_K" not in last:
        return {
            "residual": max(value for name, value in last.items() if name.startswith("residual_")),
            DUAL: max(value for name, value in last.items() if name.startswith("dual_")),
            **dict.fromkeys(LIMITS, np.nan),
        }
    return {
        "residual": relative_residual(problem, solution, last),
        DUAL: np.nan,
        **{name: last[name] for name in LIMITS},
    }


def relative_residual(problem: Problem, solution: Solution, last: Mapping[str, float]) -> float:
    """The largest of Algorithm 1's five, each in proportion to what it is a residual of."""
    X, Y, Z = (float(np.linalg.norm(array)) for array in (problem.features, problem.labels, solution.point.Z))
    sizes = {"features": X, "copy": X, "labels": Y, "bilinear": Y, "projection": Z or 1.0}
    return max(last[f"residual_{name}"] / size for name, size in sizes.items())


def _range(values: pd.Series) -> str:
    return f"{values.min():.1e} to {values.max():.1e}"
