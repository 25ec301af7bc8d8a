"""Pictures for notebooks, in the manner of scikit-learn's displays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmuddle.cleaning import HybridCleaner
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidParameterError, MissingExtraError
from unmuddle.report.content import Convergence, convergence_of
from unmuddle.report.grid import Grid

BLUE, ORANGE = "#0072b2", "#d55e00"


@dataclass
class LabelIssuesDisplay:
    """How sure it is that labels are wrong, over all rows that have one.

    Parameters
    ----------
    confidence : ndarray of shape (n_labelled,)
        Chance that the given label is wrong.
    flags : ndarray of shape (n_labelled,)
        Which of them are flagged.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once plotted.
    """

    confidence: Array
    flags: Any
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: HybridCleaner) -> Self:
        """Of a fitted cleaner."""
        check_is_fitted(estimator, "label_issues_")
        lines = estimator.label_issues_.dropna(subset="confidence")
        return cls(lines["confidence"].to_numpy(dtype=float), lines["flag"].to_numpy(dtype=bool))

    def plot(self, ax: Any = None) -> Self:
        """A histogram, flagged rows apart."""
        self.ax_, self.figure_ = _axes(ax)
        parts = [self.confidence[~self.flags], self.confidence[self.flags]]
        self.ax_.hist(
            parts, bins=np.linspace(0, 1, 21).tolist(), stacked=True, color=[BLUE, ORANGE],
            label=[f"not flagged ({len(parts[0])})", f"flagged ({len(parts[1])})"],
        )  # fmt: skip
        self.ax_.set(xlabel="chance that the given label is wrong", ylabel="rows")
        self.ax_.legend()
        return self


@dataclass
class CellIssuesDisplay:
    """Where wrong cells are, by row and column.

    Parameters
    ----------
    grid : Grid
        Shares of wrong cells in bins.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once plotted.
    """

    grid: Grid
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: HybridCleaner) -> Self:
        """Of a fitted cleaner."""
        check_is_fitted(estimator, "cell_issues_")
        return cls(Grid.of_cleaner(estimator))

    def plot(self, ax: Any = None) -> Self:
        """A heat map with a line for each column of the table, rows from left to right."""
        self.ax_, self.figure_ = _axes(ax)
        image = self.ax_.imshow(
            np.array(self.grid.wrong).T, aspect="auto", cmap="Oranges", vmin=0, vmax=1, interpolation="nearest",
            extent=(-0.5, self.grid.n_rows - 0.5, len(self.grid.names) - 0.5, -0.5),
        )  # fmt: skip
        self.ax_.set(xlabel="row", yticks=range(len(self.grid.names)))
        self.ax_.set_yticklabels([name.replace("$", r"\$") for name in self.grid.names])
        if self.grid.is_binned:
            self.figure_.colorbar(image, ax=self.ax_, label="share of wrong cells")
        return self


@dataclass
class ConvergenceDisplay:
    """How a solver came to its point.

    Parameters
    ----------
    convergence : Convergence
        Curves over iterations, and the certificate.

    Attributes
    ----------
    ax_, figure_
        Of matplotlib, once plotted.
    """

    convergence: Convergence
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Of a fitted `FLRClassifier` or `RobustPCA`, or of a cleaner that recovers features by one of them."""
        check_is_fitted(estimator)
        convergence = convergence_of(estimator)
        if convergence is None:
            raise InvalidParameterError(
                "estimator must be a fitted FLRClassifier or RobustPCA, or a HybridCleaner with recovery='flr' or "
                f"'rpca'; got {estimator!r}, which has no iterations to show. Choose such a recovery."
            )
        return cls(convergence)

    def plot(self, ax: Any = None) -> Self:
        """Curves by powers of ten."""
        self.ax_, self.figure_ = _axes(ax)
        for (name, curve), colour in zip(self.convergence.curves, (BLUE, ORANGE), strict=False):
            self.ax_.semilogy(np.arange(1, len(curve) + 1), curve, color=colour, label=name)
        self.ax_.set(xlabel="iteration", title=self.convergence.certificate)
        self.ax_.legend()
        return self


def _axes(ax: Any) -> tuple[Any, Any]:
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - takes long to import, and need not be there
    except ImportError as error:
        raise MissingExtraError("plot needs matplotlib, which is not installed: pip install matplotlib.") from error
    ax = pyplot.subplots()[1] if ax is None else ax
    return ax, ax.figure
