"""Cleaning labels by neighbours: the reference's own values, and a loop that knows only the definition."""

import numpy as np
import pytest

from unmuddle.baselines.relabel import (
    ENTRIES_AT_ONCE,
    clean_labels,
    neighbour_count,
    neighbour_votes,
    prototype_weight,
    start_labels,
)

# Rows 0 and 5 are equally near to row 2, rows 1 and 3 to row 5, and the reference takes the first of them. A nudge,
# less than the digits given, lets no rounding decide otherwise.
ANGLES = np.deg2rad([0, 10, 25, 90 + 3e-7, 100, 50 + 1e-7])
F = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
CODES = np.array([0, 0, 1, 1, 1, 1])
PROBABILITIES = np.array([[0.9, 0.1], [0.8, 0.2], [0.95, 0.05], [0.7, 0.3], [0.1, 0.9], [0.55, 0.45]])
MIXED = {
    0.1: [
        [0.93912615, 0.06087385],
        [0.88789324, 0.11210676],
        [0.975, 0.025],
        [0.35, 0.65],
        [0.05, 0.95],
        [0.75962994, 0.24037006],
    ],
}
MIXED[0.4] = [*MIXED[0.1][:4], [0.31519219, 0.68480781], MIXED[0.1][5]]
HARD = {0.1: [0, 0, 0, 1, 1, 1], 0.4: [0, 0, 0, 1, 1, 0]}
CLEAN = {0.1: [True] * 6, 0.4: [True] * 5 + [False]}


def unit_rows(n, d, seed=0):
    Z = np.random.default_rng(seed).standard_normal((n, d))
    return Z / np.linalg.norm(Z, axis=1, keepdims=True)


def soft_labels(n, K, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(K), n)


def votes_by_loop(f, soft, k, temperature):
    """One row at a time, sorted; distinct similarities only."""
    votes = []
    for i in range(len(f)):
        others = sorted((j for j in range(len(f)) if j != i), key=lambda j: -(f[i] @ f[j]))[:k]
        weights = [np.exp(f[i] @ f[j] / temperature) for j in others]
        votes.append(sum(w * soft[j] for w, j in zip(weights, others, strict=True)) / sum(weights))
    return np.array(votes)


# ----------------------------------------------------------------------------------------------------------------
# Values of the reference


@pytest.mark.parametrize("low", [0.1, 0.4])
def test_votes_and_probabilities_mix_as_in_the_reference(low):
    votes = neighbour_votes(F, start_labels(PROBABILITIES, CODES, low), 2, 0.3)
    np.testing.assert_allclose((votes + PROBABILITIES) / 2, MIXED[low], atol=6e-9)


@pytest.mark.parametrize("low", [0.1, 0.4])
def test_cleaned_labels_are_those_of_the_reference(low):
    start = start_labels(PROBABILITIES, CODES, low)
    cleaned = clean_labels(F, PROBABILITIES, start, CODES, k=2, low=low, high=0.9, temperature=0.3)
    mixed = np.array(MIXED[low])
    trusted = mixed[np.arange(6), CODES] > low
    np.testing.assert_allclose(cleaned.soft, np.where(trusted[:, None], np.eye(2)[CODES], mixed), atol=6e-9)
    assert cleaned.hard.tolist() == HARD[low]
    assert cleaned.clean.tolist() == CLEAN[low]


@pytest.mark.parametrize(("epoch", "weight"), [(0, 1.0), (1, 1.1), (10, 2.0), (39, 4.9), (40, 5.0), (199, 5.0)])
def test_the_weight_of_prototypes_grows_as_in_the_reference(epoch, weight):
    assert prototype_weight(epoch) == pytest.approx(weight, abs=1e-12)


def test_the_given_label_is_kept_exactly_where_it_is_likelier_than_low():
    soft = start_labels(np.array([[0.25, 0.75], [0.2, 0.8], [0.1, 0.9]]), np.array([0, 0, 1]), 0.2)
    assert soft.tolist() == [[1.0, 0.0], [0.2, 0.8], [0.0, 1.0]]


# ----------------------------------------------------------------------------------------------------------------
# Votes


@pytest.mark.parametrize(("n", "k"), [(2, 1), (7, 3), (60, 1), (90, 2), (90, 20), (90, 89), (200, 3)])
@pytest.mark.parametrize("temperature", [0.3, 0.002])
def test_votes_are_those_of_a_loop_over_sorted_neighbours(n, k, temperature):
    f, soft = unit_rows(n, 5), soft_labels(n, 4)
    votes = neighbour_votes(f, soft, k, temperature)
    np.testing.assert_allclose(votes, votes_by_loop(f, soft, k, temperature), rtol=1e-9)


@pytest.mark.parametrize(("n", "k"), [(90, 20), (1000, 4)])
def test_single_precision_gives_the_same_votes_to_its_rounding(n, k):
    f, soft = unit_rows(n, 5).astype(np.float32), soft_labels(n, 3)
    votes = neighbour_votes(f, soft, k, 0.3)
    assert votes.dtype == np.float64
    np.testing.assert_allclose(votes, neighbour_votes(f.astype(float), soft, k, 0.3), atol=1e-5)


@pytest.mark.parametrize(("n", "k"), [(6, 3), (300, 4), (300, 200)])
def test_votes_add_up_to_one(n, k):
    votes = neighbour_votes(unit_rows(n, 3).astype(np.float32), soft_labels(n, 5), k, 0.3)
    np.testing.assert_allclose(votes.sum(axis=1), 1.0, rtol=1e-12)


def test_a_row_does_not_vote_for_itself_even_among_its_copies():
    f, soft = np.ones((3, 2)) / np.sqrt(2), np.eye(3)
    np.testing.assert_allclose(neighbour_votes(f, soft, 2, 0.3), (1 - np.eye(3)) / 2, rtol=1e-12)


@pytest.mark.parametrize("copies", [4, 200])
def test_of_rows_equally_near_the_first_ones_vote(copies):
    f = np.array([[1.0, 0.0], [0.75, 0.5], *[[0.5, 0.75]] * copies, [0.0, 1.0]])
    soft = np.tile([0.0, 1.0], (len(f), 1))
    soft[:3] = [1.0, 0.0]
    near, far = np.exp(0.75 / 0.3), np.exp(0.5 / 0.3)
    assert neighbour_votes(f, soft, 3, 0.3)[0, 1] == pytest.approx(far / (near + 2 * far), rel=1e-12)


def test_more_neighbours_than_rows_are_all_other_rows():
    f, soft = unit_rows(6, 3), soft_labels(6, 2)
    np.testing.assert_array_equal(neighbour_votes(f, soft, 200, 0.3), neighbour_votes(f, soft, 5, 0.3))


def test_a_row_alone_keeps_its_label():
    assert neighbour_votes(np.ones((1, 2)), np.array([[0.3, 0.7]]), 5, 0.3).tolist() == [[0.3, 0.7]]


def test_rows_of_zeros_are_equally_near():
    soft = soft_labels(5, 2)
    votes = neighbour_votes(np.zeros((5, 3), dtype=np.float32), soft, 2, 0.3)
    firsts = [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]
    np.testing.assert_allclose(votes, [soft[pair].mean(axis=0) for pair in firsts], rtol=1e-6)


def test_what_is_given_is_not_written_to():
    f, soft, probabilities = F.copy(), PROBABILITIES.copy(), PROBABILITIES.copy()
    clean_labels(f, probabilities, soft, CODES, k=2, low=0.1, high=0.9, temperature=0.3)
    assert np.array_equal(f, F)
    assert np.array_equal(soft, PROBABILITIES)
    assert np.array_equal(probabilities, PROBABILITIES)


def test_similarities_held_at_once_stay_within_64_megabytes():
    assert ENTRIES_AT_ONCE * 8 <= 64 * 2**20


# ----------------------------------------------------------------------------------------------------------------
# The number of neighbours


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "k"),
    [(50_000, 10, 200), (4000, 3, 200), (864, 9, 24), (171, 6, 7), (30, 3, 5), (4, 2, 3), (2, 2, 1), (1, 1, 1)],
)
def test_neighbours_are_a_quarter_of_a_class_within_bounds(n_rows, n_classes, k):
    assert neighbour_count(n_rows, n_classes) == k
