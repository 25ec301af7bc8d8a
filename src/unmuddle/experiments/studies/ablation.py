"""The ablation: what each of the two error terms adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from unmuddle.estimators import FLRClassifier
from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.drawing import KINDS, LOOKS, mean_and_error, new_figure, plot_means, share_legend
from unmuddle.experiments.studies.study import Point, seed_of
from unmuddle.metrics import accuracy, feature_error, labels_right

VARIANTS: dict[str, dict[str, Any]] = {
    "full": {},
    "no feature recovery": {"feature_norm": "none"},
    "no label recovery": {"label_norm": "none"},
}
TITLES = {
    "full": "FLR",
    "no feature recovery": "without feature recovery",
    "no label recovery": "without label recovery",
}

SIGMAS = {False: (1.0, 3.0, 5.0, 7.0), True: (0.5, 1.0, 2.0)}
ROWS, TRIALS = {False: 2000, True: 200}, {False: 3, True: 2}

MUCH = 0.02
"""A drop of accuracy that counts as "a lot"."""


def fit(point: Point, found: data.Data) -> FLRClassifier:
    """The automatic classifier, with one error fixed at zero if the variant says so."""
    own_seed = seed_of(point, *data.DATA) % 2**31
    model = FLRClassifier(**VARIANTS[str(point["variant"])], scale=None, random_state=own_seed)
    return model.fit(found.X, found.y)


@dataclass(frozen=True)
class Ablation:
    """Full FLR, without feature recovery, without label recovery, over the size of feature noise."""

    name: str = "ablation"
    title: str = "Ablation on aggre: with and without each recovery"
    claim: str = (
        "On CIFAR-10N aggre the full model is the most accurate under Gaussian and Laplacian feature noise of any "
        "size, and accuracy falls a lot without either error term."
    )
    notes: tuple[str, ...] = (
        "Without feature recovery the features are taken as they are (E_f = 0); without label recovery the labels "
        "are (E_l = 0). Norms and lambdas of each variant are chosen by FLRClassifier on the noisy data, with the "
        "same budget; the solver is the default one.",
        "The paper's text does not give the sizes of noise in its figure.",
        "Bars are standard errors over trials, which differ in rows and noise.",
    )

    def points(self, quick: bool) -> Sequence[Point]:
        """Noise kinds by sizes by trials by variants."""
        columns = data.QUICK_COLUMNS if quick else data.COLUMNS
        return [
            {"source": data.source(quick), "labels": "aggre", "n": ROWS[quick], "d": columns, "noise": noise,
             "sigma": sigma, "trial": trial, "variant": variant}
            for noise in KINDS for sigma in SIGMAS[quick] for trial in range(TRIALS[quick]) for variant in VARIANTS
        ]  # fmt: skip

    def measure(self, point: Point) -> dict[str, float]:
        """Accuracy on clean test data; share of right labels and error of features after recovery."""
        found = data.load(point)
        model = fit(point, found)
        return {
            "accuracy": accuracy(found.y_test, model.predict(found.X_test)),
            "labels_right": labels_right(found.y_true, model.classes_[model.recovered_labels_.argmax(axis=1)]),
            "feature_error": feature_error(found.X_true, model.recovered_features_),
            "certificate": model.certificate_.worst,
        }

    def draw(self, frame: pd.DataFrame) -> Any:
        """A panel for each kind of noise."""
        figure, axes = new_figure(1, len(KINDS), 9.0, 4.2, sharey=True)
        for ax, (kind, title) in zip(axes[0], KINDS.items(), strict=True):
            part = frame[frame["noise"] == kind]
            for (variant, name), look in zip(TITLES.items(), LOOKS, strict=False):
                plot_means(ax, part[part["variant"] == variant], "sigma", "accuracy", look, name, 100)
            ax.set(
                title=f"{title} noise", xlabel="standard deviation of feature noise", xticks=sorted(set(part["sigma"]))
            )
            ax.grid(axis="y", alpha=0.3)
        axes[0, 0].set_ylabel("accuracy on clean test data, %")
        share_legend(figure, *axes[0])
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """By paired differences to the full model in each cell of noise kind and size."""
        drops = {variant: _drops(frame, variant) for variant in VARIANTS if variant != "full"}
        cells = pd.concat(list(drops.values()))
        if cells.empty:
            return "not: no cell has both the full model and a variant."
        held = int((cells["mean"] >= -cells["error"]).sum())
        means = {variant: float(cells["mean"].mean()) for variant, cells in drops.items()}
        word = _word(held == len(cells), list(means.values()))
        said = " and ".join(f"{100 * mean:+.1f} points over '{TITLES[name]}'" for name, mean in means.items())
        return (
            f"{word}: the full model has on average {said}; it is not behind by more than a paired standard error in "
            f"{held} of {len(cells)} comparisons."
        )


def _word(held: bool, means: list[float]) -> str:
    if held and all(mean >= MUCH for mean in means):
        return "reproduced"
    return "partly" if any(mean > 0 for mean in means) and np.mean(means) > 0 else "not"


def _drops(frame: pd.DataFrame, variant: str) -> pd.DataFrame:
    """Accuracy of the full model less that of a variant, paired by trial: mean and standard error in each cell."""
    table = frame.pivot_table(index=["noise", "sigma", "trial"], columns="variant", values="accuracy")
    if not {"full", variant} <= set(table.columns):
        return pd.DataFrame({"mean": [], "error": []})
    drops = (table["full"] - table[variant]).dropna()
    return drops.groupby(level=["noise", "sigma"]).apply(mean_and_error).unstack()
