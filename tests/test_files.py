"""Files appear whole or not at all, whatever the disk does."""

import errno
import os
from pathlib import Path

import pytest

from unmuddle.errors import OutputError
from unmuddle.files import write_whole


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    path = tmp_path / "table.csv"
    write_whole(path, b"old")
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("call", ["fsync", "replace", "write"])
def test_a_disk_that_is_full_at_any_call_leaves_the_old_file_and_no_part(tmp_path, monkeypatch, call):
    path = tmp_path / "table.csv"
    write_whole(path, b"old")

    def full(*arguments, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    class FullStream:
        """A file that takes nothing."""

        def __init__(self, stream):
            self.stream, self.write = stream, full

        def __enter__(self):
            return self

        def __exit__(self, *reason):
            self.stream.close()

    with monkeypatch.context() as patch:
        if call == "write":
            opened = Path.open
            patch.setattr(Path, "open", lambda self, *arguments: FullStream(opened(self, *arguments)))
        else:
            patch.setattr(os, call, full)
        with pytest.raises(OutputError, match=r"cannot write .*table.csv: No space left on device; free some space"):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_an_interrupt_leaves_the_old_file_and_no_part(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    write_whole(path, b"old")

    def interrupt(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_what_a_killed_run_left_is_swept_away(tmp_path):
    (tmp_path / ".table.csv.12345.part").write_bytes(b"half")
    (tmp_path / ".other.csv.12345.part").write_bytes(b"not ours")
    write_whole(tmp_path / "table.csv", b"new")
    assert sorted(os.listdir(tmp_path)) == [".other.csv.12345.part", "table.csv"]


def test_a_path_under_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match=r"a part of that path is a file|a file of that name"):
        write_whole(tmp_path / "file" / "table.csv", b"new")


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "whole", b"")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode
