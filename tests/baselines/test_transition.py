"""The transition matrix from neighbours: exact frequencies and their inversion, counts by loops, odd data."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from unmuddle.baselines import transition
from unmuddle.baselines.transition import (
    Transition,
    consensus_of,
    count_consensus,
    estimate_transition,
    solve_transition,
)

FIXTURE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.15, 0.25, 0.6]])
PRIOR = np.array([0.5, 0.3, 0.2])


def symmetric(n_classes, rate=0.4):
    return np.where(np.eye(n_classes, dtype=bool), 1 - rate, rate / (n_classes - 1))


def pair(n_classes, rate=0.3):
    T = (1 - rate) * np.eye(n_classes)
    for i in range(n_classes):
        T[i, (i + 1) % n_classes] += rate
    return T


def error(found, true):
    """Mean over classes of the total variation between the rows."""
    return np.abs(found - true).sum() / (2 * len(true))


def blobs(n, T, prior, seed, spread=0.3):
    """Well separated classes, one axis each, and labels drawn from the rows of T."""
    rng = np.random.default_rng(seed)
    clean = rng.choice(len(prior), n, p=prior)
    X = 3 * np.eye(len(prior))[clean] + spread * rng.normal(size=(n, len(prior)))
    return X, np.array([rng.choice(len(prior), p=T[k]) for k in clean])


def assert_proper(found, n_classes):
    assert found.matrix.shape == (n_classes, n_classes)
    for rows in (found.matrix, found.prior[None]):
        assert np.isfinite(rows).all()
        assert (rows >= 0).all()
        assert np.allclose(rows.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert 0 <= found.noise_rate <= 1
    assert np.isfinite(found.residual)


# ----------------------------------------------------------------------------------------------------------------
# The model


def test_the_implied_frequencies_are_the_published_ones():
    implied = consensus_of(FIXTURE, PRIOR)
    assert np.allclose(implied.first, [0.41, 0.39, 0.20], rtol=0, atol=1e-15)
    second = [[0.2525, 0.1015, 0.056], [0.1015, 0.2245, 0.064], [0.056, 0.064, 0.08]]
    assert np.allclose(implied.second, second, rtol=0, atol=1e-15)
    of_first = [[0.172475, 0.052525, 0.0275], [0.052525, 0.035075, 0.0139], [0.0275, 0.0139, 0.0146]]
    assert np.allclose(implied.third[0], of_first, rtol=0, atol=1e-15)
    for frequencies in (implied.first, implied.second, implied.third):
        assert frequencies.sum() == pytest.approx(1, abs=1e-15)


def test_the_implied_frequencies_are_sums_over_clean_classes():
    rng = np.random.default_rng(0)
    T, prior = rng.dirichlet(np.ones(4), 4), rng.dirichlet(np.ones(4))
    implied = consensus_of(T, prior)
    for i, j, l in product(range(4), repeat=3):
        assert implied.third[i, j, l] == pytest.approx(sum(prior[k] * T[k, i] * T[k, j] * T[k, l] for k in range(4)))
        assert implied.second[i, j] == pytest.approx(sum(prior[k] * T[k, i] * T[k, j] for k in range(4)))
        assert implied.first[i] == pytest.approx(sum(prior[k] * T[k, i] for k in range(4)))


# ----------------------------------------------------------------------------------------------------------------
# Inversion


@pytest.mark.parametrize("make", [symmetric, pair])
@pytest.mark.parametrize("n_classes", [2, 3, 6, 10])
def test_exact_frequencies_give_the_matrix_back(make, n_classes):
    T, prior = make(n_classes), np.full(n_classes, 1 / n_classes)
    found = solve_transition(consensus_of(T, prior), np.random.default_rng(0))
    assert error(found.matrix, T) < 1e-5
    assert np.abs(found.prior - prior).max() < 1e-5
    assert found.residual < 1e-5


def test_exact_frequencies_of_unequal_classes_give_matrix_prior_and_noise_rate_back():
    """The noise rate is .5 * .3 + .3 * .2 + .2 * .4 = .29."""
    for seed in range(5):
        found = solve_transition(consensus_of(FIXTURE, PRIOR), np.random.default_rng(seed))
        assert error(found.matrix, FIXTURE) < 1e-5
        assert np.abs(found.prior - PRIOR).max() < 1e-5
        assert found.noise_rate == pytest.approx(0.29, abs=1e-5)


def test_classes_are_put_in_the_order_that_keeps_most_labels(monkeypatch):
    """A descent that ends at the truth with its clean classes turned round is turned back."""
    turned = np.log(np.vstack([FIXTURE[[2, 0, 1]], PRIOR[[2, 0, 1]]])).ravel()
    monkeypatch.setattr(transition, "_descend", lambda start, target: transition.OptimizeResult(x=turned, fun=0.0))
    found = solve_transition(consensus_of(FIXTURE, PRIOR), np.random.default_rng(0))
    assert np.allclose(found.matrix, FIXTURE, rtol=0, atol=1e-12)
    assert np.allclose(found.prior, PRIOR, rtol=0, atol=1e-12)
    assert found.residual < 1e-12


@pytest.mark.parametrize("n_classes", [1, 2, 3, 6])
def test_the_gradient_is_that_of_central_differences(n_classes):
    """Differences of step 1e-6 leave errors of about 1e-10; the entries are between 1e-3 and 1."""
    rng = np.random.default_rng(n_classes)
    triples = rng.dirichlet(np.ones(n_classes**3)).reshape((n_classes,) * 3)
    counted = transition.Consensus(triples.sum(axis=(1, 2)), triples.sum(axis=2), triples)
    target, parameters = transition._symmetrise(counted), rng.normal(size=n_classes * (n_classes + 1))

    def value(at):
        return transition._loss(at, target)[0]

    steps = 1e-6 * np.eye(len(parameters))
    differences = [(value(parameters + step) - value(parameters - step)) / 2e-6 for step in steps]
    gradient = transition._loss(parameters, target)[1]
    assert np.abs(gradient - differences).max() < 1e-8
    assert np.abs(gradient - approx_fprime(parameters, value, 1e-7)).max() < 1e-5


def test_symmetric_frequencies_shift_the_misfit_by_a_constant():
    """So the minimiser is that of the counted frequencies, which tell a row from its neighbours."""
    rng = np.random.default_rng(3)
    triples = rng.dirichlet(np.ones(27)).reshape(3, 3, 3)
    counted = transition.Consensus(triples.sum(axis=(1, 2)), triples.sum(axis=2), triples)
    shifts = []
    for _ in range(4):
        T, prior = rng.dirichlet(np.ones(3), 3), rng.dirichlet(np.ones(3))
        implied = consensus_of(T, prior)
        full = sum(
            np.sum((getattr(implied, part) - getattr(counted, part)) ** 2) for part in ("first", "second", "third")
        )
        shifts.append(full - transition._misfit(T, prior, transition._symmetrise(counted))[0])
    assert np.ptp(shifts) < 1e-15


# ----------------------------------------------------------------------------------------------------------------
# Counting


def count_by_loops(X, codes, n_classes):
    """Labels of every row, of its nearest other row by cosine, and of the next."""
    counts = np.zeros((n_classes,) * 3)
    for i in range(len(X)):
        cosines = {j: X[i] @ X[j] / np.sqrt(X[i] @ X[i] * (X[j] @ X[j])) for j in range(len(X)) if j != i}
        nearest, second = sorted(cosines, key=cosines.get, reverse=True)[:2]
        counts[codes[i], codes[nearest], codes[second]] += 1
    return counts / len(X)


def test_one_round_on_all_rows_counts_what_loops_count():
    """2 K^2 = 50 is more than the 40 rows, so all of them take part."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), rng.integers(5, size=40)
    expected = count_by_loops(X, codes, 5)
    found = count_consensus(X, codes, 5, np.random.default_rng(1), rounds=1)
    assert np.allclose(found.third, expected, rtol=0, atol=1e-15)
    assert np.allclose(found.second, expected.sum(axis=2), rtol=0, atol=1e-15)
    assert np.allclose(found.first, expected.sum(axis=(1, 2)), rtol=0, atol=1e-15)


def test_chunks_of_rows_do_not_change_the_counts(monkeypatch):
    rng = np.random.default_rng(2)
    X, codes = rng.normal(size=(90, 4)), rng.integers(3, size=90).astype(np.int8)
    whole = count_consensus(X, codes, 3, np.random.default_rng(3))
    monkeypatch.setattr(transition, "CHUNK", 100)
    assert np.array_equal(whole.third, count_consensus(X, codes, 3, np.random.default_rng(3)).third)


def test_a_round_takes_half_of_the_rows():
    """The first frequencies are multiples of 1 / 50, and those of 50 rounds have the mean of all rows."""
    rng = np.random.default_rng(4)
    X, codes = rng.normal(size=(100, 2)), np.repeat([0, 1], [30, 70])
    once = count_consensus(X, codes, 2, rng, rounds=1).first * 50
    assert np.allclose(once, once.round(), rtol=0, atol=1e-12)
    assert count_consensus(X, codes, 2, rng).first[0] == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / 100 / 50))


def test_a_row_is_never_its_own_neighbour_among_duplicates():
    """Six places, two rows of different label at each: the nearest of a row is always the other one."""
    X = np.repeat(np.random.default_rng(5).normal(size=(6, 8)), 2, axis=0)
    codes = np.tile([0, 1], 6)
    for seed in range(5):
        found = count_consensus(X, codes, 3, np.random.default_rng(seed), rounds=1)
        assert np.allclose(found.second, [[0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]], rtol=0, atol=1e-15)


def test_rows_of_zeros_are_counted_with_others_than_themselves():
    """Three labels, three rows of zeros: each meets the two others, so triples are the six permutations."""
    found = count_consensus(np.zeros((3, 4)), np.arange(3), 3, np.random.default_rng(6))
    for i, j, l in product(range(3), repeat=3):
        assert (found.third[i, j, l] > 0) == (len({i, j, l}) == 3)
    assert found.third.sum() == pytest.approx(1)


# ----------------------------------------------------------------------------------------------------------------
# Estimates


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_separate_classes_give_the_matrix_within_sampling_error(seed):
    X, codes = blobs(4000, FIXTURE, PRIOR, seed)
    found = estimate_transition(X, codes, 3, np.random.default_rng(seed))
    assert_proper(found, 3)
    assert error(found.matrix, FIXTURE) < 0.04
    assert found.noise_rate == pytest.approx(0.29, abs=0.04)


def test_clean_labels_of_separate_classes_give_the_identity():
    X, codes = blobs(600, np.eye(3), PRIOR, 0)
    found = estimate_transition(X, codes, 3, np.random.default_rng(0))
    assert error(found.matrix, np.eye(3)) < 1e-3
    assert np.abs(found.prior - np.bincount(codes) / 600).max() < 0.01


def test_weights_of_zero_take_a_misleading_column_out():
    X, codes = blobs(500, FIXTURE, PRIOR, 1)
    misled = np.column_stack([X, 100 * np.random.default_rng(2).normal(size=(500, 5))])
    plain = estimate_transition(X, codes, 3, np.random.default_rng(3), rounds=5)
    weighted = estimate_transition(
        misled, codes, 3, np.random.default_rng(3), weights=np.repeat([1.0, 0.0], [3, 5]), rounds=5
    )
    assert np.allclose(weighted.matrix, plain.matrix, rtol=0, atol=1e-6)


def test_shrinking_mixes_in_the_identity():
    X, codes = blobs(300, FIXTURE, PRIOR, 2)
    plain, half, whole = (
        estimate_transition(X, codes, 3, np.random.default_rng(0), shrink=shrink, rounds=5) for shrink in (0, 0.5, 1)
    )
    assert np.allclose(half.matrix, (plain.matrix + np.eye(3)) / 2, rtol=0, atol=1e-15)
    assert np.array_equal(whole.matrix, np.eye(3))
    assert half.noise_rate == pytest.approx(plain.noise_rate / 2)


def test_the_same_seed_gives_the_same_estimate():
    X, codes = blobs(200, FIXTURE, PRIOR, 3)
    first, again = (estimate_transition(X, codes, 3, np.random.default_rng(7), rounds=5) for _ in range(2))
    assert np.array_equal(first.matrix, again.matrix)
    assert np.array_equal(first.prior, again.prior)


def test_the_noise_rate_weighs_classes_by_their_prior():
    assert Transition(FIXTURE, PRIOR, 0.0).noise_rate == pytest.approx(0.29)
    assert Transition(FIXTURE, np.array([0.0, 0.0, 1.0]), 0.0).noise_rate == pytest.approx(0.4)


@pytest.mark.parametrize("n", [3, 4, 7, 20])
@pytest.mark.parametrize("n_classes", [1, 2, 7])
def test_few_rows_give_probabilities(n, n_classes):
    """Seven classes want 98 rows in a round, more than there are."""
    rng = np.random.default_rng(n)
    X, codes = rng.normal(size=(n, 3)), rng.integers(n_classes, size=n)
    assert_proper(estimate_transition(X, codes, n_classes, rng), n_classes)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_rows_for_two_neighbours_give_the_identity(n):
    found = estimate_transition(np.ones((n, 2)), np.zeros(n, dtype=int), 3, np.random.default_rng(0))
    assert_proper(found, 3)
    assert np.array_equal(found.matrix, np.eye(3))


@pytest.mark.parametrize("rare", [0, 1, 3])
def test_rare_and_absent_classes_give_probabilities(rare):
    """Classes 2 to 4 have this many rows each, the two others 100."""
    codes = np.repeat(np.arange(5), [100, 100, rare, rare, rare])
    X = np.random.default_rng(rare).normal(size=(len(codes), 4)) + 3 * np.eye(5)[codes, :4]
    assert_proper(estimate_transition(X, codes, 5, np.random.default_rng(0)), 5)


@pytest.mark.parametrize("X", [np.zeros((60, 4)), np.ones((60, 4)), np.repeat(np.eye(4), 15, axis=0)])
def test_equal_rows_give_probabilities(X):
    codes = np.random.default_rng(0).integers(3, size=60)
    assert_proper(estimate_transition(X, codes, 3, np.random.default_rng(0)), 3)
