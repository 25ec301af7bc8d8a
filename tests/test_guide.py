"""What guide and examples say comes out, comes out: every command and every program in them is run."""

import contextlib
import io
import itertools
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version
from typer.testing import CliRunner

from site_builder import load_builder
from unmuddle.cli import app

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)?")

KNOWN = parse_version(sklearn.__version__) >= parse_version("1.8")
"""Whether forests draw their rows as when the guide was written; figures of older versions are others."""

NEAR = {"rel": 0.1, "abs": 4} if KNOWN else {"abs": 1000}


builder = load_builder()


@pytest.fixture(name="place", scope="module")
def _place(tmp_path_factory):
    """Where a reader sits: the examples beside her, and what she wrote before."""
    folder = tmp_path_factory.mktemp("reader")
    shutil.copytree(ROOT / "examples", folder / "examples")
    return folder


def run(command, place):
    """Output of a command; ours and Python's in this process, which knows the package already."""
    words = shlex.split(command)
    with contextlib.chdir(place), pytest.MonkeyPatch.context() as patch:
        if words[0] == "unmuddle":
            return CliRunner().invoke(app, words[1:], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
        if words[0] == "python":
            patch.setattr(sys, "argv", words[1:])
            patch.syspath_prepend(place / "examples")
            return said(
                lambda: exec(words[2], {}) if words[1] == "-c" else runpy.run_path(words[1], run_name="__main__")
            )
        return subprocess.run(command, shell=True, capture_output=True, text=True, check=True).stdout


def said(call):
    with contextlib.redirect_stdout(io.StringIO()) as stream:
        call()
    return stream.getvalue()


def compare(found, expected):
    """Word by word; `...` is anything, and numbers may differ a little from version to version of the libraries."""
    if not KNOWN:
        found, expected = (re.sub("barolo|grignolino|barbera", "wine", text) for text in (found, expected))
    pattern = re.escape(NUMBER.sub("NUMBER", expected.strip())).replace("\\\n", "\n").replace("\\ ", " ")
    pattern = (
        pattern.replace("\\.\\.\\.\n", r"(?:.*\n)*?").replace(r"\.\.\./", r"\S*/").replace("NUMBER", r"(\d[\d.]*)")
    )
    match = re.fullmatch(re.sub(" +", " +", pattern), found.strip())
    assert match, f"expected\n{expected}\nfound\n{found}"
    for told, got in zip(NUMBER.findall(expected), match.groups(), strict=True):
        assert float(got) == pytest.approx(float(told), **NEAR), (told, got)


def steps(page):
    """Commands and programs of a page, each with what it prints; None where the page does not say."""
    blocks = [*BLOCK.findall((ROOT / "docs" / "guide" / f"{page}.md").read_text("utf-8")), ("", "")]
    for (kind, text), (following, output) in itertools.pairwise(blocks):
        if kind == "console":
            for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                yield (kind, *part.split("\n", 1))
        elif kind == "python":
            yield kind, text, output if following == "text" else ""


def test_every_command_of_the_guide_prints_what_the_guide_says(place):
    counts = {}
    for page in builder.GUIDE:
        for kind, text, expected in steps(page):
            with contextlib.chdir(place):
                found = run(text, place) if kind == "console" else said(lambda text=text: exec(text, {}))
            compare(found, expected)
            counts[page] = counts.get(page, 0) + 1
    assert counts == {"index": 10, "report": 2, "large": 3}  # else the blocks are not found any more


def test_the_first_screen_of_the_readme_is_true(place):
    """After the guide: its wine.csv is there, and the output of the command was compared."""
    run("python examples/muddled_wine.py", place)
    readme = (ROOT / "README.md").read_text("utf-8")
    program = BLOCK.search(readme)[2]
    assert len(re.findall(r"^\w", program, re.MULTILINE)) == 5
    with contextlib.chdir(place):
        told = {}
        audit = said(lambda: exec(program, told))
    assert told["cleaned"].audit["kind"].value_counts().to_dict() == pytest.approx({"cell": 232, "label": 37}, **NEAR)
    assert "flavanoids" in audit
    guide = (ROOT / "docs" / "guide" / "index.md").read_text("utf-8")
    for line in re.search(r"^\d+ of 178.*?(?=```)", readme, re.DOTALL | re.MULTILINE)[0].splitlines():
        assert line.replace("/home/you/", ".../") in guide


def test_the_second_program_of_the_readme_prints_what_it_says():
    readme = (ROOT / "README.md").read_text("utf-8")
    program, output = re.search(
        r"^```python\n(import numpy.*?)^```\n\nprints\n\n```\n(.*?)^```", readme, re.DOTALL | re.M
    ).groups()
    told = {}
    compare(said(lambda: exec(program, told)), output)
    lines = int(re.search(r"The audit has (\d+) lines here", readme)[1])
    assert len(told["cleaned"].audit) == pytest.approx(lines, **NEAR)


EXAMPLES = {
    "clean_a_file": r"labels: 35 were wrong; (\d+) were changed, (\d+) of them rightly",
    "embeddings_with_your_model": r"90 labels were wrong; (\d+) are flagged, (\d+) of them rightly",
    "grid_search": r"as it is: (0\.\d+)\n.*chosen: (0\.\d+)",
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs_and_finds_what_was_planted(place, name, monkeypatch, capfd):
    """The command that one of them calls is that of this very package."""
    monkeypatch.setattr(subprocess, "run", lambda command, check: CliRunner().invoke(app, command[1:]))
    found = run(f"python examples/{name}.py", place)
    before, after = map(float, re.search(EXAMPLES[name], found).groups())
    if name == "grid_search":
        assert after > before + 0.1
    else:
        assert 20 < after >= 0.85 * before


def test_all_examples_are_tried_and_named_in_the_guide():
    named = set(EXAMPLES) | {"muddled_wine"}
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == named
    guide = (ROOT / "docs" / "guide" / "index.md").read_text("utf-8")
    assert all(f"{name}.py" in guide for name in named)
