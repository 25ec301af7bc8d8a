"""Singular values and thresholding through Gram matrices, against LAPACK's SVD."""

import numpy as np
import pytest

import oracles
from unmuddle.core import spectrum
from unmuddle.core.spectrum import Shrinkage, Spectrum


def low_rank(shape, rank=20, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))


@pytest.mark.parametrize("shape", [(900, 200), (200, 900), (40, 7), (7, 40)])
def test_singular_values_agree_with_the_direct_ones(shape):
    matrix = low_rank(shape)
    direct = np.linalg.svd(matrix, compute_uv=False)
    assert np.allclose(spectrum.singular_values(matrix), direct, atol=1e-9 * direct[0])
    assert spectrum.nuclear_norm(matrix) == pytest.approx(direct.sum(), rel=1e-10)
    assert spectrum.spectral_norm(matrix) == pytest.approx(direct[0], rel=1e-12)


@pytest.mark.parametrize("shape", [(900, 200), (200, 900), (40, 7)])
def test_row_blocks_add_up_to_the_spectrum_of_the_whole(shape):
    matrix = low_rank(shape)
    parts = [Spectrum.of(block, shape) for block in np.array_split(matrix, 3)]
    direct = np.linalg.svd(matrix, compute_uv=False)
    assert np.allclose((parts[0] + parts[1] + parts[2]).singular_values(), direct, atol=1e-9 * direct[0])


@pytest.mark.parametrize("step", [1e-9, 5.0, 20.0, 40.0, 1e3])
@pytest.mark.parametrize("rank", [None, 3])
def test_thresholding_as_a_map_on_rows_agrees_with_the_svd(step, rank):
    """A guess at the rank changes how eigenvectors are found, not what they are; a wrong guess does no harm."""
    S = np.random.default_rng(0).normal(size=(900, 200))
    expected = oracles.shrink_singular_values(S, step)
    for found in (Shrinkage.of_gram(S.T @ S, step, rank), Shrinkage.of_rows(S, step)):
        X = found.map()(S)
        assert np.allclose(X, expected, atol=1e-9)
        assert np.allclose(found.gram(), expected.T @ expected, atol=1e-7)
        assert np.allclose(S.T @ S @ found.times(np.eye(200)), S.T @ expected, atol=1e-7)
        assert found.rank == np.sum(np.linalg.svd(S, compute_uv=False) > step)
        assert np.array_equal(found.map()(S, np.empty_like(S)), X)


def test_steps_below_the_resolution_of_a_gram_matrix_need_the_rows():
    U, V = (np.linalg.qr(np.random.default_rng(seed).normal(size=(400, 3)))[0] for seed in (0, 1))
    S, step = (U * [1.0, 1e-3, 3e-9]) @ V.T, 1e-9
    expected = (U * [1.0 - step, 1e-3 - step, 2e-9]) @ V.T
    assert np.abs(Shrinkage.of_rows(S, step).map()(S) - expected).max() < 1e-15
