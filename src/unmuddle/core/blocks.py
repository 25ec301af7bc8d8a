"""Row blocks: map a function over blocks of rows, and add up the small matrices that come back.

Everything large is touched through here, block by block, so the working set stays in the processor's cache, and so
that another engine could hold the blocks elsewhere. Each block is worked on by one thread, and results are added in
the order of the blocks: the number of threads changes nothing in what comes back. Only factorisations of large order
use several BLAS threads, and may differ by rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike
from threadpoolctl import ThreadpoolController

from unmuddle.core.prox import Array

BLOCK_ENTRIES, TILE_ENTRIES = 1 << 22, 1 << 17
"""Most entries of a block, and of a tile of it: 32 MB and 1 MB of doubles. Gram matrices want tall blocks, for one as
large as its block costs more to add up than to make; entrywise work wants tiles that stay in the cache."""

SMALL = 1500
"""Order from which on a factorisation is worth more than one thread. BLAS threads go on spinning for a while after
their work is done, and slow down the row blocks that come next."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Workers:
    """Maps functions over row blocks, with one thread for each block and the BLAS kept from adding its own."""

    blocks: tuple[slice, ...]
    n_threads: int
    controller: ThreadpoolController
    pool: ThreadPoolExecutor

    def map(self, function: Callable[[slice], Result]) -> list[Result]:
        """Call the function on every block; results in the order of the blocks."""
        if len(self.blocks) == 1 or self.n_threads == 1:
            return [function(block) for block in self.blocks]
        return list(self.pool.map(function, self.blocks))

    def total(self, function: Callable[[slice], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Add up, item by item, what the function returns for each block."""
        return add_up(self.map(function))

    def total_of_tiles(self, function: Callable[[slice], tuple[Any, ...]], n_columns: int) -> tuple[Any, ...]:
        """The same for a function of small tiles, for one that works with many arrays of their size."""
        return self.total(lambda block: add_up(function(rows) for rows in tiles(block, 4 * n_columns)))

    def factorise(self, function: Callable[..., Any], matrix: Array, *rest: Any) -> Any:
        """Call a dense factorisation, with all threads if the matrix is large enough to gain by them."""
        if len(matrix) < SMALL or self.n_threads == 1:
            return function(matrix, *rest)
        with self.controller.limit(limits=self.n_threads, user_api="blas"):
            return function(matrix, *rest)


def add_up(parts: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    """Add up tuples item by item, in their order, each as it comes."""
    return reduce(lambda total, part: tuple(map(add, total, part)), parts)


class Scratch(threading.local):
    """Work arrays of the size of a tile, for each thread its own: fresh memory costs more than the work done in it."""

    def __init__(self, count: int, n_columns: int, dtype: DTypeLike) -> None:
        self.count, self.n_columns, self.dtype = count, n_columns, dtype
        self.arrays = list[Array]()

    def take(self, rows: slice) -> list[Array]:
        """The arrays, cut to the length of a tile."""
        if not self.arrays:
            shape = tile_rows(self.n_columns), self.n_columns
            self.arrays = [np.empty(shape, self.dtype) for _ in range(self.count)]
        return [array[: rows.stop - rows.start] for array in self.arrays]


def tile_rows(n_columns: int) -> int:
    """Rows of a full tile."""
    return max(16, TILE_ENTRIES // n_columns)


def tiles(block: slice, n_columns: int) -> Iterator[slice]:
    """The rows of a block in pieces for entrywise work."""
    size = tile_rows(n_columns)
    for at in range(block.start, block.stop, size):
        yield slice(at, min(at + size, block.stop))


@contextmanager
def row_workers(n_rows: int, n_columns: int, n_blocks: int | None = None) -> Iterator[Workers]:
    """Workers for a matrix; as many threads as the BLAS had been allowed."""
    controller = ThreadpoolController()
    libraries = controller.select(user_api="blas").info()
    n_threads = max([library["num_threads"] for library in libraries], default=1)
    size = max(1, -(-n_rows // (n_blocks or _count_blocks(n_rows, n_columns))))
    blocks = tuple(slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size))
    with ThreadPoolExecutor(n_threads, initializer=_be_quiet) as pool, controller.limit(limits=1, user_api="blas"):
        yield Workers(blocks, n_threads, controller, pool)


def _count_blocks(n_rows: int, n_columns: int) -> int:
    """One for what fits a tile, else an even number, which two or four threads share evenly."""
    entries = n_rows * n_columns
    return 1 if entries <= TILE_ENTRIES else 2 * -(-entries // (2 * BLOCK_ENTRIES))


def _be_quiet() -> None:
    """Iterates that overflow are noticed by what they return, in threads as in the main one."""
    np.seterr(over="ignore", invalid="ignore")
