"""From a plan to a full store: what is wanted, what is ready, how long it may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from unmuddle.experiments.methods import get_method
from unmuddle.experiments.plan import Cell, Plan
from unmuddle.experiments.run import TUNE, Record
from unmuddle.experiments.store import Store
from unmuddle.experiments.task import load
from unmuddle.experiments.workers import Workers, start_workers

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
    last: Record | None = None


OnProgress = Callable[[Progress], None]


def conduct(
    plan: Plan, store: Store, jobs: int, on_progress: OnProgress, plugins: Sequence[Path] = (), *, retry: bool = False
) -> None:
    """Run every cell of the plan that is not finished; with ``retry`` the failed ones again."""
    settled = {cell for cell in store.records if store.finished(cell)}
    if retry:
        settled = {cell for cell in settled if store.records[cell].status == "done"}
    on_progress(measure(plan, store.records, settled, jobs))
    to_run = list(ready(plan, store.records, settled))
    for dataset in dict.fromkeys(cell.dataset for cell in to_run):
        load(dataset)  # once, and here: what is missing or damaged is said before anything is run
    if not to_run:
        return
    with start_workers(jobs, plugins) as workers:
        while _assign(plan, store, settled, workers):
            for record in workers.wait():
                store.append(record)
                settled.add(record.cell)
                on_progress(measure(plan, store.records, settled, jobs, record))


def _assign(plan: Plan, store: Store, settled: set[Cell], workers: Workers) -> bool:
    """Give work to whoever waits; False when there is nothing left to wait for."""
    waiting = (cell for cell in ready(plan, store.records, settled) if cell not in workers.running)
    for worker, cell in zip(workers.idle, list(waiting), strict=False):
        worker.start(cell)
    return bool(workers.running)


def wanted(plan: Plan, records: Records) -> list[Cell]:
    """All cells that the plan leads to; those of a method that is not tuned yet with an undecided setting."""
    cells = (step for cell in plan for step in unfold(cell, records, hindsight=cell.method in plan.hindsight))
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


def ready(plan: Plan, records: Records, settled: set[Cell]) -> Iterator[Cell]:
    """Cells that can be run now, in the order of the plan."""
    return (cell for cell in wanted(plan, records) if cell.setting != UNDECIDED and cell not in settled)


def measure(plan: Plan, records: Records, settled: set[Cell], jobs: int, last: Record | None = None) -> Progress:
    """How far the plan is done, and about how long the rest takes: as long as such cells took so far."""
    cells = wanted(plan, records)
    left = [cell for cell in cells if cell not in settled]
    times = _times(records)
    seconds = sum(_expect(cell, times) for cell in left) / jobs if times else None
    known = all(_groups(cell)[0] in times for cell in left)
    return Progress(len(cells) - len(left), len(cells), seconds, known, last)


Times = dict[tuple[str, ...], list[float]]


def _times(records: Records) -> Times:
    times: Times = {}
    for cell, record in records.items():
        if record.seconds is not None:
            for group in _groups(cell):
                times.setdefault(group, []).append(record.seconds)
    return times


def _groups(cell: Cell) -> list[tuple[str, ...]]:
    """From the most alike to all."""
    tuning = str(cell.setting == TUNE)
    return [
        ("both", cell.method, cell.dataset, tuning),
        ("dataset", cell.dataset, tuning),
        ("method", cell.method, tuning),
        (),
    ]


def _expect(cell: Cell, times: Times) -> float:
    return fmean(next(times[group] for group in _groups(cell) if group in times))
