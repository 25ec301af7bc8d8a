"""Information of features about noisy labels: published values, a theorem on noise, and definitions in loops."""

from math import log, sqrt

import numpy as np
import pytest

from unmuddle.baselines.information import DIVERGENCES, f_information, feature_information, feature_weights

JOINT = np.array([[0.10, 0.02, 0.03], [0.05, 0.20, 0.05], [0.02, 0.08, 0.15], [0.13, 0.07, 0.10]])
LINE = np.linspace(-1, 1, 400)
FLIPPED = np.where(np.arange(400) % 5 == 0, LINE <= 0, LINE > 0).astype(int)
REFERENCE = {"kl": 0.20398576, "tv": 0.29794154, "pearson": 0.37444292, "hellinger": 0.11058624, "js": 0.10861455}

TERMS = {
    "tv": lambda j, q: abs(j - q) / 2,
    "kl": lambda j, q: j * log(j / q),
    "pearson": lambda j, q: (j - q) ** 2 / q,
    "hellinger": lambda j, q: (sqrt(j) - sqrt(q)) ** 2,
    "js": lambda j, q: j * log(2 * j / (j + q)) + q * log(2 * q / (j + q)),
}


def information_by_loops(joint, kind, floor=0.0):
    """The definition over all cells, with ``floor`` added to the table and to the product of its marginals."""
    total = 0.0
    for i in range(joint.shape[0]):
        for j in range(joint.shape[1]):
            product = sum(joint[i]) * sum(joint[:, j])
            total += TERMS[kind](joint[i, j] + floor, product + floor)
    return total


def flip_symmetrically(joint, rate):
    """Every label keeps its class by 1 - rate, and goes to each other class equally often."""
    others = joint.sum(axis=1, keepdims=True) - joint
    return (1 - rate) * joint + rate / (joint.shape[1] - 1) * others


# ----------------------------------------------------------------------------------------------------------------
# Tables


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_each_kind_is_its_definition_summed_over_cells(kind):
    assert f_information(JOINT, kind) == pytest.approx(information_by_loops(JOINT, kind), abs=1e-14)
    assert f_information(1000 * JOINT, kind) == pytest.approx(information_by_loops(JOINT, kind), abs=1e-14)


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_cells_of_probability_0_add_their_limit(kind):
    joint = np.array([[0.5, 0.0, 0.1], [0.0, 0.0, 0.0], [0.2, 0.2, 0.0]])
    assert f_information(joint, kind) == pytest.approx(information_by_loops(joint, kind, floor=1e-30), abs=1e-12)


@pytest.mark.parametrize("kind", DIVERGENCES)
def test_independence_is_no_information_and_neither_is_an_empty_table(kind):
    assert f_information(np.outer([0.2, 0.3, 0.5], [0.6, 0.4]), kind) == pytest.approx(0, abs=1e-15)
    assert f_information(np.zeros((3, 2)), kind) == 0.0
    assert f_information(np.array([[3, 7, 1]]), kind) == 0.0


def test_symmetric_noise_shrinks_total_variation_by_a_known_factor():
    """By 1 - K e / (K - 1), at K = 3 and e = 0.3 that is 0.55."""
    before, after = f_information(JOINT), f_information(flip_symmetrically(JOINT, 0.3))
    assert (before, after) == pytest.approx((0.2525, 0.138875), abs=1e-15)
    assert after / before == pytest.approx(0.55, abs=1e-15)


def test_symmetric_noise_shrinks_kullback_leibler_as_published():
    before, after = f_information(JOINT, "kl"), f_information(flip_symmetrically(JOINT, 0.3), "kl")
    assert (before, after) == pytest.approx((0.16679043, 0.04946866), abs=5e-9)


@pytest.mark.parametrize(("e0", "e1"), [(0.1, 0.3), (0.4, 0.0), (0.25, 0.25)])
def test_any_noise_on_two_classes_shrinks_total_variation_by_1_less_both_rates(e0, e1):
    joint = np.array([[0.30, 0.05], [0.10, 0.15], [0.15, 0.25]])
    noisy = joint @ np.array([[1 - e0, e0], [e1, 1 - e1]])
    assert f_information(noisy) == pytest.approx((1 - e0 - e1) * f_information(joint), abs=1e-15)


# ----------------------------------------------------------------------------------------------------------------
# Columns


@pytest.mark.parametrize("kind", REFERENCE)
def test_a_column_in_equal_bins_has_the_published_information(kind):
    assert feature_information(LINE[:, None], FLIPPED, 2, kind)[0] == pytest.approx(REFERENCE[kind], abs=5e-9)


def test_equal_bins_are_those_of_numpy_and_drop_what_is_outside():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(700, 3)), rng.integers(4, size=700)
    found = feature_information(X, codes, 4, "kl")
    for column in range(3):
        edges = np.linspace(*np.percentile(X[:, column], [0.5, 99.5]), 64)
        counts = np.histogram2d(X[:, column], codes, bins=[edges, np.arange(5) - 0.5])[0]
        assert counts.sum() == 692
        assert found[column] == pytest.approx(information_by_loops(counts / 692, "kl", floor=1e-18), abs=1e-12)
    edges = np.linspace(*np.percentile(LINE, [0.5, 99.5]), 64)
    assert np.histogram(LINE, edges)[0].sum() == 396


def test_a_rare_count_has_its_information_in_discrete_bins_only():
    """3 ones in 1000 rows, all of class 1 of two equal classes: joint (.5, .497; 0, .003), so I_TV = .003."""
    column = np.zeros((1000, 1))
    column[-3:] = 1
    codes = np.repeat([0, 1], 500)
    assert feature_information(column, codes, 2, bins="equal")[0] == pytest.approx(0, abs=1e-15)
    assert feature_information(column, codes, 2, bins="discrete")[0] == pytest.approx(0.003, abs=1e-15)
    assert feature_information(column, codes, 2, bins="auto")[0] == pytest.approx(0.003, abs=1e-15)


def test_automatic_bins_are_discrete_up_to_63_distinct_values():
    codes = np.arange(640) % 7 % 3
    few, many = np.arange(640) % 63, np.arange(640) % 64
    X = np.column_stack([few, many]) ** 2.0  # so that bins of equal width hold several values
    equal, discrete, auto = (feature_information(X, codes, 3, "kl", bins) for bins in ("equal", "discrete", "auto"))
    assert auto.tolist() == [discrete[0], equal[1]]
    assert discrete[0] != equal[0]
    assert discrete[1] != equal[1]


@pytest.mark.parametrize("bins", ["equal", "discrete", "auto"])
@pytest.mark.parametrize("kind", DIVERGENCES)
def test_a_constant_column_has_no_information(kind, bins):
    codes = np.array([0, 2, 1, 0, 0, 2, 1])
    assert feature_information(np.full((7, 2), 0.1), codes, 3, kind, bins).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_hardly_any_rows_still_have_a_finite_information(n):
    X, codes = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 2
    for bins in ("equal", "discrete", "auto"):
        assert np.isfinite(feature_information(X, codes, 2, "kl", bins)).all()


def test_classes_without_a_row_and_narrow_integers_change_nothing():
    wide = feature_information(LINE[:, None], FLIPPED, 2)
    assert feature_information(LINE[:, None], FLIPPED.astype(np.int8), 150)[0] == pytest.approx(wide[0], abs=1e-15)


# ----------------------------------------------------------------------------------------------------------------
# Weights


def test_weights_run_from_nearly_0_to_1_and_keep_the_proportions():
    weights = feature_weights(np.array([0.1, 0.3, 0.2]))
    assert weights == pytest.approx([1e-8 / (0.2 + 1e-8), 1.0, (0.1 + 1e-8) / (0.2 + 1e-8)], rel=1e-7)


def test_features_of_equal_information_have_equal_weights():
    assert feature_weights(np.full(4, 0.25)).tolist() == [1.0] * 4
    assert feature_weights(np.zeros(2)).tolist() == [1.0] * 2
