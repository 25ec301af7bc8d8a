"""Breast cancer: 569 rows, 30 columns, 2 classes; ships with scikit-learn, so it is always at hand."""

from __future__ import annotations

from sklearn import datasets

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.registry import Entry, register

SOURCE = (
    "UCI Machine Learning Repository, Breast Cancer Wisconsin (Diagnostic) (Wolberg, Street and Mangasarian, 1993), "
    "by way of scikit-learn"
)
LICENCE = "CC BY 4.0"


def load_breast_cancer() -> Dataset:
    """Shapes of cell nuclei in images of benign and malignant tumours.

    >>> load_breast_cancer().X.shape
    (569, 30)
    """
    bunch = datasets.load_breast_cancer()
    return Dataset(
        name="breast-cancer",
        X=bunch.data,
        y=bunch.target_names[bunch.target],
        feature_names=tuple(map(str, bunch.feature_names)),
        source=SOURCE,
        licence=LICENCE,
    )


register(
    Entry(
        name="breast-cancer",
        load=load_breast_cancer,
        title="Breast cancer: shapes of cell nuclei, benign and malignant",
        shape="569 x 30, 2 classes",
        source=SOURCE,
        licence=LICENCE,
        at_hand=lambda: "embedded",
    )
)
