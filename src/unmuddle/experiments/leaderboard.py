"""The leaderboard of cleaners: what is run, and the records as a frame to compare methods by, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from unmuddle import datasets
from unmuddle.datasets import Dataset
from unmuddle.errors import InvalidParameterError
from unmuddle.experiments.campaign import Records
from unmuddle.experiments.methods import METHODS
from unmuddle.experiments.plan import Block, Cell, Noise, Plan, parse
from unmuddle.experiments.table import standard_error
from unmuddle.experiments.task import REAL, TEST_SHARE, load

DATASETS = ("wine", "glass", "waveform:2000", "cnae9", "breast-cancer", "digits", "cifar10n-worst:2000")
QUICK_DATASETS = ("wine", "breast-cancer", "digits:500")
TRIALS, QUICK_TRIALS = 5, 2

GROSS, SWAPPED, NONE = "gross(rate=0.15,size=8)", "swapped(rate=0.15)", "none"
FEATURES = (NONE, "gaussian(sigma=1)", "laplacian(sigma=1)", GROSS, SWAPPED)
LABELS = (NONE, "flip(rate=0.2)", "flip(rate=0.4)", "pair(rate=0.3)", "features(rate=0.3)")
NOISES = tuple(Noise(features, labels) for features in FEATURES for labels in LABELS)
QUICK_NOISES = (
    Noise(NONE, NONE),
    Noise("gaussian(sigma=1)", "flip(rate=0.2)"),
    Noise(GROSS, "flip(rate=0.4)"),
    Noise(SWAPPED, "pair(rate=0.3)"),
)

CHAINS = "clip-pca4-cleanlab", "clip-pca80-cleanlab"
FORESTS = ("hybrid-forest", "forest", "cleanlab-forest", "rpca-cleanlab-forest", *(f"{name}-forest" for name in CHAINS))
METHOD_NAMES = (
    *("hybrid", "hybrid-logistic", "hybrid-apart", "logistic", "cleanlab", "rpca-cleanlab", *CHAINS),
    *FORESTS,
    *("robust-pca", "ddc"),
)

FOREST_ROWS, DDC_COLUMNS = 2000, 64
"""Forests are fitted below so many training rows, DDC up to so many columns."""

KEY = ["dataset", "features", "labels", "trial"]
"""What two methods have in common when they met the same data."""


@dataclass(frozen=True)
class Leaderboard:
    """What of the leaderboard is to be made."""

    methods: tuple[str, ...] = METHOD_NAMES
    datasets: tuple[str, ...] = DATASETS
    noises: tuple[Noise, ...] = NOISES
    trials: int = TRIALS

    @property
    def plan(self) -> Plan:
        """What has to be run for it."""
        return Plan("leaderboard", tuple(block for dataset in self.datasets for block in self._blocks(load(dataset))))

    def _blocks(self, data: Dataset) -> Iterator[Block]:
        for noise in real_noises(self.noises) if data.y_noisy is not None else self.noises:
            methods = tuple(name for name in self.methods if is_run(name, data, noise))
            yield Block(methods, (data.name,), (noise,), self.trials)


def real_noises(noises: Sequence[Noise]) -> tuple[Noise, ...]:
    """The same noises on features, with the labels that come with the data."""
    return tuple(dict.fromkeys(Noise(noise.features, REAL) for noise in noises))


def is_run(method: str, data: Dataset, noise: Noise) -> bool:
    """Whether a method has a place there: forests take long, and DDC is asked only for cells that are wrong."""
    if method in FORESTS:
        return (1 - TEST_SHARE) * len(data.y) < FOREST_ROWS
    return method != "ddc" or (data.X.shape[1] <= DDC_COLUMNS and parse(noise.features)[0] in ("gross", "swapped"))


def choose_methods(names: Sequence[str] = ()) -> tuple[str, ...]:
    """Methods by name; none is all of the leaderboard and of plug-ins."""
    if not names:
        return METHOD_NAMES + tuple(name for name, each in METHODS.items() if not each.built_in)
    for name in names:
        if name not in METHODS:
            raise InvalidParameterError(f"methods must be among {', '.join(METHODS)}; got {name!r}.")
    return tuple(dict.fromkeys(names))


def at_hand(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Datasets that can be loaded or fetched, and those whose file is missing."""
    places = {entry.name: entry.where() for entry in datasets.available()}
    lacking = tuple(name for name in names if places.get(name.partition(":")[0], "").startswith("missing"))
    return tuple(name for name in names if name not in lacking), lacking


def make_frame(cells: Sequence[Cell], records: Records) -> pd.DataFrame:
    """A line for every cell that has a record: names, status, seconds, scores, and the curve of recall."""
    lines = []
    for record in (records[cell] for cell in cells if cell in records):
        method, dataset, noise, trial, _ = record.cell
        names = {"method": method, "dataset": dataset, "features": noise.features, "labels": noise.labels}
        rest = {"trial": trial, "status": record.status, "reason": record.reason, "seconds": record.seconds}
        lines.append(names | rest | {"recall": record.recall} | record.scores)
    frame = pd.DataFrame(lines)
    found = [name for name in frame.columns if name in SCORE_NAMES]
    return frame.astype(dict.fromkeys(found, float)).reindex(columns=[*FIXED, *SCORE_NAMES])


FIXED = ["method", *KEY, "status", "reason", "seconds", "recall"]
SCORE_NAMES = [
    *("accuracy", "label_auc", "label_ap", "labels_right", "feature_error", "cell_auc"),
    *("labels_wrong", "labels_changed", "labels_flagged", "false_discovery", "flag_recall", "cells_flagged"),
    *("calibration_error", "noise_rate_error", "noise_rate_covered"),
]

SPLIT = {"cell_auc_gross": GROSS, "cell_auc_swapped": SWAPPED}
UNDER_LABEL_NOISE = ("labels_right", "false_discovery")


def values_of(frame: pd.DataFrame, method: str, score: str) -> pd.Series:
    """A score of a method by cell, without cells that lack it."""
    return frame[frame["method"] == method].set_index(KEY)[score].dropna()


def differences(frame: pd.DataFrame, ours: str, theirs: str, score: str) -> pd.Series:
    """Ours less theirs in the cells that both have."""
    return (values_of(frame, ours, score) - values_of(frame, theirs, score)).dropna()


def by_dataset(values: pd.Series) -> pd.Series:
    """Means over the cells of each dataset, in the order in which they come."""
    return values.groupby(level="dataset", sort=False).mean()


def suite_mean(values: pd.Series) -> float:
    """The mean over datasets, each of which counts the same whatever its number of cells."""
    return float(by_dataset(values).mean()) if len(values) else float("nan")


def error_of(values: pd.Series) -> float:
    """The standard error of a mean over the cells of one dataset: of its means by trial, which share rows."""
    means = values.groupby(level="trial").mean().to_numpy(dtype=np.float64)
    return standard_error(means) if len(means) > 1 else float("nan")


def better_chain(frame: pd.DataFrame, ours: str, chains: Sequence[str], score: str) -> str:
    """The chain of the higher suite mean, over the cells that it shares with ours; the first of equals."""
    cells = values_of(frame, ours, score).index
    means = [suite_mean(series[series.index.isin(cells)]) for series in (values_of(frame, c, score) for c in chains)]
    return chains[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]


def summarise(frame: pd.DataFrame) -> pd.DataFrame:
    """Means of all scores by method and dataset, and by method over the suite; beside them cells done and not done.

    Labels right and false flags are means over cells with label noise. A mean stands only where the method has as many
    cells of the dataset as any other with that score, and a suite mean only where it has every dataset, so that all
    numbers of a column rest on the same cells.
    """
    numbers = [*SCORE_NAMES, *SPLIT, "seconds"]
    spread = frame.assign(
        **{name: frame["cell_auc"].where(frame["features"] == noise) for name, noise in SPLIT.items()},
        **{name: frame[name].where(frame["labels"] != NONE) for name in UNDER_LABEL_NOISE},
    )
    groups = spread.groupby(["method", "dataset"], sort=False)
    counts = groups[numbers].count()
    means = groups[numbers].mean().where(counts == counts.groupby(level="dataset").transform("max"))
    done = (frame["status"] == "done").groupby([frame["method"], frame["dataset"]], sort=False)
    means.insert(0, "cells", done.sum())
    means.insert(1, "not_done", done.count() - done.sum())
    means.insert(2, "accuracy_error", [error_of(part.set_index(KEY)["accuracy"].dropna()) for _, part in groups])
    lines = means.reset_index()
    offered = lines.groupby("dataset")[numbers].count() > 0
    suite = [_suite_line(method, part, numbers, offered) for method, part in lines.groupby("method", sort=False)]
    return pd.concat([pd.DataFrame(suite), lines], ignore_index=True)


def _suite_line(method: object, part: pd.DataFrame, numbers: list[str], offered: pd.DataFrame) -> dict[str, object]:
    mine = part.set_index("dataset")[numbers].reindex(offered.index)
    whole = (mine.notna() | ~offered).all()
    names = {"method": method, "dataset": "all", "cells": part["cells"].sum(), "not_done": part["not_done"].sum()}
    return names | {name: mine[name].mean() if whole[name] else float("nan") for name in numbers}
