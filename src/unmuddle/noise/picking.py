"""How many are picked, and which."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmuddle.noise.checks import check_generator, check_rate


def count_share(n_items: int, rate: float) -> int:
    """Exactly ``round(rate * n_items)``, halves to the even number, as Python rounds.

    >>> count_share(10, 0.3), count_share(5, 0.5)
    (3, 2)
    """
    return round(check_rate(rate) * n_items)


def pick(n_items: int, rate: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of exactly ``round(rate * n_items)`` items; every set of that size is equally likely.

    >>> int(pick(10, 0.3, np.random.default_rng(0)).sum())
    3
    """
    check_generator(rng)
    count = count_share(n_items, rate)
    picked = np.zeros(n_items, dtype=bool)
    picked[rng.permutation(n_items)[:count]] = True
    return picked
