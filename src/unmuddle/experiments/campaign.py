"""From a plan to a full store: what is wanted, what is ready, how long it may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmuddle.experiments.methods import get_method
from unmuddle.experiments.plan import Cell, Plan
from unmuddle.experiments.run import TUNE, Record, run_cell
from unmuddle.experiments.store import Store
from unmuddle.experiments.task import load
from unmuddle.experiments.workers import Trade, Workers, start_workers

Records = Mapping[Cell, Record]

UNDECIDED = "?"
"""The setting of a cell whose method is still to be tuned."""


@dataclass(frozen=True)
class Progress:
    """How far a campaign has come."""

    done: int
    total: int
    seconds_left: float | None
    """As long as cells like those took so far; None before the first."""
    all_known: bool
    """Whether every kind of cell that is left has been timed; otherwise the time left is a guess."""
    last: object | None = None
    """The record that came in last, None before the first."""


OnProgress = Callable[[Progress], None]


def conduct(
    plan: Plan,
    store: Store,
    jobs: int,
    on_progress: OnProgress,
    plugins: Sequence[Path] = (),
    *,
    retry: bool = False,
    whole: Plan | None = None,
) -> None:
    """Run every cell of the plan that is not finished; with ``retry`` the failed ones again.

    Progress is that of ``whole``, if it is given: a larger plan of which this one is a part.
    """
    agenda = Agenda(plan, store, jobs, retry)
    outlook = agenda if whole is None else Agenda(whole, store, jobs, retry)
    on_progress(outlook.measure())
    for dataset in dict.fromkeys(cell.dataset for cell in agenda.left):
        load(dataset)  # once, and here: what is missing or damaged is said before anything is run
    if not agenda.left:
        return
    with start_workers(jobs, Trade(run_cell, _mourn), plugins) as workers:
        while _assign(agenda, workers):
            for record in workers.wait():
                store.append(record)
                for each in {agenda, outlook}:
                    each.settle(record)
                on_progress(outlook.measure(record))


def _mourn(cell: Cell, reason: str) -> Record:
    return Record(cell, "failed", reason=reason)


def _assign(agenda: Agenda, workers: Workers[Cell, Record]) -> bool:
    """Give work to whoever waits; False when there is nothing left to wait for."""
    running = workers.running
    waiting = (cell for cell in agenda.left if cell.setting != UNDECIDED and cell not in running)
    for worker, cell in zip(workers.idle, waiting, strict=False):
        worker.start(cell)
    return bool(workers.running)


class Agenda:
    """What is left of a plan, and how long such cells took."""

    def __init__(self, plan: Plan, store: Store, jobs: int, retry: bool) -> None:
        self._plan, self._records, self._jobs = plan, store.records, jobs
        done = {cell for cell in store.records if store.finished(cell)}
        self._settled = {cell for cell in done if not retry or store.records[cell].status == "done"}
        self._times = Times()
        for record in store.records.values():
            self._times.add(record)
        self._look()

    def _look(self) -> None:
        cells = wanted(self._plan, self._records)
        self._total = len(cells)
        self.left = {cell: None for cell in cells if cell not in self._settled}

    def settle(self, record: Record) -> None:
        """A cell is done with; a tuning leads to others."""
        self._settled.add(record.cell)
        self._times.add(record)
        self.left.pop(record.cell, None)
        if record.cell.setting == TUNE:
            self._look()

    def measure(self, last: Record | None = None) -> Progress:
        """How far the plan is done, and about how long the rest takes."""
        expected = [self._times.expect(cell) for cell in self.left]
        known = all(self._times.knows(cell) for cell in self.left)
        seconds = sum(expected) / self._jobs if self._times else None
        return Progress(self._total - len(self.left), self._total, seconds, known, last)


def wanted(plan: Plan, records: Records) -> list[Cell]:
    """All cells that the plan leads to; those of a method that is not tuned yet with an undecided setting."""
    in_hindsight = plan.in_hindsight
    cells = (step for cell in plan for step in unfold(cell, records, hindsight=cell in in_hindsight))
    return list(dict.fromkeys(cells))


def unfold(cell: Cell, records: Records, *, hindsight: bool) -> Iterator[Cell]:
    """A cell as it is, or for a tuned method its tuning and the fits that follow from it."""
    method = get_method(cell.method)
    if method.settings is None:
        yield cell
        return
    tuning = records.get(tuning_of(cell))
    yield tuning_of(cell)
    if tuning is None:
        yield cell._replace(setting=UNDECIDED)
    elif tuning.tuning:  # else it failed, and nothing follows
        yield decide(cell, tuning)
        yield from all_settings(cell, tuning) if hindsight else ()


def tuning_of(cell: Cell) -> Cell:
    """The cell in which the setting of this one is chosen."""
    trial = get_method(cell.method).tuning_trial(cell.dataset, cell.trial)
    return cell._replace(trial=trial, setting=TUNE)


def decide(cell: Cell, tuning: Record) -> Cell:
    """The cell with the setting that its tuning chose."""
    return cell._replace(setting=str(tuning.best))


def all_settings(cell: Cell, tuning: Record) -> list[Cell]:
    """Fits at every setting, to know the best in hindsight; none where even the tuning is too dear for every trial."""
    if get_method(cell.method).tunes_once(cell.dataset):
        return []
    return [cell._replace(setting=str(place)) for place in range(len(tuning.tuning))]


class Times:
    """Mean times of cells by what they have in common."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, ...], tuple[float, int]] = {}

    def __bool__(self) -> bool:
        return bool(self._sums)

    def add(self, record: Record) -> None:
        """Count a cell that was timed."""
        if record.seconds is not None:
            for group in _groups(record.cell):
                seconds, count = self._sums.get(group, (0.0, 0))
                self._sums[group] = seconds + record.seconds, count + 1

    def knows(self, cell: Cell) -> bool:
        """Whether the same method was timed on the same data."""
        return _groups(cell)[0] in self._sums

    def expect(self, cell: Cell) -> float:
        """The mean of the cells most alike; 0 before the first."""
        seconds, count = next((self._sums[group] for group in _groups(cell) if group in self._sums), (0.0, 1))
        return seconds / count


def _groups(cell: Cell) -> list[tuple[str, ...]]:
    """From the most alike to all."""
    tuning = str(cell.setting == TUNE)
    method, dataset = ("method", cell.method), ("dataset", cell.dataset)
    return [(*method, *dataset, tuning), (*dataset, tuning), (*method, tuning), ()]
