"""Bad usage, bad files and bad models: one line, exit code 2, nothing written."""

import os
import pickle
import re
import subprocess

import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer

from clean_command.commands import left, run
from tables import csv_text
from tabular.bad_files import BAD
from unmuddle import HybridCleaner
from unmuddle.errors import InvalidDataError
from unmuddle.jobs import load_model
from unmuddle.jobs.model import TRUSTED


@pytest.mark.parametrize("option", ["--id", "--ignore"])
def test_the_column_of_labels_has_no_other_role(tmp_path, option):
    (tmp_path / "trees.csv").write_bytes(csv_text().encode())
    result = run("clean", tmp_path / "trees.csv", "--label", "species", option, "species")
    assert result.exit_code == 2
    assert f"{option} must name another column than that of the labels; got 'species'" in result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--label", "specie"], "Nearest: 'species'"),
        ([], "--label must name the column"),
        (["--label", "species", "--id", "tagg"], "--id must name a column; got 'tagg'"),
        (["--label", "species", "--ignore", "colour", "--ignore", "hue"], "--ignore must name a column; got 'hue'"),
        (
            ["--label", "species", "--unlabeled", "unsure"],
            "got 'unsure', which no row has. Labels: 'ash', 'birch', 'cedar'",
        ),
        (["--label", "species", "--unlabeled", "ash", "--unlabeled", "birch"], "at least 2 classes; got only 'cedar'"),
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
