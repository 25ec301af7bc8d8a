"""Waveform: 5000 rows, 21 columns, 3 classes; the file of UCI, version 1, and Breiman's generator of its like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.registry import Entry, register
from unmuddle.datasets.table import Table, entry_of, load_table
from unmuddle.errors import InvalidParameterError

GENERATOR_SOURCE = "Breiman, Friedman, Olshen and Stone, Classification and Regression Trees, 1984, pages 49-55"
PAIRS = ((0, 1), (0, 2), (1, 2))
"""The two base waves of which each class is a mixture."""

WAVEFORM = Table(
    name="waveform",
    title="Waveform: mixtures of two of three waves, with noise",
    feature_names=tuple(f"x{number}" for number in range(1, 22)),
    counts={0: 1657, 1: 1647, 2: 1696},
    source="UCI Machine Learning Repository, Waveform Database Generator, Version 1 (Breiman and Stone, 1988)",
    licence="CC BY 4.0",
    file_sha256="96813adf47012d2921d1a4a598ed15037ca655607d377ba40d55dec6148937f8",
    content_sha256="0949c68331b87ff51141f7e4045b6e4968b244841b11767accbb681343d2f6a8",
    raw_file="waveform.data",
    # OpenML's waveform-5000 (60) is version 2: 40 columns, and other draws in the first 21 of them.
    remedy=(
        "Or fetch waveform.data.Z from https://archive.ics.uci.edu/dataset/107, unpack it by `gzip -d` and put "
        "waveform.data there. make_waveform() draws data of the same kind without any file."
    ),
)


def load_waveform() -> Dataset:
    """The 5000 waves that UCI publishes as version 1; labels 0, 1, 2."""
    return load_table(WAVEFORM)


def make_waveform(n_samples: int = 5000, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Draw waves: a random mixture of the two base waves of a random class, plus standard normal noise.

    >>> waves = make_waveform(n_samples=6, random_state=0)
    >>> waves.X.shape, waves.y.tolist()
    ((6, 21), [2, 1, 1, 0, 0, 0])
    """
    if n_samples < 1:
        raise InvalidParameterError(f"n_samples must be at least 1, got {n_samples!r}.")
    rng = np.random.default_rng(random_state)
    y = rng.integers(3, size=n_samples)
    first, second = base_waves()[np.array(PAIRS)[y]].transpose(1, 0, 2)
    share = rng.random((n_samples, 1))
    return Dataset(
        name="waveform-generated",
        X=share * first + (1.0 - share) * second + rng.standard_normal((n_samples, 21)),
        y=y,
        feature_names=WAVEFORM.feature_names,
        source=GENERATOR_SOURCE,
        licence="none needed: generated",
    )


def base_waves() -> NDArray[np.float64]:
    """Three triangles of height 6, in rows, with peaks at the points 7, 15 and 11 of 1 to 21.

    The book numbers them otherwise; in this order the classes have the numbers that they have in the file of UCI.

    >>> base_waves().argmax(axis=1) + 1
    array([ 7, 15, 11])
    """
    points, peaks = np.arange(1, 22), np.array([[7], [15], [11]])
    return np.maximum(6.0 - np.abs(points - peaks), 0.0)


def load_generated() -> Dataset:
    """The same 5000 generated waves at every call."""
    return make_waveform(random_state=0)


register(entry_of(WAVEFORM, load_waveform))
register(
    Entry(
        name="waveform-generated",
        load=load_generated,
        title="Waveform, drawn by Breiman's generator",
        shape="5000 x 21, 3 classes",
        source=GENERATOR_SOURCE,
        licence="none needed: generated",
        at_hand=lambda: "generated",
    )
)
