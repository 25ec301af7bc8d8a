"""Marks, differences and paired comparisons of hand-made accuracies."""

import csv
import io
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

from unmuddle.experiments import write
from unmuddle.experiments.paper import printed
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import Record
from unmuddle.experiments.table import Column, Entry, Row, collect, differ, standard_error
from unmuddle.experiments.write import Page, heading, number, render

COLUMN = Column("wine", Noise("gaussian(sigma=0.2)", "uniform(rate=0.3)"))
ROWS = [Row(name, name) for name in ("logistic", "ridge", "forest", "cleanlab")]
ACCURACIES = {
    "logistic": [0.90, 0.92, 0.94, 0.91, 0.93],
    "ridge": [0.80, 0.82, 0.84, 0.81, 0.83],  # always ten points below
    "forest": [0.95, 0.85, 0.99, 0.80, 0.96],  # about as good, and scattered
    "cleanlab": [0.99, 0.99, 0.99, 0.99, None],  # would be best, had it not failed once
}


@pytest.fixture(name="table")
def _table():
    records = {}
    for name, values in ACCURACIES.items():
        for trial, value in enumerate(values):
            cell = Cell(name, *COLUMN, trial)
            failed = Record(cell, "failed", reason="ValueError: <b>no</b>")
            records[cell] = failed if value is None else Record(cell, "done", {"accuracy": value})
    rows = [*ROWS, Row("logistic-told", "told", {"gaussian": "logistic"}, "told", "FLR")]
    return collect(rows, [COLUMN], 5, records, printed(1))


def test_mean_and_sample_deviation_are_in_per_cent(table):
    entry = table[ROWS[0], COLUMN]
    assert entry.mean == pytest.approx(92.0)
    assert entry.std == pytest.approx(np.sqrt(sum((v - 92) ** 2 for v in (90, 92, 94, 91, 93)) / 4))
    assert number(entry) == "92.00 ± 1.58"


def test_marks_go_to_the_best_rows_that_are_complete_and_know_no_more_than_a_user(table):
    assert [table.mark(row, COLUMN) for row in table.rows] == ["best", "", "second", "", ""]


def test_equals_share_a_mark():
    records = {
        Cell(row.name, *COLUMN, 0): Record(Cell(row.name, *COLUMN, 0), "done", {"accuracy": 0.5}) for row in ROWS
    }
    table = collect(ROWS, [COLUMN], 1, records)
    assert {table.mark(row, COLUMN) for row in ROWS} == {"best"}


def test_comparisons_are_paired_t_tests_over_trials(table):
    first, second, third = (table[row, COLUMN] for row in ROWS[:3])
    assert differ(first, second)  # the same gap in every trial
    assert not differ(first, third)
    assert not differ(first, first)
    assert not differ(Entry({0: 1.0}, {}), Entry({0: 99.0}, {}))  # one trial tells nothing


@pytest.mark.parametrize("scale", [0.5, 1.0, 1.4, 1.6, 3.0])
def test_the_standard_error_is_that_of_overlapping_splits(scale):
    gaps = scale * np.array([1.0, 2.0, 3.0, 4.0, 5.0]) - scale * 0.4
    plain = stats.ttest_1samp(gaps, 0.0).statistic
    corrected = plain * np.sqrt((1 / 5) / (1 / 5 + 20 / 80))  # five trials, 20 % tested, 80 % trained on
    expected = 2 * stats.t.sf(corrected, 4) < 0.05
    zeros = Entry(dict.fromkeys(range(5), 0.0), {})
    assert differ(Entry(dict(enumerate(gaps)), {}), zeros) == expected
    assert standard_error(gaps) == pytest.approx(gaps.mean() / corrected)


def test_differences_that_are_real_are_found_where_unpaired_ones_would_drown():
    first, second = [10.0, 50.0, 90.0, 20.0], [11.0, 51.1, 91.2, 21.1]
    assert differ(Entry(dict(enumerate(first)), {}), Entry(dict(enumerate(second)), {}))
    assert stats.ttest_ind(first, second).pvalue > 0.9


def test_two_trials_tell_nothing():
    assert not differ(Entry({0: 10.0, 1: 10.0}, {}), Entry({0: 90.0, 1: 90.1}, {}))


def test_the_order_of_trials_does_not_decide_between_equals():
    orders = [0.1, 0.2, 0.3, 0.7, 0.6], [0.7, 0.6, 0.3, 0.2, 0.1]
    records = {
        Cell(row.name, *COLUMN, trial): Record(Cell(row.name, *COLUMN, trial), "done", {"accuracy": value})
        for row, values in zip(ROWS[:2], orders, strict=True)
        for trial, value in enumerate(values)
    }
    table = collect(ROWS[:2], [COLUMN], 5, records)
    assert [table.mark(row, COLUMN) for row in ROWS[:2]] == ["best", "best"]


def test_a_standing_counts_columns_and_averages_gaps(table):
    standing = table.standing(ROWS[0], ROWS[1])
    assert standing[1:4] == (1, 0, 0)
    assert standing.difference == pytest.approx(10.0)
    assert standing.error == pytest.approx(0.0, abs=1e-12)
    assert table.standing(ROWS[1], ROWS[0])[1:4] == (0, 1, 0)
    assert sum(table.standing(ROWS[0], ROWS[3])[1:4]) == 0  # not complete


def page(table):
    records = [
        Record(Cell("logistic", *COLUMN, 0), "done", warned=("CollapsedWarning",), versions="numpy 1"),
        Record(Cell("logistic", *COLUMN, 1), "done", warned=("CollapsedWarning",), versions="numpy 2"),
        Record(Cell("ridge", *COLUMN, 1), "failed", reason="so"),
    ]
    return Page("Title & co", "unmuddle <x>", table, printed(1), ROWS[0], ["a < b"], records)


def test_warnings_of_fits_are_counted_and_versions_named(table):
    text = render("table.md", page(table))
    assert "| logistic | 2 | CollapsedWarning 2 |" in text
    assert "| ridge |" not in text.partition("What fits warned of")[2]
    assert "Made with numpy 1; numpy 2." in text


def test_means_over_columns_and_wins_are_counted(table):
    text = render("table.md", page(table))
    assert "| logistic | 92.0 | 92.0 | 1 |" in text
    assert "| told † | 92.0 | 92.0 | not ranked |" in text
    assert np.isnan(collect([ROWS[0]], [COLUMN, Column("glass", COLUMN.noise)], 5, {}).mean(ROWS[0]))


def test_the_papers_figure_stands_beside_ours_with_the_difference(table):
    text = render("table.md", page(table))
    assert "| told † | 92.00 ± 1.58 |" in text
    assert "| the paper's FLR | 96.57 ± 1.27 |" in text
    assert "| difference | -4.57 |" in text
    for paper_row in ("RPCA", "GCE", "Co-teaching", "JoCoR", "L_DMI", "LQF"):
        assert f"| {paper_row} |" in text
    assert "**92.00 ± 1.58**" in text
    assert "99.00 ± 0.00 (4 trials)" in text


def test_every_table_of_the_markdown_has_as_many_cells_in_each_line(table):
    block = []
    for line in [*render("table.md", page(table)).splitlines(), ""]:
        if line.startswith("|"):
            block.append(line.count("|"))
        else:
            assert len(set(block)) <= 1
            block = []


class Reader(HTMLParser):
    """Cells of each table row, and tags left open."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if self.rows and self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def test_the_page_is_well_formed_escaped_and_needs_nothing_else(table):
    html = render("table.html", page(table))
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert "Title & co" in reader.text
    assert "ValueError: <b>no</b>" in reader.text
    assert "http" not in html
    assert "src=" not in html
    assert ["told †", "92.00 ± 1.58"] in reader.rows
    assert ["difference", "-4.57"] in reader.rows


def test_the_csv_reads_back(table):
    text = write._csv(write._table_lines(table))
    found = list(csv.DictReader(io.StringIO(text)))
    assert [line["mean"] for line in found] == ["92.0000", "82.0000", "91.0000", "99.0000", "92.0000"]
    assert found[4]["difference"] == "-4.5700"
    assert found[3]["missing"] == "1"


def test_a_heading_names_dataset_and_levels():
    assert heading(COLUMN) == "wine (0.2, 0.3)"
    assert heading(Column("glass", Noise("none", "none"))) == "glass"
