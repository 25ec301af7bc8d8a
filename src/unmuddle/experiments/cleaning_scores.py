"""What a cleaner is held to beside the five scores: its flags, its confidence, its estimate of the noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmuddle.experiments.methods import Answer, Task
from unmuddle.experiments.task import Truth

SHARES = np.arange(1, 61) / 100
"""Shares of the rows, the most suspicious ones, whose recall is kept in a record."""

BINS = 10
"""Of equal width, from 0 to 1, in the calibration error."""

Mask = NDArray[np.bool_]


def score_cleaning(answer: Answer, task: Task, truth: Truth) -> dict[str, float]:
    """All that an answer says beyond the five scores; what it does not say is left out."""
    wrong = truth.labels
    found = {"labels_wrong": float(wrong.mean())}
    if answer.labels is not None:
        found["labels_changed"] = float(np.mean(answer.labels != task.y))
    if answer.label_flags is not None:
        found |= score_flags(wrong, answer.label_flags)
    if answer.cell_flags is not None:
        found["cells_flagged"] = float(answer.cell_flags.mean())
    if answer.label_confidence is not None:
        found["calibration_error"] = calibration_error(wrong, answer.label_confidence)
    if answer.noise_rate is not None:
        estimate, low, high = answer.noise_rate
        rate = found["labels_wrong"]
        found |= {"noise_rate_error": abs(estimate - rate), "noise_rate_covered": float(low <= rate <= high)}
    return found


def score_flags(wrong: Mask, flags: Mask) -> dict[str, float]:
    """The share of false flags, 0 where there is none, the share of all rows flagged, and that of wrong rows flagged.

    >>> score_flags(np.array([True, True, False, False]), np.array([True, False, True, False]))
    {'false_discovery': 0.5, 'labels_flagged': 0.5, 'flag_recall': 0.5}
    """
    found = {
        "false_discovery": float(np.sum(flags & ~wrong) / max(1, flags.sum())),
        "labels_flagged": float(flags.mean()),
    }
    return found | ({"flag_recall": float(flags[wrong].mean())} if wrong.any() else {})


def calibration_error(wrong: Mask, confidence: ArrayLike) -> float:
    """How far stated chances are from shares of rows truly wrong: the mean over ten bins, weighted by their rows.

    >>> calibration_error(np.array([True, False, False, False]), [0.9, 0.9, 0.1, 0.1])
    0.25
    """
    chance = np.asarray(confidence, dtype=np.float64)
    place = np.minimum((chance * BINS).astype(int), BINS - 1)
    gaps = np.bincount(place, weights=chance - wrong, minlength=BINS)
    return float(np.abs(gaps).sum() / len(chance))


def recall_curve(wrong: Mask, scores: ArrayLike) -> tuple[float, ...]:
    """The share of all wrong rows among the most suspicious 1 %, 2 %, ..., 60 %; empty where nothing is wrong.

    Equal scores come in any order, so their wrong rows are spread evenly; parts of a row count in part.
    """
    if not wrong.any():
        return ()
    _, place = np.unique(-np.asarray(scores, dtype=np.float64), return_inverse=True)
    rows = np.cumsum(np.bincount(place))
    found = np.cumsum(np.bincount(place, weights=wrong))
    recall = np.interp(SHARES * len(wrong), [0, *rows], [0, *found]) / wrong.sum()
    return tuple(round(float(each), 6) for each in recall)


def recall_at(curve: Sequence[float], share: float) -> float:
    """The recall when that share of the rows is flagged, from a curve that was kept; NaN where there is none.

    >>> recall_at([each / 60 for each in range(1, 61)], 0.15)
    0.25
    """
    if not curve:
        return float("nan")
    return float(np.interp(share, [0.0, *SHARES, 1.0], [0.0, *curve, 1.0]))
