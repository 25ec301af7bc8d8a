"""Noise on labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class NoisyLabels(NamedTuple):
    """Labels after noise, which rows it picked, and which of these really have another label now."""

    values: NDArray[Any]
    selected: NDArray[np.bool_]
    changed: NDArray[np.bool_]


def redraw_uniformly(y: NDArray[Any], rate: float, rng: np.random.Generator) -> NoisyLabels:
    """Pick exactly ``round(rate * n)`` rows and draw their labels anew, uniformly over all classes.

    >>> noisy = redraw_uniformly(np.repeat(["a", "b"], 50), 0.3, np.random.default_rng(0))
    >>> int(noisy.selected.sum()), bool((noisy.changed <= noisy.selected).all())
    (30, True)
    """
    selected = np.zeros(len(y), dtype=bool)
    selected[rng.permutation(len(y))[: round(rate * len(y))]] = True
    values = y.copy()
    values[selected] = rng.choice(np.unique(y), selected.sum())
    return NoisyLabels(values, selected, values != y)
