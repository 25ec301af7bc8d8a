"""`unmuddle apply`: lists that somebody edited."""

import json

import pandas as pd
import pytest

from clean_command.commands import read, run
from tables import WRONG_CELL, csv_text


def test_lists_that_nobody_edited_apply_to_the_cleaned_file(copy):
    result = run("apply", copy)
    assert result.exit_code == 0, result.output
    assert (copy / "applied.csv").read_bytes() == (copy / "cleaned.csv").read_bytes()
    again = run("apply", copy)
    assert again.exit_code == 2
    assert "--force" in again.output


def test_only_accepted_changes_are_applied(copy):
    """As a spreadsheet in another country saves the list: semicolons, a mark, capitals."""
    lines = read(copy / "label_issues.csv")
    for line in lines:
        line["accept"] = "Yes" if line["row"] in ("3", "7") else "no"
        line["suggested"] = "willow" if line["row"] == "7" else line["suggested"]
    frame = pd.DataFrame(lines)
    frame.to_csv(copy.parent / "review.csv", sep=";", index=False, encoding="utf-8-sig")
    result = run("apply", copy, "--accept", copy.parent / "review.csv", "--json")
    assert json.loads(result.stdout) == {"path": str(copy / "applied.csv"), "labels": 2, "cells": 0}
    before, after = csv_text().split("\r\n"), (copy / "applied.csv").read_bytes().decode().split("\r\n")
    suggested = next(line["suggested"] for line in lines if line["row"] == "3")
    before[4] = before[4].rpartition(",")[0] + f",{suggested}"
    before[8] = before[8].rpartition(",")[0] + ",willow"
    assert after == before


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("yes,", "perhaps,", "line 2, column 'accept': accept must be yes or no; got 'perhaps'"),
        ("accept", "agree", "must have the columns that unmuddle clean gave it; 'accept' is not there"),
        ("yes,3,", "yes,300,", "row must be between 0 and 119; got '300'"),
    ],
)
def test_a_review_that_was_spoiled_is_refused_with_its_line(copy, old, new, expected):
    text = (copy / "label_issues.csv").read_bytes().decode()
    assert old in text
    (copy / "label_issues.csv").write_bytes(text.replace(old, new, 1).encode())
    result = run("apply", copy)
    assert result.exit_code == 2
    assert expected in result.output
    assert not (copy / "applied.csv").exists()


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("recovered", "abc", "line 2: a new value for column 'width' must be one of its numbers; got 'abc'"),
        ("column", "weight", "line 2, column 'column': column must be one of trees.csv; got 'weight'"),
        ("accept", "yes", "cell_issues.csv, line 3: an accepted cell must have one new value"),
        ("row", "11", "line 2: row and line must belong together; row 11 is line 13 of trees.csv, got '"),
    ],
)
def test_cells_that_a_reviewer_spoiled_are_refused_with_their_line(copy, column, text, expected):
    lines = [line for line in read(copy / "cell_issues.csv") if line["row"] == str(WRONG_CELL[0])][:1]
    lines += [dict(lines[0], recovered="250.5")] if column == "accept" else []
    for line in lines:
        line[column] = text
    pd.DataFrame(lines).to_csv(copy / "cell_issues.csv", index=False)
    result = run("apply", copy, "--accept", copy / "cell_issues.csv")
    assert result.exit_code == 2
    assert expected in result.output
    assert not (copy / "applied.csv").exists()


def test_cells_saved_with_decimal_commas_get_points_again(copy):
    lines = read(copy / "cell_issues.csv")
    for line in lines:
        line["recovered"] = line["recovered"].replace(".", ",")
    pd.DataFrame(lines).to_csv(copy.parent / "review.csv", sep=";", index=False)
    assert run("apply", copy, "--accept", copy.parent / "review.csv").exit_code == 0
    applied = pd.read_csv(copy / "applied.csv", skipinitialspace=True).rename(columns=str.strip)
    for line in lines:
        assert applied[line["column"]][int(line["row"])] == float(line["recovered"].replace(",", "."))


def test_an_input_that_changed_is_not_edited(copy):
    path = copy.parent / "trees.csv"
    path.write_bytes(path.read_bytes() + b"\r\n")
    result = run("apply", copy)
    assert result.exit_code == 2
    assert "as it was when it was cleaned" in result.output
