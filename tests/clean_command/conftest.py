"""One run that many tests look at, and copies that they may spoil."""

import io
import json
import shutil

import pandas as pd
import pytest

from clean_command.commands import run
from tables import csv_text
from unmuddle import HybridCleaner


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
