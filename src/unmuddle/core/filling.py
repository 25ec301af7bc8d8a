"""What a normal model says of the cells of a row, given the others.

With P for the precision matrix, M for the cells of a row that are missing or set aside, and O for the others,

    E[x_M | x_O] = mu_M - P_MM^-1 P_MO (x_O - mu_O)          its covariance is P_MM^-1
    x_j - E[x_j | the others of O] = (P d)_j / Q_jj          for j in O, where d is x - mu with M filled in as above,
    variance 1 / Q_jj                                        and Q = P_OO - P_OM P_MM^-1 P_MO
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.prox import Array, Mask

TINY = 1e-12
"""Least precision of a cell given the others of its row."""

WIDE, LOST = 128, 0.999
"""Columns from which on single precision is tried for what masked cells take from the precision of the others; the
share of it that they may take: beyond, too little is left to be told from rounding."""

BATCH = 1_000_000
"""Numbers in a work array for rows that are filled in together: about what a cache holds."""


class Filled(NamedTuple):
    """Rows with their masked cells filled in, and every cell against what the others of its row say."""

    rows: Array
    residuals: Array
    variances: Array
    covariance: Array
    """Sum over rows of the conditional covariance of masked cells."""


def fill(X: Array, observed: Mask, mean: Array, precision: Array) -> Filled:
    """Every row completed from its observed cells, every cell compared with the other observed ones of its row."""
    deviations = np.where(observed, X - mean, 0.0)
    pull = deviations @ precision
    own = np.tile(np.diag(precision), (len(X), 1))
    masked = np.zeros_like(deviations)
    covariance = np.zeros(precision.size)
    quick = precision.astype(np.float32) if len(precision) >= WIDE else precision
    for rows, places, real in _alike(observed):
        inverse = _inverse_blocks(precision, places, real)
        lost = _lost(quick, inverse.astype(quick.dtype, copy=False), places)
        if quick is not precision and np.any(observed[rows] & (lost > LOST * own[rows])):
            lost = _lost(precision, inverse, places)
        own[rows] -= lost
        at = np.repeat(rows, real.sum(axis=1)), places[real]
        deviations[at] = -np.einsum("bmk,bk->bm", inverse, pull[rows[:, None], places])[real]
        masked[at] = np.einsum("bmm->bm", inverse)[real]
        flat = places[:, :, None] * len(precision) + places[:, None, :]
        covariance += np.bincount(flat.ravel(), inverse.ravel(), precision.size)
    variances = np.where(observed, 1.0 / np.maximum(own, TINY), masked)
    residuals = np.where(observed, (deviations @ precision) * variances, X - mean - deviations)
    return Filled(mean + deviations, residuals, variances, covariance.reshape(precision.shape))


def complete(X: Array, observed: Mask, mean: Array, precision: Array) -> Array:
    """Every row completed from its observed cells, and no more than that."""
    deviations = np.where(observed, X - mean, 0.0)
    pull = deviations @ precision
    for rows, places, real in _alike(observed):
        pulled = np.where(real, pull[rows[:, None], places], 0.0)
        found = np.linalg.solve(_blocks(precision, places, real), pulled[:, :, None])[:, :, 0]
        deviations[np.repeat(rows, real.sum(axis=1)), places[real]] = -found[real]
    return mean + deviations


def _lost(precision: Array, inverse: Array, places: NDArray[np.intp]) -> Array:
    """For each row what the cells at its places take from the precision of all cells: P_OM P_MM^-1 P_MO, diagonal."""
    cross = precision[places]
    lost: Array = np.einsum("bmd,bmd->bd", cross, inverse @ cross)
    return lost


def _inverse_blocks(precision: Array, places: NDArray[np.intp], real: Mask) -> Array:
    """For each row the inverse of the block of its places; zero where a place is padding."""
    pairs = real[:, :, None] & real[:, None, :]
    return np.where(pairs, np.linalg.inv(_blocks(precision, places, real)), 0.0)


def _blocks(precision: Array, places: NDArray[np.intp], real: Mask) -> Array:
    """For each row the block of its places; the identity where a place is padding."""
    pairs = real[:, :, None] & real[:, None, :]
    return np.where(pairs, precision[places[:, :, None], places[:, None, :]], np.eye(places.shape[1]))


def _alike(observed: Mask) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp], Mask]]:
    """Rows with about as many masked cells, the places of these, and which places are real and not padding."""
    d = observed.shape[1]
    counts = d - observed.sum(axis=1)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    while len(order):
        widest = max(counts[order[0]] + 2, int(1.25 * counts[order[0]]))
        rows = order[: max(1, BATCH // (widest * d))]
        rows = rows[counts[rows] <= widest]
        places = np.argsort(observed[rows], axis=1, kind="stable")[:, : counts[rows[-1]]]
        yield rows, places, ~np.take_along_axis(observed[rows], places, axis=1)
        order = order[len(rows) :]
