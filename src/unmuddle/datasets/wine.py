"""Wine: 178 rows, 13 columns, 3 classes; ships with scikit-learn, so it is always at hand."""

from __future__ import annotations

from sklearn import datasets

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.registry import Entry, register

SOURCE = "UCI Machine Learning Repository, Wine (Aeberhard and Forina, 1992), by way of scikit-learn"
LICENCE = "CC BY 4.0"


def load_wine() -> Dataset:
    """Chemical analyses of wines from three growers.

    >>> load_wine().X.shape
    (178, 13)
    """
    bunch = datasets.load_wine()
    return Dataset(
        name="wine",
        X=bunch.data,
        y=bunch.target_names[bunch.target],
        feature_names=tuple(bunch.feature_names),
        source=SOURCE,
        licence=LICENCE,
    )


register(
    Entry(
        name="wine",
        load=load_wine,
        title="Wine: chemical analyses of wines from three growers",
        shape="178 x 13, 3 classes",
        source=SOURCE,
        licence=LICENCE,
        at_hand=lambda: "embedded",
    )
)
