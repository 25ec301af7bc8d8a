"""Theorem 2 beside the gap that it bounds, while rows, feature noise and label noise grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmuddle.core.prox import Array
from unmuddle.core.result import Status
from unmuddle.estimators import FLRClassifier, generalization_bound
from unmuddle.experiments.plan import seed
from unmuddle.experiments.studies.drawing import Look, new_figure, plot_means, share_legend
from unmuddle.noise import add_laplacian, flip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Scalar = str | int | float | bool

ROWS, SIGMA, RATE = 500, 0.5, 0.2
"""What stays as it is while another thing grows."""

SWEEPS = {"n": "training rows", "sigma": "deviation of the feature noise", "rate": "share of wrong labels"}

NOISES = "sigma", "rate"

CLASSES, COLUMNS, RANK = 4, 30, 8
TEST_ROWS = 2000

LABEL_WEIGHT = 5.0
"""Lambda 3 times the square root of the number of rows: fits of the same kind at every n."""

LINES = {
    "bound": ("the bound", Look("#000000", "o", "-")),
    "label": ("2 x label term", Look("#D55E00", "s", "-")),
    "nuclear": ("2 x nuclear term", Look("#0072B2", "^", "--")),
    "feature": ("2 x feature term, entrywise", Look("#009E73", "v", "--")),
    "induced": ("2 x feature term, induced", Look("#56B4E9", "<", "--")),
    "constant": ("2 x C4", Look("#CC79A7", "D", ":")),
    "gap_noisy": ("measured: |noisy test - noisy training risk|", Look("#E69F00", "P", "-")),
    "gap_clean": ("measured: |clean test - noisy training risk|", Look("#888888", "X", "-")),
}
"""Colours of Okabe and Ito and grey; markers and dashes tell them apart without any colour."""


@dataclass(frozen=True)
class BoundStudy:
    """Each term of Theorem 2 and the gap, on classes in a space of low rank.

    The loss is ``min(|score - label|, 1)``, so L = B = 1, and a risk its mean over all entries of a label matrix. The
    theorem means noisy labels on both sides: ``gap_noisy``, with new rows as spoiled as the training rows.
    ``gap_clean`` is what a user wants to know: clean rows and labels against the noisy training risk. A trial has the
    same classes at all its points.
    """

    name: str = "bound"
    title: str = "Theorem 2: the bound term by term, and the gap"
    claim: str = (
        "Light noise makes the norms of E_f and E_l small and with them the bound on the expected risk: features and "
        "labels of high quality ensure a smaller error bound."
    )
    notes: tuple[str, ...] = (
        "Generated data: 4 classes in a space of rank 8, 30 columns, Laplacian noise in all cells, labels moved to "
        "another class. l1, l21, no intercept, natural lambda 1 and 2, lambda 3 = 5 / sqrt(n).",
        "The loss is min(|score - label|, 1), so L = B = 1; delta = 0.05. The theorem speaks of noisy labels on both "
        "sides: gap_noisy, on new rows that are as noisy. gap_clean is clean test risk against noisy training risk. "
        "Norms are those of the fit, the smallest that let it in.",
        "label_exact is the mean supremum that the label term bounds, |E_l|_21 / (n sqrt c), times 2; docs/theory.md "
        "says more.",
    )

    def points(self, quick: bool) -> Sequence[Mapping[str, Scalar]]:
        """One thing grows, the others stay; several trials of each."""
        grid: dict[str, tuple[float, ...]] = {
            "n": (125, 250, 500, 1000) if quick else (125, 250, 500, 1000, 2000, 4000, 8000),
            "sigma": (0.1, 0.5, 1.0, 2.0) if quick else (0.1, 0.25, 0.5, 1.0, 2.0, 3.0),
            "rate": (0.0, 0.2, 0.4, 0.6) if quick else (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        }
        middle: dict[str, Scalar] = {"n": ROWS, "sigma": SIGMA, "rate": RATE}
        return [
            {"sweep": sweep, **middle, sweep: value, "trial": trial}
            for sweep, values in grid.items()
            for value in values
            for trial in range(2 if quick else 5)
        ]

    def cost(self, point: Mapping[str, Scalar]) -> float:
        """Time grows with the number of rows."""
        return float(point["n"])

    def measure(self, point: Mapping[str, Scalar]) -> dict[str, float]:
        """Fit once; the bound, its terms as they count in it, the risks and the gaps."""
        n, sigma, rate = int(point["n"]), float(point["sigma"]), float(point["rate"])
        rng = np.random.default_rng(seed(self.name, *(f"{key}={point[key]}" for key in sorted(point))))
        clean, truth = low_rank_classes(n + TEST_ROWS, rng, np.random.default_rng(seed(self.name, point["trial"])))
        given = add_laplacian(clean, sigma, rng).values
        labels = flip(truth, rate, rng).values
        model = make_model(n).fit(given[:n], labels[:n])
        bound, Z = generalization_bound(model), model.projection_
        train_noisy = risk(model.recovered_features_ @ Z, labels[:n])
        test_noisy, test_clean = risk(given[n:] @ Z, labels[n:]), risk(clean[n:] @ Z, truth[n:])
        return {
            "bound": bound.value,
            "label": 2 * bound.label_term,
            "label_exact": 2 * bound.norms.E_l_rows / (n * np.sqrt(CLASSES)),
            "nuclear": 2 * bound.nuclear_term,
            "feature": 2 * bound.feature_term,
            "induced": 2 * float(bound.induced_feature_term or np.nan),
            "constant": 2 * bound.constant_term,
            "confidence": bound.confidence_term,
            "E_l_rows": bound.norms.E_l_rows,
            "E_f_entrywise": bound.norms.E_f_entrywise,
            "E_f_induced": float(bound.norms.E_f_induced or np.nan),
            "train_noisy": train_noisy,
            "test_noisy": test_noisy,
            "test_clean": test_clean,
            "gap_noisy": abs(test_noisy - train_noisy),
            "gap_clean": abs(test_clean - train_noisy),
            "accuracy": float(model.score(clean[n:], truth[n:])),
            "vacuous": float(bound.vacuous),
            "certified": float(model.status_ is Status.CONVERGED),
        }

    def draw(self, frame: pd.DataFrame) -> Figure:
        """A panel for each thing that grows: means over trials with standard errors, on a logarithmic scale."""
        figure, grid = new_figure(1, len(SWEEPS), 12.5, 5.6, sharey=True)
        for axes, (sweep, title) in zip(grid[0], SWEEPS.items(), strict=True):
            _draw_panel(axes, frame[frame["sweep"] == sweep], sweep)
            axes.set_xlabel(title)
        grid[0, 0].set_ylabel("difference of risks")
        _spread_rows(grid[0, 0], sorted(frame.loc[frame["sweep"] == "n", "n"].unique()))
        figure.suptitle(
            "Theorem 2 and the measured gap, means over trials with standard errors\n"
            "above the line at 1, the range of the loss, a bound says nothing"
        )
        share_legend(figure, grid[0, 0], side="lower")
        return figure

    def verdict(self, frame: pd.DataFrame) -> str:
        """Whether noise moves the bound as claimed, and whether the bound says anything."""
        rows, held = frame[frame["sweep"] == "n"], int((frame["gap_noisy"] <= frame["bound"]).sum())
        constant = int((frame[["nuclear", "feature", "constant"]].idxmin(axis=1) == "constant").sum())
        said = [
            f"the bound holds in {held} of {len(frame)} fits and is vacuous, at or above the range of the loss, in "
            f"{int(frame['vacuous'].sum())}: it is {frame['bound'].min():.3g} at least where the gap is "
            f"{frame['gap_noisy'].max():.2g} at most.",
            f"C4, which knows nothing of the data, is the smallest of the three in {constant}.",
            *(_growth(frame, sweep) for sweep in NOISES),
        ]
        if rows["n"].nunique() > 1:
            said.append(
                f"With more rows it grows: the label term like n to the power {slope(rows, 'label'):.2f}, because "
                f"|E_l|_21 grows like n to the power {slope(rows, 'E_l_rows'):.2f}; C4 stays."
            )
        return f"{_judge(frame)}: " + " ".join(filter(None, said))


def _judge(frame: pd.DataFrame) -> str:
    """Reproduced if more noise of either kind means a larger bound that says something; partly if not all of it."""
    means = [frame[frame["sweep"] == sweep].groupby(sweep)["bound"].mean() for sweep in NOISES]
    grows = [len(bounds) > 1 and bounds.iloc[-1] > bounds.iloc[0] for bounds in means]
    if all(grows) and not frame["vacuous"].any():
        return "reproduced"
    return "partly" if any(grows) else "not"


def low_rank_classes(n: int, rng: np.random.Generator, world: np.random.Generator) -> tuple[Array, NDArray[np.intp]]:
    """Normal classes in a space of rank 8, as 30 columns; ``world`` draws classes and space, ``rng`` the rows."""
    centres, basis = 2 * world.normal(size=(CLASSES, RANK)), world.normal(size=(RANK, COLUMNS)) / np.sqrt(RANK)
    classes = rng.integers(CLASSES, size=n)
    return (centres[classes] + 0.5 * rng.normal(size=(n, RANK))) @ basis, classes


def make_model(n: int) -> FLRClassifier:
    """The theorem's model: l1, l21, no intercept, features as they are."""
    return FLRClassifier.natural(fit_intercept=False, scale=None, lambda_labels=LABEL_WEIGHT / np.sqrt(n))


def risk(scores: Array, labels: NDArray[Any]) -> float:
    """The mean of ``min(|score - label|, 1)`` over the entries of one-hot labels."""
    return float(np.minimum(np.abs(scores - np.eye(scores.shape[1])[labels]), 1.0).mean())


def slope(frame: pd.DataFrame, column: str) -> float:
    """The power of n with which a column grows."""
    return float(np.polyfit(np.log(frame["n"]), np.log(frame[column]), 1)[0])


def _growth(frame: pd.DataFrame, sweep: str) -> str:
    """What happens from the least noise to the most, means over trials."""
    means = frame[frame["sweep"] == sweep].groupby(sweep)[["bound", "gap_noisy"]].mean()
    if len(means) < 2:
        return ""
    bound, gap = (f"{means[name].iloc[0]:.3g} to {means[name].iloc[-1]:.3g}" for name in ("bound", "gap_noisy"))
    ends = f"{means.index[0]:g} to {means.index[-1]:g}"
    return f"As the {SWEEPS[sweep]} goes from {ends}, it goes from {bound}, the gap from {gap}."


def _draw_panel(axes: Axes, part: pd.DataFrame, sweep: str) -> None:
    for column, (label, look) in LINES.items():
        plot_means(axes, part, sweep, column, look, label)
    axes.axhline(1.0, color="#555555", linewidth=1)
    axes.set_yscale("log")
    axes.grid(axis="y", alpha=0.3)


def _spread_rows(axes: Axes, rows: Sequence[int]) -> None:
    """Numbers of rows on a logarithmic scale, each written out."""
    axes.set_xscale("log")
    axes.set_xticks(rows, [str(n) for n in rows])
    axes.minorticks_off()
