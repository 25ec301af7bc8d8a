"""Breiman's generator, against its closed form and against the file that the original wrote."""

import numpy as np
import pytest

from unmuddle.datasets import load_waveform, make_waveform
from unmuddle.errors import InvalidParameterError

POINTS = range(1, 22)


def triangle(i):
    return max(6 - abs(i - 11), 0)


H1 = np.array([triangle(i) for i in POINTS])
H2 = np.array([triangle(i - 4) for i in POINTS])
H3 = np.array([triangle(i + 4) for i in POINTS])
CLASSES = {0: (H2, H3), 1: (H1, H3), 2: (H1, H2)}  # the numbers of the classes are those of the file, not of the book


def moments(label):
    """Mean and covariance of u a + (1 - u) b + noise, with u uniform on [0, 1], whose variance is 1/12."""
    a, b = CLASSES[label]
    return (a + b) / 2, np.outer(a - b, a - b) / 12 + np.eye(21)


def assert_has_moments(X, label):
    """Within five standard errors, taken as if the waves were normal; they are less spread than that."""
    mean, covariance = moments(label)
    spread = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(X.mean(axis=0) - mean) < 5 * spread / np.sqrt(len(X)))
    errors = np.sqrt((np.outer(spread, spread) ** 2 + covariance**2) / len(X))
    assert np.all(np.abs(np.cov(X.T) - covariance) < 5 * errors)


@pytest.mark.parametrize("label", CLASSES)
def test_generated_waves_have_the_moments_of_their_class(label):
    waves = make_waveform(n_samples=60_000, random_state=1)
    assert_has_moments(waves.X[waves.y == label], label)


@pytest.mark.parametrize("label", CLASSES)
def test_the_file_has_the_same_moments_under_the_same_labels(known, label):
    waves = load_waveform()
    assert_has_moments(waves.X[waves.y == label], label)


def test_the_file_tells_the_classes_apart(known):
    """Its mean of every class is far from the closed form of the other two, so labels cannot be exchanged."""
    waves = load_waveform()
    means = [waves.X[waves.y == label].mean(axis=0) for label in CLASSES]
    distances = [[np.linalg.norm(mean - moments(label)[0]) for label in CLASSES] for mean in means]
    assert np.argmin(distances, axis=1).tolist() == [0, 1, 2]
    assert np.min(distances + 9 * np.eye(3)) > 20 * np.max(np.diag(distances))


def test_classes_are_equally_likely():
    sizes = np.bincount(make_waveform(n_samples=30_000, random_state=2).y)
    assert np.all(np.abs(sizes - 10_000) < 5 * np.sqrt(30_000 * 2 / 9))


def test_a_seed_determines_all_and_a_generator_moves_on():
    first, again, other = (make_waveform(50, random_state=seed).X for seed in (3, 3, 4))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    rng = np.random.default_rng(3)
    assert np.array_equal(make_waveform(50, random_state=rng).X, first)
    assert not np.array_equal(make_waveform(50, random_state=rng).X, first)


def test_no_samples_are_refused():
    with pytest.raises(InvalidParameterError, match="n_samples must be at least 1, got 0"):
        make_waveform(n_samples=0)
