"""Recovery of features and labels while the number of rows grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.ablation import fit
from unmuddle.experiments.studies.drawing import KINDS, LOOKS, means_by, new_figure, plot_means
from unmuddle.experiments.studies.study import Point
from unmuddle.metrics import accuracy, feature_error, labels_right

ROWS = {False: (250, 500, 1000, 2000, 4000, 8000), True: (100, 200, 400)}
SIGMA, TRIALS = {False: 3.0, True: 1.0}, {False: 3, True: 2}

LEAST = 0.01
"""Share of the error of features, or of the labels, that is a gain at all."""

SCORES = {
    "feature_error": ("relative error of features", ("recovered X", "given features")),
    "labels_right": ("share of right labels", ("recovered labels", "given labels")),
}


@dataclass(frozen=True)
class Recovery:
    """Relative error of X and share of right labels against n."""

    name: str = "recovery"
    title: str = "Recovery of features and labels while n grows"
    claim: str = (
        "The introduction says that both the clean features and the true labels can be recovered correctly with an "
        "increasing number of examples."
    )
    notes: tuple[str, ...] = (
        "FLRClassifier as it is: norms and lambdas chosen on the noisy data. Labels are random1 (17.2 % wrong).",
        "Both scores are of the training rows. Bars are standard errors over trials, which differ in rows and noise.",
    )

    def points(self, quick: bool) -> Sequence[Point]:
        """Noise kinds by trials by numbers of rows."""
        columns = data.QUICK_COLUMNS if quick else data.COLUMNS
        return [
            {"source": data.source(quick), "labels": "random1", "n": n, "d": columns, "noise": noise,
             "sigma": SIGMA[quick], "trial": trial, "variant": "full"}
            for n in ROWS[quick] for noise in KINDS for trial in range(TRIALS[quick])
        ]  # fmt: skip

    @staticmethod
    def cost(point: Point) -> float:
        """Time grows with rows, but tuning looks at 1500 of them at most."""
        return 500.0 + float(point["n"])

    def measure(self, point: Point) -> dict[str, float]:
        """Both scores after recovery and of the data as given, and accuracy on clean test data."""
        found = data.load(point)
        model = fit(point, found)
        return {
            "feature_error": feature_error(found.X_true, model.recovered_features_),
            "feature_error_given": feature_error(found.X_true, found.X),
            "labels_right": labels_right(found.y_true, model.classes_[model.recovered_labels_.argmax(axis=1)]),
            "labels_right_given": labels_right(found.y_true, found.y),
            "accuracy": accuracy(found.y_test, model.predict(found.X_test)),
        }

    def draw(self, frame: pd.DataFrame) -> Any:
        """Scores down, noise kinds across."""
        figure, axes = new_figure(len(SCORES), len(KINDS), 9.0, 6.6, sharex=True, sharey="row")
        for row, (score, (title, names)) in zip(axes, SCORES.items(), strict=True):
            for ax, (kind, words) in zip(row, KINDS.items(), strict=True):
                part = frame[frame["noise"] == kind]
                plot_means(ax, part, "n", score, LOOKS[0], names[0])
                plot_means(ax, part, "n", f"{score}_given", LOOKS[1], names[1])
                ax.set(title=f"{title}, {words} noise", xscale="log")
                ax.set_xticks(sorted(set(frame["n"])), [f"{n:,}" for n in sorted(set(frame["n"]))], minor=False)
                ax.minorticks_off()
                ax.grid(axis="y", alpha=0.3)
                ax.legend(frameon=False)
            row[0].set_ylabel(title)
        for ax in axes[-1]:
            ax.set_xlabel("training rows")
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """From the fewest rows to the most, each gain over the data as given against twice its standard error."""
        gains = {(score, kind): self._gain(frame, score, kind) for score in SCORES for kind in KINDS}
        better = [gain > max(2 * error, LEAST) for _, _, gain, error in gains.values()]
        word = "reproduced" if all(better) else "partly" if any(better) else "not"
        said = "; ".join(
            f"{SCORES[score][0]} under {KINDS[kind]} noise from {first:.3f} to {last:.3f}"
            for (score, kind), (first, last, _, _) in gains.items()
        )
        most, final = int(frame["n"].max()), {kind: gains["feature_error", kind][1] for kind in KINDS}
        return (
            f"{word}: from {int(frame['n'].min()):,} to {most:,} rows, {said}. "
            f"At most rows the error of features is still {min(final.values()):.2f} to {max(final.values()):.2f}."
        )

    @staticmethod
    def _gain(frame: pd.DataFrame, score: str, kind: str) -> tuple[float, float, float, float]:
        """First and last mean, how much more the last gains on the data as given, and the standard error of that."""
        part = frame[frame["noise"] == kind]
        right, given = part[score], part[f"{score}_given"]
        gained = means_by(part.assign(gain=-right / given if score == "feature_error" else right - given), "n", "gain")
        means, (first, last) = means_by(part, "n", score)["mean"], (gained.iloc[0], gained.iloc[-1])
        error = (first["error"] ** 2 + last["error"] ** 2) ** 0.5
        return means.iloc[0], means.iloc[-1], last["mean"] - first["mean"], error
