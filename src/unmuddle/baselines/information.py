"""How much each feature says about the noisy label: f-mutual information, from a histogram for each column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]
Kind = Literal["tv", "kl", "pearson", "hellinger", "js"]
Bins = Literal["auto", "equal", "discrete"]

N_BINS = 63
"""Bins of equal width; a column with more distinct values is not taken for discrete."""

PERCENTILES = 0.5, 99.5
"""Bins of equal width lie between these; samples outside are dropped."""

FLOOR = 1e-8
"""Weight of the least informative feature before weights are divided by the largest."""


def f_information(joint: NDArray[Any], kind: Kind = "tv") -> float:
    """f-divergence of a joint table, in counts or probabilities, from the product of its marginals; 0 if it is empty.

    Cells of probability 0 add their limit. The reference code adds machine epsilon to every cell instead, which moves
    the result by some 1e-12, that of Hellinger by 1e-7.

    >>> f_information(np.array([[0.5, 0.0], [0.0, 0.5]]))
    0.5
    """
    total = joint.sum()
    if total == 0:
        return 0.0
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) / total / total  # in this order exact for a single row
    return max(0.0, float(DIVERGENCES[kind](joint / total, product)))


def feature_information(
    X: Floats, codes: Codes, n_classes: int, kind: Kind = "tv", bins: Bins = "equal"
) -> NDArray[np.float64]:
    """Information of each column about the class numbers; 0 for a constant one.

    ``equal`` bins are 63 of equal width between the percentiles 0.5 and 99.5, without the samples outside. ``discrete``
    bins are the distinct values; counts that are nearly always 0 need them, as both percentiles are 0 there. ``auto``
    takes discrete bins for a column of at most 63 distinct values.
    """
    lowest, highest = np.percentile(X, PERCENTILES, axis=0)
    edges = np.linspace(lowest, highest, N_BINS + 1, axis=1)
    tables = (_count(column, own, codes, n_classes, bins) for column, own in zip(X.T, edges, strict=True))
    return np.array([f_information(table, kind) for table in tables])


def feature_weights(information: Floats) -> NDArray[np.float64]:
    """Information moved to begin just above 0 and scaled to end at 1.

    >>> feature_weights(np.array([0.1, 0.3, 0.2])).round(6)
    array([0. , 1. , 0.5])
    """
    weights = np.asarray(information - information.min() + FLOOR, dtype=np.float64)
    return weights / weights.max()


def _count(column: Floats, edges: Floats, codes: Codes, n_classes: int, bins: Bins) -> NDArray[np.intp]:
    """Table of counts, a row for each bin and a column for each class."""
    if bins != "equal":
        values, places = np.unique(column, return_inverse=True)
        if bins == "discrete" or len(values) <= N_BINS:
            return _tabulate(places, codes, len(values), n_classes)
    inside = (edges[0] <= column) & (column <= edges[-1])
    places = np.searchsorted(edges, column[inside], side="right") - 1
    return _tabulate(np.minimum(places, N_BINS - 1), codes[inside], N_BINS, n_classes)


def _tabulate(rows: NDArray[np.intp], columns: Codes, n_rows: int, n_columns: int) -> NDArray[np.intp]:
    return np.bincount(rows * n_columns + columns, minlength=n_rows * n_columns).reshape(n_rows, n_columns)


def _total_variation(joint: Floats, product: Floats) -> Any:
    return np.abs(joint - product).sum() / 2


def _kullback_leibler(joint: Floats, product: Floats) -> Any:
    return rel_entr(joint, product).sum()


def _pearson(joint: Floats, product: Floats) -> Any:
    return np.divide((joint - product) ** 2, product, out=np.zeros_like(product), where=product > 0).sum()


def _squared_hellinger(joint: Floats, product: Floats) -> Any:
    """Without the factor one half."""
    return ((np.sqrt(joint) - np.sqrt(product)) ** 2).sum()


def _jensen_shannon(joint: Floats, product: Floats) -> Any:
    """Without the factor one half."""
    middle = (joint + product) / 2
    return (rel_entr(joint, middle) + rel_entr(product, middle)).sum()


DIVERGENCES: dict[Kind, Callable[[Floats, Floats], Any]] = {
    "tv": _total_variation,
    "kl": _kullback_leibler,
    "pearson": _pearson,
    "hellinger": _squared_hellinger,
    "js": _jensen_shannon,
}
"""Every kind of information by its name."""
