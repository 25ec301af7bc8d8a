"""Noise on labels keeps to its definition: counts, transition matrices and masks."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmuddle.noise import (
    flip,
    flip_by_features,
    flip_pairs,
    flip_transition,
    pair_transition,
    redraw_by_transition,
    redraw_uniformly,
    uniform_transition,
)

RATES = st.floats(0.0, 1.0)
SEEDS = st.integers(0, 2**32)
LABELS = st.integers(2, 5).flatmap(
    lambda k: st.lists(st.integers(0, k - 1), max_size=40).map(lambda more: np.array([*range(k), *more]))
)
BRIEF = settings(max_examples=60, deadline=None)


def position(y):
    """Features that say something of the class, and more."""
    return np.column_stack([y + np.sin(np.arange(len(y))), np.cos(np.arange(len(y)))])


FLIPS = {
    "flip": flip,
    "pair": flip_pairs,
    "features": lambda y, rate, rng: flip_by_features(y, position(np.unique(y, return_inverse=True)[1]), rate, rng),
}


# ----------------------------------------------------------------------------------------------------------------
# Exact counts


@BRIEF
@given(y=LABELS, rate=RATES, seed=SEEDS)
def test_redrawing_picks_exactly_its_share_of_rows(y, rate, seed):
    noisy = redraw_uniformly(y, rate, np.random.default_rng(seed))
    assert noisy.selected.sum() == round(rate * len(y))
    assert np.array_equal(noisy.changed, noisy.values != y)
    assert not (noisy.changed & ~noisy.selected).any()


@pytest.mark.parametrize("kind", FLIPS)
@BRIEF
@given(y=LABELS, rate=RATES, seed=SEEDS)
def test_flipping_changes_exactly_its_share_of_rows(kind, y, rate, seed):
    noisy = FLIPS[kind](y, rate, np.random.default_rng(seed))
    assert (noisy.values != y).sum() == round(rate * len(y))
    assert np.array_equal(noisy.changed, noisy.values != y)
    assert np.array_equal(noisy.selected, noisy.changed)
    assert set(noisy.values) <= set(y)


# ----------------------------------------------------------------------------------------------------------------
# Transition matrices. All bounds are 5 standard deviations of a multinomial share; exact counts only lessen them.


def seen_transition(y, noisy, n_classes):
    return np.array([[np.mean(noisy[y == i] == j) for j in range(n_classes)] for i in range(n_classes)])


def assert_close_shares(seen, expected, sizes):
    assert np.all(np.abs(seen - expected) <= 5 * np.sqrt(expected * (1 - expected) / sizes))


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(
    ("noise", "transition"),
    [(redraw_uniformly, uniform_transition), (flip, flip_transition), (flip_pairs, pair_transition)],
)
def test_each_kind_follows_its_transition_matrix(noise, transition, rate):
    """Classes of unequal size, so that a wrong direction or a wrong normalisation shows."""
    sizes = np.array([6000, 12000, 18000, 24000])
    y = np.repeat(np.arange(4), sizes)
    T = transition(rate, 4)
    seen = seen_transition(y, noise(y, rate, np.random.default_rng(1)).values, 4)
    assert_close_shares(seen, T, sizes[:, None])
    drawn = seen_transition(y, redraw_by_transition(y, T, np.random.default_rng(2)).values, 4)
    assert_close_shares(drawn, T, sizes[:, None])


def test_transition_matrices_are_what_their_kinds_say():
    uniform, flipped, pair = (make(0.3, 3) for make in (uniform_transition, flip_transition, pair_transition))
    for i in range(3):
        for j in range(3):
            assert uniform[i, j] == pytest.approx(0.1 + 0.7 * (i == j))
            assert flipped[i, j] == pytest.approx(0.7 if i == j else 0.15)
            assert pair[i, j] == pytest.approx({0: 0.7, 1: 0.3, 2: 0.0}[(j - i) % 3])


@BRIEF
@given(rate=RATES, n_classes=st.integers(2, 12))
def test_rows_of_transition_matrices_are_probabilities(rate, n_classes):
    for make in (uniform_transition, flip_transition, pair_transition):
        T = make(rate, n_classes)
        assert T.shape == (n_classes, n_classes)
        assert (T >= 0).all()
        assert np.allclose(T.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_any_transition_matrix_is_followed():
    T = np.array([[0.2, 0.5, 0.3], [0.0, 1.0, 0.0], [0.6, 0.0, 0.4]])
    y = np.repeat([0, 1, 2], 20_000)
    noisy = redraw_by_transition(y, T, np.random.default_rng(3))
    assert_close_shares(seen_transition(y, noisy.values, 3), T, 20_000)
    assert noisy.selected.all()
    assert np.array_equal(noisy.changed, noisy.values != y)


def test_labels_are_drawn_independently():
    """The number of changes in blocks of 10 has the variance of a binomial, 10 * 0.25, not that of an exact count.

    The estimate over 4000 blocks deviates by about variance * sqrt(2 / 4000); 5 of these are the bound.
    """
    y = np.zeros(40_000, dtype=int)
    noisy = redraw_by_transition(y, uniform_transition(1.0, 2), np.random.default_rng(4), classes=[0, 1])
    counts = noisy.changed.reshape(4000, 10).sum(axis=1)
    assert abs(counts.var() - 2.5) < 5 * 2.5 * np.sqrt(2 / 4000)


def test_rows_of_a_matrix_follow_the_classes_as_they_are_given():
    T = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    noisy = redraw_by_transition(["low", "mid", "mid"], T, np.random.default_rng(0), classes=["low", "mid", "highest"])
    assert noisy.values.tolist() == ["mid", "highest", "highest"]
    assert redraw_by_transition(["b", "c", "a"], T, np.random.default_rng(0)).values.tolist() == ["c", "a", "b"]


# ----------------------------------------------------------------------------------------------------------------
# Noise that depends on features: its definition, in loops

SMALL_X = np.array([[0.0, 5.0], [1.0, 5.0], [2.5, 5.0], [4.0, 5.0], [5.0, 5.0], [9.0, 5.0], [2.0, 5.0]])
SMALL_Y = np.array(["a", "a", "a", "b", "b", "c", "c"])


def margins_and_targets(X, y):
    """By the definition; the second column, which is constant, is left out."""
    z = [(x - sum(X[:, 0]) / len(X)) / np.std(X[:, 0]) for x in X[:, 0]]
    classes = sorted(set(y))
    means = {c: np.mean([z[i] for i in range(len(y)) if y[i] == c]) for c in classes}
    margins, targets = [], []
    for i in range(len(y)):
        others = {c: abs(z[i] - means[c]) for c in classes if c != y[i]}
        targets.append(min(others, key=others.get))
        margins.append(abs(z[i] - means[y[i]]) - min(others.values()))
    return np.array(margins), targets


def test_flips_by_features_go_to_the_nearest_other_class():
    noisy = flip_by_features(SMALL_Y, SMALL_X, 1.0, np.random.default_rng(0))
    assert noisy.values.tolist() == margins_and_targets(SMALL_X, SMALL_Y)[1]


def test_flips_by_features_are_drawn_by_their_weights():
    """4000 first picks against exp(z) / sum(exp(z)), and 4000 pairs against drawing one after the other."""
    margins, _ = margins_and_targets(SMALL_X, SMALL_Y)
    weights = np.exp((margins - margins.mean()) / margins.std())
    rng, n = np.random.default_rng(1), len(SMALL_Y)
    firsts = sum(flip_by_features(SMALL_Y, SMALL_X, 1 / n, rng).selected.astype(int) for _ in range(4000))
    assert_close_shares(firsts / 4000, weights / weights.sum(), 4000)
    pairs = sum(flip_by_features(SMALL_Y, SMALL_X, 2 / n, rng).selected.astype(int) for _ in range(4000))
    total = weights.sum()
    either = [
        sum(weights[j] / total * weights[i] / (total - weights[j]) for j in range(n) if j != i) + weights[i] / total
        for i in range(n)
    ]
    assert_close_shares(pairs / 4000, np.array(either), 4000)


def test_flips_by_features_do_not_depend_on_units():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + y[:, None]
    plain = flip_by_features(y, X, 0.3, np.random.default_rng(3))
    other = flip_by_features(y, X * [1e200, 1e-200, 3.0, -1.0] + [0.0, 0.0, 7.0, 1.0], 0.3, np.random.default_rng(3))
    assert np.array_equal(plain.values, other.values)


@pytest.mark.parametrize(
    "X", [np.full((6, 2), 0.1), np.array([[0.1], [0.2], [0.3], [0.1], [0.3], [0.2]])], ids=["constant", "same values"]
)
def test_without_any_difference_between_classes_all_rows_are_alike(X):
    """Margins of classes with the same values differ by rounding only; each row is picked in a sixth of 4000 draws."""
    rng, y = np.random.default_rng(4), np.array([0, 0, 0, 1, 1, 1])
    counts = sum(flip_by_features(y, X, 1 / 6, rng).selected.astype(int) for _ in range(4000))
    assert_close_shares(counts / 4000, np.full(6, 1 / 6), 4000)


# ----------------------------------------------------------------------------------------------------------------
# Every type of label

TYPES = [
    np.array([3, 7, 3, 9]),
    np.array([3, 7, 3, 9], dtype=np.int8),
    np.array(["x", "longer", "x", "z"]),
    np.array(["x", "longer", "x", "z"], dtype=object),
    np.array([0.5, 1.5, 0.5, 2.5]),
    np.array([True, False, True, False]),
]


@pytest.mark.parametrize("y", TYPES, ids=lambda y: str(y.dtype))
def test_every_type_of_label_comes_back_as_it_was_given(y):
    rng = np.random.default_rng(0)
    n_classes = len(set(y.tolist()))
    results = [
        redraw_uniformly(y, 1.0, rng),
        flip(y, 1.0, rng),
        flip_pairs(y, 1.0, rng),
        flip_by_features(y, np.eye(4), 1.0, rng),
        redraw_by_transition(y, flip_transition(1.0, n_classes), rng),
        redraw_by_transition(y, flip_transition(1.0, n_classes), rng, classes=sorted(set(y.tolist()))),
    ]
    for noisy in results[:-1]:
        assert noisy.values.dtype == y.dtype
    for noisy in results:
        assert set(noisy.values.tolist()) <= set(y.tolist())
        assert noisy.changed.tolist() == [a != b for a, b in zip(noisy.values.tolist(), y.tolist(), strict=True)]
    assert all(noisy.changed.all() for noisy in results[1:])


def test_one_class_is_redrawn_as_itself():
    noisy = redraw_uniformly(["a", "a"], 1.0, np.random.default_rng(0))
    assert noisy.selected.all()
    assert not noisy.changed.any()
