"""Margins over the best baseline, held against numbers worked out by hand."""

import csv
import io
import math

import pytest

from unmuddle.experiments import write
from unmuddle.experiments.margins import Goal, count, count_together, find_margin, judge, size, words
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import Record
from unmuddle.experiments.table import Column, Row, collect, row_of
from unmuddle.experiments.table1 import DATASETS, Table1
from unmuddle.experiments.write import Page, render, summarise

COLUMN = Column("wine", Noise("gaussian(sigma=0.2)", "uniform(rate=0.3)"))
OURS, AUTO, LOGISTIC, RIDGE, FOREST = map(row_of, ("hybrid", "unmuddle-auto", "logistic", "ridge", "forest"))
TOLD = Row("told", "told", {"gaussian": "gce"}, "told")


def table_of(columns=(COLUMN,), **accuracies):
    """Accuracies in per cent by trial; None is a trial that failed."""
    names = {"auto": "unmuddle-auto", "told": "gce"}
    records = {}
    for name, values in accuracies.items():
        for column in columns:
            for trial, value in enumerate(values):
                cell = Cell(names.get(name, name), *column, trial)
                failed = Record(cell, "failed", reason="so")
                records[cell] = failed if value is None else Record(cell, "done", {"accuracy": value / 100})
    rows = {"hybrid": OURS, "auto": AUTO, "logistic": LOGISTIC, "ridge": RIDGE, "forest": FOREST, "told": TOLD}
    return collect([rows[name] for name in accuracies], columns, len(next(iter(accuracies.values()))), records)


def test_the_margin_is_over_the_best_mean_with_the_error_of_paired_gaps():
    table = table_of(hybrid=[80, 82, 84], logistic=[79, 80, 84], ridge=[70, 70, 70])
    margin = find_margin(table, OURS, COLUMN)
    # gaps 1, 2, 0: mean 1, variance 1, error sqrt(1 / 3)
    assert margin.best == LOGISTIC
    assert margin.margin == pytest.approx(1.0)
    assert margin.error == pytest.approx(math.sqrt(1 / 3))
    assert margin.reached
    assert size(margin) == "+1.00 ± 0.58"


@pytest.mark.parametrize(("last", "reached"), [(82.0, True), (79.0, False)])
def test_below_by_less_than_one_error_is_still_at_or_above_and_by_more_is_not(last, reached):
    # gaps -2, -1, last - 80: with 2 the mean is -0.33 and the error 1.20, with -1 they are -1.33 and 0.33
    table = table_of(hybrid=[78, 79, last], logistic=[80, 80, 80])
    margin = find_margin(table, OURS, COLUMN)
    assert size(margin) == ("-0.33 ± 1.20" if reached else "-1.33 ± 0.33")
    assert margin.reached == reached


def test_every_baseline_counts_and_not_only_the_best():
    """The best is far ahead on average but scattered, the second steadily a little ahead."""
    table = table_of(hybrid=[80, 80, 80], logistic=[95, 60, 89], ridge=[80.5, 80.5, 80.4])
    margin = find_margin(table, OURS, COLUMN)
    assert margin.best == LOGISTIC
    assert margin.below == (RIDGE,)
    assert not margin.reached
    assert words(margin) == "below ridge classifier"


def test_rows_of_ours_and_rows_that_know_more_are_no_baselines():
    table = table_of(hybrid=[80, 81], auto=[90, 91], told=[99, 99], logistic=[70, 72])
    first, second = judge(table)
    assert [verdict.row for verdict in (first, second)] == [OURS, AUTO]
    assert first.margins[0].best == second.margins[0].best == LOGISTIC
    assert first.margins[0].margin == pytest.approx(9.5)
    assert second.margins[0].margin == pytest.approx(19.5)


def test_flr_as_printed_is_a_baseline():
    assert {row.name for row in Table1().rows if row.ours} == {"hybrid", "unmuddle-auto", "unmuddle"}


def test_a_baseline_that_lacks_a_trial_is_named_and_ours_that_does_is_not_compared():
    table = table_of(hybrid=[80, 81], logistic=[99, None], ridge=[70, 70])
    margin = find_margin(table, OURS, COLUMN)
    assert (margin.best, margin.lacking) == (RIDGE, (LOGISTIC,))
    lame = find_margin(table_of(hybrid=[80, None], ridge=[70, 70]), OURS, COLUMN)
    assert lame.reached is None
    assert (words(lame), size(lame)) == ("not run", "\N{EN DASH}")


def test_a_single_trial_has_no_error_to_hide_behind():
    margin = find_margin(table_of(hybrid=[80], logistic=[80.1]), OURS, COLUMN)
    assert margin.error is None
    assert not margin.reached


def verdict_of_two_columns():
    heavy = Column("wine", Noise("gaussian(sigma=0.5)", "uniform(rate=0.6)"))
    light = table_of(hybrid=[80, 81], logistic=[70, 72])
    both = table_of((COLUMN, heavy), hybrid=[80, 81], logistic=[70, 72])
    worse = {Cell("hybrid", *heavy, trial): Record(Cell("hybrid", *heavy, trial), "done", {"accuracy": 0.5})
             for trial in range(2)}  # fmt: skip
    entries = dict(both.entries) | {("hybrid", heavy): collect([OURS], [heavy], 2, worse)[OURS, heavy]}
    return light, type(both)(both.rows, both.columns, entries), heavy


def test_cells_are_counted_with_the_goal_beside():
    _, table, heavy = verdict_of_two_columns()
    verdict = judge(table)[0]
    assert count(verdict) == "At or above every baseline in 1 of 2 cells."
    goals = Goal("at sigma 0.5", (heavy,), 1), Goal("in all", table.columns, 1)
    assert count(verdict, goals) == (
        "At or above every baseline in 1 of 2 cells; at sigma 0.5 0 of 1, wanted 1: not reached; "
        "in all 1 of 2, wanted 1: reached."
    )


def test_cells_of_two_tables_are_counted_together():
    one, two, _ = verdict_of_two_columns()
    told = count_together([judge(one)[0], judge(two)[0]], 3)
    assert told == (
        "HybridCleaner: At or above every baseline in 2 of 3 cells; "
        "these tables together 2 of 3, wanted 3: not reached."
    )


def test_twenty_of_the_24_cells_are_wanted_of_the_whole_table_1_under_uniform_alone():
    (goal,) = Table1().grid.goals
    assert (goal.wanted, len(goal.columns)) == (20, 24)
    assert {column.dataset for column in goal.columns} == set(DATASETS)
    assert Table1("flip").grid.goals == Table1(suffix="-quick").grid.goals == ()


def test_page_csv_and_command_line_say_the_same():
    _, table, _ = verdict_of_two_columns()
    goals = (Goal("in all", table.columns, 1),)
    page = Page("T", "c", table, (), OURS, [], [], judge(table), goals)
    lines = list(csv.DictReader(io.StringIO(write._csv(write._margin_lines(page.verdicts)))))
    assert [(line["row"], line["best_baseline"], line["reached"]) for line in lines] == [
        ("hybrid", "logistic", "True"), ("hybrid", "logistic", "False"),
    ]  # fmt: skip
    assert lines[0]["margin"] == "9.5000"
    for text in (render("table.md", page), render("table.html", page), summarise(page)):
        assert "HybridCleaner (row hybrid)" in text
        assert "+9.50 ± 0.50" in text
        assert "1 of 2 cells; in all 1 of 2, wanted 1: reached." in text
    assert "This is the row called ours." in render("table.md", page)
