"""The command line as a user meets it."""

import re

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
