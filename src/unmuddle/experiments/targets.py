"""What a cleaner should reach on the leaderboard, and whether it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from unmuddle.experiments.cleaning_scores import recall_at
from unmuddle.experiments.leaderboard import (
    CHAINS,
    GROSS,
    KEY,
    NONE,
    SWAPPED,
    better_chain,
    by_dataset,
    differences,
    suite_mean,
    values_of,
)

ROUNDING = 1e-9
"""By which a mean of equals may miss a target."""


class Duel(NamedTuple):
    """Our method, and those with the same estimator that it is held against."""

    ours: str
    bare: str
    cleanlab: str
    chains: tuple[str, ...]


FOREST_CHAINS = tuple(f"{name}-forest" for name in CHAINS)
DUELS = (
    Duel("hybrid", "logistic", "cleanlab", CHAINS),
    Duel("hybrid-logistic", "logistic", "cleanlab", CHAINS),
    Duel("hybrid-apart", "logistic", "cleanlab", CHAINS),
    Duel("hybrid-forest", "forest", "cleanlab-forest", FOREST_CHAINS),
)
"""The first chooses its own estimators; it is held against logistic regression."""


@dataclass(frozen=True)
class Target:
    """One demand: what is measured, against whom, between which bounds, on how many cells."""

    ours: str
    what: str
    against: str
    low: float
    high: float
    measured: float
    cells: int

    @property
    def reached(self) -> bool | None:
        """None where nothing was measured."""
        if math.isnan(self.measured):
            return None
        return self.low - ROUNDING <= self.measured <= self.high + ROUNDING

    @property
    def wanted(self) -> str:
        """The bounds in words."""
        if math.isinf(self.high):
            return f"at least {self.low:g}"
        return f"at most {self.high:g}" if math.isinf(self.low) else f"{self.low:g} to {self.high:g}"


def judge(frame: pd.DataFrame) -> list[Target]:
    """Every target of every method of ours that has a record."""
    present = set(frame["method"])
    return [target for duel in DUELS if duel.ours in present for part in PARTS for target in part(frame, duel)]


def _judge_accuracy(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    gaps, chain = _against_chain(frame, duel, "accuracy")
    least = by_dataset(gaps).min() if len(gaps) else float("nan")
    yield _at_least(duel, "clean test accuracy, points", chain, 4, suite_mean(gaps), gaps)
    yield _at_least(duel, "clean test accuracy on the worst dataset, points", chain, -1, float(least), gaps)


def _judge_ranking(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    gaps, chain = _against_chain(frame, duel, "label_auc", 1.0)
    yield _at_least(duel, "AUC of ranking wrong labels", chain, 0.04, suite_mean(gaps), gaps)


def _judge_repair(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    noisy, quiet = frame[frame["labels"] != NONE], frame[frame["labels"] == NONE]
    gaps, chain = _against_chain(noisy, duel, "labels_right")
    yield _at_least(duel, "training labels right after repair, points", chain, 10, suite_mean(gaps), gaps)
    worse = values_of(noisy, duel.ours, "labels_right") - (1 - values_of(noisy, duel.ours, "labels_wrong"))
    count = float((worse < -ROUNDING).sum()) if len(worse) else float("nan")
    yield _at_most(duel, "cells with fewer labels right than came in", "noisy input", 0, count, worse)
    changed = 100 * values_of(quiet, duel.ours, "labels_changed")
    most = float(changed.max()) if len(changed) else float("nan")
    yield _at_most(duel, "labels changed where none is wrong, most in a cell, per cent", "", 1, most, changed)


def _judge_clean(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    clean = frame[(frame["labels"] == NONE) & (frame["features"] == NONE)]
    gaps = 100 * differences(clean, duel.ours, duel.bare, "accuracy")
    yield _at_least(duel, "accuracy on clean data, points", duel.bare, -0.5, suite_mean(gaps), gaps)
    for what, high in (("labels", 5), ("cells", 2)):
        flagged = 100 * values_of(clean, duel.ours, f"{what}_flagged")
        yield _at_most(duel, f"{what} flagged on clean data, per cent", "", high, suite_mean(flagged), flagged)


def _judge_cells(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    for name, noise, low in (("gross", GROSS, 0.0), ("swapped", SWAPPED, 0.03)):
        gaps = differences(frame[frame["features"] == noise], duel.ours, "ddc", "cell_auc")
        yield _at_least(duel, f"AUC of ranking {name} cells", "ddc", low, suite_mean(gaps), gaps)


def _judge_flags(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    noisy = frame[frame["labels"] != NONE]
    false = values_of(noisy, duel.ours, "false_discovery")
    mean = float(false.mean()) if len(false) else float("nan")
    yield Target(duel.ours, "share of false flags, 0.1 asked", "", 0.05, 0.15, mean, len(false))
    gaps = recall_gaps(noisy, duel.ours, duel.cleanlab)
    yield _at_least(duel, "recall at the same number of flags", duel.cleanlab, 0, suite_mean(gaps), gaps)


def recall_gaps(frame: pd.DataFrame, ours: str, theirs: str) -> pd.Series:
    """The recall of our flags less theirs, when as many of their most suspicious rows are taken as we flag."""
    shares, curves = values_of(frame, ours, "labels_flagged"), values_of(frame, theirs, "recall")
    common = shares.index.intersection(curves.index, sort=False)
    theirs_there = pd.Series([recall_at(curves[cell], shares[cell]) for cell in common], index=common, dtype=float)
    theirs_there.index = theirs_there.index.set_names(KEY)
    return (values_of(frame, ours, "flag_recall") - theirs_there).dropna()


def _judge_honesty(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    for score, what in (("calibration_error", "calibration error"), ("noise_rate_error", "error of the noise rate")):
        values = values_of(frame, duel.ours, score)
        yield _at_most(duel, what, "", 0.05, suite_mean(values), values)
    covered = 100 * values_of(frame, duel.ours, "noise_rate_covered")
    mean = float(covered.mean()) if len(covered) else float("nan")
    yield _at_least(duel, "cover of the interval of 90 %, per cent of cells", "", 80, mean, covered)


def _judge_time(frame: pd.DataFrame, duel: Duel) -> Iterator[Target]:
    images = frame[frame["dataset"].str.startswith("cifar10n")]
    mine, theirs = (values_of(images, name, "seconds") for name in (duel.ours, "cleanlab"))
    mine, theirs = mine[mine.index.isin(theirs.index)], theirs[theirs.index.isin(mine.index)]
    ratio = float(theirs.sum() / mine.sum()) if len(mine) else float("nan")
    yield _at_least(duel, "fit time, theirs over ours, CIFAR-10N features", "cleanlab", 1, ratio, mine)


PARTS: tuple[Callable[[pd.DataFrame, Duel], Iterator[Target]], ...] = (
    _judge_accuracy,
    _judge_ranking,
    _judge_repair,
    _judge_clean,
    _judge_cells,
    _judge_flags,
    _judge_honesty,
    _judge_time,
)


def _against_chain(frame: pd.DataFrame, duel: Duel, score: str, factor: float = 100.0) -> tuple[pd.Series, str]:
    chain = better_chain(frame, duel.ours, duel.chains, score)
    return factor * differences(frame, duel.ours, chain, score), chain


def _at_least(duel: Duel, what: str, against: str, low: float, measured: float, cells: pd.Series) -> Target:
    return Target(duel.ours, what, against, low, math.inf, measured, len(cells))


def _at_most(duel: Duel, what: str, against: str, high: float, measured: float, cells: pd.Series) -> Target:
    return Target(duel.ours, what, against, -math.inf, high, measured, len(cells))
