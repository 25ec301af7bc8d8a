"""What every loader of a table returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Scale = Literal["standard", "spread", "principal", None]
"""How experiments scale a set for every method alike.

``"standard"`` centres each column and divides it by its standard deviation, ``"spread"`` only divides, so that zeros
stay zeros, ``"principal"`` is ``principal_features`` with up to 512 columns, and ``None`` leaves all as it is.
"""


@dataclass(frozen=True)
class Dataset:
    """Features and clean labels with names, source and licence.

    ``y_noisy`` holds the labels that people gave, wrong ones among them, where a set comes with such.
    ``test`` marks the rows of the test part, where a set comes in two parts; their noisy labels are the clean ones.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[Any]
    feature_names: tuple[str, ...]
    source: str
    licence: str
    scale: Scale = "standard"
    y_noisy: NDArray[Any] | None = None
    test: NDArray[np.bool_] | None = None
