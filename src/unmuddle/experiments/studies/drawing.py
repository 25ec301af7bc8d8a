"""What the figures of all studies share: colours, markers and lines that need no colour, means with standard errors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Look(NamedTuple):
    """A line that is told from the others by its colour, its marker and its dashes, each alone."""

    color: str
    marker: str
    linestyle: str


LOOKS = (
    Look("#0072B2", "o", "-"),
    Look("#D55E00", "s", "--"),
    Look("#009E73", "^", "-."),
    Look("#CC79A7", "D", ":"),
    Look("#555555", "v", "-"),
    Look("#E69F00", "P", "--"),
)
"""Colours of Okabe and Ito, which colour-blind readers tell apart."""

SOLVERS = {"paper": "Algorithm 1", "admm": "default solver"}
LOOK_OF = {"paper": LOOKS[1], "admm": LOOKS[0]}
KINDS = {"gaussian": "Gaussian", "laplacian": "Laplacian"}


def new_figure(rows: int, columns: int, width: float, height: float, **options: Any) -> tuple[Any, Any]:
    """A figure that belongs to no window, and its axes, always as a matrix."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, and only here

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def mean_and_error(values: pd.Series) -> pd.Series:
    """Mean and its standard error; an error of 0 where there is one value."""
    known = values.dropna()
    error = known.std(ddof=1) / np.sqrt(len(known)) if len(known) > 1 else 0.0
    return pd.Series({"mean": known.mean() if len(known) else np.nan, "error": error})


def means_by(frame: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Mean and standard error over trials for each value of ``by``, in order."""
    return frame.groupby(by, sort=True)[value].apply(mean_and_error).unstack()


def plot_means(ax: Any, frame: pd.DataFrame, x: str, y: str, look: Look, label: str, factor: float = 1.0) -> None:
    """Means with bars of one standard error."""
    if frame.empty:
        return
    found = means_by(frame, x, y) * factor
    ax.errorbar(
        found.index / 1.0, found["mean"], yerr=found["error"], label=label, capsize=3, markersize=5, **look._asdict()
    )


def plot_band(ax: Any, frame: pd.DataFrame, x: str, y: str, look: Look, label: str) -> None:
    """Geometric means with a band of one standard error of the logarithm; what is not above 0 is left out."""
    known = frame[frame[y] > 0]
    if known.empty:
        return
    found = means_by(known.assign(log=np.log(known[y])), x, "log")
    low, high = np.exp(found["mean"] - found["error"]), np.exp(found["mean"] + found["error"])
    ax.fill_between(found.index, low, high, color=look.color, alpha=0.2, linewidth=0)
    ax.plot(found.index, np.exp(found["mean"]), label=label, markersize=4, **look._asdict())


def share_legend(figure: Any, *axes: Any, side: str = "upper") -> None:
    """One legend above all panels, or on the ``lower`` side, each name once."""
    handles = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if handles:
        columns = min(len(handles), 4)
        figure.legend(handles.values(), handles.keys(), loc=f"outside {side} center", ncols=columns, frameon=False)
