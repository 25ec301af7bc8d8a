"""No test here sees the user's folders or a network; known data are used where they lie beside the repository."""

import os
from pathlib import Path

import pytest

KNOWN = Path(os.environ.get("UNMUDDLE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    def refuse(data_id):
        pytest.fail(f"a test tried to download dataset {data_id}")

    monkeypatch.delenv("UNMUDDLE_DATA", raising=False)
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("unmuddle.datasets.openml.download", refuse)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def known(monkeypatch):
    if not KNOWN.is_dir():
        pytest.skip(f"the known data are not at hand: no folder {KNOWN}; UNMUDDLE_DATA may name another")
    monkeypatch.setenv("UNMUDDLE_DATA", str(KNOWN))
    return KNOWN
