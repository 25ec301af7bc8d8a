"""The tables that a cleaner gives: their columns, reasons, flags and intervals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest

from cleaning.planted import blobs
from unmuddle import HybridCleaner
from unmuddle.cleaning import issues
from unmuddle.cleaning.encoding import Encoding
from unmuddle.cleaning.heads import Given
from unmuddle.cleaning.judging import Rate, Verdict, informed, judge_labels, rate_of_noise
from unmuddle.cleaning.tables import table_of
from unmuddle.core.evidence import POWERS, Evidence

X, Y = blobs(99)


@pytest.fixture(scope="module")
def model():
    frame = pd.DataFrame(X.copy(), columns=list("abcd"), index=pd.date_range("2020-01-01", periods=99))
    frame.iloc[6, 1] = 900.0
    frame.iloc[30] = frame.iloc[31]
    labels = pd.Series(np.array(["x", "y", "z"])[Y]).where(np.arange(99) != 9)
    labels[16] = "x" if Y[16] else "y"
    return HybridCleaner(fdr=0.4, random_state=0).fit(frame, labels)


COLUMNS = {
    "label_issues_": ["row", "index", "given", "suggested", "confidence", "flag", "reason"],
    "cell_issues_": ["row", "index", "column", "given", "recovered", "score", "confidence", "flag"],
    "row_issues_": ["row", "index", "kind", "score", "other", "reason"],
    "noise_report_": ["part", "name", "quantity", "estimate", "low", "high"],
}


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_have_the_documented_columns_and_a_schema_version(model, name):
    table = getattr(model, name)
    assert list(table.columns) == COLUMNS[name]
    assert table.attrs["schema_version"] == 1
    assert "schema_version" in HybridCleaner(random_state=0).fit(X, Y).cell_issues_.attrs


def test_a_line_names_row_index_and_values_as_the_caller_has_them(model):
    labels = model.label_issues_
    assert labels["row"].tolist() == list(range(99))
    assert labels["index"][7] == pd.Timestamp("2020-01-08")
    flagged = set(labels.loc[labels["flag"], "row"])
    assert 16 in flagged
    assert len(flagged) <= 3  # row 30 has the cells of 31, and its own label; false alarms may be many at this fdr
    assert labels["given"][9] is None or pd.isna(labels["given"][9])
    assert labels["reason"][9].startswith("No label was given")
    assert labels["suggested"][9] == "xyz"[Y[9]]
    cell = model.cell_issues_.query("row == 6 and column == 'b'").iloc[0]
    assert (cell["index"], cell["given"]) == (pd.Timestamp("2020-01-07"), 900.0)
    assert abs(cell["recovered"] - X[6, 1]) < 10
    assert type(cell["recovered"]) is float


def test_copies_with_another_label_point_at_each_other(model):
    found = model.row_issues_.query("kind == 'copy with another label'")
    assert found[["row", "other"]].to_numpy().tolist() == [[30, 31], [31, 30]]


def test_reports_name_rates_transitions_and_columns(model):
    report = model.noise_report_
    assert (report["quantity"] == "transition").sum() == 9
    assert report.query("part == 'column' and quantity == 'wrong cells'")["name"].tolist() == list("abcd")
    known = report["low"].notna()
    assert (report["low"] <= report["estimate"])[known].all()
    assert (report["estimate"] <= report["high"])[known].all()
    assert model.transition_.sum(axis=1).to_numpy() == pytest.approx(1.0)
    assert report.iloc[-1]["part"] == "verdict"


@pytest.mark.parametrize(("count", "n"), [(0, 30), (3, 40), (40, 40)])
def test_shares_of_wrong_cells_have_wilson_intervals(count, n):
    flags = (np.arange(n) < count)[:, None]
    line = issues.column_noise(["a"], flags, np.ones((n, 1), dtype=bool), None).iloc[0].tolist()
    interval = binomtest(count, n).proportion_ci(0.9, method="wilson")
    assert line[3:] == pytest.approx([count / n, interval.low, interval.high], abs=1e-3)


def test_a_column_without_cells_has_no_share_of_wrong_ones():
    line = issues.column_noise(["a"], np.zeros((3, 1), dtype=bool), np.zeros((3, 1), dtype=bool), None).iloc[0]
    assert line.iloc[3:].isna().all()


def test_flagged_cells_are_likelier_wrong_than_right_and_few_are_false():
    chances = np.array([[0.99, 0.95, 0.9], [0.6, 0.4, 0.1], [np.nan, 0.05, 0.02]])
    encoding = Encoding.learn(np.zeros((1, 3)))
    assert issues.flag_cells(chances, encoding, 0.1).tolist() == [[True] * 3, [False] * 3, [False] * 3]
    assert issues.flag_cells(chances, encoding, 0.99)[1].tolist() == [True, False, False]


def test_a_category_is_flagged_if_any_of_its_columns_is():
    encoding = Encoding.learn([["a", 1.0], ["b", 2.0], ["c", 3.0]])
    chances = np.array([[0.0, 0.99, 0.0, 0.0], [0.0, 0.0, 0.0, 0.99]])
    assert issues.flag_cells(chances, encoding, 0.1).tolist() == [[True, False], [False, True]]
    assert issues.per_cell(chances, encoding).tolist() == [[0.99, 0.0], [0.0, 0.99]]


def evidence(noise=0.2, n_classes=2):
    """Predictions are taken as they are, labels are wrong at one rate."""
    T = np.full((n_classes, n_classes), noise / (n_classes - 1))
    np.fill_diagonal(T, 1 - noise)
    weights = np.zeros(len(POWERS))
    weights[np.abs(np.log(POWERS)).argmin()] = 1.0
    return Evidence(weights, weights, POWERS, np.tile(T, (len(POWERS), 1, 1)), np.ones((len(POWERS), n_classes)))


def test_verdicts_follow_bayes_and_a_flagged_label_is_not_its_own_remedy():
    told, power = evidence(), POWERS[np.abs(np.log(POWERS)).argmin()]
    P = np.array([[0.95, 0.05], [0.2, 0.8], [0.5, 0.5]])
    verdict = judge_labels(P, np.array([1, 0, -1]), told, 0.99)
    sharp = P**power / (P**power).sum(axis=1, keepdims=True)
    expected = [sharp[0, 0] * 0.2 / (sharp[0] @ [0.2, 0.8]), sharp[1, 1] * 0.2 / (sharp[1] @ [0.8, 0.2])]
    assert verdict.wrong[:2] == pytest.approx(expected)
    assert np.isnan(verdict.wrong[2])
    assert verdict.flags.tolist() == [True, True, False]
    assert verdict.suggested[:2].tolist() == [0, 1]


def test_the_rate_of_noise_lies_in_its_interval_and_ignores_rows_without_a_label():
    P = np.tile([[0.9, 0.1]], (40, 1))
    codes = np.where(np.arange(40) < 10, -1, 0)
    some, all_of_them = rate_of_noise(P, codes, evidence()), rate_of_noise(P[10:], codes[10:], evidence())
    assert some == all_of_them
    assert 0 <= some.low <= some.estimate <= some.high <= 1


def test_predictions_no_better_than_chance_say_nothing():
    given = Given.of(np.arange(20) % 2, np.ones(20), 2, seed=0)
    against = np.eye(2)[(np.arange(20) + 1) % 2]
    assert (informed(against, given) == 0.5).all()
    assert (informed(np.tile([1.0, 0.0], (20, 1)), given) == 0.5).all()
    assert np.array_equal(informed(against[:, ::-1], given), against[:, ::-1])


def test_reasons_show_plain_values():
    classes = np.array([3, 4])
    verdict = Verdict(
        np.array([[0.1, 0.9], [0.9, 0.1], [0.45, 0.55], [0.2, 0.8]]),
        np.array([0.9, 0.1, 0.55, np.nan]),
        np.array([True, False, False, False]),
        np.array([1, 0, 1, 1]),
    )
    reasons = issues.label_issues(np.array([3, 3, 3, None], dtype=object), classes, range(4), verdict)["reason"]
    assert reasons[0] == "Models that did not see this label, weighed against it, say 4, chance 0.90; 3 has 0.10."
    assert reasons[1].startswith(
        "Models that did not see this label, weighed against it, let it stand: 3 has chance 0.90"
    )
    assert reasons[2].startswith("4 is likelier, chance 0.55; 3 has 0.45")
    assert reasons[3] == "No label was given; models fitted to other rows say 4, chance 0.80."


def test_far_rows_are_outliers_and_others_are_not():
    distances = np.random.default_rng(0).chisquare(5, 200)
    distances[17] = 90.0
    found = issues.row_issues(np.random.default_rng(1).normal(size=(200, 5)), np.zeros(200, int), distances, range(200))
    assert found["row"].tolist() == [17]
    assert found["kind"].tolist() == ["outlier"]


def test_the_report_says_what_hurts_most():
    report = issues.noise_report(np.array(["a", "b"]), Rate(0.3, 0.2, 0.4), np.eye(2), 0.1, pd.DataFrame())
    assert report.iloc[-1][["name", "estimate"]].tolist() == ["labels", 0.3]
    report = issues.noise_report(np.array(["a", "b"]), Rate(0.1, 0.0, 0.2), np.eye(2), 0.4, pd.DataFrame())
    assert report.iloc[-1][["name", "estimate"]].tolist() == ["features", 0.4]


def test_packed_tables_unpack_to_the_same():
    mixed = table_of([[1, "a"], [None, "b"]]).cells([0, 1], [0, 0])
    table = pd.DataFrame({"n": [1, 2], "o": mixed, "t": ["x", "y"]}, index=["p", "q"])
    table.attrs["schema_version"] = 1
    again = issues.unpack(issues.pack(table))
    pd.testing.assert_frame_equal(again, pd.DataFrame({name: table[name] for name in table}), check_dtype=False)
    assert again.attrs == table.attrs
