"""Digits: 1797 rows, 64 columns, 10 classes; ships with scikit-learn, so it is always at hand."""

from __future__ import annotations

import numpy as np
from sklearn import datasets

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.registry import Entry, register

SOURCE = (
    "UCI Machine Learning Repository, Optical Recognition of Handwritten Digits (Alpaydin and Kaynak, 1998), "
    "the test part, by way of scikit-learn"
)
LICENCE = "CC BY 4.0"


def load_digits() -> Dataset:
    """Handwritten digits of 8 x 8 pixels from 0 to 16; three pixels at the edge are 0 in every row.

    >>> load_digits().X.shape
    (1797, 64)
    """
    bunch = datasets.load_digits()
    return Dataset(
        name="digits",
        X=np.asarray(bunch.data, dtype=np.float64),
        y=bunch.target,
        feature_names=tuple(bunch.feature_names),
        source=SOURCE,
        licence=LICENCE,
    )


register(
    Entry(
        name="digits",
        load=load_digits,
        title="Digits: handwritten, 8 x 8 pixels",
        shape="1797 x 64, 10 classes",
        source=SOURCE,
        licence=LICENCE,
        at_hand=lambda: "embedded",
    )
)
