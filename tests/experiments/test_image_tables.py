"""Tables 2 and 3 and the CIFAR-10 study: what is run, on which data, and what the pages say of it."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from unmuddle.errors import InvalidParameterError
from unmuddle.experiments import catalogue, image_tables, panels
from unmuddle.experiments import task as tasks
from unmuddle.experiments.catalogue import STUDIES, reproduce
from unmuddle.experiments.grid import Request
from unmuddle.experiments.image_tables import make_cifar10, make_table2, make_table3
from unmuddle.experiments.methods import get_method, load_plugin
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.reproduce import Setup, make_grid
from unmuddle.experiments.run import Record
from unmuddle.experiments.store import read_store
from unmuddle.experiments.table import Column, collect, row_of
from unmuddle.experiments.table1 import ROWS as TABLE_1_ROWS

PLUGINS = tuple(Path(__file__).with_name(f"plugin_{name}.py") for name in ("method", "dataset", "people"))
PEOPLE = Noise("gaussian(sigma=3)", "real")

FLR = {  # the FLR rows of Tables 2 and 3, typed from the paper a second time: aggre, random1, worst
    (2, 3): [95.70, 96.05, 94.92], (2, 7): [95.93, 93.75, 95.08],
    (3, 3): [95.78, 95.70, 94.12], (3, 5): [76.00, 78.85, 61.23],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _plugins():
    for path in PLUGINS:
        load_plugin(path)


@pytest.fixture(name="nothing_at_hand")
def _nothing_at_hand(monkeypatch, tmp_path):
    monkeypatch.delenv("UNMUDDLE_DATA", raising=False)
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path / "empty"))


@pytest.fixture(name="at_hand")
def _at_hand(monkeypatch):
    monkeypatch.setattr(image_tables, "features_at_hand", lambda: True)


def made(folder, what, *methods, seen=None, **wishes):
    request = Request(methods=methods, **wishes)
    setup = Setup(folder, 1, seen.append if seen is not None else lambda progress: None, PLUGINS)
    return list(reproduce(what, request, setup, lambda name: f"unmuddle reproduce {name}"))


def test_tables_2_and_3_have_three_kinds_of_labels_by_two_levels_and_the_papers_figures_beside(at_hand):
    for number, make, kind, levels in ((2, make_table2, "gaussian", (3, 7)), (3, make_table3, "laplacian", (3, 5))):
        grid = make(Request())
        assert [(str(column.noise), column.dataset) for column in grid.columns] == [
            (f"{kind}(sigma={sigma}) real", f"c10n-{labels}")
            for sigma in levels
            for labels in ("aggre", "random1", "worst")
        ]
        assert grid.trials == 3
        table = grid.collect({})
        flr = next(row for row in grid.rows if row.paper == "FLR")
        for sigma in levels:
            columns = [column for column in grid.columns if f"={sigma})" in column.noise.features]
            assert [table[flr, column].printed.mean for column in columns] == FLR[number, sigma]
        printed = [table[row, column].printed for row in grid.rows if row.paper for column in grid.columns]
        assert len(printed) == 8 * 6
        assert None not in printed


def test_all_cells_at_the_heavier_level_are_wanted(at_hand):
    for make, sigma in ((make_table2, "7"), (make_table3, "5")):
        (goal,) = make(Request()).goals
        assert goal.wanted == len(goal.columns) == 3
        assert all(f"sigma={sigma}" in column.noise.features for column in goal.columns)
        assert make(Request(quick=True)).goals == make(Request(methods=("ridge",))).goals == ()


def test_ten_of_the_twelve_cells_of_both_tables_are_wanted_together(at_hand):
    for make, other in ((make_table2, make_table3), (make_table3, make_table2)):
        grid = make(Request())
        assert grid.wanted == 10
        assert len({*grid.columns, *grid.twin.columns}) == 12
        assert grid.twin.name == other(Request()).name
        assert make(Request(quick=True)).twin is None


def test_every_method_of_table_1_is_a_row_and_ours_comes_first(at_hand):
    wanted = {row.name for row in TABLE_1_ROWS} - {"flr-oracle"}
    for make in (make_table2, make_table3, make_cifar10):
        assert {row.name for row in make(Request()).rows} - {
            "nearest",
            "majority",
            "broken",
            "deadly",
            "lacking",
        } == wanted
        assert make(Request()).rows[0].name == "hybrid"
        for row in make(Request()).rows:
            assert {get_method(row.method(column.noise)).name for column in make(Request()).columns}


def test_the_study_has_five_panels_at_three_rates(at_hand):
    for kind in ("uniform", "flip"):
        grid = make_cifar10(Request(kind))
        assert {column.dataset for column in grid.columns} == {"cifar10:6000"}
        assert len(grid.columns) == 15
        assert [panels.title(noise) for noise in dict.fromkeys(column.noise.features for column in grid.columns)] == [
            "no noise on features", "Gaussian noise, sigma 3", "Gaussian noise, sigma 7",
            "Laplacian noise, sigma 3", "Laplacian noise, sigma 5",
        ]  # fmt: skip
        assert [column.noise.labels for column in grid.columns[:3]] == [
            "none", f"{kind}(rate=0.3)", f"{kind}(rate=0.6)",
        ]  # fmt: skip
        assert [panels.rate_of(column) for column in grid.columns[:3]] == [0, 30, 60]
        assert (grid.trials, grid.printed) == (5, ())


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("what", ["table2", "table3", "cifar10"])
def test_without_features_at_hand_generated_ones_stand_in_and_all_outputs_say_so(nothing_at_hand, what, quick):
    grid = STUDIES[what].grid(Request(quick=quick))
    assert all("-generated" in column.dataset for column in grid.columns)
    assert "GENERATED" in grid.title
    assert "-generated" in grid.name
    assert "NOT of CIFAR-10" in grid.notes[0]
    assert "NOT of CIFAR-10" in grid.remark
    assert re.search(r"put cifar10n_efficientnet_lite0_1280d.npz into .*empty", grid.remark)
    assert grid.goals == ()
    table = grid.collect({})
    assert all(table[row, column].printed is None for row in grid.rows for column in grid.columns)


def test_generated_sets_that_were_asked_for_are_called_so_too(at_hand):
    for study, dataset in (("table2", "c10n-worst-generated:300"), ("cifar10", "cifar10-generated:300")):
        grid = STUDIES[study].grid(Request(datasets=(dataset,)))
        assert "GENERATED" in grid.title
        assert "NOT of CIFAR-10" in grid.remark


def test_with_features_at_hand_nothing_says_generated(at_hand):
    for study in ("table2", "table3", "cifar10"):
        grid = STUDIES[study].grid(Request())
        assert grid.remark == ""
        assert "generated" not in " ".join([grid.title, grid.name, *grid.notes]).lower()


def task_of(trial=0, noise=PEOPLE, dataset="people"):
    return tasks.make_task(Cell("any", dataset, noise, trial))


def test_features_are_principal_columns_divided_by_one_number():
    """Standardised columns, eigenvectors of their covariance by numpy, one number: no column is scaled by itself."""
    data = tasks.load("people")
    _, truth = task_of()
    train = data.X[:100]
    standard = (data.X - train.mean(axis=0)) / train.std(axis=0)
    values, vectors = np.linalg.eigh(np.cov(standard[:100].T))
    rotated = standard @ vectors[:, ::-1]
    rotated /= np.sqrt(rotated[:100].var(axis=0).mean())
    np.testing.assert_allclose(np.abs(truth.X), np.abs(rotated[:100]), atol=1e-8)
    np.testing.assert_allclose(np.abs(truth.X_test), np.abs(rotated[100:]), atol=1e-8)
    variances = truth.X.var(axis=0)
    assert variances.mean() == pytest.approx(1.0)
    np.testing.assert_allclose(variances / variances.sum(), values[::-1] / values.sum())
    assert variances[0] > 20 * variances[-1]


def test_generated_images_have_mean_variance_1_and_a_column_less_than_rows():
    _, truth = task_of(dataset="c10n-aggre-generated:300")
    variances = truth.X.var(axis=0)
    assert truth.X.shape[1] == len(truth.X) - 1
    assert variances.mean() == pytest.approx(1.0)
    assert variances.max() > 50 * variances.min()


@pytest.mark.parametrize(("kind", "sigma", "fourth"), [("gaussian", 3, 3.0), ("laplacian", 5, 6.0)])
def test_noise_has_its_standard_deviation_and_shape_whatever_the_size_of_a_column(kind, sigma, fourth):
    noises = []
    for trial in range(8):
        task, truth = task_of(trial, Noise(f"{kind}(sigma={sigma})", "real"))
        noises.append(task.X - truth.X)
    noise = np.vstack(noises)
    assert noise.std() == pytest.approx(sigma, rel=0.05)
    np.testing.assert_allclose(noise.std(axis=0), sigma, rtol=0.25)
    assert np.mean(noise**4) / np.mean(noise**2) ** 2 == pytest.approx(fourth, rel=0.25)


def test_a_given_split_is_kept_and_trials_differ_in_noise_on_features_alone():
    data = tasks.load("people")
    (first, truth), (second, other) = task_of(0), task_of(1)
    np.testing.assert_array_equal(first.y, data.y_noisy[:100])
    np.testing.assert_array_equal(first.y, second.y)
    np.testing.assert_array_equal(truth.X, other.X)
    np.testing.assert_array_equal(truth.y_test, data.y[100:])
    assert not np.array_equal(first.X, second.X)
    assert first.seed != second.seed


def test_some_rows_of_a_set_in_two_parts_stay_in_their_parts():
    whole, part = tasks.load("people"), tasks.load("people:60")
    rows = {tuple(row): place for place, row in enumerate(whole.X)}
    places = np.array([rows[tuple(row)] for row in part.X])
    np.testing.assert_array_equal(part.test, places >= 100)
    np.testing.assert_array_equal(part.y_noisy, whole.y_noisy[places])
    train, test = tasks.split(part, 3)
    assert len(train) + len(test) == 60
    assert part.test[test].all()


def test_a_study_splits_anew_in_each_trial_and_projects_by_its_training_rows(monkeypatch):
    from dataclasses import replace  # noqa: PLC0415

    data = replace(tasks.load("people"), name="loose", test=None, y_noisy=None)
    monkeypatch.setattr(tasks, "load", lambda name: data)
    noise = Noise("none", "flip(rate=0.3)")
    (_, first), (_, second) = (task_of(trial, noise, "loose") for trial in (0, 1))
    assert not np.array_equal(first.y_test, second.y_test)
    for truth in (first, second):
        np.testing.assert_allclose(truth.X.mean(axis=0), 0, atol=1e-10)
        assert truth.X.var(axis=0).mean() == pytest.approx(1.0)


def test_a_second_run_repeats_nothing_and_a_run_that_was_cut_goes_on(tmp_path, at_hand):
    made(tmp_path, "table2", "nearest", "majority", datasets=("people",), trials=2)
    store = tmp_path / "cells.jsonl"
    whole = store.read_bytes()
    files = {p.name: p.read_bytes() for p in tmp_path.glob("table2*") if "times" not in p.name}
    assert len(read_store(store)) == 2 * 2 * (1 + 2)  # levels by trials by majority, and nearest tuned and fitted
    made(tmp_path, "table2", "nearest", "majority", datasets=("people",), trials=2)
    assert store.read_bytes() == whole
    lines = whole.splitlines(keepends=True)
    store.write_bytes(b"".join(lines[:5]) + lines[5][:20])  # killed in the middle of a line
    for path in tmp_path.glob("table2*"):
        path.unlink()
    made(tmp_path, "table2", "nearest", "majority", datasets=("people",), trials=2)
    assert {p.name: p.read_bytes() for p in tmp_path.glob("table2*") if "times" not in p.name} == files


def test_the_study_writes_a_figure_twice_and_the_pages_show_it(tmp_path, at_hand):
    ((_, left),) = made(tmp_path, "cifar10", "majority", datasets=("blobs",), trials=1)
    kinds = {path.suffix: path for path in left.files if path.suffix in (".svg", ".png")}
    assert kinds[".png"].read_bytes().startswith(b"\x89PNG")
    svg = kinds[".svg"].read_text()
    assert svg.rstrip().endswith("</svg>")
    assert f'src="{kinds[".svg"].name}"' in (tmp_path / "cifar10-uniform-part.html").read_text()
    assert f"({kinds['.svg'].name})" in (tmp_path / "cifar10-uniform-part.md").read_text()
    with (tmp_path / "cifar10-uniform-part.csv").open(newline="") as stream:
        assert len(list(csv.DictReader(stream))) == 15
    assert "blobs (0, 0.3)" in (tmp_path / "cifar10-uniform-part.md").read_text()
    assert "most frequent label (row majority) less the best baseline" in left.summary


def test_a_curve_has_means_and_the_standard_error_of_overlapping_splits():
    columns = [Column("blobs", Noise("none", labels)) for labels in ("none", "flip(rate=0.6)")]
    values = {0: [0.9, 0.8], 1: [0.5, 0.7]}
    records = {
        Cell("ridge", *column, trial): Record(Cell("ridge", *column, trial), "done", {"accuracy": accuracy})
        for place, column in enumerate(columns)
        for trial, accuracy in enumerate(values[place])
    }
    found = panels.curve(collect([row_of("ridge")], columns, 2, records), row_of("ridge"), columns)
    # variances 50 and 200 of two trials, times 1/2 + 20/80
    assert [tuple(map(float, point)) for point in found] == [
        pytest.approx((0.0, 85.0, np.sqrt(0.75 * 50))), pytest.approx((60.0, 60.0, np.sqrt(0.75 * 200))),
    ]  # fmt: skip


def test_lines_differ_in_marker_and_no_two_share_colour_and_dash():
    n = len(image_tables.DRAWN)
    assert len(set(panels.MARKERS[:n])) == n
    styles = {(panels.COLOURS[i % len(panels.COLOURS)], i < len(panels.COLOURS)) for i in range(n)}
    assert len(styles) == n


def test_all_runs_every_study_in_order_into_one_folder_and_counts_all_cells(tmp_path, monkeypatch, at_hand):
    def small(make, dataset):
        return catalogue.of_cells(lambda request: make(Request(methods=request.methods, datasets=(dataset,), trials=1)))

    studies = {"table2": small(make_table2, "people"), "cifar10": small(make_cifar10, "blobs")}
    monkeypatch.setattr(catalogue, "STUDIES", studies)
    seen = []
    results = made(tmp_path, "all", "majority", seen=seen)
    assert [name for name, _ in results] == ["table2", "cifar10"]
    assert {progress.total for progress in seen} == {2 + 15}
    assert [progress.done for progress in seen if progress.last] == list(range(1, 18))
    assert seen[-1].seconds_left == 0
    assert next(progress for progress in seen if progress.done == 2).seconds_left > 0  # the study is still to come
    assert {path.name.partition("-")[0] for path in tmp_path.glob("*.md")} == {"table2", "cifar10"}
    assert len(list(tmp_path.glob("cells.jsonl"))) == 1


def test_unknown_studies_and_datasets_for_all_are_refused_by_name(tmp_path):
    with pytest.raises(
        InvalidParameterError, match=r"what must be one of table1, table2, table3, cifar10.*, all; got 'x'"
    ):
        made(tmp_path, "x")
    with pytest.raises(InvalidParameterError, match=r"datasets must be left to the tables with all.*got wine"):
        made(tmp_path, "all", datasets=("wine",))
    assert not any(tmp_path.iterdir())


def test_a_study_without_cells_can_be_plugged_in(tmp_path, monkeypatch, at_hand):
    calls = []

    def study(request, setup, command):
        calls.append((request.quick, setup.folder, command))
        return make_grid(make_table2(Request(methods=("majority",), datasets=("people",), trials=1)), setup, command)

    monkeypatch.setattr(catalogue, "STUDIES", {"own": catalogue.Item(study)})
    assert [name for name, _ in made(tmp_path, "all", quick=True)] == ["own"]
    assert calls == [(True, tmp_path, "unmuddle reproduce own")]
