"""Killed at any moment, out of space, read-only: the command as a user runs it. Slow."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PLUGINS = [Path(__file__).with_name(f"plugin_{name}.py") for name in ("method", "dataset")]
COMMAND = [
    sys.executable, "-m", "unmuddle", "reproduce", "table1", "--methods", "nearest,majority,logistic,forest,broken",
    "--datasets", "blobs", "--trials", "2", "--jobs", "2", *(f"--plugin={path}" for path in PLUGINS),
]  # fmt: skip


def run(folder, **options):
    return subprocess.run(
        [*COMMAND, "--out", folder], capture_output=True, text=True, timeout=300, check=False, **options
    )


def contents(folder):
    return {p.name: p.read_bytes() for p in Path(folder).glob("table1*") if "times" not in p.name}


def start(folder, **options):
    return subprocess.Popen([*COMMAND, "--out", folder], **({"stderr": subprocess.DEVNULL} | options))


def wait_for_lines(folder, process, lines):
    """Until the store has so many lines, or the run is over: moments that do not depend on how fast a machine is."""
    store = folder / "cells.jsonl"
    while process.poll() is None and not (store.exists() and store.read_bytes().count(b"\n") >= lines):
        time.sleep(0.01)


@pytest.fixture(name="expected", scope="module")
def _expected(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    assert run(folder).returncode == 0
    assert len(contents(folder)) == 6
    return contents(folder)


@pytest.mark.slow
def test_killed_at_ten_moments_and_resumed_the_table_is_the_same(tmp_path, expected):
    rng, killed = random.Random(0), 0
    for lines in range(1, 51, 5):  # of 61
        process = start(tmp_path, stdout=subprocess.DEVNULL)
        wait_for_lines(tmp_path, process, lines)
        time.sleep(rng.uniform(0.0, 0.1))
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert killed >= 8
    assert run(tmp_path).returncode == 0
    assert contents(tmp_path) == expected
    assert not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_workers_of_a_killed_run_end_too(tmp_path):
    process = start(tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (children := _children(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert children
    process.send_signal(signal.SIGKILL)
    process.wait()
    while any(map(_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_alive, children))


def _children(pid):
    path = Path(f"/proc/{pid}/task/{pid}/children")
    if not path.exists():
        pytest.skip("no list of child processes on this system")
    return [int(child) for child in path.read_text().split()]


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.fixture(name="mount")
def _mount(tmp_path):
    """A function that mounts a tmpfs with options on a new folder."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options):
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode != 0:
            pytest.skip("mounting is not allowed here")
        return folder

    yield mount
    subprocess.run(["umount", folder], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("pages", [1, 3, 6, 12])
def test_a_disk_that_fills_up_is_said_and_loses_nothing(mount, expected, pages):
    folder = mount(f"size={pages * 4}k")
    full = run(folder)
    assert full.returncode == 1
    assert "No space left on device; free some space and run again" in full.stderr
    assert "Traceback" not in full.stderr
    subprocess.run(["mount", "-o", "remount,size=8m", folder], check=True)
    store = folder / "cells.jsonl"
    before = store.read_bytes() if store.exists() else b""
    assert run(folder).returncode == 0
    assert store.read_bytes().startswith(before[: before.rfind(b"\n") + 1])  # what was finished was not run again
    assert contents(folder) == expected


@pytest.mark.slow
def test_a_read_only_disk_is_refused_before_anything_is_run(mount):
    folder = mount("size=1m,ro")
    refused = run(folder)
    assert refused.returncode == 1
    assert "the disk is read-only, choose another folder" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 5, 15, 25])
def test_ctrl_c_says_how_to_go_on(tmp_path, lines):
    process = start(tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_for_lines(tmp_path, process, lines)
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on from here" in said
    assert "Traceback" not in said
