"""What a choice is made from: features and labels as they were given, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unmuddle.core.prox import Array, Mask

Rows = NDArray[np.intp]

NO_LABEL = -1
"""The class number of a row without a label."""


@dataclass(frozen=True)
class Given:
    """Scaled features and labels, one-hot; ``missing`` cells and ``label_weights`` as in ``Problem``.

    Missing cells hold 0, the centre, whatever stood there.
    """

    features: Array
    labels: Array
    missing: Mask | None = None
    label_weights: Array | None = None

    def __post_init__(self) -> None:
        if self.missing is not None and self.features[self.missing].any():
            seen = np.where(self.missing, self.features.dtype.type(0), self.features)
            object.__setattr__(self, "features", seen)

    @property
    def codes(self) -> Rows:
        """The class number of every row."""
        codes = self.labels.argmax(axis=1)
        return codes if self.label_weights is None else np.where(self.label_weights > 0, codes, NO_LABEL)

    def part(self, rows: Rows) -> Given:
        """Some of the rows."""
        missing, weights = self.missing, self.label_weights
        return Given(
            self.features[rows],
            self.labels[rows],
            None if missing is None else missing[rows],
            None if weights is None else weights[rows],
        )
