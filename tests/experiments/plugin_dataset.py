"""A dataset added in one file."""

import numpy as np

from unmuddle.datasets import Dataset, Entry, register


def load_blobs():
    rng = np.random.default_rng(0)
    y = np.repeat(["left", "right", "up"], 30)
    plane = np.repeat([[-4.0, 0.0], [4.0, 0.0], [0.0, 6.0]], 30, axis=0) + rng.normal(size=(90, 2))
    X = plane @ rng.normal(size=(2, 8)) + 0.3 * rng.normal(size=(90, 8))
    return Dataset("blobs", X, y, tuple("abcdefgh"), source="made here", licence="none needed")


register(
    Entry(
        "blobs", load_blobs, "three blobs near a plane", "90 x 8, 3 classes", "made here", "none", lambda: "generated"
    )
)
