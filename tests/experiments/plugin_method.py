"""A method added in one file: the most frequent label. Others that fail, die or lack a package, for the tests."""

import os

import numpy as np

from unmuddle.experiments import Answer, method


@method("majority", "most frequent label")
def majority(task):
    values, counts = np.unique(task.y, return_counts=True)
    winner = values[counts.argmax()]
    return Answer(predict=lambda X: np.full(len(X), winner))


@method("nearest", "nearest class mean", settings=lambda task: [{"shrink": 0.9}, {"shrink": 0.0}])
def nearest(task, setting):
    classes = np.unique(task.y)
    means = np.array([task.X[task.y == label].mean(axis=0) for label in classes]) * (1 - setting["shrink"])
    noise = 1e-9 * np.random.default_rng(task.seed).normal(size=means.shape)
    return Answer(predict=lambda X: classes[((X[:, None] - means - noise) ** 2).sum(axis=2).argmin(axis=1)])


@method("broken", "always fails")
def broken(task):
    raise ValueError("no | luck\ntoday")


@method("deadly", "kills its process")
def deadly(task):
    os._exit(17)


@method("lacking", "needs a package", requires="a_package_that_is_not_there", needs="experiments")
def lacking(task):
    raise AssertionError("must not be called")
