"""The leaderboard as files: CSV, Markdown, HTML and one plot; and the run that fills it."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from unmuddle.experiments.campaign import OnProgress, conduct, wanted
from unmuddle.experiments.leaderboard import (
    Leaderboard,
    better_chain,
    by_dataset,
    differences,
    error_of,
    make_frame,
    summarise,
)
from unmuddle.experiments.methods import get_method
from unmuddle.experiments.reproduce import STORE, Made
from unmuddle.experiments.store import open_store
from unmuddle.experiments.targets import DUELS, Target, judge
from unmuddle.experiments.write import NOTHING, fill
from unmuddle.files import write_whole

COLOURS, MARKERS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), ("o", "s", "^", "D")
"""Of Okabe and Ito, which colour-blind readers tell apart; shapes tell them apart without any colour."""

SHOWN = {
    "accuracy": "accuracy",
    "label_auc": "AUC, labels",
    "labels_right": "labels right",
    "false_discovery": "false flags",
    "flag_recall": "recall of flags",
    "calibration_error": "calibration error",
    "noise_rate_error": "noise-rate error",
    "cell_auc_gross": "AUC, gross cells",
    "cell_auc_swapped": "AUC, swapped cells",
    "seconds": "seconds",
}
PER_CENT = ("accuracy", "labels_right")

NOTES = (
    "80 % of the rows are drawn to train on and spoiled, the rest is the clean test; features are scaled by the clean "
    "training rows before noise is added. Methods meet the same splits and noise, so differences are paired.",
    "A suite mean is the mean over datasets, each of which counts the same. A method that lacks a cell has no mean "
    "there, so all numbers of a column rest on the same cells. Labels right and false flags are those under "
    "label noise.",
    "Of the chains clip-PCA(4)-cleanlab and clip-PCA(80 %)-cleanlab with the same estimator, the one with the better "
    "suite mean of the score in question is the rival.",
    "Forests are fitted below 2,000 training rows. DDC is run on sets of at most 64 columns under gross and swapped "
    "cells; columns it refuses are scored by their distance from the median in standard deviations. Its time includes "
    "the start of its own Python.",
    "A name such as waveform:2000 is so many rows of that set, drawn at random. Labels under `real` are those that "
    "people gave.",
)


@dataclass(frozen=True)
class BoardPage:
    """All that the readable files say."""

    command: str
    summary: pd.DataFrame
    targets: Sequence[Target]
    failures: Sequence[tuple[str, int, str]]
    notes: Sequence[str]
    versions: Sequence[str]

    @property
    def methods(self) -> list[str]:
        """Those with a suite mean first, by accuracy."""
        suite = self.summary[self.summary["dataset"] == "all"]
        return list(suite.sort_values("accuracy", ascending=False, kind="stable", na_position="last")["method"])

    @property
    def datasets(self) -> list[str]:
        """In the order of the plan."""
        return [name for name in dict.fromkeys(self.summary["dataset"]) if name != "all"]

    def number(self, method: str, dataset: str, score: str) -> str:
        """A mean as it is shown."""
        line = self.summary[(self.summary["method"] == method) & (self.summary["dataset"] == dataset)]
        value = float(line[score].iloc[0]) if len(line) else math.nan
        if math.isnan(value):
            return NOTHING
        return f"{100 * value:.1f}" if score in PER_CENT else f"{value:.3g}" if score == "seconds" else f"{value:.3f}"

    def cells(self, method: str) -> int:
        """On how many cells the line of a method rests."""
        suite = self.summary[(self.summary["dataset"] == "all") & (self.summary["method"] == method)]
        return int(suite["cells"].iloc[0])


def make_leaderboard(
    board: Leaderboard,
    folder: Path,
    command: str,
    jobs: int,
    on_progress: OnProgress,
    plugins: Sequence[Path] = (),
    remarks: Sequence[str] = (),
    *,
    retry: bool = False,
) -> Made:
    """Run, resume, write."""
    plan = board.plan
    with open_store(folder / STORE) as store:
        conduct(plan, store, jobs, on_progress, plugins, retry=retry)
        cells = wanted(plan, store.records)
        records = [store.records[cell] for cell in cells if cell in store.records]
        frame = make_frame(cells, store.records)
    versions = sorted({record.versions for record in records if record.versions})
    page = BoardPage(command, summarise(frame), judge(frame), _failures(frame), (*remarks, *NOTES), versions)
    reasons = [f"{record.cell}: {record.reason}" for record in records if record.status != "done"]
    return Made(write_board(folder, page, frame), len(reasons), next(iter(reasons), ""))


def write_board(folder: Path, page: BoardPage, frame: pd.DataFrame) -> list[Path]:
    """Write every file; returns their paths."""
    contents = {
        "leaderboard.csv": page.summary.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode(),
        "leaderboard.md": fill("leaderboard.md", **_helpers(page)).encode(),
        "leaderboard.html": fill("leaderboard.html", **_helpers(page)).encode(),
        "targets.csv": _targets_csv(page.targets).encode(),
        **{f"leaderboard.{kind}": image for kind, image in draw(frame).items()},
    }
    for name, content in contents.items():
        write_whole(folder / name, content)
    return [folder / name for name in contents]


def _helpers(page: BoardPage) -> dict[str, object]:
    titles = {name: get_method(name).title for name in page.methods}
    return {"page": page, "shown": SHOWN, "titles": titles, "measured": measured, "verdict": verdict}


def measured(target: Target) -> str:
    """The number, or a dash."""
    return NOTHING if math.isnan(target.measured) else f"{target.measured:.3g}"


def verdict(target: Target) -> str:
    """In words."""
    return {True: "reached", False: "not reached", None: "not measured"}[target.reached]


def _targets_csv(targets: Sequence[Target]) -> str:
    names = ["method", "what", "against", "target", "measured", "verdict", "cells"]
    lines = [(t.ours, t.what, t.against, t.wanted, t.measured, verdict(t), t.cells) for t in targets]
    return pd.DataFrame(lines, columns=names).to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _failures(frame: pd.DataFrame) -> list[tuple[str, int, str]]:
    """Methods with cells that have no result: how many, and the first reason."""
    bad = frame[frame["status"] != "done"]
    return [(str(name), len(part), str(part["reason"].iloc[0])) for name, part in bad.groupby("method", sort=False)]


def draw(frame: pd.DataFrame) -> dict[str, bytes]:
    """Accuracy less that of the better chain by dataset, with standard errors, as SVG and PNG."""
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import, and only here
    from matplotlib.figure import Figure  # noqa: PLC0415

    names = list(dict.fromkeys(frame["dataset"]))
    with rc_context({"svg.hashsalt": "unmuddle", "font.size": 10}):
        figure = Figure(figsize=(7.5, 1.6 + 0.55 * len(names)), layout="constrained")
        axes = figure.subplots()
        for place, duel in enumerate(DUELS):
            chain = better_chain(frame, duel.ours, duel.chains, "accuracy")
            gaps = 100 * differences(frame, duel.ours, chain, "accuracy")
            if not len(gaps):
                continue
            errors = gaps.groupby(level="dataset", sort=False).apply(error_of)
            means, heights = by_dataset(gaps), [names.index(str(n)) + 0.16 * (place - 1.5) for n in errors.index]
            label = f"{duel.ours} less {chain}"
            axes.errorbar(
                means, heights, xerr=errors, fmt=MARKERS[place], color=COLOURS[place], capsize=3, label=label
            )  # fmt: skip
        axes.axvline(0, color="#555555", linewidth=1)
        axes.axvline(4, color="#555555", linewidth=1, linestyle=":")
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("points over the better chain, ± standard error (dotted: target)")
        if axes.get_legend_handles_labels()[0]:
            figure.legend(loc="outside upper center", frameon=False, fontsize=9)
        return {kind: _save(figure, kind) for kind in ("svg", "png")}


def _save(figure: object, kind: str) -> bytes:
    buffer = io.BytesIO()
    when = {"Date": None} if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=150, metadata=when)  # type: ignore[attr-defined]
    return buffer.getvalue()
