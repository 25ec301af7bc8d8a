"""Means, rivals and targets of a hand-made store."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unmuddle.errors import InvalidParameterError
from unmuddle.experiments import board, leaderboard
from unmuddle.experiments.leaderboard import (
    GROSS,
    Leaderboard,
    at_hand,
    better_chain,
    choose_methods,
    is_run,
    make_frame,
    suite_mean,
    summarise,
    values_of,
)
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import Record
from unmuddle.experiments.store import open_store
from unmuddle.experiments.targets import DUELS, Target, judge, recall_gaps
from unmuddle.experiments.task import load

CLEAN, WRONG = Noise("none", "none"), Noise(GROSS, "flip(rate=0.4)")
STEADY = tuple(np.arange(1, 61) / 100)
"""The recall of a ranking by chance."""


def done(method, dataset, noise, trial=0, seconds=1.0, recall=(), **scores):
    return Record(Cell(method, dataset, noise, trial), "done", scores, seconds, recall=recall)


def frame_of(*records):
    return make_frame([record.cell for record in records], {record.cell: record for record in records})


HAND_MADE = [
    done("hybrid", "wine", WRONG, accuracy=0.95, label_auc=0.95, labels_right=0.9, labels_wrong=0.4, cell_auc=0.9,
         false_discovery=0.1, labels_flagged=0.3, flag_recall=0.5, calibration_error=0.02, noise_rate_error=0.04,
         noise_rate_covered=1.0, labels_changed=0.3),
    done("hybrid", "glass", WRONG, accuracy=0.60, label_auc=0.80, labels_right=0.5, labels_wrong=0.4, cell_auc=0.8,
         false_discovery=0.3, labels_flagged=0.1, flag_recall=0.05, calibration_error=0.08, noise_rate_error=0.04,
         noise_rate_covered=0.0, labels_changed=0.3),
    done("hybrid", "wine", CLEAN, accuracy=0.99, labels_right=0.98, labels_wrong=0.0, labels_changed=0.02,
         labels_flagged=0.04, cells_flagged=0.03, calibration_error=0.02, noise_rate_error=0.0, noise_rate_covered=1.0),
    done("hybrid", "cifar10n-worst:2000", Noise("none", "real"), seconds=2.0),
    done("cleanlab", "cifar10n-worst:2000", Noise("none", "real"), seconds=5.0),
    done("logistic", "wine", CLEAN, accuracy=1.0),
    done("cleanlab", "wine", WRONG, recall=STEADY),
    done("cleanlab", "glass", WRONG, recall=STEADY),
    done("ddc", "wine", WRONG, cell_auc=0.85),
    done("clip-pca4-cleanlab", "wine", WRONG, accuracy=0.90, label_auc=0.9, labels_right=0.8),
    done("clip-pca4-cleanlab", "glass", WRONG, accuracy=0.62, label_auc=0.8, labels_right=0.5),
    done("clip-pca80-cleanlab", "wine", WRONG, accuracy=0.80, label_auc=0.9, labels_right=0.9),
    done("clip-pca80-cleanlab", "glass", WRONG, accuracy=0.50, label_auc=0.8, labels_right=0.6),
]  # fmt: skip

EXPECTED = {  # measured by hand, and whether it is reached
    "clean test accuracy, points": ("clip-pca4-cleanlab", (5 - 2) / 2, False, 2),
    "clean test accuracy on the worst dataset, points": ("clip-pca4-cleanlab", -2, False, 2),
    "AUC of ranking wrong labels": ("clip-pca4-cleanlab", 0.025, False, 2),
    "training labels right after repair, points": ("clip-pca80-cleanlab", (0 - 10) / 2, False, 2),
    "cells with fewer labels right than came in": ("noisy input", 1, False, 2),
    "labels changed where none is wrong, most in a cell, per cent": ("", 2, False, 1),
    "accuracy on clean data, points": ("logistic", -1, False, 1),
    "labels flagged on clean data, per cent": ("", 4, True, 1),
    "cells flagged on clean data, per cent": ("", 3, False, 1),
    "AUC of ranking gross cells": ("ddc", 0.05, True, 1),
    "AUC of ranking swapped cells": ("ddc", math.nan, None, 0),
    "share of false flags, 0.1 asked": ("", 0.2, False, 2),
    "recall at the same number of flags": ("cleanlab", (0.2 - 0.05) / 2, True, 2),
    "calibration error": ("", (0.02 + 0.08) / 2, True, 3),
    "error of the noise rate": ("", (0.02 + 0.04) / 2, True, 3),
    "cover of the interval of 90 %, per cent of cells": ("", 200 / 3, False, 3),
    "fit time, theirs over ours, CIFAR-10N features": ("cleanlab", 2.5, True, 1),
}


def test_every_target_is_measured_as_by_hand():
    found = {target.what: target for target in judge(frame_of(*HAND_MADE))}
    assert list(found) == list(EXPECTED)
    for what, (against, value, reached, cells) in EXPECTED.items():
        target = found[what]
        assert (target.against, target.reached, target.cells) == (against, reached, cells), what
        assert target.measured == pytest.approx(value, nan_ok=True), what


def test_targets_are_stated_as_bounds():
    bounds = Target("hybrid", "", "", 0.05, 0.15, 0.15, 1)
    assert (bounds.wanted, bounds.reached) == ("0.05 to 0.15", True)
    assert replace(bounds, measured=0.04).reached is False
    assert replace(bounds, low=-math.inf).wanted == "at most 0.15"
    assert replace(bounds, high=math.inf).wanted == "at least 0.05"


def test_recall_is_compared_at_our_number_of_flags():
    ours = done("hybrid", "wine", WRONG, labels_flagged=0.35, flag_recall=0.6)
    theirs = done("cleanlab", "wine", WRONG, recall=tuple(np.minimum(2 * np.arange(1, 61) / 100, 1.0)))
    assert recall_gaps(frame_of(ours, theirs), "hybrid", "cleanlab").tolist() == pytest.approx([0.6 - 0.7])


def test_every_dataset_counts_the_same_in_a_suite_mean():
    records = [done("a", "wine", WRONG, trial, accuracy=1.0) for trial in range(9)]
    frame = frame_of(*records, done("a", "glass", WRONG, accuracy=0.0))
    assert suite_mean(values_of(frame, "a", "accuracy")) == 0.5


def test_the_rival_is_chosen_on_the_cells_that_ours_has():
    records = [record for record in HAND_MADE if record.cell.method != "hybrid"]
    elsewhere = done("clip-pca80-cleanlab", "digits", WRONG, accuracy=1.0)
    frame = frame_of(*records, elsewhere, done("hybrid", "wine", WRONG, accuracy=0.5))
    assert better_chain(frame, "hybrid", DUELS[0].chains, "accuracy") == "clip-pca4-cleanlab"


def test_every_duel_has_its_mark_in_the_picture():
    methods = {name for duel in DUELS for name in (duel.ours, *duel.chains)}
    records = [done(name, "wine", WRONG, trial, accuracy=0.5) for name in sorted(methods) for trial in range(2)]
    picture = board.draw(frame_of(*records))["svg"].decode()
    assert all(f"{duel.ours} less " in picture for duel in DUELS)


def test_a_mean_stands_only_where_it_rests_on_the_same_cells_as_the_others():
    records = [
        done("a", d, n, accuracy=v) for d, n, v in (("wine", CLEAN, 0.8), ("wine", WRONG, 0.6), ("glass", WRONG, 0.4))
    ]
    failed = Record(Cell("b", "wine", WRONG, 0), "failed", reason="ValueError: no")
    frame = frame_of(*records, done("b", "wine", CLEAN, accuracy=0.9), failed, done("b", "glass", WRONG, accuracy=0.5))
    found = summarise(frame).set_index(["method", "dataset"])
    assert found["accuracy"]["a", "wine"] == pytest.approx(0.7)
    assert found["accuracy"]["a", "all"] == pytest.approx((0.7 + 0.4) / 2)
    assert math.isnan(found["accuracy"]["b", "wine"])
    assert math.isnan(found["accuracy"]["b", "all"])
    assert found["accuracy"]["b", "glass"] == 0.5
    assert found.loc["b", "wine"][["cells", "not_done"]].tolist() == [1, 1]


def test_labels_right_is_a_mean_under_label_noise():
    records = done("a", "wine", CLEAN, labels_right=1.0), done("a", "wine", WRONG, labels_right=0.6)
    assert summarise(frame_of(*records))["labels_right"].tolist() == [0.6, 0.6]


def test_forests_need_few_rows_and_ddc_few_columns_and_wrong_cells():
    wine, digits = load("wine"), load("digits")
    large = replace(wine, y=np.zeros(2500))
    wide = replace(wine, X=np.zeros((178, 65)))
    assert is_run("forest", wine, CLEAN)
    assert not is_run("hybrid-forest", large, CLEAN)
    assert is_run("hybrid", large, CLEAN)
    assert is_run("ddc", digits, WRONG)
    assert not is_run("ddc", wide, WRONG)
    assert not is_run("ddc", wine, CLEAN)


def test_labels_that_come_with_the_data_replace_artificial_noise(monkeypatch):
    given = replace(load("wine"), name="given", y_noisy=load("wine").y)
    monkeypatch.setattr(leaderboard, "load", {"given": given, "wine": load("wine")}.__getitem__)
    noises = (CLEAN, Noise("none", "flip(rate=0.2)"), WRONG)
    cells = list(Leaderboard(("hybrid",), ("given", "wine"), noises, 1).plan)
    assert [cell.noise for cell in cells if cell.dataset == "given"] == [Noise("none", "real"), Noise(GROSS, "real")]
    assert [cell.noise for cell in cells if cell.dataset == "wine"] == list(noises)


def test_the_whole_leaderboard_has_five_by_five_noises_and_all_methods_are_known():
    assert len(leaderboard.NOISES) == 25
    assert set(choose_methods(leaderboard.METHOD_NAMES)) == set(leaderboard.METHOD_NAMES)
    with pytest.raises(InvalidParameterError, match=r"methods must be among .* got 'magic'"):
        choose_methods(["magic"])


def test_datasets_without_their_file_are_told_from_those_at_hand(monkeypatch, tmp_path):
    monkeypatch.setenv("UNMUDDLE_CACHE", str(tmp_path))
    monkeypatch.delenv("UNMUDDLE_DATA", raising=False)
    assert at_hand(["wine", "cifar10n-worst:2000", "digits:500"]) == (("wine", "digits:500"), ("cifar10n-worst:2000",))


def test_a_full_store_is_written_without_running_anything(tmp_path):
    noises = (CLEAN, WRONG)
    methods = ("hybrid", "clip-pca4-cleanlab", "clip-pca80-cleanlab")
    small = Leaderboard(methods, ("wine",), noises, 2)
    with open_store(tmp_path / "cells.jsonl") as store:
        for place, cell in enumerate(small.plan):
            store.append(Record(cell, "done", {"accuracy": 0.5 + 0.01 * place}, 1.0))
    first = board.make_leaderboard(small, tmp_path, "the command", 1, lambda progress: None)
    contents = {path.name: path.read_bytes() for path in first.files}
    assert set(contents) == {
        "leaderboard.csv", "leaderboard.md", "leaderboard.html", "leaderboard.svg", "leaderboard.png", "targets.csv",
    }  # fmt: skip
    assert first.failed == 0
    assert b"the command" in contents["leaderboard.html"]
    line = "| hybrid | clean test accuracy, points | clip-pca80-cleanlab | at least 4 | -2 | not reached | 4 |"
    assert line in contents["leaderboard.md"].decode()
    again = board.make_leaderboard(small, tmp_path, "the command", 1, lambda progress: None)
    assert {path.name: path.read_bytes() for path in again.files} == contents
    csv = pd.read_csv(Path(tmp_path, "leaderboard.csv"))
    assert csv[csv["dataset"] == "all"]["cells"].tolist() == [4, 4, 4]
