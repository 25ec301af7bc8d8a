"""How RRL cleans labels: what the neighbours of a row say and what the network says, half and half."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]

FEWEST, MOST = 5, 200
"""Bounds on the number of neighbours; the larger one is the reference's own number."""

ROWS_AT_ONCE, ENTRIES_AT_ONCE = 64, 2**23
"""How many rows are compared with all others at once: few, so that similarities stay in the cache, and never more
similarities than this, 64 MB in double precision."""

GROUPS = 16
"""Groups of columns for each neighbour, when candidates are looked for. More leave fewer candidates, yet groups of one
column are of no use: on few rows it is quicker to weigh all others."""


class Cleaned(NamedTuple):
    """Labels after cleaning: probabilities, their classes, and whether a row is sure enough of its class."""

    soft: Array
    hard: NDArray[np.intp]
    clean: NDArray[np.bool_]


def neighbour_count(n_rows: int, n_classes: int) -> int:
    """A quarter of a class of average size, within bounds, and fewer than there are rows.

    >>> neighbour_count(50_000, 10), neighbour_count(864, 9), neighbour_count(170, 6), neighbour_count(4, 2)
    (200, 24, 7, 3)
    """
    wanted = min(max(round(n_rows / (4 * n_classes)), FEWEST), MOST)
    return max(min(wanted, n_rows - 1), 1)


def prototype_weight(epoch: int, *, start: float = 1.0, end: float = 5.0, epochs: int = 40) -> float:
    """The weight of the prototype loss, which grows by the same amount every epoch until it is ``end``.

    >>> prototype_weight(0), prototype_weight(10), prototype_weight(40), prototype_weight(100)
    (1.0, 2.0, 5.0, 5.0)
    """
    return end if epoch >= epochs else start + (end - start) * epoch / epochs


def neighbour_votes(f: Array, soft: Array, k: int, temperature: float) -> Array:
    """The mean of the soft labels of the k rows nearest by inner product, weighted ``exp(similarity / temperature)``.

    A row is not its own neighbour, and among rows equally near the first ones count. Similarities are computed in the
    precision of f, which must be finite. With no other row to ask, labels stay as they are.
    """
    n, k = len(f), min(k, len(f) - 1)
    votes: Array = np.array(soft, dtype=np.float64)
    if k < 1:
        return votes
    labels = soft.astype(f.dtype)
    group = n // (GROUPS * k)
    for rows in _blocks(n):
        S: Array = (f[rows] / f.dtype.type(temperature)) @ f.T
        S[np.arange(len(S)), np.arange(rows.start, rows.stop)] = -np.inf
        if group > 1:
            S, columns = _candidates(S, k, group)
            votes[rows] = np.einsum("ij,ijc->ic", _weights(S, k), labels[columns])
        else:
            votes[rows] = _weights(S, k) @ labels
    votes /= votes.sum(axis=1, keepdims=True)
    return votes


def start_labels(probabilities: Array, codes: Codes, low: float) -> Array:
    """The first soft labels: the network's, and the given label where the network finds it likelier than ``low``."""
    soft = np.array(probabilities, dtype=np.float64)
    trusted = soft[np.arange(len(soft)), codes] > low
    soft[trusted] = 0.0
    soft[trusted, codes[trusted]] = 1.0
    return soft


def clean_labels(
    f: Array, probabilities: Array, soft: Array, codes: Codes, *, k: int, low: float, high: float, temperature: float
) -> Cleaned:
    """One round of cleaning, from the soft labels of the round before.

    Soft labels become the mean of what neighbours and network say, then the given label wherever that is likelier than
    ``low``. A row is clean if its likeliest class is likelier than ``high``.
    """
    mixed = (neighbour_votes(f, soft, k, temperature) + probabilities) / 2
    soft = start_labels(mixed, codes, low)
    return Cleaned(soft, soft.argmax(axis=1), soft.max(axis=1) > high)


def _blocks(n: int) -> Iterator[slice]:
    size = max(min(ROWS_AT_ONCE, ENTRIES_AT_ONCE // n), 1)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _weights(S: Array, k: int) -> Array:
    """``exp(S)`` over that of the largest in its row for the k largest of each row, zero elsewhere."""
    largest = np.partition(S, S.shape[1] - k, axis=1)[:, -k:]
    last = largest.min(axis=1, keepdims=True)
    kept = last <= S
    for row in np.flatnonzero(np.count_nonzero(kept, axis=1) > k):
        tied = np.flatnonzero(S[row] == last[row])
        kept[row, tied[np.count_nonzero(largest[row] == last[row]) :]] = False
    W = S - largest.max(axis=1, keepdims=True)
    np.exp(W, out=W)
    W *= kept
    return W


def _candidates(S: Array, k: int, group: int) -> tuple[Array, NDArray[np.intp]]:
    """All entries that can be among the k largest of their row, and a few more: their values and columns, in order.

    The maxima of disjoint groups of columns are entries of the row, so its k-th largest is no smaller than theirs.
    Rows with fewer candidates than others are filled up with minus infinity.
    """
    m, n = S.shape
    n_groups = n // group
    maxima = S[:, : group * n_groups].reshape(m, group, n_groups).max(axis=1)
    bound = np.partition(maxima, n_groups - k, axis=1)[:, n_groups - k, None]
    rows, columns = np.divmod(np.flatnonzero(bound <= S), n)
    counts = np.bincount(rows, minlength=m)
    places = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    values = np.full((m, counts.max()), -np.inf, dtype=S.dtype)
    where = np.zeros(values.shape, dtype=np.intp)
    values[rows, places], where[rows, places] = S[rows, columns], columns
    return values, where
