"""Robust PCA: published recovery cases, a case without random numbers, other packages, a negative control."""

import contextlib
import io

import numpy as np
import pytest
import skpcp

from oracles import relative_error, spiked
from unmuddle.core.rpca import decompose


def without_random_numbers():
    i, j = np.meshgrid(np.arange(40), np.arange(30), indexing="ij")
    low_rank = np.cos(0.3 * i) * np.sin(0.2 * j + 1) + 0.5 * np.sin(0.7 * i) * np.cos(0.5 * j)
    return low_rank, np.where((7 * i + 11 * j) % 37 == 0, 4.0 * (-1.0) ** (i + j), 0.0)


@pytest.mark.parametrize(
    ("m", "n", "rank", "share"),
    [(100, 100, 5, 0.05), (200, 200, 10, 0.05), (200, 200, 10, 0.1), (500, 50, 3, 0.05)],
)
def test_low_rank_and_spikes_are_recovered_exactly(m, n, rank, share):
    low_rank, sparse = spiked(m, n, rank, share)
    found = decompose(low_rank + sparse, weight=1 / np.sqrt(max(m, n)))
    assert found.converged
    assert found.n_iter <= 25
    assert relative_error(found.low_rank, low_rank) < 1e-6
    assert np.linalg.matrix_rank(found.low_rank, tol=1e-6 * np.linalg.norm(low_rank, 2)) == rank
    assert np.array_equal(np.abs(found.sparse) > 1e-3, sparse != 0)


def test_the_case_without_random_numbers_has_its_known_objective():
    low_rank, sparse = without_random_numbers()
    assert np.count_nonzero(sparse) == 32
    found = decompose(low_rank + sparse, weight=1 / np.sqrt(40))
    assert found.n_iter == 14
    assert found.objective == pytest.approx(45.901504, abs=2e-6)
    assert relative_error(found.low_rank, low_rank) < 1e-6


def test_other_packages_find_the_same_low_rank_part():
    pyrpca = pytest.importorskip("pyrpca")  # wants a newer scipy than our lower bound
    low_rank, sparse = without_random_numbers()
    M = low_rank + sparse
    found = decompose(M, weight=1 / np.sqrt(40)).low_rank
    with contextlib.redirect_stdout(io.StringIO()):
        theirs, _ = pyrpca.rpca_pcp_ialm(M, 1 / np.sqrt(40))
    assert relative_error(found, theirs) < 1e-5
    assert relative_error(found, skpcp.PCP(max_iter=500, tol=1e-9).fit(M).low_rank_) < 1e-5


def test_too_much_corruption_is_not_recovered():
    """The negative control: a method that passed this would be cheating."""
    low_rank, sparse = spiked(200, 200, 40, 0.3)
    found = decompose(low_rank + sparse, weight=1 / np.sqrt(200))
    assert relative_error(found.low_rank, low_rank) > 0.3


def test_zero_is_split_into_zeros():
    found = decompose(np.zeros((4, 3)), weight=0.5)
    assert found.converged
    assert not found.low_rank.any()
