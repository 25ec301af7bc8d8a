"""Campaigns from end to end, with a method and a dataset that each came in one file."""

import csv
import errno
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from unmuddle.errors import DatasetError, InvalidParameterError, MissingExtraError, OutputError, UnmuddleError
from unmuddle.experiments import methods, run
from unmuddle.experiments.campaign import Progress, conduct, tuning_of, wanted
from unmuddle.experiments.methods import load_plugin
from unmuddle.experiments.plan import Block, Cell, Noise, Plan
from unmuddle.experiments.reproduce import Setup, make_grid
from unmuddle.experiments.run import Record, Trial, run_cell
from unmuddle.experiments.store import open_store, read_store
from unmuddle.experiments.table1 import ROWS, Table1, choose_rows

PLUGINS = tuple(Path(__file__).with_name(f"plugin_{name}.py") for name in ("method", "dataset"))
NOISE = Noise("gaussian(sigma=0.2)", "uniform(rate=0.3)")


@pytest.fixture(autouse=True)
def _plugins():
    for path in PLUGINS:
        load_plugin(path)


class OneColumn(Table1):
    """The first noise only."""

    @property
    def noises(self):
        return super().noises[:1]


def make(folder, *names, jobs=1, trials=2, kind=Table1, **options):
    table1 = kind(rows=choose_rows(names), datasets=("blobs",), trials=trials)
    make_grid(table1.grid, Setup(folder, jobs, lambda progress: None, PLUGINS, **options), "unmuddle reproduce table1")


def contents(folder):
    return {p.name: p.read_bytes() for p in folder.glob("table1*") if "times" not in p.name}


def lines(folder, name):
    with (folder / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_method_and_a_dataset_of_one_file_each_give_a_table_like_any_other(tmp_path):
    make(tmp_path, "nearest", "majority", "logistic")
    found = {(line["row"], line["features"], line["labels"]): line for line in lines(tmp_path, "table1-uniform.csv")}
    assert len(found) == 3 * 6
    # three blobs of 30: the most frequent label is right for about a third, class means for nearly all
    assert all(float(line["mean"]) < 60 for (row, *_), line in found.items() if row == "majority")
    assert float(found["nearest", "gaussian(sigma=0.2)", "uniform(rate=0.3)"]["mean"]) > 80
    assert "most frequent label" in (tmp_path / "table1-uniform.html").read_text()
    assert "nearest class mean" in (tmp_path / "table1-uniform.md").read_text()


@pytest.mark.parametrize(
    "some",
    [("logistic", "hybrid"), pytest.param([row.name for row in ROWS], marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_one_worker_or_two_give_the_same_bytes_for_every_method(tmp_path, some):
    rows = *some, "nearest", "majority", "broken"
    for jobs in (1, 2):
        make(tmp_path / str(jobs), *rows, jobs=jobs, trials=1, kind=OneColumn)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")
    assert len(contents(tmp_path / "1")) == 6


def test_a_second_run_repeats_no_finished_cell_and_writes_lost_files_again(tmp_path):
    make(tmp_path, "nearest", "majority")
    before, store = contents(tmp_path), (tmp_path / "cells.jsonl").read_bytes()
    for path in tmp_path.glob("table1*"):
        path.unlink()
    make(tmp_path, "nearest", "majority")
    assert (tmp_path / "cells.jsonl").read_bytes() == store
    assert contents(tmp_path) == before


def test_a_row_added_later_leaves_the_others_as_they_were(tmp_path):
    make(tmp_path, "nearest")
    before = [line for line in lines(tmp_path, "table1-uniform-scores.csv") if line["method"] == "nearest"]
    make(tmp_path, "majority", "nearest")
    after = [line for line in lines(tmp_path, "table1-uniform-scores.csv") if line["method"] == "nearest"]
    assert sorted(map(str, before)) == sorted(map(str, after))


def test_failures_deaths_and_missing_packages_are_rows_with_their_reason(tmp_path):
    make(tmp_path, "majority", "broken", "deadly", "lacking", jobs=2, trials=1)
    reasons = {
        line["method"]: (line["status"], line["reason"]) for line in lines(tmp_path, "table1-uniform-scores.csv")
    }
    assert reasons["majority"] == ("done", "")
    assert reasons["broken"] == ("failed", "ValueError: no | luck\ntoday")
    assert reasons["deadly"][0] == "failed"
    assert "the process died (exit code 17)" in reasons["deadly"][1]
    assert reasons["lacking"][0] == "missing"
    assert "pip install 'unmuddle[experiments]'" in reasons["lacking"][1]
    page = (tmp_path / "table1-uniform.md").read_text()
    assert r"ValueError: no \| luck today" in page
    table = {line["row"]: line for line in lines(tmp_path, "table1-uniform.csv")}
    assert table["broken"]["missing"] == "1"
    assert table["broken"]["mark"] == ""


def test_failed_cells_run_again_when_asked_and_missing_ones_always(tmp_path):
    make(tmp_path, "broken", "lacking", trials=1)
    n_lines = len((tmp_path / "cells.jsonl").read_bytes().splitlines())
    make(tmp_path, "broken", "lacking", trials=1)
    assert len((tmp_path / "cells.jsonl").read_bytes().splitlines()) == n_lines + 6
    make(tmp_path, "broken", "lacking", trials=1, retry=True)
    assert len((tmp_path / "cells.jsonl").read_bytes().splitlines()) == n_lines + 6 + 12


def test_a_tuned_method_takes_the_setting_that_did_best_on_noisy_labels(tmp_path):
    make(tmp_path, "nearest", trials=1)
    records = read_store(tmp_path / "cells.jsonl")
    fits = [cell for cell in records if cell.setting != "tune"]
    assert len(fits) == 6
    for cell in fits:
        noisy = [trial.noisy for trial in records[tuning_of(cell)].tuning]
        assert noisy[int(cell.setting)] == max(noisy)


def test_tuning_does_not_look_at_the_truth(monkeypatch):
    cell = Cell("nearest", "blobs", NOISE, 0, "tune")
    honest = run_cell(cell)
    make = run.make_task

    def with_garbage(cell, **options):
        task, truth = make(cell, **options)
        rng = np.random.default_rng(0)
        wrong = rng.permutation(truth.y_test), rng.normal(size=truth.X_test.shape), rng.permutation(truth.y)
        return task, replace(truth, y_test=wrong[0], X_test=wrong[1], y=wrong[2])

    monkeypatch.setattr(run, "make_task", with_garbage)
    assert run_cell(cell).tuning == honest.tuning
    assert len(honest.tuning) == 2


@pytest.mark.slow
def test_the_row_in_hindsight_is_never_below_the_chosen_one(tmp_path):
    make(tmp_path, "flr-told", "flr-oracle", trials=1)
    table = {(line["row"], line["features"], line["labels"]): line for line in lines(tmp_path, "table1-uniform.csv")}
    for (row, *noise), line in table.items():
        if row == "flr-told":
            assert float(table["flr-oracle", *noise]["mean"]) >= float(line["mean"])
    assert {line["mark"] for line in table.values()} == {""}  # neither is ranked


def test_a_method_tuned_once_uses_the_choice_of_the_first_trial_and_has_no_hindsight():
    plan = Plan("plan", (Block(("flr-l1",), ("cnae9", "wine"), (NOISE,), 2, hindsight=("flr-l1",)),))
    tuned = {
        Cell("flr-l1", dataset, NOISE, trial, "tune"): Record(
            Cell("flr-l1", dataset, NOISE, trial, "tune"), "done", tuning=(Trial({}, 0.2), Trial({}, 0.5))
        )
        for dataset, trial in (("cnae9", 0), ("wine", 0))
    }
    found = [(cell.dataset, cell.trial, cell.setting) for cell in wanted(plan, tuned)]
    assert found == [
        ("cnae9", 0, "tune"), ("cnae9", 0, "1"), ("cnae9", 1, "1"),
        ("wine", 0, "tune"), ("wine", 0, "1"), ("wine", 0, "0"),
        ("wine", 1, "tune"), ("wine", 1, "?"),
    ]  # fmt: skip


def test_progress_counts_up_to_all_cells_and_gives_the_time_left(tmp_path):
    seen: list[Progress] = []
    plan = Plan("plan", (Block(("nearest", "majority"), ("blobs",), (NOISE,), 2),))
    with open_store(tmp_path / "cells.jsonl") as store:
        conduct(plan, store, 1, seen.append, PLUGINS)
    assert [progress.done for progress in seen] == list(range(7))
    assert {progress.total for progress in seen} == {6}
    assert seen[0].seconds_left is None
    assert seen[-1].seconds_left == 0
    assert seen[-1].all_known


def test_a_full_disk_ends_the_run_with_its_reason_and_keeps_what_was_finished(tmp_path, monkeypatch):
    table1 = Table1(rows=choose_rows(["majority"]), datasets=("blobs",), trials=2)
    write, calls = os.write, []

    def full_after_five(handle, content):
        if b'"cell"' in content:
            calls.append(content)
            if len(calls) > 5:
                raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, content)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_after_five)
        with pytest.raises(OutputError, match="No space left on device; free some space and run again"):
            make_grid(table1.grid, Setup(tmp_path, 1, lambda progress: None, PLUGINS), "")
    assert len(read_store(tmp_path / "cells.jsonl")) == 5
    make_grid(table1.grid, Setup(tmp_path, 1, lambda progress: None, PLUGINS), "")
    make_grid(table1.grid, Setup(tmp_path / "whole", 1, lambda progress: None, PLUGINS), "")
    assert contents(tmp_path) == contents(tmp_path / "whole")


def test_a_worker_that_cannot_start_is_an_error_and_not_a_failed_cell(tmp_path):
    gone = tmp_path / "gone.py"
    plan = Plan("plan", (Block(("majority",), ("blobs",), (NOISE,), 1),))
    with open_store(tmp_path / "cells.jsonl") as store, pytest.raises(UnmuddleError, match="could not start"):
        conduct(plan, store, 1, lambda progress: None, [gone])
    assert read_store(tmp_path / "cells.jsonl") == {}


def test_a_taken_name_is_refused_and_the_same_file_twice_is_not():
    with pytest.raises(InvalidParameterError, match="method name 'logistic' is taken"):
        methods.method("logistic", "another")(lambda task: None)
    load_plugin(PLUGINS[0])


def test_unknown_names_are_refused_with_those_there_are(tmp_path):
    with pytest.raises(InvalidParameterError, match=r"methods must be among .*unmuddle.*logistic.*; got 'magic'"):
        choose_rows(["magic"])
    with pytest.raises(InvalidParameterError, match="must be a Python file"):
        load_plugin(tmp_path / "nothing.py")


def test_a_dataset_that_is_not_there_ends_the_run_before_it_begins_and_keeps_what_is_finished(tmp_path):
    make(tmp_path, "majority")
    before = (tmp_path / "cells.jsonl").read_bytes()
    table1 = Table1(rows=choose_rows(["majority"]), datasets=("blobs", "no-such-data"), trials=2)
    with pytest.raises(DatasetError, match="there is no dataset 'no-such-data'"):
        make_grid(table1.grid, Setup(tmp_path, 1, lambda progress: None, PLUGINS), "")
    assert (tmp_path / "cells.jsonl").read_bytes() == before


def test_a_dataset_that_vanishes_meanwhile_is_a_row_that_says_so():
    record = run_cell(Cell("majority", "no-such-data", NOISE, 0))
    assert record.status == "missing"
    assert "no-such-data" in record.reason


def test_a_setting_that_is_not_plain_data_is_a_failed_row():
    methods.method("odd", "odd settings", settings=lambda task: [{"size": np.int64(3)}])(lambda task, setting: None)
    try:
        record = run_cell(Cell("odd", "blobs", NOISE, 0, "tune"))
    finally:
        del methods.METHODS["odd"]
    assert record.status == "failed"


def test_a_plug_in_that_cannot_be_loaded_is_named_with_its_error(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("import a_package_that_is_not_there")
    with pytest.raises(InvalidParameterError, match=r"plugin .*bad.py cannot be loaded: ModuleNotFoundError"):
        load_plugin(path)


def test_cleanlab_not_installed_names_the_extra(monkeypatch):
    find = methods.importlib.util.find_spec
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: None if name == "cleanlab" else find(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'unmuddle\[experiments\]'"):
        methods.get_method("cleanlab").check_installed()


@pytest.mark.parametrize("name", [row.name for row in ROWS if not row.methods and row.name != "flr-l1"])
def test_every_method_of_the_table_learns_easy_blobs(name):
    if methods.get_method(name).requires:
        pytest.importorskip(methods.get_method(name).requires)
    setting = "4" if methods.get_method(name).settings else ""
    record = run_cell(Cell(name, "blobs", Noise("none", "uniform(rate=0.2)"), 0, setting))
    assert record.reason == ""
    assert record.scores["accuracy"] > 0.85  # the blobs do not overlap
    assert re.fullmatch(r"\d+\.\d+(e-\d+)?", str(record.seconds))
