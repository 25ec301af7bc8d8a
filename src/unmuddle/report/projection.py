"""Rows in two dimensions, before and after recovery, on the same axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from unmuddle.core.prox import Array
from unmuddle.estimators.scaling import inner_scaling

OUTER = 0.01
"""Share of the rows at either end of an axis that may lie beyond the frame and are then drawn at its edge."""


class Projection(NamedTuple):
    """Points between 0 and 1, and the share of the variation of recovered rows that the two axes show."""

    before: Array
    after: Array
    explained: float


def project(raw: Array, recovered: Array) -> Projection:
    """Principal components of the recovered rows; raw rows, with gaps filled by recovery, are laid on the same axes."""
    filled = np.where(np.isnan(raw), recovered, raw)
    scaling = inner_scaling(filled)
    after = scaling.apply(recovered)
    centre = after.mean(axis=0)
    _, sizes, directions = np.linalg.svd(after - centre, full_matrices=False)
    axes = np.zeros((raw.shape[1], 2))
    axes[:, : min(2, len(directions))] = _facing(directions[:2]).T
    total = float((sizes**2).sum())
    before, after = (scaling.apply(filled) - centre) @ axes, (after - centre) @ axes
    low, high = _frame(np.vstack([before, after]))
    first, second = (np.clip((points - low) / (high - low), 0.0, 1.0) for points in (before, after))
    return Projection(first, second, float((sizes[:2] ** 2).sum()) / total if total > 0 else 0.0)


def _facing(directions: Array) -> Array:
    """The sign of an axis means nothing: its largest entry is made positive, so that runs agree."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs == 0, 1.0, signs)[:, None]


def _frame(points: Array) -> tuple[Array, Array]:
    low, high = np.quantile(points, [OUTER, 1 - OUTER], axis=0)
    room = np.where(high > low, 0.05 * (high - low), 0.5)
    return low - room, high + room
