"""The store: what is finished stays, whatever happens to the process or the disk."""

import errno
import json
import os

import pytest

from unmuddle.errors import OutputError, StoreError
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import Record, Trial
from unmuddle.experiments.store import open_store, read_store


def record(trial, **changes):
    cell = Cell("method", "wine", Noise("none", "flip(rate=0.3)"), trial)
    return Record(cell, "done", {"accuracy": 1 / 3, "cell_auc": None}, seconds=0.1, **changes)


def fill(path, n):
    with open_store(path) as store:
        for trial in range(n):
            store.append(record(trial))


def test_records_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "cells.jsonl"
    tuned = record(0, setting={"alpha": 0.2}, tuning=(Trial({"alpha": 0.2}, 0.5),), warned=("UserWarning",))
    failed = Record(record(1).cell, "failed", reason='ValueError: a "quoted" | line\nand another: ü')
    with open_store(path) as store:
        store.append(tuned)
        store.append(failed)
    assert read_store(path) == {tuned.cell: tuned, failed.cell: failed}


def test_the_later_record_of_a_cell_counts(tmp_path):
    path = tmp_path / "cells.jsonl"
    with open_store(path) as store:
        store.append(Record(record(0).cell, "missing", reason="no cleanlab"))
        assert not store.finished(record(0).cell)
        store.append(record(0))
    with open_store(path) as store:
        assert store.finished(record(0).cell)
        assert store.records[record(0).cell] == record(0)


def test_a_store_cut_off_at_any_byte_keeps_every_whole_record_and_goes_on(tmp_path):
    path = tmp_path / "cells.jsonl"
    fill(path, 3)
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        whole = max(sum(end <= length for end in ends) - 1, 0)
        with open_store(path) as store:
            assert len(store.records) == whole, length
            store.append(record(7))
        assert len(read_store(path)) == whole + 1
    fill(path, 3)


def test_a_damaged_line_is_named(tmp_path):
    path = tmp_path / "cells.jsonl"
    fill(path, 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1] + b"x" + lines[2] + lines[3])
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"line 3 of .*cells.jsonl is damaged; delete that line"), open_store(path):
        pass
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"method,accuracy\n", "is not a store"),
        (b"[1]\n", "is not a store"),
        (b'{"precious": "no end of line"}', "is not a store"),
        (json.dumps({"schema": "unmuddle experiments", "version": 99}).encode() + b"\n", "has schema version 99"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, header, message):
    path = tmp_path / "cells.jsonl"
    path.write_bytes(header)
    with pytest.raises(StoreError, match=message), open_store(path):
        pass
    assert path.read_bytes() == header


def test_two_runs_cannot_share_a_store(tmp_path):
    path = tmp_path / "cells.jsonl"
    with open_store(path), pytest.raises(StoreError, match="in use by another run"), open_store(path):
        pass


def test_a_folder_whose_parent_is_a_file_is_refused_by_name(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(OutputError, match=r"cannot write .*file/out.*another folder"),
        open_store(tmp_path / "file" / "out" / "cells.jsonl"),
    ):
        pass


class FullDisk:
    """os.write and os.fsync of a disk that is full from the nth call on, after some of the bytes went through."""

    def __init__(self, monkeypatch, good_calls, partial):
        self.left, self.partial, self.write = good_calls, partial, os.write
        monkeypatch.setattr(os, "write", self._write)
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _write(self, handle, content):
        if self._use_up():
            if self.partial and len(content) > 10:
                self.partial = False  # a short write first, as the kernel does, and the error on the next
                return self.write(handle, content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.write(handle, content)

    def _fsync(self, handle):
        if self._use_up():
            raise OSError(errno.ENOSPC, "No space left on device")

    def _use_up(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("partial", [True, False])
@pytest.mark.parametrize("good_calls", range(8))
def test_a_disk_that_fills_up_at_any_call_loses_no_finished_record(tmp_path, monkeypatch, good_calls, partial):
    path = tmp_path / "cells.jsonl"
    kept = []

    def append_nine():
        with open_store(path) as store:
            for trial in range(9):
                store.append(record(trial))
                kept.append(record(trial).cell)

    with monkeypatch.context() as patch:
        FullDisk(patch, good_calls, partial)
        with pytest.raises(OutputError, match=r"No space left.*free some space and run again"):
            append_nine()
    assert list(read_store(path)) == kept
    assert good_calls < 4 or kept  # a header and its sync, a record and its sync
    with open_store(path) as store:
        store.append(record(8))
    assert list(read_store(path)) == [*kept, record(8).cell]
