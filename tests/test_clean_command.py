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

from tables import MISSING_CELL, N_ROWS, WRONG_CELL, WRONG_LABELS, csv_text, small_frame
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
        ("accept", "agree", "got 'accept', which is not there"),
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
    for words in (
        f"CSV (comma), {N_ROWS} rows",
        "whole numbers",
        "categories",
        "ash, birch, cedar",
        "cleaned.csv",
        "'tag'",
    ):
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
