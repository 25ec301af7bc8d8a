"""Rows in two dimensions, before and after recovery, on the same axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

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
    directions, explained = _main_directions(after - centre)
    axes = np.zeros((raw.shape[1], 2))
    axes[:, : len(directions)] = _facing(directions).T
    before, after = (scaling.apply(filled) - centre) @ axes, (after - centre) @ axes
    low, high = _frame(np.vstack([before, after]))
    first, second = (np.clip((points - low) / (high - low), 0.0, 1.0) for points in (before, after))
    return Projection(first, second, explained)


def _main_directions(rows: Array) -> tuple[Array, float]:
    """Up to two unit vectors along which rows vary most, and their share of all variation."""
    is_wide = rows.shape[1] > rows.shape[0]
    gram = rows @ rows.T if is_wide else rows.T @ rows
    total = float(np.trace(gram))
    if not total > 0:
        return np.zeros((0, rows.shape[1])), 0.0
    sizes, vectors = eigh(gram, subset_by_index=[max(0, len(gram) - 2), len(gram) - 1])
    known = sizes > 1e-12 * total
    directions = (rows.T @ vectors if is_wide else vectors)[:, known][:, ::-1].T
    return directions / np.linalg.norm(directions, axis=1, keepdims=True), float(sizes[known].sum()) / total


def _facing(directions: Array) -> Array:
    """The sign of an axis means nothing: its largest entry is made positive, so that runs agree."""
    largest = np.abs(directions).argmax(axis=1)
    signs = np.sign(directions[np.arange(len(directions)), largest])
    return directions * np.where(signs == 0, 1.0, signs)[:, None]


def _frame(points: Array) -> tuple[Array, Array]:
    low, high = np.quantile(points, [OUTER, 1 - OUTER], axis=0)
    room = np.where(high > low, 0.05 * (high - low), 0.5)
    return low - room, high + room
