"""The page says what the cleaner found, and nothing in the data can break it."""

import base64
import hashlib
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from report.tables import NASTY, parse, three_blobs
from unmuddle import HybridCleaner
from unmuddle.errors import OutputError
from unmuddle.report import Report, content, render, write_report
from unmuddle.report.text import shown


def report_of(case, **given):
    return Report.of(case.cleaner, case.X, case.y, case.cleaned, **given)


@pytest.fixture(scope="module")
def plain_page(plain):
    return parse(render(report_of(plain, name="pets.csv", label="species", seconds=1.5, stages={"read": 0.25})))


@pytest.fixture(scope="module")
def nasty_html(nasty):
    return render(
        report_of(nasty, name=NASTY[0], command=NASTY[1], label=NASTY[6], stages={NASTY[0]: 1.0}, folder=NASTY[3])
    )


def sentence(html, which):
    return re.search(rf'id="{which}">([^<]*)<', html).group(1)


def test_numbers_of_the_verdict_are_those_of_the_tables(plain):
    html = render(report_of(plain))
    page = parse(html)
    wrong_labels, labels, wrong_cells, cells = map(int, re.findall(r"\d+", sentence(html, "found").replace(",", "")))
    assert wrong_labels == len(page.tables["label-table"]) - 1 == int(plain.cleaner.label_issues_["flag"].sum())
    assert wrong_cells == len(page.tables["cell-table"]) - 1 == len(plain.cleaner.cell_issues_)
    assert wrong_cells == sum(int(line[1]) for line in page.tables["column-table"][1:])
    assert labels == len(plain.y)
    assert cells == plain.X.size - 1  # one is missing
    rate = plain.cleaner.noise_report_.query("quantity == 'noise rate'").iloc[0]
    expected = [round(100 * rate["estimate"]), 90, round(100 * rate["low"]), round(100 * rate["high"])]
    assert list(map(int, re.findall(r"\d+", sentence(html, "estimated")))) == expected


def test_the_fault_that_was_planted_is_found_on_the_page(plain, plain_page):
    rows = {line[0] for line in plain_page.tables["label-table"][1:]}
    assert {"3", "10", "21", "40"} <= rows
    confidences = plain.cleaner.label_issues_.query("flag")["confidence"]
    first = plain_page.tables["label-table"][1]
    assert first[0] == str(confidences.idxmax())


def test_parts_come_in_the_promised_order(plain_page):
    sections = [attributes["id"] for tag, attributes in plain_page.elements if tag == "section"]
    assert sections == ["noise", "labels", "cells", "columns", "map", "convergence", "tuning", "apply", "made"]


def test_nothing_in_the_data_becomes_markup(plain_page, nasty_html):
    page = parse(nasty_html)
    assert len(page.tables["label-table"]) > 3
    assert len(page.tables["cell-table"]) > 3
    kinds = {tag for tag, _ in page.elements}
    assert kinds <= {tag for tag, _ in plain_page.elements} | {"details", "summary", "section", "wbr"}
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert not [
        name for _, attributes in page.elements for name in attributes if name.startswith("on") or name == "style"
    ]
    text = "".join(page.text)
    assert "<script>alert(1)</script>" in text
    assert "{{ 7 * 7 }}" in text
    assert "<b>bold</b>" in text
    assert not [character for character in "\x00\x07\N{RIGHT-TO-LEFT OVERRIDE}" if character in nasty_html]


def test_long_text_is_cut_and_its_length_told(nasty_html):
    assert "a" * 500 not in nasty_html
    assert "(10,000 characters)" in nasty_html
    assert len(nasty_html) < 1_000_000


def test_nothing_is_fetched(plain_page, nasty_html):
    for page in (plain_page, parse(nasty_html)):
        links = [
            value
            for _, attributes in page.elements
            for name, value in attributes.items()
            if name in ("src", "href", "action", "srcset", "xlink:href")
        ]
        assert links
        assert all(link.startswith("#") for link in links)
        assert "url(" not in "".join(page.text)
        assert "@import" not in "".join(page.text)


def test_the_policy_allows_this_style_and_script_and_no_other(nasty_html):
    page = parse(nasty_html)
    policy = next(attributes["content"] for tag, attributes in page.elements if attributes.get("http-equiv"))
    for tag in ("style", "script"):
        code = nasty_html.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        assert f"{tag}-src 'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


def test_every_header_has_a_scope_and_every_picture_a_name(plain_page):
    assert all("scope" in attributes for tag, attributes in plain_page.elements if tag == "th")
    pictures = [attributes for tag, attributes in plain_page.elements if tag == "svg"]
    assert all("aria-label" in picture or picture.get("aria-hidden") == "true" for picture in pictures)
    anchors = {attributes["href"][1:] for tag, attributes in plain_page.elements if tag == "a"}
    assert anchors <= {attributes.get("id") for _, attributes in plain_page.elements}


def test_many_lines_are_cut_and_the_rest_is_counted(plain, monkeypatch):
    monkeypatch.setattr(content, "MOST_LINES", 2)
    report = report_of(plain)
    page = parse(render(report))
    assert len(page.tables["label-table"]) == len(page.tables["cell-table"]) == 3
    text = " ".join("".join(page.text).split())
    assert f"The 2 surest are shown; {report.wrong_labels - 2} more labels in label_issues.csv." in text
    assert f"The 2 surest are shown; {report.wrong_cells - 2} more cells in cell_issues.csv." in text


def test_the_same_data_give_the_same_page(plain):
    assert render(report_of(plain)) == render(report_of(plain))


def test_cells_of_columns_that_share_a_name_are_put_where_they_belong(plain):
    X = plain.X.set_axis(["twin"] * plain.X.shape[1], axis=1)
    cleaner = HybridCleaner(random_state=0)
    cleaned = cleaner.fit_clean(X, plain.y)
    twins, apart = Report.of(cleaner, X, plain.y, cleaned), report_of(plain)
    assert twins.grid.wrong == apart.grid.wrong
    assert [line.wrong for line in twins.columns] == [line.wrong for line in apart.columns]


def test_plain_arrays_rows_without_labels_and_unexamined_cells_are_told():
    X, y = three_blobs(n=60)
    labels = [None if row < 5 else int(label) for row, label in enumerate(y)]
    cleaner = HybridCleaner(recovery="none", random_state=0)
    report = Report.of(cleaner, X, labels, cleaner.fit_clean(X, labels))
    assert report.n_labels == 55
    assert report.found.endswith("cells were not examined.")
    assert "Cells were not examined" in render(report)


def test_a_page_about_clean_data_says_so(plain):
    report = replace(report_of(plain), labels=(), cells=(), wrong_labels=0, wrong_cells=0)
    text = "".join(parse(render(report)).text)
    assert "No label is likelier wrong than right." in text
    assert "No cell is likelier wrong than right." in text
    assert report.found == f"0 of 80 labels and 0 of {report.n_cells} cells look wrong."


def test_a_page_about_cells_that_tell_the_classes_apart_says_so(plain):
    report = replace(report_of(plain), cells=(), columns=(), wrong_cells=0)
    assert report.found.endswith("cells that look wrong tell the classes apart and are left alone.")
    assert "No cell is called wrong" in "".join(parse(render(report)).text)


def test_checksums_differ_for_different_cells_and_a_given_one_is_shown(plain):
    changed = plain.X.copy()
    changed.iloc[0, 0] += 1.0
    sums = {
        dict(Report.of(plain.cleaner, X, plain.y, plain.cleaned).facts)["SHA-256 of the cells"]
        for X in (plain.X, changed)
    }
    assert len(sums) == 2
    assert dict(report_of(plain, checksum="abc").facts)["SHA-256 of the file"] == "abc"


def test_a_report_is_written_whole_or_not_at_all(plain, tmp_path):
    report = report_of(plain)
    write_report(tmp_path / "new" / "report.html", report)
    assert (tmp_path / "new" / "report.html").read_text("utf-8") == render(report)
    blocked = tmp_path / "file"
    blocked.write_text("here already")
    with pytest.raises(OutputError, match="cannot write"):
        write_report(blocked / "report.html", report)


def test_the_notebook_shows_what_was_found_above_the_diagram(plain, nasty):
    html = plain.cleaner._repr_mimebundle_()["text/html"]
    assert plain.cleaner._repr_html_().startswith('<div class="unmuddle-summary">')
    count = int(plain.cleaner.label_issues_["flag"].sum())
    assert html.startswith('<div class="unmuddle-summary">')
    assert f"<b>{count}</b> of 80 labels" in html
    assert "unmuddle-summary" not in HybridCleaner()._repr_mimebundle_()["text/html"]
    summary = nasty.cleaner._summary()
    assert {tag for tag, _ in parse(summary).elements} == {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}


def test_missing_values_of_every_kind_are_a_dash():
    assert {shown(value) for value in (None, float("nan"), np.float64("nan"), pd.NA, pd.NaT)} == {"\N{EN DASH}"}
    assert shown(10**5000) == "a number of thousands of digits"
    assert shown(True) == "True"


def test_text_that_no_file_can_hold_is_replaced():
    assert shown("a\ud800b").encode() == "a\N{REPLACEMENT CHARACTER}b".encode()
