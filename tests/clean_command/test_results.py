"""What `unmuddle clean` writes and `predict` says, beside the library's own answers."""

import csv
import hashlib
import json
import os

import numpy as np
import pandas as pd
import pytest

from clean_command.commands import LISTS, left, read, run
from tables import MISSING_CELL, N_ROWS, WRONG_CELL, WRONG_LABELS, csv_text, small_frame
from unmuddle.jobs import load_model


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


def test_given_cells_are_listed_to_the_letter_and_new_ones_have_as_many_digits_as_most(tmp_path):
    text = csv_text().replace(",900.00,", ",900.0000000001,")
    (tmp_path / "trees.csv").write_bytes(text.encode())
    assert run("clean", tmp_path / "trees.csv", "--label", "species").exit_code == 0
    line = next(line for line in read(tmp_path / "trees-cleaned" / "cell_issues.csv") if line["column"] == "width")
    assert line["given"] == "900.0000000001"
    assert len(line["recovered"].partition(".")[2]) == 2


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


def test_the_report_is_two_lines(cleaned):
    result = run("report", cleaned)
    assert result.exit_code == 0
    place, found = result.output.splitlines()
    assert place.startswith("Report: ")
    n_flagged = sum(line["accept"] == "yes" for line in read(cleaned / "label_issues.csv"))
    assert found.startswith(f"{n_flagged} of {N_ROWS} labels and ")
    assert json.loads(run("report", cleaned, "--json").stdout)["verdict"] == found
    assert run("report", cleaned.parent).exit_code == 2


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


def test_marks_of_no_label_are_no_class_and_stay_as_they_are(trees):
    lines, marked = trees.read_text().splitlines(), {3: "?", 20: "?", 41: "unsure"}
    for number, mark in marked.items():
        lines[number] = ",".join([lines[number].rpartition(",")[0], mark])
    trees.write_text("\n".join(lines) + "\n")
    result = run("clean", trees, "--label", "species", "--unlabeled", "?", "--unlabeled", "unsure")
    assert result.exit_code == 0, result.output
    assert "3 rows have no label" in result.output
    out = trees.parent / "trees-cleaned"
    judged = {int(line["row"]): line for line in read(out / "label_issues.csv")}
    assert [judged[number - 1]["given"] for number in marked] == ["", "", ""]
    assert {line["suggested"] for line in judged.values()} == {"ash", "birch", "cedar"}
    kept = [line["species"] for line in read(out / "cleaned.csv")]
    assert [kept[number - 1] for number in marked] == ["?", "?", "unsure"]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["unlabeled"] == ["?", "unsure"]
    assert "--unlabeled '?' --unlabeled unsure" in summary["command"]


@pytest.mark.parametrize("labels", [float, int, str, lambda codes: np.char.add(codes.astype(str), " ")])
def test_a_number_that_means_no_label_is_known_however_it_is_stored(tmp_path, labels):
    codes = np.where(np.arange(30) < 4, -1, np.arange(30) % 2)
    rows = codes[:, None] + np.random.default_rng(0).normal(scale=0.1, size=(30, 3))
    np.savez(tmp_path / "t.npz", X=rows, y=codes.astype(labels) if isinstance(labels, type) else labels(codes))
    result = run("clean", tmp_path / "t.npz", "--unlabeled", " -1", "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    assert "4 rows have no label" in result.output


def test_a_dry_run_shows_types_and_writes_nothing(trees):
    result = run("clean", trees, "--label", "species", "--dry-run")
    assert result.exit_code == 0
    rows = f"CSV (comma), {N_ROWS} rows"
    for words in (rows, "whole numbers", "categories", "ash, birch, cedar", "cleaned.csv", "'tag'"):
        assert words in result.output
    told = json.loads(run("clean", trees, "--label", "species", "--dry-run", "--json").stdout)
    assert told["types"]["count"] == "whole numbers"
    assert left(trees) == []


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


@pytest.mark.parametrize("command", ["clean", "apply", "predict", "report"])
def test_help_has_an_example_and_the_exit_codes(command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"Example: unmuddle {command}" in result.output
    assert "130 interrupted" in result.output


def test_no_overlap_reaches_the_cleaner_and_the_record(trees):
    result = run("clean", trees, "--label", "species", "--id", "tag", "--seed", 5, "--no-overlap")
    assert result.exit_code == 0, result.output
    summary = json.loads((trees.parent / "trees-cleaned" / "summary.json").read_text())
    assert summary["options"]["overlap"] is False
    assert summary["command"].endswith("--no-overlap")
    assert load_model(trees.parent / "trees-cleaned").cleaner.overlap is False
