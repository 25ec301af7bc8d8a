"""One cell to one record: only the fit is timed, and a failure is a record too."""

from __future__ import annotations

import time
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

import numpy as np

from unmuddle.errors import DatasetError, MissingExtraError
from unmuddle.experiments.methods import Answer, Method, Setting, Task, get_method
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.task import Truth, hold_out, make_task, score
from unmuddle.metrics import accuracy

Status = Literal["done", "failed", "missing"]
"""``missing`` is what will run once a package or a data file is there: it is tried again on the next run."""

TUNE = "tune"
"""The setting of a cell that tries all settings on a hold-out."""


@dataclass(frozen=True)
class Trial:
    """One setting on the hold-out: accuracy on noisy labels, by which it is chosen, and in hindsight on the test."""

    setting: dict[str, Any]
    noisy: float
    hindsight: float


@dataclass(frozen=True)
class Record:
    """What came of a cell."""

    cell: Cell
    status: Status
    scores: dict[str, float | None] = field(default_factory=dict)
    seconds: float | None = None
    reason: str = ""
    warned: tuple[str, ...] = ()
    setting: dict[str, Any] = field(default_factory=dict)
    tuning: tuple[Trial, ...] = ()

    def best(self, *, hindsight: bool = False) -> int:
        """The place of the setting that did best; the first of equals, as lists go from smooth to rough."""
        return int(np.argmax([trial.hindsight if hindsight else trial.noisy for trial in self.tuning]))

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"cell": list(self.cell.key)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Back from JSON."""
        method, dataset, features, labels, trial, setting = plain["cell"]
        cell = Cell(method, dataset, Noise(features, labels), int(trial), setting)
        tuning = tuple(Trial(**each) for each in plain["tuning"])
        return cls(**plain | {"cell": cell, "tuning": tuning, "warned": tuple(plain["warned"])})


def run_cell(cell: Cell) -> Record:
    """Run a cell whatever happens in it."""
    try:
        method = get_method(cell.method)
        method.check_installed()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            record = _tune(cell, method) if cell.setting == TUNE else _fit(cell, method)
        return Record(**vars(record) | {"warned": tuple(sorted({each.category.__name__ for each in caught}))})
    except (MissingExtraError, DatasetError) as error:
        return Record(cell, "missing", reason=str(error))
    except Exception as error:  # whatever a method raises is a row of the table
        return Record(cell, "failed", reason=f"{type(error).__name__}: {error}")


def _fit(cell: Cell, method: Method) -> Record:
    task, truth = make_task(cell, takes_missing=method.takes_missing)
    setting = dict(method.settings(task)[int(cell.setting)]) if method.settings else {}
    answer, seconds = _timed(method, task, setting if method.settings else None)
    return Record(cell, "done", score(answer, truth), seconds, setting=setting)


def _tune(cell: Cell, method: Method) -> Record:
    task, truth = make_task(cell, takes_missing=method.takes_missing)
    assert method.settings is not None  # a plan asks for this only where there are settings
    settings = [dict(setting) for setting in method.settings(task)]
    part, X_judged, y_judged = hold_out(task, cell)
    trials, total = [], 0.0
    for setting in settings:
        answer, seconds = _timed(method, part, setting)
        trials.append(_judge(answer, setting, X_judged, y_judged, truth))
        total += seconds
    return Record(cell, "done", seconds=total, tuning=tuple(trials))


def _judge(answer: Answer, setting: dict[str, Any], X: Any, y: Any, truth: Truth) -> Trial:
    return Trial(
        setting,
        noisy=float(accuracy(y, answer.predict(X))),
        hindsight=float(accuracy(truth.y_test, answer.predict(truth.X_test))),
    )


def _timed(method: Method, task: Task, setting: Setting | None) -> tuple[Answer, float]:
    np.random.seed(task.random_state)  # noqa: NPY002 - for libraries that draw from the global generator
    start = time.perf_counter()
    answer = method.fit(task) if setting is None else method.fit(task, setting)
    return answer, time.perf_counter() - start
