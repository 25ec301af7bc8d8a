"""Row blocks: map a function over blocks of rows, and add up the small matrices that come back.

Everything large is touched through here, block by block, so the working set stays in the processor's cache, and so
that another engine could hold the blocks elsewhere. Each block is worked on by one thread, and results are added in
the order of the blocks: the number of threads changes nothing in what comes back. Only factorisations of large order
use several BLAS threads, and may differ by rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

from unmuddle.core.prox import Array

BLOCK_ENTRIES, TILE_ENTRIES = 1 << 19, 1 << 17
"""Entries of a block and of a tile of it: 4 MB and 1 MB of doubles. Products like tall blocks, for a Gram matrix as
large as its block costs more to add up than to make; entrywise work likes tiles that stay in the cache."""

SMALL = 400
"""Order from which on a factorisation is worth more than one thread."""

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
        return tuple(reduce(add, items) for items in zip(*self.map(function), strict=True))

    def factorise(self, function: Callable[..., Any], matrix: Array, *rest: Array, **options: object) -> Any:
        """Call a dense factorisation, with all threads if the matrix is large enough to gain by them."""
        if len(matrix) < SMALL or self.n_threads == 1:
            return function(matrix, *rest, **options)
        with self.controller.limit(limits=self.n_threads, user_api="blas"):
            return function(matrix, *rest, **options)


def tiles(block: slice, n_columns: int) -> Iterator[slice]:
    """The rows of a block in pieces for entrywise work."""
    size = max(16, TILE_ENTRIES // n_columns)
    for at in range(block.start, block.stop, size):
        yield slice(at, min(at + size, block.stop))


@contextmanager
def row_workers(n_rows: int, n_columns: int, n_blocks: int | None = None) -> Iterator[Workers]:
    """Workers for a matrix; as many threads as the BLAS had been allowed."""
    controller = ThreadpoolController()
    libraries = controller.select(user_api="blas").info()
    n_threads = max([library["num_threads"] for library in libraries], default=1)
    size = max(1, -(-n_rows // n_blocks)) if n_blocks else max(16, BLOCK_ENTRIES // n_columns)
    blocks = tuple(slice(at, min(at + size, n_rows)) for at in range(0, n_rows, size))
    with ThreadPoolExecutor(n_threads) as pool, controller.limit(limits=1, user_api="blas"):
        yield Workers(blocks, n_threads, controller, pool)
