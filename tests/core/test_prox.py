"""Every proximal map against a numerical minimiser of its definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from unmuddle.core import prox
from unmuddle.core.norms import L1, L21, Huber, HuberRows, SquaredFrobenius, Zero

numbers = st.floats(-5, 5, allow_nan=False).map(lambda x: round(x, 6))
steps = st.floats(0.01, 5).map(lambda x: round(x, 6))
deltas = st.floats(0.05, 3).map(lambda x: round(x, 6))

BY_ENTRY = {
    "l1": lambda x, delta: abs(x),
    "frobenius": lambda x, delta: x * x,
    "huber": lambda x, delta: oracles.huber_scalar(abs(x), delta),
}


def entry_norm(name, delta):
    return {"l1": L1(), "frobenius": SquaredFrobenius(), "huber": Huber(delta)}[name]


def row_norm(name, delta):
    return {"l21": L21(), "huber_rows": HuberRows(delta)}[name]


@pytest.mark.parametrize("name", BY_ENTRY)
@given(value=numbers, step=steps, delta=deltas)
@settings(max_examples=60, deadline=None)
def test_prox_by_entry_is_the_minimiser_of_its_definition(name, value, step, delta):
    def objective(x):
        return step * BY_ENTRY[name](x, delta) + (x - value) ** 2 / 2

    found = entry_norm(name, delta).prox(np.array([[value]]), step)[0, 0]
    assert abs(found - oracles.minimiser_in_one_variable(objective, -6, 6)) <= 1e-9 * max(1, abs(value))


@pytest.mark.parametrize("name", BY_ENTRY)
@given(value=numbers, step=steps, delta=deltas, lower=st.floats(-2, 0), upper=st.floats(0, 2))
@settings(max_examples=40, deadline=None)
def test_bounded_prox_by_entry_is_the_minimiser_of_its_definition(name, value, step, delta, lower, upper):
    def objective(x):
        return step * BY_ENTRY[name](x, delta) + (x - value) ** 2 / 2

    bounds = np.array([[lower]]), np.array([[upper]])
    found = entry_norm(name, delta).prox_between(np.array([[value]]), step, *bounds)[0, 0]
    assert abs(found - oracles.minimiser_in_one_variable(objective, lower, upper)) <= 1e-9 * max(1, abs(value))


@pytest.mark.parametrize("name", ["l21", "huber_rows"])
@given(row=st.lists(numbers, min_size=2, max_size=3), step=steps, delta=deltas)
@settings(max_examples=20, deadline=None)
def test_prox_by_row_attains_the_minimum_in_its_definition(name, row, step, delta):
    row = np.array(row)

    def objective(x):
        return step * oracles.norm_value(name, x[None], delta) + np.sum((x - row) ** 2) / 2

    found = row_norm(name, delta).prox(row[None], step)[0]
    lowest = oracles.brute_force_minimum(objective, [row, np.zeros_like(row), found])
    assert objective(found) <= lowest + 1e-9


@pytest.mark.parametrize("name", ["l21", "huber_rows"])
@given(direction=st.lists(numbers, min_size=3, max_size=3), length=st.floats(0.01, 5), step=steps, delta=deltas)
@settings(max_examples=40, deadline=None)
def test_prox_by_row_is_the_minimiser_along_the_row(name, direction, length, step, delta):
    """Turning a row turns its minimiser, so that lies on the row's own line: a problem in one variable."""
    unit = np.array([1.0, *direction]) / np.linalg.norm([1.0, *direction])
    cost = abs if name == "l21" else (lambda r: oracles.huber_scalar(abs(r), delta))
    best = oracles.minimiser_in_one_variable(lambda r: step * cost(r) + (r - length) ** 2 / 2, -6, 6)
    found = row_norm(name, delta).prox(length * unit[None], step)[0]
    assert np.abs(found - best * unit).max() <= 1e-9 * max(1, length)


@given(values=st.lists(st.floats(0.01, 5), min_size=3, max_size=3), step=steps, seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_singular_value_thresholding_is_the_minimiser_in_each_singular_value(values, step, seed):
    """Turning a matrix turns its minimiser, so the singular values are problems in one variable each."""
    rng = np.random.default_rng(seed)
    U, V = np.linalg.qr(rng.normal(size=(5, 3)))[0], np.linalg.qr(rng.normal(size=(3, 3)))[0]
    best = [oracles.minimiser_in_one_variable(lambda t, v=v: step * abs(t) + (t - v) ** 2 / 2, -6, 6) for v in values]
    found = prox.prox_nuclear((U * values) @ V.T, step)
    assert np.abs(found - (U * best) @ V.T).max() <= 1e-9 * max(1, *values)


@pytest.mark.parametrize("name", ["l21", "huber_rows"])
@given(row=st.lists(st.floats(-2, 2), min_size=3, max_size=3), step=steps, delta=deltas, label=st.integers(0, 2))
@settings(max_examples=20, deadline=None)
def test_prox_by_row_inside_the_box_attains_the_minimum_in_its_definition(name, row, step, delta, label):
    row, given_label = np.array(row), np.eye(3)[label]
    lower, upper = given_label - 1, given_label

    def objective(x):
        x = np.clip(x, lower, upper)
        return step * oracles.norm_value(name, x[None], delta) + np.sum((x - row) ** 2) / 2

    found = row_norm(name, delta).prox_between(row[None], step, lower[None], upper[None])[0]
    assert np.all(found >= lower)
    assert np.all(found <= upper)
    lowest = oracles.brute_force_minimum(objective, [row, np.zeros(3), found])
    assert objective(found) <= lowest + 1e-9


@given(entries=st.lists(numbers, min_size=4, max_size=4), step=steps)
@settings(max_examples=20, deadline=None)
def test_singular_value_thresholding_attains_the_minimum_in_its_definition(entries, step):
    matrix = np.array(entries).reshape(2, 2)

    def objective(x):
        # (s1 + s2)^2 = s1^2 + s2^2 + 2 s1 s2, so two rows and columns need no SVD
        nuclear = np.sqrt(np.sum(x**2) + 2 * abs(x[0] * x[3] - x[1] * x[2]))
        return step * nuclear + np.sum((x - matrix.ravel()) ** 2) / 2

    found = prox.prox_nuclear(matrix, step)
    lowest = oracles.brute_force_minimum(objective, [matrix, found])
    assert objective(found.ravel()) <= lowest + 1e-9


@given(st.integers(1, 6), st.integers(1, 6), steps, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_what_thresholding_removes_is_a_subgradient_of_the_nuclear_norm(n, d, step, seed):
    matrix = np.random.default_rng(seed).normal(size=(n, d))
    found = prox.threshold_singular_values(matrix, step)
    subgradient = (matrix - found.matrix) / step
    assert np.linalg.norm(subgradient, 2) <= 1 + 1e-9
    assert abs(np.vdot(subgradient, found.matrix) - found.singular_values.sum()) <= 1e-9
    assert np.isclose(np.linalg.norm(found.matrix, "nuc"), found.singular_values.sum(), atol=1e-9)


@given(value=numbers)
def test_the_box_gives_the_nearest_point_in_it(value):
    nearest = oracles.minimiser_in_one_variable(lambda x: (x - value) ** 2, 0, 1)
    assert abs(prox.prox_box(np.array([[value]]))[0, 0] - nearest) <= 1e-9 * max(1, abs(value))


def test_no_error_is_allowed_under_the_norm_none():
    assert not Zero().prox(np.ones((2, 3)), 0.1).any()
    assert not Zero().prox_between(np.ones((2, 3)), 0.1, np.zeros((2, 3)), np.ones((2, 3))).any()


@pytest.mark.parametrize("name", ["l1", "frobenius", "huber", "l21", "huber_rows"])
def test_values_are_those_of_the_definitions(name):
    E = np.random.default_rng(0).normal(size=(7, 4))
    norm = entry_norm(name, 0.7) if name in BY_ENTRY else row_norm(name, 0.7)
    assert np.isclose(norm.value(E), oracles.norm_value(name, E, 0.7), rtol=1e-13)


def test_huber_is_the_infimal_convolution_of_squares_and_absolute_values():
    """``min over u of u^2 / (2 delta) + |e - u|``, on a fine grid."""
    delta, grid = 0.6, np.linspace(-4, 4, 80001)
    for e in (-3.1, -0.6, 0.2, 1.7):
        convolved = np.min(grid**2 / (2 * delta) + np.abs(e - grid))
        assert abs(Huber(delta).value(np.array([[e]])) - convolved) <= 1e-7


def test_prox_of_zero_rows_is_zero_without_a_warning():
    assert not prox.prox_l21(np.zeros((3, 2)), 0.5).any()
    assert not L21().prox_between(np.zeros((3, 2)), 0.5, -np.ones((3, 2)), np.ones((3, 2))).any()


@pytest.mark.parametrize("norm", [L1(), L21(), SquaredFrobenius(), Huber(0.7), HuberRows(0.7), Zero()])
def test_a_prox_into_a_given_array_is_the_same_and_leaves_its_argument_alone(norm):
    errors = np.random.default_rng(0).normal(size=(6, 4))
    before, out = errors.copy(), np.full_like(errors, np.nan)
    assert norm.prox(errors, 0.4, out) is out
    assert np.array_equal(out, norm.prox(errors, 0.4))
    assert np.array_equal(errors, before)


@pytest.mark.parametrize("shape", [(320, 220), (220, 320), (250, 250), (2000, 210)])
@pytest.mark.parametrize("kind", ["noise", "low rank", "ill-conditioned", "zero"])
@pytest.mark.parametrize("relative_step", [0.3, 1e-2, 1e-5, 1e-9])
def test_large_matrices_are_thresholded_as_by_their_singular_value_decomposition(shape, kind, relative_step):
    rng = np.random.default_rng(0)
    matrix = {
        "noise": rng.normal(size=shape),
        "low rank": rng.normal(size=(shape[0], 5)) @ rng.normal(size=(5, shape[1])),
        "ill-conditioned": rng.normal(size=shape) * np.logspace(0, -9, shape[1]),
        "zero": np.zeros(shape),
    }[kind]
    U, s, Vt = np.linalg.svd(matrix, full_matrices=False)
    step = relative_step * max(s[0], 1.0)
    found = prox.threshold_singular_values(matrix, step)
    expected = (U * np.maximum(s - step, 0)) @ Vt
    assert np.linalg.norm(found.matrix - expected, 2) <= 1e-12 * max(s[0], 1.0)
    assert found.singular_values.sum() == pytest.approx(np.maximum(s - step, 0).sum(), rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("size", [1e-170, 1e-30, 1e30, 1e160])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_matrices_of_any_size_and_precision_are_thresholded_without_a_warning(size, dtype):
    matrix = (
        np.random.default_rng(0).normal(size=(250, 210)) * min(size, 1e30 if dtype == np.float32 else np.inf)
    ).astype(dtype)
    found = prox.threshold_singular_values(matrix, 0.0)
    assert np.abs(found.matrix - matrix).max() <= 30 * np.finfo(dtype).eps * np.abs(matrix).max() * np.sqrt(250)
