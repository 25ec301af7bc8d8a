"""Theorem 2 against arithmetic done by hand, and against suprema found by trying every pattern of signs."""

from dataclasses import fields, replace
from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unmuddle.core.bound import Norms, bound_risk
from unmuddle.errors import InvalidParameterError

ONES = Norms(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
NAMES = [field.name for field in fields(Norms)]

sizes = st.floats(0, 1e6)
shapes = st.tuples(st.integers(1, 10_000), st.integers(1, 500), st.integers(2, 50))
rises = st.floats(1e-3, 1e6)


def by_hand():
    """Norms of X = diag(3, 2, 1) over a row of zeros, Z = diag(1/4, 1/4, 1/2), and errors in the last two rows."""
    return Norms(
        X_nuclear=3 + 2 + 1,
        Z_nuclear=0.25 + 0.25 + 0.5,
        given_frobenius=4.5,  # 9 + 4 + (1 + 1 + 1) + (4 + 0.25) = 20.25
        E_f_entrywise=1 + 1 + 2 + 0.5,
        E_l_rows=0.25 + 0.5 + 0.5 + 1,
        E_f_induced=1 + 2,
        XZ_frobenius=sqrt(0.75**2 + 0.5**2 + 0.5**2),
    )


def test_the_example_of_four_rows_three_columns_and_three_classes_worked_by_hand():
    # n c = 12, ln 3 = 1.0986122886681098, ln 8 = 2.0794415416798359, ln 20 = 2.9957322735539910
    bound = bound_risk(4, 3, 3, by_hand(), delta=0.05, lipschitz=2.0, loss_bound=3.0)
    expected = {
        "label_term": 1.1791654582142306,  # 2.25 sqrt(3 ln 3 / 12) = 2.25 * 0.5240735369841025
        "nuclear_term": 2.4976638334730933,  # 6 * 1 * sqrt(ln(2 * 4) / 12) = 6 * 0.4162773055788489
        "feature_term": 3.5490381056766580,  # 1 * (4.5 + 1.7320508075688773 * 4.5) / 3.4641016151377546
        "induced_feature_term": 2.7990381056766580,  # 1 * (4.5 + 1.7320508075688773 * 3) / 3.4641016151377546
        "constant_term": 0.8164965809277260,  # sqrt(2 / 3)
        "confidence_term": 3 * 0.3533018229004057,  # 3 sqrt(ln 20 / 24)
        "complexity": 1.1791654582142306 + 0.8164965809277260,
        "value": 9.0425536252690435,  # 2 * 2 * (1.17917 + 0.81650) + 1.05991
    }
    assert {name: getattr(bound, name) for name in expected} == pytest.approx(expected, abs=1e-10)
    assert bound.smallest == "constant"
    assert bound.vacuous


def test_each_of_the_three_terms_counts_where_it_is_the_smallest():
    small_Z = replace(by_hand(), Z_nuclear=0.1)
    assert bound_risk(4, 3, 3, small_Z).complexity == pytest.approx(1.1791654582142306 + 0.24976638334730933, abs=1e-10)
    no_noise = replace(small_Z, E_f_entrywise=0.0, X_nuclear=60.0)
    assert bound_risk(4, 3, 3, no_noise).complexity == pytest.approx(1.1791654582142306 + 0.1299038105676658, abs=1e-10)


@given(shapes, st.tuples(*[sizes] * 5), st.sampled_from(NAMES[:5]), rises)
def test_the_bound_never_falls_when_a_norm_grows_and_the_term_of_that_norm_rises(shape, values, name, rise):
    before = Norms(*values)
    after = replace(before, **{name: getattr(before, name) + rise})
    assert bound_risk(*shape, after).value >= bound_risk(*shape, before).value
    with_ones, risen = bound_risk(*shape, ONES), bound_risk(*shape, replace(ONES, **{name: 1.0 + rise}))
    terms = {
        "X_nuclear": ["nuclear_term"],
        "Z_nuclear": ["nuclear_term", "feature_term", "induced_feature_term"],
        "given_frobenius": ["feature_term", "induced_feature_term"],
        "E_f_entrywise": ["feature_term"],
        "E_l_rows": ["label_term", "value"],
    }[name]
    assert all(getattr(risen, term) > getattr(with_ones, term) for term in terms)


def test_a_constant_rate_of_wrong_labels_makes_the_label_term_grow_like_the_root_of_n():
    n = np.array([500, 2000, 8000, 32_000])
    rows = [replace(ONES, E_l_rows=0.2 * count * sqrt(2)) for count in n]  # a fifth of the rows, each off by sqrt 2
    terms = [bound_risk(int(count), 512, 10, norms).label_term for count, norms in zip(n, rows, strict=True)]
    assert terms == pytest.approx([5.3, 10.5, 21, 42], abs=0.06)
    assert np.polyfit(np.log(n), np.log(terms), 1)[0] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("n", "c"), [(2, 2), (4, 2), (2, 3), (3, 3)])
def test_no_term_is_below_the_mean_supremum_over_all_patterns_of_signs(n, c):
    d, rng = 3, np.random.default_rng(n * c)
    signs = np.array(list(product((-1.0, 1.0), repeat=n * c))).reshape(-1, n, c)
    X, E_f = rng.normal(size=(n, d)), rng.laplace(size=(n, d))
    exact = {
        "label_term": np.linalg.norm(signs, axis=2).max(axis=1).mean() / (n * c),  # sup over |E|_21 <= 1
        "nuclear_term": np.linalg.norm(signs, ord=2, axis=(1, 2)).mean() / (n * c),  # sup over |XZ|_* <= 1
        "feature_term": np.linalg.norm(X.T @ signs, ord=2, axis=(1, 2)).mean() / (n * c),  # sup over |Z|_* <= 1
        "constant_term": sqrt(n) * np.linalg.norm(signs, axis=(1, 2)).mean() / (n * c),  # sup over |XZ|_F <= sqrt n
    }
    sums = np.abs(E_f).sum(), np.abs(E_f).sum(axis=0).max()
    norms = Norms(1.0, 1.0, float(np.linalg.norm(X + E_f)), float(sums[0]), 1.0, float(sums[1]))
    bound = bound_risk(n, d, c, norms)
    assert all(getattr(bound, name) >= supremum for name, supremum in exact.items())
    assert bound.induced_feature_term >= exact["feature_term"]
    assert exact["label_term"] == pytest.approx(1 / (n * sqrt(c)), rel=1e-12)  # as docs/theory.md says


def test_with_nine_classes_the_constant_is_below_the_supremum_over_the_box_and_is_left_out_there():
    signs = np.array(list(product((-1.0, 1.0), repeat=9)))
    supremum = np.maximum(signs, 0.0).mean()  # every entry of XZ free in [0, 1]
    assert bound_risk(1, 1, 9, ONES).constant_term < supremum
    assert bound_risk(1, 1, 9, replace(ONES, XZ_frobenius=1.0005)).covers_constant  # one-hot, as far as fits are exact
    all_ones = replace(ONES, X_nuclear=9.0, XZ_frobenius=3.0)  # nine scores of 1 in one row
    bound = bound_risk(1, 1, 9, all_ones)
    assert not bound.covers_constant
    assert "constant" not in bound.candidates
    assert "C4 is left out" in str(bound)


@settings(max_examples=50)
@given(st.integers(2, 12), st.integers(1, 6), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_the_bound_is_never_below_twice_the_root_mean_square_of_the_scores(n, d, c, seed):
    rng = np.random.default_rng(seed)
    X, Z, E_f = rng.normal(size=(n, d)), rng.normal(size=(d, c)), rng.normal(size=(n, d)) * rng.uniform(0, 2)
    Z *= rng.uniform(0, 1) * sqrt(n) / np.linalg.norm(X @ Z)
    norms = Norms(
        float(np.linalg.norm(X, "nuc")), float(np.linalg.norm(Z, "nuc")), float(np.linalg.norm(X + E_f)),
        float(np.abs(E_f).sum()), 0.0, None, float(np.linalg.norm(X @ Z)),
    )  # fmt: skip
    assert bound_risk(n, d, c, norms).value >= 2 * sqrt(np.mean((X @ Z) ** 2))


def test_a_bound_within_the_range_of_the_loss_is_not_called_vacuous():
    tiny = Norms(0.0, 0.0, 1.0, 0.0, 0.0)
    assert not bound_risk(1000, 5, 3, tiny).vacuous
    assert "Vacuous" not in str(bound_risk(1000, 5, 3, tiny))
    assert "Vacuous" in str(bound_risk(4, 3, 3, by_hand()))


def test_two_classes_are_answered_with_a_word_on_the_lemma():
    assert "negative exponent" in str(bound_risk(10, 3, 2, ONES))
    assert "negative exponent" not in str(bound_risk(10, 3, 3, ONES))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1; got 0"),
        ({"d": 2.5}, r"d must be an integer of at least 1; got 2\.5"),
        ({"c": 1}, "c must be an integer of at least 2; got 1"),
        ({"delta": 0.0}, r"delta must be a number above 0 and at most 1; got 0\.0"),
        ({"delta": 1.5}, r"delta must be a number above 0 and at most 1; got 1\.5"),
        ({"lipschitz": -1.0}, r"lipschitz must be a positive, finite number; got -1\.0"),
        ({"loss_bound": float("inf")}, "loss_bound must be a positive, finite number; got inf"),
    ],
)
def test_numbers_that_make_no_sense_are_refused_by_name(change, message):
    with pytest.raises(InvalidParameterError, match=message):
        bound_risk(**{"n": 4, "d": 3, "c": 3, "norms": ONES, **change})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-1.0, float("nan"), "1"])
def test_a_norm_that_is_no_norm_is_refused_by_name(name, value):
    with pytest.raises(InvalidParameterError, match=f"{name} must be a norm, a finite number from 0 on"):
        replace(ONES, **{name: value})
