"""What noisy labels say: brute force on few rows, exact draws of the model on many."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import softmax

from unmuddle.core.borders import Doubt
from unmuddle.core.evidence import LEAST, POWERS, SHARP, Evidence, discover, on_simplex, weigh

T = np.array([[0.8, 0.15, 0.05], [0.05, 0.7, 0.25], [0.1, 0.1, 0.8]])


def draw(n, transition=T, power=1.0, seed=0):
    """Predictions whose ``power``, normalised, is the clean posterior; true labels; noisy labels."""
    rng = np.random.default_rng(seed)
    clean = on_simplex(rng.dirichlet(np.full(len(transition), 0.3), n))
    truth = pick(clean, rng)
    P = clean ** (1 / power)
    return P / P.sum(axis=1, keepdims=True), truth, pick(transition[truth], rng)


def pick(chances, rng):
    return (rng.random(len(chances))[:, None] > np.cumsum(chances, axis=1)[:, :-1]).sum(axis=1)


def one_power(index, transition=T):
    weights = np.zeros(len(POWERS))
    weights[index] = 1.0
    factors = np.ones((len(POWERS), len(transition)))
    return Evidence(weights, weights, POWERS, np.tile(transition, (len(POWERS), 1, 1)), factors)


def test_the_posterior_is_bayes_rule_written_out():
    rng = np.random.default_rng(0)
    P, labels = rng.dirichlet(np.ones(3), 5), np.array([0, 1, 2, -1, 1])
    weights = rng.dirichlet(np.ones(len(POWERS)))
    transitions = np.array([rng.dirichlet(np.ones(3), 3) for _ in POWERS])
    factors = rng.lognormal(size=(len(POWERS), 3))
    evidence = Evidence(weights, weights, POWERS, transitions, factors)
    expected, sharpened = np.zeros((5, 3)), np.zeros((5, 3))
    for i, label in enumerate(labels):
        p = np.maximum(P[i], LEAST) / np.maximum(P[i], LEAST).sum()
        for weight, power, transition, f in zip(weights, POWERS, transitions, factors, strict=True):
            prior = p**power * f / sum(p**power * f)
            joint = [prior[y] * (transition[y, label] if label >= 0 else 1.0) for y in range(3)]
            expected[i] += weight * np.array(joint) / sum(joint)
            sharpened[i] += weight * prior
    assert np.allclose(evidence.posterior(P, labels), expected)
    assert np.allclose(evidence.sharpen(P), sharpened)
    assert np.allclose(evidence.posterior(P, labels)[3], sharpened[3])
    assert evidence.power == pytest.approx(sum(weights * POWERS))
    assert np.allclose(evidence.transition, sum(w * t for w, t in zip(weights, transitions, strict=True)))


def test_rates_of_noise_are_means_of_the_posterior_with_their_binomial_variance():
    P, _, noisy = draw(50)
    noisy[:7] = -1
    means, variances = one_power(3).noise_rates(P, noisy)
    q = one_power(3).posterior(P, noisy)
    wrong = [1 - q[i, noisy[i]] for i in range(7, 50)]
    assert means[3] == pytest.approx(np.mean(wrong))
    assert variances[3] == pytest.approx(sum(w * (1 - w) for w in wrong) / 43**2)


@pytest.mark.parametrize("power", [1.0, 3.0])
def test_transition_matrix_power_and_rate_are_recovered_from_draws_of_the_model(power):
    P, truth, noisy = draw(40_000, power=power)
    evidence = weigh(P, noisy, 0.25)
    assert evidence.weights.sum() == pytest.approx(1.0)
    assert np.allclose(evidence.transition, T, atol=0.04)
    assert np.allclose(evidence.transition.sum(axis=1), 1.0)
    step = POWERS[1] / POWERS[0]
    assert power / step < evidence.power < power * step
    rate = evidence.weights @ evidence.noise_rates(P, noisy)[0]
    assert rate == pytest.approx(np.mean(truth != noisy), abs=0.015)
    q = evidence.posterior(P, noisy)
    assert np.mean(q.argmax(axis=1) == truth) > np.mean(P.argmax(axis=1) == truth)


def test_without_wrong_labels_hardly_any_is_said_to_be_wrong():
    P, truth, _ = draw(20_000)
    evidence = weigh(P, truth, 0.02)
    assert evidence.weights @ evidence.noise_rates(P, truth)[0] < 0.02


@pytest.mark.parametrize(("n_rows", "n_classes", "apart"), [(120, 6, 0.5), (120, 6, 0.8), (150, 2, 0.7)])
def test_few_rows_of_classes_that_overlap_keep_their_labels(n_rows, n_classes, apart):
    """The predictions are the very chances that classes have there, and every label is right."""
    flagged = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        centres = apart * rng.normal(size=(n_classes, 3))
        truth = rng.integers(n_classes, size=n_rows)
        rows = centres[truth] + rng.normal(size=(n_rows, 3))
        P = softmax(-0.5 * ((rows[:, None] - centres) ** 2).sum(axis=2), axis=1)
        evidence = weigh(P, truth, np.mean(P.argmax(axis=1) != truth))
        flagged.append(discover(1.0 - evidence.posterior(P, truth)[np.arange(n_rows), truth], 0.1).mean())
    assert np.mean(flagged) < 0.01


def log_posterior_by_hand(P, noisy, transition, power):
    prior = on_simplex(P) ** power
    prior /= prior.sum(axis=1, keepdims=True)
    return np.log(np.einsum("ij,ij->i", prior, transition[:, noisy].T)).sum()


def test_the_matrix_of_each_power_is_a_maximum_of_the_likelihood_up_to_its_prior():
    """With so many labels the prior's few cannot hide a better matrix: no small change of two entries gains much."""
    P, _, noisy = draw(20_000)
    evidence = weigh(P, noisy, 0.25)
    nearest = len(POWERS) + int(np.abs(POWERS - 1.0).argmin())  # the first half has errors spread evenly
    power = evidence.powers[nearest]
    found = evidence.transitions[nearest]
    best = log_posterior_by_hand(P, noisy, found, power)
    for i, j, k in [(0, 0, 1), (1, 1, 2), (2, 2, 0), (0, 1, 2)]:
        for change in (0.05, -0.04):
            other = found.copy()
            other[i, j] -= change
            other[i, k] += change
            if other.min() > 0:
                assert log_posterior_by_hand(P, noisy, other, power) < best


def test_errors_are_spread_evenly_unless_the_labels_say_otherwise():
    even = np.full((3, 3), 0.1) + 0.7 * np.eye(3)
    pairs = np.array([[0.7, 0.3, 0.0], [0.0, 0.7, 0.3], [0.3, 0.0, 0.7]])
    for transition, evenly in ((even, True), (pairs, False)):
        P, _, noisy = draw(2_000, transition)
        weights = weigh(P, noisy, 0.3).weights
        assert (weights[: len(POWERS)].sum() > 0.5) == evenly
        assert np.allclose(weigh(P, noisy, 0.3).transition, transition, atol=0.1)


def beyond(clean, factors):
    """Predictions of which ``factors`` times are the clean posterior."""
    P = clean / factors
    return P / P.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_and_factors_of_classes_are_found_where_errors_go_one_way(n_classes):
    transition, factors = np.eye(n_classes), np.ones(n_classes)
    transition[0, :2], factors[0] = (0.7, 0.3), 2.0
    P, truth, noisy = draw(3_000, transition)
    leaning = beyond(P, factors)
    evidence = weigh(leaning, noisy, np.mean(leaning.argmax(axis=1) != noisy))
    assert evidence.weights[-len(POWERS) - len(SHARP) : -len(SHARP)].sum() > 0.9  # the freest
    assert np.allclose(evidence.transition, transition, atol=0.06)
    sharpened = evidence.sharpen(leaning)
    assert np.abs(sharpened - P).mean() < 0.5 * np.abs(leaning - P).mean()
    flags = discover(1.0 - evidence.posterior(leaning, noisy)[np.arange(3_000), noisy], 0.1)
    wrong = truth != noisy
    assert np.mean(wrong[flags]) > 0.85
    assert np.mean(flags[wrong]) > 0.5


@pytest.mark.parametrize("seed", range(4))
def test_rates_of_classes_are_not_believed_where_all_are_wrong_as_often_or_none_is(seed):
    for rate in (0.0, 0.3):
        P, _, noisy = draw(600, np.array([[1 - rate, rate], [rate, 1 - rate]]), seed=seed)
        evidence = weigh(P, noisy, np.mean(P.argmax(axis=1) != noisy))
        assert evidence.weights[: len(POWERS)].sum() > 0.5


def test_factors_of_classes_maximise_the_likelihood_up_to_the_prior():
    """Against brute force: with rates fixed at what was found, no other factor explains the labels much better."""
    transition = np.array([[0.7, 0.3], [0.0, 1.0]])
    P, _, noisy = draw(5_000, transition)
    evidence = weigh(beyond(P, [2.0, 1.0]), noisy, 0.2)
    at = len(POWERS) + int(np.abs(POWERS - 1.0).argmin())
    logs, T_found = evidence.powers[at] * np.log(on_simplex(beyond(P, [2.0, 1.0]))), evidence.transitions[at]

    def likelihood(log_odds):
        prior = softmax(logs + np.array([log_odds / 2, -log_odds / 2]), axis=1)
        return np.log(np.einsum("ij,ij->i", prior, T_found[:, noisy].T)).sum()

    grid = np.linspace(-3, 3, 241)
    best = grid[np.argmax([likelihood(each) for each in grid])]
    assert np.log(evidence.factors[at, 0] / evidence.factors[at, 1]) == pytest.approx(best, abs=0.1)


def test_of_many_classes_errors_may_go_one_main_way_each():
    """Of 40 classes with 30 rows each: to free all ways costs more than it fits."""
    n_classes, rows = 40, np.arange(1200)
    pairs = 0.7 * np.eye(n_classes) + 0.3 * np.roll(np.eye(n_classes), 1, axis=1)
    evenly = 0.7 * np.eye(n_classes) + 0.3 * (1 - np.eye(n_classes)) / (n_classes - 1)
    for transition in (pairs, evenly):
        rng = np.random.default_rng(0)
        truth = rng.integers(n_classes, size=1200)
        noisy = pick(transition[truth], rng)
        P = softmax(
            2.0 * np.eye(n_classes)[truth] + 3.0 * transition[truth] + 0.5 * rng.normal(size=(1200, n_classes)), axis=1
        )
        evidence = weigh(P, noisy, np.mean(P.argmax(axis=1) != noisy))
        main = evidence.weights[len(POWERS) : 2 * len(POWERS)].sum()
        assert (main > 0.9) == (transition is pairs)
        flags, wrong = discover(1.0 - evidence.posterior(P, noisy)[rows, noisy], 0.1), truth != noisy
        assert np.mean(flags[wrong]) > 0.9
        assert np.mean(wrong[flags]) > 0.9


def test_rows_without_label_or_weight_say_nothing():
    P, _, noisy = draw(600)
    expected = weigh(P[:400], noisy[:400], 0.2)
    unlabelled = np.where(np.arange(600) < 400, noisy, -1)
    weightless = weigh(P, noisy, 0.2, (np.arange(600) < 400).astype(float))
    for found in (weigh(P, unlabelled, 0.2), weightless):
        assert np.allclose(found.weights, expected.weights, atol=1e-9)
        assert np.allclose(found.transitions, expected.transitions, atol=1e-9)


def test_a_row_of_weight_two_is_two_rows():
    P, _, noisy = draw(300)
    twice = weigh(np.vstack([P, P]), np.tile(noisy, 2), 0.2)
    assert np.allclose(weigh(P, noisy, 0.2, np.full(300, 2.0)).transitions, twice.transitions, atol=1e-9)


def test_renamed_classes_and_reordered_rows_give_renamed_results():
    P, _, noisy = draw(500)
    order, rows = np.array([2, 0, 1]), np.random.default_rng(1).permutation(500)
    names = np.argsort(order)
    expected, found = weigh(P, noisy, 0.2), weigh(P[rows][:, order], names[noisy[rows]], 0.2)
    assert np.allclose(found.weights, expected.weights, atol=1e-8)
    assert np.allclose(found.transitions, expected.transitions[:, order][:, :, order], atol=1e-9)
    q = found.posterior(P[rows][:, order], names[noisy[rows]])
    assert np.allclose(q, expected.posterior(P, noisy)[rows][:, order], atol=1e-8)


@pytest.mark.parametrize("n_classes", [1, 2, 30])
def test_any_number_of_classes_has_a_transition_matrix_even_without_labels(n_classes):
    P = np.random.default_rng(0).dirichlet(np.ones(n_classes), 50)
    for labels in (P.argmax(axis=1), np.full(50, -1)):
        evidence = weigh(P, labels, 0.1)
        assert np.allclose(evidence.transition.sum(axis=1), 1.0)
        assert np.all(evidence.transition >= 0)
        assert evidence.weights.sum() == pytest.approx(1.0)
        assert np.allclose(evidence.posterior(P, labels).sum(axis=1), 1.0)


def test_the_posterior_of_a_row_far_surer_than_all_others_is_bayes_rule_too():
    power, level, doubt = 4.7, -3.0, Doubt(0.5, 0.1)
    one = np.ones(1)
    evidence = Evidence(one, one, np.array([power]), np.eye(2)[None], np.ones((1, 2)), np.array([level]), doubt)
    p, label = on_simplex(np.array([[0.999, 0.001]])), np.array([1])
    log_odds = level + (0.5 - np.log(p[0, 0] / p[0, 1])) / 0.1
    right = power * np.log(p[0, 1] / p[0, 0])  # all errors of class 0 go to class 1
    assert evidence.posterior(p, label)[0, 1] == pytest.approx(1 / (1 + np.exp(log_odds - right)))
    assert evidence.posterior(p, label).sum() == pytest.approx(1.0)


def test_scores_become_probabilities_none_of_them_zero():
    found = on_simplex(np.array([[2.0, -1.0, 0.0], [0.2, 0.3, 0.5]]))
    assert np.allclose(found, [[2 / 2.002, 0.001 / 2.002, 0.001 / 2.002], [0.2, 0.3, 0.5]])


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0, 1))
def test_flags_are_the_most_whose_mean_chance_of_being_false_is_within_the_rate(chances, rate):
    chances = np.array(chances, dtype=float)
    flags = discover(chances, rate)
    false = np.sort(1.0 - chances)
    allowed = [k for k in range(1, len(false) + 1) if false[:k].cumsum()[-1] / k <= rate]
    assert flags.sum() == max(allowed, default=0)
    if flags.any() and not flags.all():
        assert chances[flags].min() >= chances[~flags].max()
