"""What cleaners are scored by, and how the leaderboard calls them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from experiments.stand_in import StandIn
from unmuddle import HybridCleaner, datasets
from unmuddle.datasets import load_wine, registry
from unmuddle.datasets.cifar10n import load_people
from unmuddle.errors import DatasetError
from unmuddle.experiments import cleaners, ddc
from unmuddle.experiments import task as tasks
from unmuddle.experiments.cleaning_scores import calibration_error, recall_at, recall_curve, score_cleaning
from unmuddle.experiments.methods import Answer, Task
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.references import STRENGTHS
from unmuddle.experiments.run import Record, run_cell
from unmuddle.experiments.store import read_store

ROOT = Path(__file__).parents[2]


def truth_of(wrong, given):
    wrong, empty = np.array(wrong), np.zeros((len(wrong), 2))
    return tasks.Truth(empty, np.array(given), empty, np.array(given), empty.astype(bool), wrong)


def test_flags_confidence_and_noise_rate_score_as_counted_by_hand():
    truth = truth_of([True, True, False, False, False], list("aabbb"))
    task = Task(truth.X, np.array(list("bbbbb")), 0)
    answer = Answer(
        predict=len,
        labels=np.array(list("abbba")),
        label_flags=np.array([True, False, True, False, True]),
        cell_flags=np.array([[True, False]] * 3 + [[False, False]] * 2),
        label_confidence=np.array([1.0, 0.95, 0.55, 0.05, 0.0]),
        noise_rate=(0.3, 0.2, 0.35),
    )
    assert score_cleaning(answer, task, truth) == pytest.approx(
        {
            "labels_wrong": 2 / 5,
            "labels_changed": 2 / 5,
            "false_discovery": 2 / 3,
            "labels_flagged": 3 / 5,
            "flag_recall": 1 / 2,
            "cells_flagged": 3 / 10,
            "calibration_error": (0.05 + 0.55 + 0.05) / 5,  # bins of two, of one and of two rows
            "noise_rate_error": 0.1,
            "noise_rate_covered": 0.0,
        }
    )


def test_no_flag_is_no_false_discovery_and_recall_needs_something_wrong():
    truth = truth_of([False, False], list("ab"))
    scores = score_cleaning(Answer(predict=len, label_flags=np.zeros(2, dtype=bool)), Task(truth.X, truth.y, 0), truth)
    assert scores == {"labels_wrong": 0.0, "false_discovery": 0.0, "labels_flagged": 0.0}


def test_what_an_answer_does_not_say_is_not_scored():
    truth = truth_of([True, False], list("ab"))
    assert score_cleaning(Answer(predict=len), Task(truth.X, truth.y, 0), truth) == {"labels_wrong": 0.5}


def test_stated_chances_that_come_true_have_a_small_calibration_error():
    rng = np.random.default_rng(0)
    chance = rng.random(200_000)
    wrong = rng.random(200_000) < chance
    assert calibration_error(wrong, chance) < 0.005
    assert calibration_error(wrong, np.full(200_000, 0.9)) == pytest.approx(0.4, abs=0.005)


def test_the_recall_of_any_number_of_flags_is_found_again_in_the_curve():
    rng = np.random.default_rng(1)
    wrong, scores = rng.random(400) < 0.3, rng.random(400)
    curve, order = recall_curve(wrong, scores), np.argsort(-scores)
    for flags in range(0, 241, 4):  # whole per cents of 400 rows
        assert recall_at(curve, flags / 400) == pytest.approx(wrong[order[:flags]].sum() / wrong.sum(), abs=1e-6)
    for flags in (1, 7, 30, 101, 300, 399):
        assert recall_at(curve, flags / 400) == pytest.approx(wrong[order[:flags]].sum() / wrong.sum(), abs=0.1)
    assert recall_at(curve, 1.0) == 1.0


def test_equal_scores_give_the_recall_that_chance_would():
    wrong = np.array([True] * 10 + [False] * 90)
    np.testing.assert_allclose(recall_curve(wrong, np.zeros(100)), np.arange(1, 61) / 100)


def test_nothing_wrong_means_no_curve():
    assert recall_curve(np.zeros(3, dtype=bool), np.arange(3.0)) == ()
    assert np.isnan(recall_at((), 0.1))


def test_a_record_keeps_its_curve_through_json_and_old_stores_have_none():
    cell = Cell("any", "wine", Noise("none", "none"), 0)
    record = Record(cell, "done", {"accuracy": 1.0}, recall=(0.1, 0.2))
    assert Record.from_plain(record.to_plain()) == record
    plain = record.to_plain()
    del plain["recall"]
    assert Record.from_plain(plain).recall == ()


def test_the_stored_table_can_still_be_read():
    records = read_store(ROOT / "docs" / "results" / "table1" / "cells.jsonl")
    assert len(records) > 8000
    later = ("hybrid", "unmuddle-auto")  # rows that were run when recall was stored already
    assert all(record.recall == () for cell, record in records.items() if cell.method not in later)


@pytest.fixture(name="people")
def _people(monkeypatch):
    monkeypatch.setattr(registry, "_ENTRIES", dict(registry._ENTRIES))
    tasks.load.cache_clear()
    wine = load_wine()
    given = np.where(np.arange(178) % 4 == 0, "class_1", wine.y)

    def load_given():
        return datasets.Dataset("given", wine.X, wine.y, wine.feature_names, "here", "none", y_noisy=given)

    datasets.register(datasets.Entry("given", load_given, "t", "178 x 13", "here", "none", lambda: "generated"))
    yield wine, given
    tasks.load.cache_clear()


@pytest.mark.parametrize("name", ["given", "given:100"])
def test_real_labels_are_those_that_came_with_the_rows_and_the_truth_is_clean(people, name):
    wine, given = people
    task, truth = tasks.make_task(Cell("any", name, Noise("none", "real"), 0))
    labels = {tuple(row): (y, noisy) for row, y, noisy in zip(wine.X, wine.y, given, strict=True)}
    data = tasks.load(name)
    train, test = tasks.split(data, 0)
    assert [labels[tuple(row)] for row in data.X[train]] == list(zip(truth.y, task.y, strict=True))
    assert [labels[tuple(row)][0] for row in data.X[test]] == list(truth.y_test)
    np.testing.assert_array_equal(truth.labels, task.y != truth.y)
    assert truth.labels.any()


def test_real_labels_of_a_set_that_has_none_are_refused_with_a_remedy():
    with pytest.raises(DatasetError, match=r"'real' needs a dataset that comes with noisy labels.*'wine'.*flip"):
        tasks.make_task(Cell("any", "wine", Noise("none", "real"), 0))


def test_images_labelled_by_people_are_one_table_with_both_labels(tmp_path):
    rng = np.random.default_rng(0)
    clean, worst = rng.integers(10, size=(2, 600))
    arrays = {"X_train": rng.normal(size=(600, 520)), "X_test": rng.normal(size=(20, 520)), "y_test": clean[:20]}
    np.savez(tmp_path / "mine.npz", **arrays, clean=clean, aggre=clean, random1=clean, worst=worst)
    data = load_people(path=tmp_path / "mine.npz")
    assert data.X.shape == (600, 512)
    np.testing.assert_array_equal(data.y, clean)
    np.testing.assert_array_equal(data.y_noisy, worst)


@pytest.fixture(name="stand_in")
def _stand_in(monkeypatch):
    monkeypatch.setattr(cleaners, "HybridCleaner", StandIn)


def test_all_that_a_cleaner_says_reaches_its_record(stand_in):
    cell = Cell("hybrid", "wine", Noise("gross(rate=0.15,size=8)", "flip(rate=0.2)"), 0)
    record = run_cell(cell)
    assert record.status == "done", record.reason
    task, truth = tasks.make_task(cell)
    model = StandIn()
    repaired = model.fit(task.X, task.y).predict(task.X)
    assert record.scores["labels_right"] == np.mean(repaired == truth.y)
    assert record.scores["labels_changed"] == record.scores["labels_flagged"] == np.mean(repaired != task.y)
    assert record.scores["flag_recall"] == np.mean((repaired != task.y)[truth.labels])
    assert record.scores["cells_flagged"] == np.mean(np.abs(task.X - np.median(task.X, axis=0)) > 5)
    assert record.scores["labels_wrong"] == np.mean(truth.labels)
    assert record.scores["noise_rate_error"] == abs(np.mean(repaired != task.y) - np.mean(truth.labels))
    assert len(record.recall) == 60


def test_a_cleaner_gets_its_estimator_and_features_as_the_runner_scaled_them(monkeypatch):
    seen = []

    def remember(estimator, **settings):
        seen.append((estimator, settings["scale"], settings["overlap"]))
        return StandIn(estimator, **settings)

    monkeypatch.setattr(cleaners, "HybridCleaner", remember)
    task, _ = tasks.make_task(Cell("any", "wine:60", Noise("none", "none"), 0))
    cleaners.fit_hybrid(task)
    cleaners.fit_hybrid_logistic(task)
    cleaners.fit_hybrid_apart(task)
    assert [rest for _, *rest in seen] == [[None, True], [None, True], [None, False]]
    assert seen[0][0] is None
    assert seen[1][0].param_grid == {"C": list(STRENGTHS)}


def test_labels_that_are_scored_are_those_that_a_user_gets():
    task, _ = tasks.make_task(Cell("hybrid", "wine", Noise("none", "flip(rate=0.2)"), 0))
    cleaned = HybridCleaner(scale=None, random_state=task.random_state).fit_clean(task.X, task.y)
    answer = cleaners.fit_hybrid(task)
    np.testing.assert_array_equal(answer.labels, cleaned.y)
    assert (cleaned.y != task.y).any()


FAKE = """
import sys, numpy as np
X = np.load(sys.argv[1])["X"]
np.savez(sys.argv[2], scores=np.abs(X), flags=X > 1, features=np.minimum(X, 1))
"""


def test_cells_go_out_and_come_back_through_files(tmp_path):
    script = tmp_path / "fake.py"
    script.write_text(FAKE)
    X = np.array([[0.5, -3.0], [2.0, 0.0]])
    found = ddc.find_cells(X, script, Path(sys.executable))
    np.testing.assert_array_equal(found.scores, [[0.5, 3.0], [2.0, 0.0]])
    np.testing.assert_array_equal(found.flags, [[False, False], [True, False]])
    np.testing.assert_array_equal(found.features, [[0.5, -3.0], [1.0, 0.0]])


def test_a_script_that_fails_is_told_by_its_last_line(tmp_path):
    script = tmp_path / "bad.py"
    script.write_text("raise ValueError('too few columns')")
    with pytest.raises(RuntimeError, match=r"bad\.py failed: ValueError: too few columns"):
        ddc.find_cells(np.zeros((2, 2)), script, Path(sys.executable))


def test_what_cannot_be_installed_is_missing_with_its_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path))
    cell = Cell("ddc", "wine", Noise("swapped(rate=0.15)", "none"), 0)
    assert "not tried yet" in run_cell(cell).reason
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    assert "no-python" in ddc.make_environment()
    record = run_cell(cell)
    assert record.status == "missing"
    assert "no-python" in record.reason
    assert [path.name for path in tmp_path.iterdir()] == ["robpy-0.0.6.failed.txt"]


def test_a_forest_behind_a_chain_is_another_classifier_on_the_same_features():
    pytest.importorskip("cleanlab")
    cell = Cell("clip-pca4-cleanlab", "wine:60", Noise("gross(rate=0.15,size=8)", "flip(rate=0.2)"), 0)
    linear, forest = run_cell(cell), run_cell(cell._replace(method="clip-pca4-cleanlab-forest"))
    assert (linear.status, forest.status) == ("done", "done")
    for score in ("cell_auc", "feature_error"):
        assert linear.scores[score] == pytest.approx(forest.scores[score], rel=1e-6)
    assert linear.recall != forest.recall
