"""`unmuddle clean`, `apply`, `predict` and `report` as a user meets them."""

import csv
import errno
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer
from typer.testing import CliRunner

from report.tables import parse
from tables import MISSING_CELL, N_ROWS, WRONG_CELL, WRONG_LABELS, csv_text, small_frame
from tabular.bad_files import BAD
from unmuddle import HybridCleaner
from unmuddle.cli import app
from unmuddle.errors import InvalidDataError
from unmuddle.file_commands import stage_bars
from unmuddle.jobs import load_model
from unmuddle.jobs.model import TRUSTED
from unmuddle.jobs.stages import STAGES, Pace, Stages

LISTS = ("label_issues.csv", "cell_issues.csv", "audit.csv")


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "200", "NO_COLOR": "1"})


def read(path):
    """A CSV as text, cell by cell."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode(), newline="")))


@pytest.fixture(name="cleaned", scope="session")
def _cleaned(tmp_path_factory):
    """One run that all tests look at: trees.csv and trees-cleaned beside it."""
    folder = tmp_path_factory.mktemp("clean")
    (folder / "trees.csv").write_text(csv_text(), newline="")
    result = run("clean", folder / "trees.csv", "--label", "species", "--id", "tag", "--seed", 5)
    assert result.exit_code == 0, result.output
    assert "labels and" in result.output
    return folder / "trees-cleaned"


@pytest.fixture(name="direct", scope="session")
def _direct():
    """The same by the library, on a frame that pandas read."""
    frame = pd.read_csv(io.StringIO(csv_text()), skipinitialspace=True).rename(columns=str.strip)
    X, y = frame.drop(columns=["tag", "species"]).astype({"colour": object}), frame["species"].to_numpy(dtype=object)
    cleaner = HybridCleaner(random_state=5)
    return X, cleaner, cleaner.fit_clean(X, y)


@pytest.fixture(name="copy")
def _copy(cleaned, tmp_path):
    """A copy of input and output that a test may spoil."""
    shutil.copytree(cleaned.parent, tmp_path / "work")
    summary = json.loads((tmp_path / "work" / cleaned.name / "summary.json").read_text())
    summary["input"]["path"] = str(tmp_path / "work" / "trees.csv")
    (tmp_path / "work" / cleaned.name / "summary.json").write_text(json.dumps(summary))
    return tmp_path / "work" / cleaned.name


@pytest.fixture(name="trees")
def _trees(tmp_path):
    path = tmp_path / "trees.csv"
    path.write_text(csv_text(), newline="")
    return path


def left(path):
    """What is in the folder of a file besides it."""
    return sorted(set(os.listdir(path.parent)) - {path.name})


def test_the_planted_slips_are_found_and_only_audited_cells_differ(cleaned):
    audit = read(cleaned / "audit.csv")
    rows = {int(line["row"]) for line in audit if line["kind"] == "label"}
    assert set(WRONG_LABELS) <= rows
    assert (str(WRONG_CELL[0]), WRONG_CELL[1]) in {(line["row"], line["column"]) for line in audit}
    assert [line["row"] for line in audit if line["kind"] == "missing cell"] == [str(MISSING_CELL[0])]
    before = csv_text().split("\r\n")
    after = (cleaned / "cleaned.csv").read_bytes().decode().split("\r\n")
    names = [name.strip() for name in next(csv.reader([before[0]]))]
    expected = [line.split(",") for line in before]
    for line in audit:
        old = expected[int(line["row"]) + 1][names.index(line["column"])]
        assert old.strip().strip('"') == line["given"]
        new = f'"{line["new"]}"' if old.startswith('"') else line["new"]
        expected[int(line["line"]) - 1][names.index(line["column"])] = new
        assert line["id"] == f"tree-{line['row']}"
    assert after == [",".join(cells) for cells in expected]
    assert (cleaned.parent / "trees.csv").read_bytes().decode() == csv_text()


def test_lists_and_summary_say_what_the_library_says(cleaned, direct):
    _, cleaner, result = direct
    issues = cleaner.label_issues_.set_index("row")
    listed = read(cleaned / "label_issues.csv")
    assert len(listed) == N_ROWS
    for line in listed:
        expected = issues.loc[int(line["row"])]
        assert (line["given"], line["suggested"]) == (expected["given"], expected["suggested"])
        assert line["accept"] == ("yes" if expected["flag"] else "")
        assert float(line["confidence"]) == pytest.approx(expected["confidence"], abs=1e-4)
    confidences = [float(line["confidence"]) for line in listed]
    assert confidences == sorted(confidences, reverse=True)
    summary = json.loads((cleaned / "summary.json").read_text())
    kinds = result.audit["kind"].value_counts()
    assert summary["counts"]["labels_flagged"] == summary["counts"]["labels_changed"] == kinds["label"]
    assert summary["counts"]["cells_flagged"] == len(cleaner.cell_issues_)
    assert summary["counts"]["cells"] == N_ROWS * 6 - 1
    assert summary["input"]["sha256"] == hashlib.sha256(csv_text().encode()).hexdigest()
    assert summary["schema_version"] == 1
    assert summary["seed"] == 5
    assert list(summary["seconds"]) == ["read", "scale", "recover", "tune", "cross-fit", "write"]
    assert set(os.listdir(cleaned)) == set(summary["files"])
    assert summary["command"].endswith("--label species --id tag --estimator auto --fdr 0.1 --seed 5")


def test_predictions_are_those_of_the_cleaner(cleaned, direct, tmp_path):
    X, cleaner, _ = direct
    new = small_frame().drop(columns="species").iloc[::-1]
    new[new.columns[::-1]].to_csv(tmp_path / "new.tsv", sep="\t", index=False)
    result = run("predict", cleaned, tmp_path / "new.tsv", "--id", "tag")
    assert result.exit_code == 0, result.output
    found = pd.read_csv(tmp_path / "new-predictions.csv")
    expected = X.iloc[::-1]
    assert found["prediction"].tolist() == cleaner.predict(expected).tolist()
    assert found["id"].tolist() == new["tag"].tolist()
    columns = [f"probability of {label}" for label in ("ash", "birch", "cedar")]
    np.testing.assert_allclose(found[columns], cleaner.predict_proba(expected), atol=1e-6)
    again = run("predict", cleaned / "model.skops", tmp_path / "new.tsv")
    assert again.exit_code == 2
    assert "--force" in again.output
    assert run("predict", cleaned, tmp_path / "new.tsv", "--out", tmp_path / "new.tsv", "--force").exit_code == 2
    (tmp_path / "short.csv").write_text("length,width\n1,2\n")
    assert "'depth'" in run("predict", cleaned, tmp_path / "short.csv").output


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


def test_given_cells_are_listed_to_the_letter_and_new_ones_have_as_many_digits_as_most(tmp_path):
    text = csv_text().replace(",900.00,", ",900.0000000001,")
    (tmp_path / "trees.csv").write_bytes(text.encode())
    assert run("clean", tmp_path / "trees.csv", "--label", "species").exit_code == 0
    line = next(line for line in read(tmp_path / "trees-cleaned" / "cell_issues.csv") if line["column"] == "width")
    assert line["given"] == "900.0000000001"
    assert len(line["recovered"].partition(".")[2]) == 2


@pytest.mark.parametrize("option", ["--id", "--ignore"])
def test_the_column_of_labels_has_no_other_role(tmp_path, option):
    (tmp_path / "trees.csv").write_bytes(csv_text().encode())
    result = run("clean", tmp_path / "trees.csv", "--label", "species", option, "species")
    assert result.exit_code == 2
    assert f"{option} must name another column than that of the labels; got 'species'" in result.output


def test_rows_without_a_label_and_rare_classes_are_noted(tmp_path):
    frame = small_frame()
    frame.loc[[5, 6], "species"], frame.loc[8, "species"] = "", "yew"
    frame.to_csv(tmp_path / "trees.csv", index=False)
    result = run("clean", tmp_path / "trees.csv", "--label", "species", "--json")
    notes = " ".join(json.loads((tmp_path / "trees-cleaned" / "summary.json").read_text("utf-8"))["notes"])
    assert result.exit_code == 0
    assert "2 rows have no label and get none" in notes
    assert "'yew' (1)" in notes
    lines = {line["row"]: line for line in read(tmp_path / "trees-cleaned" / "label_issues.csv")}
    assert lines["5"]["given"] == ""


def test_an_input_that_changed_is_not_edited(copy):
    path = copy.parent / "trees.csv"
    path.write_bytes(path.read_bytes() + b"\r\n")
    result = run("apply", copy)
    assert result.exit_code == 2
    assert "as it was when it was cleaned" in result.output


def test_the_report_is_two_lines(cleaned):
    result = run("report", cleaned)
    assert result.exit_code == 0
    place, found = result.output.splitlines()
    assert place.startswith("Report: ")
    n_flagged = sum(line["accept"] == "yes" for line in read(cleaned / "label_issues.csv"))
    assert found.startswith(f"{n_flagged} of {N_ROWS} labels and ")
    assert json.loads(run("report", cleaned, "--json").stdout)["verdict"] == found
    assert run("report", cleaned.parent).exit_code == 2


def test_an_old_folder_is_kept_without_force_and_nothing_is_computed(copy, monkeypatch):
    monkeypatch.setattr(HybridCleaner, "fit_clean", lambda *arguments: pytest.fail("computed"))
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    result = run("clean", copy.parent / "trees.csv", "--label", "species")
    assert result.exit_code == 2
    assert "--force" in result.output
    (copy / "my notes.txt").write_text("mine")
    result = run("clean", copy.parent / "trees.csv", "--label", "species", "--force")
    assert result.exit_code == 2
    assert "my notes.txt" in result.output
    (copy / "my notes.txt").unlink()
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    result = run("clean", copy.parent / "trees.csv", "--label", "species", "--force", "--out", copy.parent)
    assert result.exit_code == 2
    assert (copy.parent / "trees.csv").exists()


def test_the_same_seed_gives_the_same_files_and_force_replaces_a_folder(copy, cleaned):
    (copy / "applied.csv").write_text("old")
    result = run(
        "clean", copy.parent / "trees.csv", "--label", "species", "--id", "tag", "--seed", 5, "--force", "--json"
    )
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["counts"]["labels"] == N_ROWS
    for name in (*LISTS, "cleaned.csv"):
        assert (copy / name).read_bytes() == (cleaned / name).read_bytes(), name
    assert not (copy / "applied.csv").exists()
    assert left(copy) == ["trees.csv"]


@pytest.mark.parametrize("estimator", ["logistic", "forest"])
def test_other_estimators_are_saved_and_loaded_and_a_review_changes_nothing(trees, estimator):
    out = trees.parent / "made" / "here"
    result = run(
        "clean",
        trees,
        "--label",
        "species",
        "--out",
        out,
        "--estimator",
        estimator,
        "--review-only",
        "--ignore",
        "count",
    )
    assert result.exit_code == 0, result.output
    assert not list(out.glob("cleaned*"))
    assert len((out / "audit.csv").read_text().splitlines()) == 1
    model = load_model(out / "model.skops")
    assert "count" not in dict(model.features)
    assert len(set(model.cleaner.predict(small_frame()[[name for name, _ in model.features]]))) == 3
    assert run("apply", out).exit_code == 0
    assert b"900.00" not in (out / "applied.csv").read_bytes()


def test_a_dry_run_shows_types_and_writes_nothing(trees):
    result = run("clean", trees, "--label", "species", "--dry-run")
    assert result.exit_code == 0
    rows = f"CSV (comma), {N_ROWS} rows"
    for words in (rows, "whole numbers", "categories", "ash, birch, cedar", "cleaned.csv", "'tag'"):
        assert words in result.output
    told = json.loads(run("clean", trees, "--label", "species", "--dry-run", "--json").stdout)
    assert told["types"]["count"] == "whole numbers"
    assert left(trees) == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--label", "specie"], "Nearest: 'species'"),
        ([], "--label must name the column"),
        (["--label", "species", "--id", "tagg"], "--id must name a column; got 'tagg'"),
        (["--label", "species", "--ignore", "colour", "--ignore", "hue"], "--ignore must name a column; got 'hue'"),
        (["--label", "species", "--fdr", "2"], "fdr must be a number between 0 and 1"),
        (["--label", "species", "--estimator", "magic"], "magic"),
        (["--label", "species", "--seed", "-1"], "--seed"),
    ],
)
def test_bad_usage_is_one_line_exit_code_2_and_nothing_written(trees, arguments, expected):
    result = run("clean", trees, *arguments)
    assert result.exit_code == 2
    assert expected in result.output
    assert "Traceback" not in result.output
    assert left(trees) == []


def test_a_folder_under_a_file_is_refused_before_anything_is_computed(trees, monkeypatch):
    monkeypatch.setattr(HybridCleaner, "fit_clean", lambda *arguments: pytest.fail("computed"))
    result = run("clean", trees, "--label", "species", "--out", trees / "out")
    assert result.exit_code == 2
    assert "is a file; choose another folder" in result.output
    assert left(trees) == []


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "nothing was written"),
        (RuntimeError("odd\nthing"), 1, "Internal error: RuntimeError: odd thing"),
    ],
)
def test_interrupts_and_internal_errors_have_exit_codes_of_their_own(trees, monkeypatch, error, code, words):
    def fail(*arguments):
        raise error

    monkeypatch.setattr(HybridCleaner, "fit_clean", fail)
    result = run("clean", trees, "--label", "species")
    assert result.exit_code == code
    assert words in result.output
    assert len(result.output.splitlines()) == 1
    assert left(trees) == []
    if code == 1:
        assert "Traceback" in run("clean", trees, "--label", "species", "--debug").output


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_full_disk_or_an_interrupt_at_the_end_keeps_the_old_folder(copy, monkeypatch, call, error):
    before = {path.name: path.read_bytes() for path in copy.iterdir()}
    real, calls = getattr(os, call), []

    def fail(*arguments):
        calls.append(arguments)
        if len(calls) == 2:  # of two renames the one that puts the new folder in place
            raise error
        return real(*arguments)

    monkeypatch.setattr(os, call, fail)
    result = run("clean", copy.parent / "trees.csv", "--label", "species", "--force", "--review-only")
    assert result.exit_code == (2 if isinstance(error, OSError) else 130)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == before
    assert left(copy) == ["trees.csv"]


def test_what_killed_runs_left_is_swept_away_or_put_back(copy):
    (copy.parent / f".{copy.name}.999999999.part").mkdir()
    copy.rename(copy.parent / f".{copy.name}.999999999.old")
    result = run("clean", copy.parent / "trees.csv", "--label", "species")
    assert result.exit_code == 2
    assert "it is there already" in result.output
    assert left(copy) == ["trees.csv"]


def test_text_that_looks_like_formulas_is_guarded_in_lists_and_kept_in_the_file(tmp_path):
    text = csv_text().replace("ash", "=cmd('x')").replace("red", "@sum").replace("tree-", "+")
    (tmp_path / "t.csv").write_text(text.replace("length", "=length"), newline="")
    result = run("clean", tmp_path / "t.csv", "--label", "species", "--id", "tag")
    assert result.exit_code == 0, result.output
    out = tmp_path / "t-cleaned"
    for name in LISTS:
        for line in read(out / name):
            assert not any(cell.startswith(("=", "@")) for cell in (*line, *line.values()))
    assert b"'=" not in (out / "cleaned.csv").read_bytes()
    assert b"=cmd('x')" in (out / "cleaned.csv").read_bytes()
    assert run("apply", out).exit_code == 0
    assert (out / "applied.csv").read_bytes() == (out / "cleaned.csv").read_bytes()


FUZZED = (
    "cut off", "cut off in quotes", "wrong delimiter", "mixed types", "duplicate headers", "NUL bytes", "1 row",
    "1 class", "all missing", "label absent", "empty", "binary junk", "pickle", "cut-off archive",
)  # fmt: skip


@pytest.mark.parametrize("case", FUZZED)
def test_a_bad_file_is_one_line_exit_code_2_and_nothing_written(tmp_path, case):
    content, expected = BAD[case]
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    result = run("clean", path, "--label", "species")
    assert result.exit_code == 2
    (line,) = result.output.splitlines()
    assert line.startswith(f"Error: {path}")
    assert re.search(expected, line)
    assert len(re.split(r"[.;] [A-Z]", line)) > 1, "no remedy"
    assert left(path) == []
    debugged = run("clean", path, "--label", "species", "--debug")
    assert debugged.exit_code == 2
    assert "Traceback" in debugged.output
    assert debugged.output.splitlines()[-1] == line


def test_a_mark_at_the_start_and_huge_numbers_as_names_are_kept_to_the_digit(tmp_path):
    """2**53 + 1 is the first integer that double precision has not."""
    text = csv_text().replace("tree-", str(2**53)[:-1]).replace(" , length", ",length")
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    result = run("clean", path, "--label", "species", "--id", "tag")
    assert result.exit_code == 0, result.output
    out = tmp_path / "t-cleaned"
    assert (out / "cleaned.csv").read_bytes().startswith(b"\xef\xbb\xbftag,")
    names = {str(2**53)[:-1] + str(row) for row in range(N_ROWS)}
    assert {line["id"] for line in read(out / "label_issues.csv")} == names
    assert {line.split(",")[0] for line in (out / "cleaned.csv").read_text("utf-8-sig").splitlines()[1:]} == names


@pytest.mark.slow
def test_ten_thousand_columns_are_cleaned_with_a_note_that_cells_were_not_looked_at(tmp_path):
    header = ",".join([*(f"c{place}" for place in range(10_000)), "species"])
    rows = [",".join([*(str(place * row % 17) for place in range(10_000)), "xy"[row % 2]]) for row in range(30)]
    (tmp_path / "wide.csv").write_text("\n".join([header, *rows]))
    result = run("clean", tmp_path / "wide.csv", "--label", "species")
    assert result.exit_code == 0, result.output
    note, verdict, *_ = result.output.splitlines()
    assert note.startswith("Note: wrong cells were not looked for")
    assert note.endswith("by --ignore to have the others looked at.")
    assert "cells were not examined" in verdict


HOSTILE = (
    "<script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "two\nlines\r\n\tand a tab", "=cmd|' /C calc'!A0",
    "\N{GRINNING FACE}\N{ZERO WIDTH JOINER}", "\N{HEBREW LETTER SHIN} \N{RIGHT-TO-LEFT OVERRIDE}evil",
    "\x1b[31mred\x1b[0m",
    "a" * 10_000,
)  # fmt: skip


@pytest.fixture(name="hostile", scope="module")
def _hostile(tmp_path_factory):
    """Such text as names of columns and rows, as labels and as categories."""
    frame = small_frame()
    codes = np.arange(N_ROWS) % 3
    frame["colour"] = np.array([HOSTILE[2], HOSTILE[3], HOSTILE[7]])[codes]
    frame["odd"] = [HOSTILE[row % len(HOSTILE)] for row in range(N_ROWS)]
    frame["tag"] = [f"{HOSTILE[row % len(HOSTILE)]} {row}" for row in range(N_ROWS)]
    species = {"ash": HOSTILE[0], "birch": HOSTILE[3], "cedar": HOSTILE[6]}
    frame["species"] = frame["species"].map(species)
    frame = frame.rename(columns={"length": HOSTILE[1], "width": HOSTILE[3], "depth": HOSTILE[5], "height": HOSTILE[7]})
    folder = tmp_path_factory.mktemp("hostile")
    frame.to_csv(folder / "h.csv", index=False)
    result = run("clean", folder / "h.csv", "--label", "species", "--id", "tag")
    assert result.exit_code == 0, result.output
    return folder / "h-cleaned"


def test_hostile_text_is_no_markup_on_the_page(hostile):
    html = (hostile / "report.html").read_text("utf-8")
    page = parse(html)
    assert sum(tag == "script" for tag, _ in page.elements) == 1
    assert "img" not in {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not {"\x1b", "\N{RIGHT-TO-LEFT OVERRIDE}"} & set(html)
    assert "a" * 500 not in html
    assert HOSTILE[0] in "".join(page.text)
    assert len(page.tables["label-table"]) > len(WRONG_LABELS)


def test_hostile_text_starts_no_formula_in_any_list_and_comes_back_as_it_was(hostile, tmp_path):
    source = hostile.parent / "h.csv"
    result = run("predict", hostile, source, "--id", "tag", "--out", tmp_path / "predictions.csv")
    assert result.exit_code == 0, result.output
    for path in (*(hostile / name for name in LISTS), tmp_path / "predictions.csv"):
        lines = read(path)
        assert len(lines) > 1
        for cell in (cell for line in lines for cell in (*line, *line.values())):
            assert not cell.startswith(("=", "+", "@", "\t", "\r")), path.name
    rows = pd.read_csv(source, keep_default_na=False)
    for line in read(hostile / "label_issues.csv"):
        assert line["given"].removeprefix("'") == rows["species"][int(line["row"])]
        assert line["id"].removeprefix("'") == rows["tag"][int(line["row"])]
    assert json.loads((hostile / "summary.json").read_text("utf-8"))["counts"]["labels"] == N_ROWS
    assert run("apply", hostile, "--force").exit_code == 0
    assert (hostile / "applied.csv").read_bytes() == (hostile / "cleaned.csv").read_bytes()


@pytest.mark.parametrize("command", ["predict", "clean --dry-run"])
def test_hostile_text_moves_no_cursor_and_fills_no_screen(hostile, tmp_path, command):
    source = hostile.parent / "h.csv"
    arguments = {
        "predict": ["predict", hostile, source, "--out", tmp_path / "p.csv"],
        "clean --dry-run": ["clean", source, "--label", "species", "--dry-run", "--out", tmp_path / "new"],
    }[command]
    result = CliRunner().invoke(app, list(map(str, arguments)), color=True, env={"NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in result.output
    assert "a" * 500 not in result.output


@pytest.fixture(name="mount")
def _mount(tmp_path):
    """A function that mounts a small disk with options on a new folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        words = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if subprocess.run(words, capture_output=True, check=False).returncode != 0:
            pytest.skip("mounting is not allowed here")
        return folder

    yield mount
    subprocess.run(["umount", str(folder)], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("size", [4, 40, 200])
def test_a_disk_that_fills_up_holds_the_old_folder_or_nothing(mount, cleaned, size):
    """Sizes in kB that end a run in its first, a middle and its last file."""
    disk = mount(f"size={size}k")
    source = cleaned.parent / "trees.csv"
    result = run("clean", source, "--label", "species", "--out", disk / "out")
    assert result.exit_code == 2
    assert "No space left on device; free some space" in result.output
    assert list(disk.iterdir()) == []
    subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
    assert run("clean", source, "--label", "species", "--out", disk / "out").exit_code == 0
    before = {path.name: path.read_bytes() for path in (disk / "out").iterdir()}
    (disk / "ballast").write_bytes(bytes(20 * 2**20 - sum(map(len, before.values())) - 100_000))
    assert run("clean", source, "--label", "species", "--out", disk / "out", "--force", "--seed", 1).exit_code == 2
    assert {path.name: path.read_bytes() for path in (disk / "out").iterdir()} == before
    assert sorted(path.name for path in disk.iterdir()) == ["ballast", "out"]


@pytest.mark.slow
def test_a_read_only_disk_is_refused_before_anything_is_computed(mount, cleaned, monkeypatch):
    disk = mount("size=1m,ro")
    monkeypatch.setattr(HybridCleaner, "fit_clean", lambda *arguments: pytest.fail("computed"))
    result = run("clean", cleaned.parent / "trees.csv", "--label", "species", "--out", disk / "out")
    assert result.exit_code == 2
    assert "choose another folder" in result.output


def test_a_folder_that_may_not_be_written_is_refused_before_anything_is_computed(trees, monkeypatch):
    """Root may write everywhere, so the system's answer is put in its mouth."""
    monkeypatch.setattr(HybridCleaner, "fit_clean", lambda *arguments: pytest.fail("computed"))
    monkeypatch.setattr(os, "access", lambda path, mode, **how: not mode & os.W_OK)
    result = run("clean", trees, "--label", "species", "--out", trees.parent / "closed" / "out")
    assert result.exit_code == 2
    assert "you may not write in" in result.output
    assert "choose another folder" in result.output
    assert left(trees) == []


class Bomb:
    """What a hostile file would hold."""

    def __reduce__(self):
        return (os.system, ("touch bombed",))


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Bomb()),
        skops.io.dumps(FunctionTransformer(func=os.system)),
        skops.io.dumps({"schema_version": 1, "cleaner": FunctionTransformer(func=subprocess.run)}),
        skops.io.dumps({"schema_version": 1, "cleaner": [1, 2]}),
        b"PK\x03\x04 and no more",
        b"",
    ],
    ids=["pickle", "foreign type", "foreign type inside", "no cleaner", "cut short", "empty"],
)
def test_a_model_file_of_anybody_else_is_refused(trees, content, monkeypatch):
    monkeypatch.chdir(trees.parent)
    (trees.parent / "model.skops").write_bytes(content)
    result = run("predict", "model.skops", trees)
    assert result.exit_code == 2
    assert "must be a model file that unmuddle clean wrote" in result.output
    assert left(trees) == ["model.skops"]


def test_a_model_names_no_type_that_is_not_on_the_list(cleaned):
    assert set(skops.io.get_untrusted_types(file=cleaned / "model.skops")) <= TRUSTED


def test_a_tree_that_leads_nowhere_is_refused(cleaned, tmp_path):
    state = skops.io.load(cleaned / "model.skops", trusted=sorted(TRUSTED))
    tree = state["cleaner"]._panel.heads[-1].forest.estimators_[7].tree_
    tree.children_left[0] = 10**6
    skops.io.dump(state, tmp_path / "model.skops")
    with pytest.raises(InvalidDataError, match="decision tree in it is damaged"):
        load_model(tmp_path / "model.skops")


class Terminal(io.StringIO):
    """Where a person looks on."""

    def isatty(self):
        return True


def test_a_person_sees_every_stage_and_a_pipe_sees_nothing(monkeypatch):
    for screen, seen in ((Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", screen)
        with stage_bars() as stages:
            for stage in STAGES:
                stages.reach(stage)
        assert all((stage in screen.getvalue()) is seen for stage in STAGES)
        assert set(stages.end()) == set(STAGES)


def test_time_left_is_that_of_equal_steps_and_unknown_without_them(monkeypatch):
    """A clock that we set: 3 s before the steps, then four steps of 5 s each."""
    clock, told = [100.0], []
    monkeypatch.setattr("unmuddle.jobs.stages.perf_counter", lambda: clock[0])
    stages = Stages(lambda stage, pace: told.append(pace.left(since=1.0)))
    stages.reach("tune")
    clock[0] += 3.0
    for step in range(5):
        stages.reach("tune", step / 4)
        clock[0] += 5.0
    assert [left and round(left, 6) for left in told] == [None, None, 14.0, 9.0, 4.0, None]
    assert Pace(0.5, 10.0).left(since=10.5) is None  # it takes longer than was thought: nothing is known any more
    assert stages.end() == {"tune": 28.0}


def test_a_person_is_told_the_time_left_where_it_is_known(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", "120")
    with stage_bars() as stages:
        stages.reach("recover")
        stages.reach("tune")
        stages._counted_from -= 60.0  # as if the first third had taken a minute
        stages.reach("tune", 1 / 3)
        time.sleep(0.3)  # until the bars are drawn again
    assert re.search(r"tune .* about 1(19|20) s left", screen.getvalue())
    assert not re.search(r"recover [^\n]*left", screen.getvalue())


@pytest.mark.parametrize("command", ["clean", "apply", "predict", "report"])
def test_help_has_an_example_and_the_exit_codes(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: unmuddle {command}" in result.output
    assert "130 interrupted" in result.output


COMMAND = [sys.executable, "-m", "unmuddle", "clean"]


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_at_any_moment_leaves_all_or_nothing(trees, sent):
    rng, stopped = np.random.default_rng(0), 0
    for trial in range(6):
        process = subprocess.Popen(
            [*COMMAND, trees, "--label", "species", "--force"], stderr=subprocess.PIPE, text=True
        )
        while trial % 2 and process.poll() is None and not list(trees.parent.glob(".*.part")):
            time.sleep(0.005)  # in every other trial until it writes
        time.sleep(rng.uniform(0.0, 0.3) if trial % 2 else rng.uniform(1.0, 6.0))
        process.send_signal(sent)
        said = process.communicate()[1]
        out = trees.with_name("trees-cleaned")
        stopped += process.returncode != 0
        if process.returncode == 130:
            assert "Traceback" not in said
        if out.exists():
            assert len(read(out / "label_issues.csv")) == N_ROWS
            assert set(os.listdir(out)) == set(json.loads((out / "summary.json").read_text())["files"])
        if sent != signal.SIGKILL:
            assert set(left(trees)) <= {out.name}
    assert stopped >= 3  # else the moments were too late to show anything
    assert subprocess.run([*COMMAND, trees, "--label", "species", "--force"], check=False).returncode == 0
    assert left(trees) == ["trees-cleaned"]


def test_no_overlap_reaches_the_cleaner_and_the_record(trees):
    result = run("clean", trees, "--label", "species", "--id", "tag", "--seed", 5, "--no-overlap")
    assert result.exit_code == 0, result.output
    summary = json.loads((trees.parent / "trees-cleaned" / "summary.json").read_text())
    assert summary["options"]["overlap"] is False
    assert summary["command"].endswith("--no-overlap")
    assert load_model(trees.parent / "trees-cleaned").cleaner.overlap is False


def test_a_reader_that_has_read_enough_is_no_error(tmp_path):
    """As `head -1` does: it closes its end before all is said."""
    (tmp_path / "trees.csv").write_text(csv_text(), newline="")
    words = [sys.executable, "-m", "unmuddle", "clean", "trees.csv", "--label", "species", "--id", "tag"]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, "")
    assert (tmp_path / "trees-cleaned" / "cleaned.csv").exists()


@pytest.mark.parametrize("place", [".", "/"])
def test_a_folder_is_no_file_to_clean_or_predict(place, cleaned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for words in (["clean", place, "--label", "x"], ["predict", cleaned, place]):
        result = run(*words)
        assert result.exit_code == 2
        assert "Internal" not in result.output


def test_a_file_of_no_rows_to_predict_is_named(cleaned, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text((cleaned / "cleaned.csv").read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    result = run("predict", cleaned, path)
    assert result.exit_code == 2
    assert f"{path}: the file must have rows to predict" in result.output
