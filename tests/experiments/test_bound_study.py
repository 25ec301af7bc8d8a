"""The study of Theorem 2: its points repeat, its risk is the loss it says, its verdict tells the frame."""

import numpy as np
import pandas as pd
import pytest

from unmuddle.experiments.studies.bound import LINES, SWEEPS, BoundStudy, risk, slope

STUDY = BoundStudy()

pytestmark = pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")


@pytest.fixture(scope="module")
def measured():
    return STUDY.measure({"sweep": "n", "n": 125, "sigma": 0.5, "rate": 0.2, "trial": 0})


def made_up():
    """Every point of the quick plan, with a label term that grows like the root of n and a gap that is a tenth."""
    frame = pd.DataFrame([dict(point) for point in STUDY.points(quick=True)])
    for column in LINES:
        frame[column] = 30.0
    frame["constant"], frame["gap_noisy"] = 1.0, 0.1
    frame["label"], frame["E_l_rows"] = np.sqrt(frame["n"]), 0.3 * frame["n"]
    frame["bound"], frame["vacuous"] = frame["label"] + 1.0, 1.0
    return frame


def test_one_thing_grows_in_each_sweep_and_the_others_stay():
    frame = pd.DataFrame([dict(point) for point in STUDY.points(quick=False)])
    assert len(frame) > len(STUDY.points(quick=True))
    for sweep in SWEEPS:
        part = frame[frame["sweep"] == sweep]
        assert part[sweep].nunique() >= 6
        assert all(part[other].nunique() == 1 for other in SWEEPS if other != sweep)
    assert not frame.duplicated().any()


def test_a_point_is_measured_the_same_twice_and_another_trial_differently(measured):
    point = {"trial": 0, "rate": 0.2, "sigma": 0.5, "n": 125, "sweep": "n"}  # another order of the names
    assert STUDY.measure(point) == measured
    assert STUDY.measure({**point, "trial": 1})["gap_noisy"] != measured["gap_noisy"]


def test_the_terms_add_up_to_the_bound_and_the_gap_is_the_difference_of_the_risks(measured):
    smallest = min(measured["nuclear"], measured["feature"], measured["constant"])
    assert measured["bound"] == pytest.approx(measured["label"] + smallest + measured["confidence"], rel=1e-12)
    assert measured["gap_noisy"] == abs(measured["test_noisy"] - measured["train_noisy"]) <= measured["bound"]


def test_the_risk_is_the_mean_of_the_clipped_distance_over_all_entries():
    scores = np.array([[1.0, 0.25], [3.0, 0.5]])
    assert risk(scores, np.array([0, 1])) == (0.0 + 0.25 + 1.0 + 0.5) / 4


def test_the_verdict_finds_the_powers_of_n_that_were_planted():
    frame = made_up()
    assert slope(frame[frame["sweep"] == "n"], "label") == pytest.approx(0.5, abs=1e-12)
    verdict = STUDY.verdict(frame)
    assert "holds in 24 of 24 fits" in verdict
    assert "to the power 0.50, because |E_l|_21 grows like n to the power 1.00" in verdict
    assert "smallest of the three in 24" in verdict
    broken = frame.assign(gap_noisy=1e6, vacuous=0.0)
    assert "holds in 0 of 24 fits and is vacuous, at or above the range of the loss, in 0" in STUDY.verdict(broken)


def test_the_claim_is_judged_by_growth_with_noise_and_by_what_the_bound_says():
    flat = made_up().assign(bound=2.0)
    assert STUDY.verdict(flat).startswith("not: ")
    growing = flat.assign(bound=flat["sigma"] + flat["rate"])
    assert STUDY.verdict(growing).startswith("partly: ")
    assert STUDY.verdict(growing.assign(vacuous=0.0)).startswith("reproduced: ")


def test_the_figure_has_a_panel_for_each_sweep_with_the_means_of_the_frame():
    figure = STUDY.draw(made_up())
    assert [axes.get_xlabel() for axes in figure.axes] == list(SWEEPS.values())
    drawn = figure.axes[0].containers[0].lines[0].get_xydata()
    assert drawn == pytest.approx(np.array([[n, np.sqrt(n) + 1] for n in (125, 250, 500, 1000)]))
