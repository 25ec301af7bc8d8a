"""What holds for every kind of noise: named by plain data, repeatable, harmless to its input, clear when it refuses."""

import numpy as np
import pytest
from scipy import sparse

from unmuddle.errors import InvalidDataError, InvalidParameterError
from unmuddle.noise import (
    FEATURE_KINDS,
    LABEL_KINDS,
    add_gaussian,
    flip,
    flip_by_features,
    flip_pairs,
    flip_transition,
    redraw_by_transition,
    redraw_uniformly,
    spoil_cells,
    spoil_features,
    spoil_labels,
    uniform_transition,
)

X = np.random.default_rng(0).normal(size=(60, 5))
Y = np.repeat(["a", "b", "c"], 20)

FEATURE_SETTINGS = {
    "none": {},
    "gaussian": {"sigma": 0.5},
    "laplacian": {"sigma": 0.5},
    "gross": {"rate": 0.3, "size": 4.0},
    "swapped": {"rate": 0.3},
    "rows": {"rate": 0.3, "size": 4.0},
    "missing": {"rate": 0.3},
}
LABEL_SETTINGS = {
    "none": {},
    "uniform": {"rate": 0.6},
    "flip": {"rate": 0.6},
    "pair": {"rate": 0.6},
    "features": {"rate": 0.6},
    "transition": {"T": [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]},
}


def rng(seed=0):
    return np.random.default_rng(seed)


def spoil(kind, X, y, generator):
    """One call for all kinds."""
    if kind in FEATURE_SETTINGS and kind != "none":
        return spoil_features(X, kind, generator, **FEATURE_SETTINGS[kind])
    return spoil_labels(y, kind, generator, X=X, **LABEL_SETTINGS[kind])


KINDS = [*(kind for kind in FEATURE_SETTINGS if kind != "none"), *(kind for kind in LABEL_SETTINGS if kind != "none")]


# ----------------------------------------------------------------------------------------------------------------
# Names


def test_every_kind_is_listed():
    assert tuple(FEATURE_SETTINGS) == FEATURE_KINDS
    assert tuple(LABEL_SETTINGS) == LABEL_KINDS


def test_no_noise_leaves_a_copy():
    for noisy, given in ((spoil_features(X, "none", rng()), X), (spoil_labels(Y, "none", rng()), Y)):
        assert np.array_equal(noisy.values, given)
        assert not np.shares_memory(noisy.values, given)
        assert noisy.changed.shape == given.shape
        assert not noisy.selected.any()
        assert not noisy.changed.any()


def test_a_name_stands_for_its_function():
    named = spoil_features(X, "gross", rng(), rate=0.3, size=4.0)
    assert np.array_equal(named.values, spoil_cells(X, 0.3, 4.0, rng()).values)
    named = spoil_labels(Y, "features", rng(), X=X, rate=0.3)
    assert np.array_equal(named.values, flip_by_features(Y, X, 0.3, rng()).values)


# ----------------------------------------------------------------------------------------------------------------
# Randomness and the caller's arrays


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_the_global_state_does_not(kind):
    first = spoil(kind, X, Y, rng(1))
    state = np.random.get_state()[1].copy()  # noqa: NPY002 - it is looked at only
    again, other = spoil(kind, X, Y, rng(1)), spoil(kind, X, Y, rng(2))
    assert np.array_equal(state, np.random.get_state()[1])  # noqa: NPY002
    floats = first.values.dtype.kind == "f"
    assert np.array_equal(first.values, again.values, equal_nan=floats)
    assert np.array_equal(first.selected, again.selected)
    assert np.array_equal(first.changed, again.changed)
    assert not np.array_equal(first.values, other.values, equal_nan=floats)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", [Y, Y.astype(object)], ids=["text", "object"])
def test_the_callers_arrays_are_left_alone(kind, labels):
    features, labels = X.copy(), labels.copy()
    features.flags.writeable = labels.flags.writeable = False
    noisy = spoil(kind, features, labels, rng())
    assert np.array_equal(features, X)
    assert np.array_equal(labels, Y)
    for given in (features, labels):
        assert not np.shares_memory(noisy.values, given)
    assert noisy.values.flags.writeable


# ----------------------------------------------------------------------------------------------------------------
# Refusals


def with_cell(value):
    spoiled = X.copy()
    spoiled[7, 3] = value
    return spoiled


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: flip(Y, 1.5, rng()), ["rate", "from 0 to 1", "1.5"]),
        (lambda: flip(Y, -0.1, rng()), ["rate", "-0.1"]),
        (lambda: redraw_uniformly(Y, np.nan, rng()), ["rate", "nan"]),
        (lambda: spoil_cells(X, "half", 1.0, rng()), ["rate", "'half'"]),
        (lambda: spoil_cells(X, True, 1.0, rng()), ["rate", "True"]),
        (lambda: spoil_cells(X, 0.1, -1.0, rng()), ["size", "at least 0", "-1.0"]),
        (lambda: add_gaussian(X, -0.5, rng()), ["sigma", "at least 0", "-0.5"]),
        (lambda: add_gaussian(X, np.inf, rng()), ["sigma", "finite", "inf"]),
        (lambda: add_gaussian(X, 10**400, rng()), ["sigma", "finite"]),
        (lambda: add_gaussian(X, None, rng()), ["sigma", "None"]),
        (lambda: spoil_cells(X.astype(np.float32), 0.1, 1e39, rng()), ["finite", "1e+39", "float32", "Standardise"]),
        (lambda: add_gaussian(X, 1.0, 0), ["rng", "Generator", "default_rng"]),
        (lambda: flip(Y, 0.1, np.random), ["rng", "Generator"]),
        (lambda: spoil_features(X, "none", None), ["rng", "None"]),
        (lambda: spoil_labels(Y, "none", 3), ["rng", "3"]),
        (lambda: uniform_transition(0.1, 0), ["n_classes", "at least 1", "0"]),
        (lambda: flip_transition(0.1, 1), ["n_classes", "at least 2", "1"]),
        (lambda: flip_transition(2.0, 2), ["rate", "2.0"]),
        (lambda: uniform_transition(0.1, 2.0), ["n_classes", "integer", "2.0"]),
        (lambda: redraw_by_transition(Y, np.eye(4), rng()), ["T", "3 classes", "(4, 4)", "classes="]),
        (lambda: redraw_by_transition(Y, np.ones((3, 2)), rng()), ["T", "(3, 2)"]),
        (lambda: redraw_by_transition(Y, np.eye(3) * 0.9, rng()), ["T", "sum to 1", "row 0", "0.9"]),
        (lambda: redraw_by_transition(Y, np.eye(3) - 0.1 + 0.3 * np.eye(3)[::-1], rng()), ["T", "at least 0", "-0.1"]),
        (lambda: redraw_by_transition(Y, np.full((3, 3), np.nan), rng()), ["T", "nan"]),
        (lambda: redraw_by_transition(Y, [[1], [1, 2]], rng()), ["T", "numbers"]),
        (lambda: redraw_by_transition(Y, np.eye(3), rng(), classes=["a", "b", "b"]), ["classes", "differ"]),
        (lambda: redraw_by_transition(Y, np.eye(3), 5), ["rng", "5"]),
        (lambda: spoil_features(X, "salt", rng()), ["kind", "feature", "'salt'", *map(repr, FEATURE_KINDS)]),
        (lambda: spoil_labels(Y, ["flip"], rng()), ["kind", "label", "['flip']", *map(repr, LABEL_KINDS)]),
        (lambda: spoil_features(X, "gross", rng(), rate=0.1), ["'gross'", "rate, size", "got: rate"]),
        (lambda: spoil_features(X, "gaussian", rng(), sd=1.0), ["'gaussian'", "sigma", "got: sd"]),
        (lambda: spoil_features(X, "none", rng(), rate=0.1), ["'none'", "must be: none", "rate"]),
        (lambda: spoil_labels(Y, "transition", rng()), ["T, classes (optional)", "got: none"]),
        (lambda: spoil_labels(Y, "features", rng(), rate=0.1), ["X", "'features'", "None"]),
    ],
)
def test_bad_parameters_are_refused_by_name_rule_and_value(call, words):
    with pytest.raises(InvalidParameterError) as raised:
        call()
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: add_gaussian(with_cell(np.nan), 1.0, rng()), ["X", "1 cells", "row 7, column 3", "last"]),
        (lambda: add_gaussian(with_cell(np.inf), 1.0, rng()), ["X", "infinite", "row 7, column 3"]),
        (lambda: add_gaussian(X[0], 1.0, rng()), ["X", "(5,)", "reshape"]),
        (lambda: add_gaussian(X[:0], 1.0, rng()), ["X", "(0, 5)"]),
        (lambda: add_gaussian(np.array([["a"]]), 1.0, rng()), ["X", "numbers", "<U1"]),
        (lambda: add_gaussian([[1.0], [1.0, 2.0]], 1.0, rng()), ["X", "numbers"]),
        (lambda: add_gaussian(sparse.csr_array(X), 1.0, rng()), ["X", "dense", "toarray"]),
        (lambda: flip(np.eye(3), 0.1, rng()), ["y", "(3, 3)", "ravel"]),
        (lambda: flip([], 0.1, rng()), ["y", "(0,)"]),
        (lambda: flip([0.0, np.nan], 0.1, rng()), ["y", "NaN", "Drop"]),
        (lambda: flip(np.array(["a", None], dtype=object), 0.1, rng()), ["y", "sorted", "drop"]),
        (lambda: flip(["a", "a"], 0.0, rng()), ["y", "at least 2 classes", "'a'", "2 rows"]),
        (lambda: flip_pairs([1, 1], 0.5, rng()), ["y", "at least 2 classes"]),
        (lambda: flip_by_features([1, 1], X[:2], 0.5, rng()), ["y", "at least 2 classes"]),
        (lambda: flip_by_features(Y, X[:50], 0.5, rng()), ["50 in X", "60 in y"]),
        (lambda: flip_by_features(Y, with_cell(np.nan), 0.5, rng()), ["X", "row 7, column 3"]),
        (lambda: redraw_by_transition(Y, np.eye(2), rng(), classes=["a", "b"]), ["y", "'c'", "['a', 'b']"]),
    ],
)
def test_bad_data_is_refused_in_words(call, words):
    with pytest.raises(InvalidDataError) as raised:
        call()
    for word in words:
        assert word in str(raised.value)


def test_a_refused_call_draws_nothing():
    generator = rng(9)
    with pytest.raises(InvalidParameterError):
        flip(Y, 2.0, generator)
    assert generator.random() == rng(9).random()
