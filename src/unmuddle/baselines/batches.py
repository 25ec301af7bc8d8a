"""Rows in batches, each in one of them; and sizes rounded up, so that programs are compiled for a few sizes only."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]

LARGEST_BATCH = 128
"""Rows in a batch, where the data have four times as many."""

SMALLEST, SMALLEST_BATCH = 16, 32
"""No size is rounded up to less than this, and no batch to less than that."""

LARGEST_STEP = 128
"""Columns beyond this are rounded up to its multiples."""


def default_batch_size(n_rows: int) -> int:
    """At most 128 rows, and at least four batches."""
    return max(1, min(LARGEST_BATCH, n_rows // 4))


def shuffled_batches(codes: Index, batch_size: int, rng: np.random.Generator) -> list[Index]:
    """All rows in random order, in as few batches as the size allows, none more than a row larger than another."""
    return np.array_split(rng.permutation(len(codes)), -(-len(codes) // batch_size))


def stratified_batches(codes: Index, batch_size: int, rng: np.random.Generator) -> list[Index]:
    """The same with every class in every batch, in fewer and larger batches where a class is rare."""
    order = rng.permutation(len(codes))
    groups = [order[codes[order] == code] for code in np.unique(codes)]
    n_batches = min(-(-len(codes) // batch_size), *map(len, groups))
    dealt: list[list[Index]] = [[] for _ in range(n_batches)]
    first = 0
    for group in groups:
        for place, part in enumerate(np.array_split(group, n_batches)):
            dealt[(first + place) % n_batches].append(part)
        first += len(group)  # odd rows went to the first ones: the next class begins behind them
    return [np.concatenate(parts) for parts in dealt]


def pad_batches(batches: list[Index], filler: int) -> NDArray[np.int32]:
    """One row for each batch, filled up with the number of a row that counts for nothing; sizes are rounded up."""
    shape = round_up(len(batches)), round_up(max(map(len, batches)), SMALLEST_BATCH)
    padded = np.full(shape, filler, dtype=np.int32)
    for row, batch in zip(padded, batches, strict=False):
        row[: len(batch)] = batch
    return padded


def round_up(size: int, least: int = SMALLEST) -> int:
    """The next power of two, at least 16 or so many.

    >>> round_up(3), round_up(16), round_up(17)
    (16, 16, 32)
    """
    return max(least, 1 << (size - 1).bit_length())


def round_columns_up(size: int) -> int:
    """The next power of two, or the next multiple of 128 where that is less.

    >>> round_columns_up(13), round_columns_up(100), round_columns_up(856)
    (16, 128, 896)
    """
    return round_up(size) if size <= LARGEST_STEP else -(-size // LARGEST_STEP) * LARGEST_STEP
