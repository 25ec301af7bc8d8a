"""Text that would be markup, a formula or a move of the cursor."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clean_command.commands import LISTS, read, run
from report.tables import parse
from tables import N_ROWS, WRONG_LABELS, csv_text, small_frame
from unmuddle.cli import app


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
