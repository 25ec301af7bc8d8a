"""A figure of a table: accuracy against the rate of label noise, a panel for each noise on features."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from unmuddle.experiments.plan import parse
from unmuddle.experiments.table import Column, Row, Table, standard_error

COLOURS = ("#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Of Okabe and Ito, which colour-blind readers tell apart, without the yellow that is pale on white."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*", "h", "d", "8")
N_ACROSS, APART = 3, 0.6
"""Panels side by side; per cent of the rate by which neighbouring rows are moved apart, so that error bars show."""


def draw_panels(table: Table, names: Sequence[str]) -> dict[str, bytes]:
    """Means with standard errors of the rows of these names, as SVG and PNG."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import, and only here
    from matplotlib.figure import Figure  # noqa: PLC0415

    noises = list(dict.fromkeys(column.noise.features for column in table.columns))
    rows = [row for row in table.rows if row.name in names]
    n_down = -(-len(noises) // N_ACROSS)
    with rc_context({"svg.hashsalt": "unmuddle", "font.size": 10}):
        figure = Figure(figsize=(11, 3.4 * n_down + 0.4 + 0.18 * len(rows)), layout="constrained")
        panels = figure.subplots(n_down, min(N_ACROSS, len(noises)), sharey=True, squeeze=False).ravel()
        for axes, noise in zip(panels, noises, strict=False):
            _fill(axes, table, rows, [column for column in table.columns if column.noise.features == noise])
            axes.set_title(title(noise))
        for axes in panels[len(noises) :]:
            axes.remove()
        figure.supylabel("accuracy on clean test data, %, ± standard error over trials", fontsize=10)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
        return {kind: _save(figure, kind) for kind in ("svg", "png")}


def _fill(axes: Any, table: Table, rows: Sequence[Row], columns: Sequence[Column]) -> None:
    for place, row in enumerate(rows):
        points = curve(table, row, columns)
        rates, means, errors = (np.array(each) for each in zip(*points, strict=True)) if points else ([], [], [])
        axes.errorbar(
            np.asarray(rates) + APART * (place - (len(rows) - 1) / 2),
            means,
            yerr=errors,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            linestyle="-" if place < len(COLOURS) else "--",
            linewidth=2.2 if row.ours else 1.1,
            markersize=5,
            capsize=2,
            label=row.title,
        )
    axes.set_xlabel("label noise, %")
    axes.set_xticks(sorted({rate_of(column) for column in columns}))
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)


def curve(table: Table, row: Row, columns: Sequence[Column]) -> list[tuple[float, float, float]]:
    """Rate of label noise in per cent, mean accuracy and its standard error, where there are any trials."""
    entries = [(rate_of(column), table[row, column]) for column in columns]
    return [
        (rate, entry.mean, _error(list(entry.accuracies.values()), table.overlap))
        for rate, entry in entries
        if entry.accuracies
    ]


def _error(values: list[float], overlap: float) -> float:
    return standard_error(np.array(values), overlap) if len(values) > 1 else 0.0


def rate_of(column: Column) -> float:
    """In per cent."""
    return 100 * parse(column.noise.labels)[1].get("rate", 0.0)


def title(features: str) -> str:
    """A noise on features in words.

    >>> title("gaussian(sigma=3)"), title("none")
    ('Gaussian noise, sigma 3', 'no noise on features')
    """
    kind, settings = parse(features)
    return f"{kind.capitalize()} noise, sigma {settings['sigma']:g}" if "sigma" in settings else _plain(kind)


def _plain(kind: str) -> str:
    return "no noise on features" if kind == "none" else f"{kind} noise"


def _save(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else {})
    return buffer.getvalue()
