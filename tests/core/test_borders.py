"""Errors where classes meet: Bayes' rule by hand, brute force, draws of the model and of its rival."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from unmuddle.core.borders import SLOPE, Doubt, Rows, fit_level
from unmuddle.core.evidence import SHARP, on_simplex, weigh

MADE_UP = 20.0


def predictions(n, seed=0, n_classes=3):
    """Sure of some rows, in doubt of others."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes)) * rng.uniform(0.3, 3.0, (n, 1))
    P = np.exp(scores)
    return on_simplex(P / P.sum(axis=1, keepdims=True))


def rows_of(P, given):
    logs = np.log(P)
    return Rows(logs, given, Doubt.learn(logs, np.ones(len(P))).of(logs))


def draw_errors(P, truth, level, seed=0):
    """Labels with errors as the model says, row by row."""
    rng = np.random.default_rng(seed)
    lead = np.sort(np.log(P), axis=1)
    doubt = -(lead[:, -1] - lead[:, -2])
    doubt = (doubt - doubt.mean()) / doubt.std()
    labels = truth.copy()
    for i in np.flatnonzero(rng.random(len(P)) < expit(level + SLOPE * doubt)):
        others = np.where(np.arange(P.shape[1]) == truth[i], 0.0, P[i])
        labels[i] = rng.choice(P.shape[1], p=others / others.sum())
    return labels


def test_doubt_is_least_where_the_first_class_leads_most_and_has_mean_0_and_deviation_1():
    P = predictions(200)
    rows = rows_of(P, np.zeros(200, dtype=np.intp))
    first, second = np.sort(P, axis=1)[:, ::-1][:, :2].T
    assert np.array_equal(np.argsort(rows.doubt), np.argsort(-np.log(first / second)))
    assert rows.doubt.mean() == pytest.approx(0.0, abs=1e-12)
    assert rows.doubt.std() == pytest.approx(1.0)


def test_chances_of_all_labels_of_a_true_class_sum_to_one():
    P = predictions(4)
    for truth in range(3):
        prior = np.tile(np.eye(3)[truth], (4, 1))
        total = sum(rows_of(P, np.full(4, label)).joint(prior, -0.7)[:, truth] for label in range(3))
        assert np.allclose(total, 1.0)


def test_the_joint_chance_is_written_out_by_hand():
    P, given = predictions(6, seed=1), np.array([0, 1, 2, 0, 1, 2])
    rows = rows_of(P, given)
    prior = np.random.default_rng(2).dirichlet(np.ones(3), 6)
    found = rows.joint(prior, -1.0)
    for i in range(6):
        wrong = 1 / (1 + np.exp(1.0 - SLOPE * rows.doubt[i]))
        for y in range(3):
            way = P[i, given[i]] / sum(P[i, j] for j in range(3) if j != y)
            expected = prior[i, y] * (1 - wrong if y == given[i] else wrong * way)
            assert found[i, y] == pytest.approx(expected)


@pytest.mark.parametrize("error", [0.1, 0.3])
def test_the_level_is_the_best_of_all(error):
    """Against a minimiser that knows only the posterior, made-up labels included."""
    P = predictions(400)
    sharp = P**4 / (P**4).sum(axis=1, keepdims=True)
    given = draw_errors(P, P.argmax(axis=1), -1.5)
    rows, counts = rows_of(P, given), np.random.default_rng(3).uniform(0.5, 2.0, 400)

    def loss(level):
        wrong = expit(level + SLOPE * rows.doubt)
        made_up = np.average(error * np.log(wrong) + (1 - error) * np.log(1 - wrong), weights=counts)
        return -(counts @ np.log(rows.joint(sharp, level).sum(axis=1)) + MADE_UP * made_up)

    best = minimize_scalar(loss, bounds=(-8, 8), method="bounded", options={"xatol": 1e-8})
    level, log_posterior = fit_level(sharp, rows, counts, error, MADE_UP)
    assert level == pytest.approx(best.x, abs=0.02)
    assert log_posterior == pytest.approx(-best.fun, abs=0.02)


def test_errors_that_gather_where_classes_meet_are_told_from_overlap_if_there_are_labels_enough():
    P = predictions(6_000)
    sharp = P**6 / (P**6).sum(axis=1, keepdims=True)
    truth = (np.random.default_rng(4).random(6_000)[:, None] > np.cumsum(sharp, axis=1)[:, :-1]).sum(axis=1)
    noisy = draw_errors(P, truth, -1.2)
    evidence = weigh(P, noisy, 0.3)
    assert evidence.near_borders > 0.9
    assert evidence.cautious @ evidence.noise_rates(P, noisy)[0] == pytest.approx(np.mean(truth != noisy), abs=0.03)
    assert evidence.weights[-len(SHARP) :].tolist() == [0.0] * len(SHARP)  # overlap may be the cause after all
    assert np.allclose(evidence.transition.sum(axis=1), 1.0)
    assert evidence.powers[-len(SHARP) :] == pytest.approx(SHARP)


def test_overlap_without_errors_is_not_called_errors():
    P = predictions(6_000)
    truth = (np.random.default_rng(5).random(6_000)[:, None] > np.cumsum(P, axis=1)[:, :-1]).sum(axis=1)
    evidence = weigh(P, truth, float(np.mean(P.argmax(axis=1) != truth)))
    assert evidence.weights @ evidence.noise_rates(P, truth)[0] < 0.03  # no power that is weighed is just 1
    assert evidence.near_borders < 0.5


def test_rows_without_a_label_keep_their_prediction_in_every_explanation():
    P = predictions(300)
    given = draw_errors(P, P.argmax(axis=1), -1.0)
    evidence = weigh(P, given, 0.3)
    given[:5] = -1
    assert np.allclose(evidence.posterior(P, given)[:5], evidence.sharpen(P)[:5])


def test_who_knows_that_classes_do_not_overlap_finds_errors_that_overlap_would_explain():
    P = predictions(600)
    truth = P.argmax(axis=1)
    noisy = draw_errors(P, truth, -0.8)
    planted = np.mean(truth != noisy)
    rates = {}
    for overlap in (True, False):
        evidence = weigh(P, noisy, float(planted), overlap=overlap)
        rates[overlap] = evidence.weights @ evidence.noise_rates(P, noisy)[0]
    assert rates[False] == pytest.approx(planted, abs=0.04)
    assert rates[True] < rates[False]
    assert weigh(P, noisy, float(planted), overlap=False).powers.min() == SHARP[0]
