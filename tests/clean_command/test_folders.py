"""Folders that appear whole or not at all: old ones, full disks, signals."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from clean_command.commands import left, read, run
from tables import N_ROWS
from unmuddle import HybridCleaner


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
