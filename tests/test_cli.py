"""The command line as a user meets it."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from unmuddle import __version__
from unmuddle.cli import app


def run(*arguments):
    return CliRunner().invoke(
        app, list(arguments), env={"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TERMINAL_WIDTH": "100"}
    )


def test_the_demo_shows_before_and_after():
    result = run("demo")
    assert result.exit_code == 0
    for words in (
        "as given",
        "recovered",
        "training labels that are right",
        "accuracy on clean test data",
        "converged",
    ):
        assert words in result.output
    before, after = map(float, re.search(r"labels that are right\D+([\d.]+)\D+([\d.]+)", result.output).groups())
    assert before < after


def test_the_demo_repeats_itself():
    assert run("demo", "--seed", "3").output == run("demo", "--seed", "3").output


def test_version_and_help():
    assert run("--version").output.strip() == f"unmuddle {__version__}"
    assert "demo" in run("--help").output


def test_a_bad_option_is_refused_by_name():
    result = run("demo", "--label-noise", "1.5")
    assert result.exit_code == 2
    assert "--label-noise" in result.output


@pytest.mark.parametrize("command", [["demo"], ["clean", "a.csv", "--label", "b"]])
def test_a_seed_too_large_for_numpy_is_refused_by_name(command):
    result = run(*command, "--seed", "5000000000")
    assert result.exit_code == 2
    assert "--seed" in result.output


def test_the_list_of_datasets_has_licence_and_place():
    result = run("datasets")
    assert result.exit_code == 0
    for words in ("wine", "glass", "cnae9", "waveform", "cifar10n", "CC BY 4.0", "embedded"):
        assert words in result.output


def test_scripts_get_the_same_figures_as_json():
    table, told = run("demo").output, json.loads(run("demo", "--json").stdout)
    assert told.pop("status") == "converged"
    for what, pair in told.items():
        assert re.search(rf"{what}\D+{pair['as given']:.3f}\D+{pair['recovered']:.3f}", table)
    listed = json.loads(run("datasets", "--json").stdout)
    assert listed["wine"]["licence"] == "CC BY 4.0"


@pytest.mark.parametrize("command", ["demo", "datasets"])
def test_help_has_an_example_and_the_exit_codes(command):
    output = run(command, "--help").output
    assert f"Example: unmuddle {command}" in output
    assert "Exit codes" in output


def test_a_data_folder_that_is_not_there_is_said_in_the_list(monkeypatch):
    monkeypatch.setenv("UNMUDDLE_DATA", "/nowhere/at/all")
    result = run("datasets")
    assert result.exit_code == 0
    assert "/nowhere/at/all" in result.output.replace("\n", "").replace("│", "").replace(" ", "")


def test_an_output_folder_under_a_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("reproduce", "table1", "--quick", "--out", str(tmp_path / "file" / "out"))
    assert result.exit_code == 1
    assert result.output.startswith("Error: cannot write")
    assert "choose another folder" in result.output


def test_unknown_methods_and_noises_are_refused_by_name(tmp_path):
    result = run("reproduce", "table1", "--methods", "magic", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert "got 'magic'" in result.output
    result = run("reproduce", "table1", "--noise", "loud", "--out", str(tmp_path))
    assert result.exit_code == 2
    assert "--noise" in result.output
    assert not any(tmp_path.iterdir())


def test_an_unknown_study_is_refused_with_those_there_are(tmp_path):
    result = run("reproduce", "table9", "--out", str(tmp_path))
    assert result.exit_code == 2
    for name in ("table1", "table2", "table3", "cifar10", "all", "table9"):
        assert name in result.output
    assert not any(tmp_path.iterdir())


def test_a_table_of_generated_features_says_so_on_the_command_line_and_on_every_page(tmp_path, monkeypatch):
    monkeypatch.delenv("UNMUDDLE_DATA", raising=False)
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path / "empty"))
    plugin = Path(__file__).parent / "experiments" / "plugin_method.py"
    words = ["reproduce", "table3", "--quick", "--methods", "majority", "--trials", "1", "--jobs", "1"]
    result = run(*words, f"--plugin={plugin}", "--out", str(tmp_path / "out"))
    assert result.exit_code == 0, result.output
    assert "GENERATED features, not CIFAR-10" in result.output
    assert "NOT of CIFAR-10" in result.output
    assert "could not be compared" in result.output  # nothing to compare the only row with
    for kind in ("md", "html"):
        page = (tmp_path / "out" / f"table3-generated-quick-part.{kind}").read_text()
        assert "GENERATED features, not CIFAR-10" in page
        assert "unmuddle reproduce table3 --quick --methods majority --trials 1" in page
