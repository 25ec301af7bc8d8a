"""One cell to one record: only the fit is timed, and a failure is a record too."""

from __future__ import annotations

import json
import time
import warnings
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import metadata
from typing import Any, Literal, Self

import numpy as np

from unmuddle.errors import DatasetError, MissingExtraError
from unmuddle.experiments.cleaning_scores import recall_curve, score_cleaning
from unmuddle.experiments.methods import Answer, Method, Setting, Task, get_method
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.task import hold_out, make_task, score
from unmuddle.metrics import accuracy

Status = Literal["done", "failed", "missing"]
"""``missing`` is what will run once a package or a data file is there: it is tried again on the next run."""

TUNE = "tune"
"""The setting of a cell that tries all settings on a hold-out."""


@dataclass(frozen=True)
class Trial:
    """One setting on the hold-out, and its accuracy there on noisy labels."""

    setting: dict[str, Any]
    noisy: float


@dataclass(frozen=True)
class Record:
    """What came of a cell.

    ``recall`` is the share of the wrong labels among the most suspicious 1 %, 2 %, ..., 60 % of the rows.
    """

    cell: Cell
    status: Status
    scores: dict[str, float | None] = field(default_factory=dict)
    seconds: float | None = None
    reason: str = ""
    warned: tuple[str, ...] = ()
    setting: dict[str, Any] = field(default_factory=dict)
    tuning: tuple[Trial, ...] = ()
    versions: str = ""
    recall: tuple[float, ...] = ()

    @property
    def best(self) -> int:
        """The place of the setting that did best on noisy labels, first of equals: lists go from smooth to rough."""
        return int(np.argmax([trial.noisy for trial in self.tuning]))

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"cell": list(self.cell.key)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Back from JSON."""
        method, dataset, features, labels, trial, setting = plain["cell"]
        cell = Cell(method, dataset, Noise(features, labels), int(trial), setting)
        tuning = tuple(Trial(**each) for each in plain["tuning"])
        lists = {
            "warned": tuple(plain["warned"]),
            "recall": tuple(plain.get("recall", ())),
        }  # old stores have no recall
        return cls(**plain | {"cell": cell, "tuning": tuning} | lists)


def run_cell(cell: Cell) -> Record:
    """Run a cell whatever happens in it."""
    try:
        method = get_method(cell.method)
        method.check_installed()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = _tune(cell, method) if cell.setting == TUNE else _fit(cell, method)
        warned = tuple(sorted({each.category.__name__ for each in caught}))
        record = replace(record, warned=warned, versions=versions())
        json.dumps(record.to_plain(), allow_nan=False)  # a plug-in's setting may be anything; a store takes plain data
        return record
    except (MissingExtraError, DatasetError) as error:
        return Record(cell, "missing", reason=str(error))
    except Exception as error:  # whatever a method raises is a row of the table
        return Record(cell, "failed", reason=f"{type(error).__name__}: {error}", versions=versions())


@cache
def versions() -> str:
    """What the numbers may depend on."""
    names = [
        name for name in ("unmuddle", "numpy", "scipy", "scikit-learn", "cleanlab", "jax", "optax") if _version(name)
    ]
    return ", ".join(f"{name} {_version(name)}" for name in names)


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _fit(cell: Cell, method: Method) -> Record:
    task, truth = make_task(cell, takes_missing=method.takes_missing, told=method.told)
    setting = dict(method.settings(task)[int(cell.setting)]) if method.settings else {}
    answer, seconds = _timed(method, task, setting if method.settings else None)
    scores = score(answer, truth) | score_cleaning(answer, task, truth)
    recall = () if answer.label_scores is None else recall_curve(truth.labels, answer.label_scores)
    return Record(cell, "done", scores, seconds, setting=setting, recall=recall)


def _tune(cell: Cell, method: Method) -> Record:
    task, _ = make_task(cell, takes_missing=method.takes_missing, told=method.told)
    assert method.settings is not None  # a plan asks for this only where there are settings
    part, X_judged, y_judged = hold_out(task, cell)
    trials, total = [], 0.0
    for setting in map(dict, method.settings(task)):
        answer, seconds = _timed(method, part, setting)
        trials.append(Trial(setting, float(accuracy(y_judged, answer.predict(X_judged)))))
        total += seconds
    return Record(cell, "done", seconds=total, tuning=tuple(trials))


def _timed(method: Method, task: Task, setting: Setting | None) -> tuple[Answer, float]:
    np.random.seed(task.random_state)  # noqa: NPY002 - for libraries that draw from the global generator
    start = time.perf_counter()
    answer = method.fit(task) if setting is None else method.fit(task, setting)
    return answer, time.perf_counter() - start
