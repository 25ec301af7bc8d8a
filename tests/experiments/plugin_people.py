"""A small set in two parts with noisy labels, as images have them; raw columns of very different sizes."""

import numpy as np

from unmuddle.datasets import Dataset, Entry, register


def load_people():
    rng = np.random.default_rng(3)
    y = rng.permuted(np.arange(150) % 3)
    means = rng.normal(size=(3, 4)) * 3
    X = (means[y] + rng.normal(size=(150, 4))) @ rng.normal(size=(4, 12)) + 0.2 * rng.normal(size=(150, 12))
    test = np.arange(150) >= 100
    noisy = np.where((rng.random(150) < 0.3) & ~test, (y + 1) % 3, y)
    names = tuple(f"f{i}" for i in range(12))
    X = 5 + X * np.arange(1, 13)
    return Dataset("people", X, y, names, "made here", "none needed", "principal", noisy, test)


register(
    Entry("people", load_people, "two parts", "100 + 50 x 12, 3 classes", "made here", "none", lambda: "generated")
)
