"""Closest points in a row space against linear programming and optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import linprog

from unmuddle.core.norms import L1, L21, Huber, SquaredFrobenius
from unmuddle.core.rowspace import row_basis


def noisy_rows(n, d, r, seed=0):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(d, r)))[0].T
    return 3 * rng.normal(size=(n, r)) @ basis + rng.laplace(0, 0.3, (n, d)), basis


def least_absolute_deviations(row, basis):
    """The minimum of ``sum |row - a basis|`` as a linear program."""
    r, d = basis.shape
    cost = np.concatenate([np.zeros(r), np.ones(d)])
    constraints = np.block([[basis.T, -np.eye(d)], [-basis.T, -np.eye(d)]])
    bounds = [(None, None)] * r + [(0, None)] * d
    return linprog(cost, A_ub=constraints, b_ub=np.concatenate([row, -row]), bounds=bounds).fun


@pytest.mark.parametrize(("d", "r"), [(13, 1), (13, 5), (13, 12), (60, 10)])
def test_under_l1_no_linear_program_finds_a_closer_point(d, r):
    rows, basis = noisy_rows(20, d, r)
    points = L1().closest(rows, basis)
    assert np.allclose((points @ basis.T) @ basis, points)
    lowest = [least_absolute_deviations(row, basis) for row in rows]
    assert np.all(np.abs(rows - points).sum(axis=1) <= np.array(lowest) * (1 + 1e-7))


@pytest.mark.parametrize("norm", [L1(), Huber(0.3)])
def test_spaces_and_rows_of_integers_where_the_point_is_not_unique_are_no_trouble(norm):
    rng = np.random.default_rng(0)
    for _ in range(40):
        basis = row_basis(rng.integers(-1, 2, (2, 5)).astype(float))
        rows = rng.integers(-2, 3, (6, 5)).astype(float)
        points = norm.closest(rows, basis)
        if norm == L1() and len(basis):
            lowest = np.array([least_absolute_deviations(row, basis) for row in rows])
            assert np.all(np.abs(rows - points).sum(axis=1) <= lowest + 1e-7)
        assert np.isfinite(points).all()


@pytest.mark.parametrize("norm", [L1(), Huber(0.3)])
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e99])
def test_rows_of_any_size_have_a_finite_closest_point(norm, size):
    rows, basis = noisy_rows(5, 9, 3)
    assert np.isfinite(norm.closest(rows * size, basis)).all()


@pytest.mark.parametrize("delta", [0.05, 0.4, 5.0])
@pytest.mark.parametrize(("d", "r"), [(13, 5), (60, 10)])
def test_under_huber_the_gradient_vanishes_along_the_space(d, r, delta):
    rows, basis = noisy_rows(20, d, r)
    points = Huber(delta).closest(rows, basis)
    slopes = np.clip((rows - points) / delta, -1, 1)
    assert np.abs(slopes @ basis.T).max() <= 1e-6
    assert np.allclose((points @ basis.T) @ basis, points)


@pytest.mark.parametrize("norm", [SquaredFrobenius(), L21()])
def test_under_norms_of_the_length_the_residual_is_orthogonal(norm):
    rows, basis = noisy_rows(10, 8, 3)
    assert np.abs((rows - norm.closest(rows, basis)) @ basis.T).max() <= 1e-12


@pytest.mark.parametrize("norm", [L1(), Huber(0.5), SquaredFrobenius()])
def test_rows_are_independent_and_points_of_the_space_stay(norm):
    rows, basis = noisy_rows(15, 12, 4)
    rows[3], rows[4], rows[5] = 0.0, basis[0] * 1e6, rows[5] * 1e-9
    together = norm.closest(rows, basis)
    one_by_one = np.vstack([norm.closest(row[None], basis) for row in rows])
    size = np.abs(rows).max(axis=1, keepdims=True) + 1e-30
    assert np.all(np.abs(together - one_by_one) <= 1e-7 * size)
    assert np.allclose(together[4], rows[4])
    assert not together[3].any()


@pytest.mark.parametrize("norm", [L1(), Huber(0.5), SquaredFrobenius()])
def test_the_extreme_spaces_give_zero_and_the_row_itself(norm):
    rows, basis = noisy_rows(5, 6, 6)
    assert np.allclose(norm.closest(rows, basis), rows)
    assert not norm.closest(rows, basis[:0]).any()
    assert norm.closest(rows[:0], basis).shape == (0, 6)


def test_one_gross_cell_does_not_move_a_row_under_l1():
    _, basis = noisy_rows(1, 30, 3)
    row = np.array([[1.0, -2.0, 0.5]]) @ basis
    spoiled = row.copy()
    spoiled[0, 7] += 100.0
    assert np.abs(L1().closest(spoiled, basis) - row).max() <= 1e-6


@pytest.mark.parametrize("shape", [(20, 8), (2000, 80), (80, 2000)])
def test_the_basis_spans_the_rows_and_ignores_residue(shape):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(shape[0], 3)) @ rng.normal(size=(3, shape[1]))
    basis = row_basis(matrix + 1e-11 * rng.normal(size=matrix.shape))
    assert basis.shape == (3, shape[1])
    assert np.allclose(basis @ basis.T, np.eye(3))
    assert np.allclose(matrix @ basis.T @ basis, matrix)


def test_the_basis_of_nothing_is_empty():
    assert row_basis(np.zeros((4, 5))).shape == (0, 5)
