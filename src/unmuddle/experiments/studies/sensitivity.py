"""The sensitivity to each lambda, over five decades about the choice by noisy cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.drawing import KINDS, LOOK_OF, SOLVERS, means_by, new_figure, plot_means, share_legend
from unmuddle.experiments.studies.study import Point
from unmuddle.experiments.studies.tuned import choose, printed
from unmuddle.metrics import accuracy

LAMBDAS = {"projection": r"$\lambda_1$", "features": r"$\lambda_2$", "labels": r"$\lambda_3$"}

EXPONENTS = {False: tuple(step / 2 for step in range(-5, 6)), True: (-2.5, -1.0, 0.0, 1.0, 2.5)}
"""Powers of ten by which a lambda is multiplied; 0 is the choice itself."""

SIGMA = {False: 3.0, True: 1.0}
ROWS, TRIALS = {False: 2000, True: 150}, {False: 3, True: 2}

STABLE, LEARNED = 0.05, 0.5
"""A change of accuracy up to which it counts as insensitive; the share of the best accuracy that counts as learned."""


@dataclass(frozen=True)
class Sensitivity:
    """Accuracy while one lambda changes and the others stay at the noisy-CV choice."""

    name: str = "sensitivity"
    title: str = "Sensitivity to each lambda on aggre"
    claim: str = (
        "On CIFAR-10N aggre accuracy stays about the same while one lambda changes and the others stay at their best, "
        "so the model is insensitive to its parameters."
    )
    notes: tuple[str, ...] = (
        "The printed model: squared Frobenius norm under Gaussian and l1 under Laplacian noise, l21 on labels, no "
        "intercept. The centre of each panel is what FLRClassifier chooses for it on the noisy labels (with the "
        "default solver), where the paper took the best values in hindsight. Both solvers get the same lambdas.",
        "Bars are standard errors over trials; the dotted line is the choice.",
    )

    def points(self, quick: bool) -> Sequence[Point]:
        """Noise kinds by trials by solvers by lambdas by exponents."""
        columns = data.QUICK_COLUMNS if quick else data.COLUMNS
        return [
            {"source": data.source(quick), "labels": "aggre", "n": ROWS[quick], "d": columns, "noise": noise,
             "sigma": SIGMA[quick], "trial": trial, "solver": solver, "lambda": name, "exponent": exponent}
            for noise in KINDS for trial in range(TRIALS[quick]) for solver in SOLVERS for name in LAMBDAS
            for exponent in EXPONENTS[quick]
        ]  # fmt: skip

    def measure(self, point: Point) -> dict[str, float]:
        """Accuracy on clean test data, and the lambdas that were used."""
        found, lambdas = data.load(point), vars(choose(point)).copy()
        lambdas[str(point["lambda"])] *= 10 ** float(point["exponent"])
        model = printed(point, *lambdas.values(), solver=point["solver"]).fit(found.X, found.y)
        return {
            "accuracy": accuracy(found.y_test, model.predict(found.X_test)),
            **{f"lambda_{name}": value for name, value in lambdas.items()},
            "certificate": model.certificate_.worst,
        }

    def draw(self, frame: pd.DataFrame) -> Any:
        """Noise kinds down, lambdas across, as in the paper."""
        figure, axes = new_figure(len(KINDS), len(LAMBDAS), 10.0, 6.0, sharex=True, sharey=True)
        for row, (kind, title) in zip(axes, KINDS.items(), strict=True):
            for ax, (name, symbol) in zip(row, LAMBDAS.items(), strict=True):
                part = frame[(frame["noise"] == kind) & (frame["lambda"] == name)]
                for solver, words in SOLVERS.items():
                    plot_means(
                        ax, part[part["solver"] == solver], "exponent", "accuracy", LOOK_OF[solver], words, 100
                    )  # fmt: skip
                ax.axvline(0, color="#555555", linewidth=1, linestyle=":")
                ax.set_title(f"{symbol} ({name}), {title} noise")
                ax.grid(axis="y", alpha=0.3)
            row[0].set_ylabel("accuracy, %")
        for ax, name in zip(axes[-1], LAMBDAS.values(), strict=True):
            ax.set_xlabel(f"power of ten on {name}")
        share_legend(figure, *axes.ravel())
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """By the largest change against the choice, within a decade of it and over all five.

        What has learned nothing at the choice cannot lose: it is not insensitive.
        """
        near, far, lost = {}, {}, {}
        for solver in SOLVERS:
            part = frame[frame["solver"] == solver]
            if part.empty:
                continue
            near[solver] = largest_change(part[part["exponent"].abs() <= 1])
            far[solver] = largest_change(part)
            lost[solver] = _unlearned(frame, solver)
        all_stable = bool(far) and all(far[solver][0] <= STABLE and not lost[solver] for solver in far)
        any_stable = any(near[solver][0] <= STABLE and not lost[solver] for solver in far)
        word = "reproduced" if all_stable else "partly" if any_stable else "not"
        said = "; ".join(
            f"{SOLVERS[solver]}: {100 * near[solver][0]:.0f} points within a decade, {100 * far[solver][0]:.0f} over "
            f"all (lambda of {far[solver][1]}, {far[solver][2]} noise)"
            + "".join(f", but under {kind} noise it learns nothing at the choice" for kind in lost[solver])
            for solver in far
        )
        return f"{word}: the largest mean change of accuracy against the noisy-CV choice is, by {said}."


def largest_change(frame: pd.DataFrame) -> tuple[float, str, str]:
    """The largest mean change against exponent 0, up or down, with its lambda and its noise."""
    changes = []
    for (name, kind), part in frame.groupby(["lambda", "noise"], sort=False):
        means = means_by(part, "exponent", "accuracy")["mean"]
        if 0.0 in means.index:
            changes.append((float((means - means[0.0]).abs().max()), str(name), str(kind)))
    return max(changes, default=(0.0, "", ""))


def _unlearned(frame: pd.DataFrame, solver: str) -> list[str]:
    """Kinds of noise under which a solver has, at the choice, not half of the best accuracy of all points, or none."""
    kinds = []
    for kind, part in frame.groupby("noise", sort=False):
        chosen = part[(part["solver"] == solver) & (part["exponent"] == 0)]["accuracy"].mean()
        if not chosen >= LEARNED * part["accuracy"].max():
            kinds.append(str(kind))
    return kinds
