"""A study: points to measure one by one, a figure, and a verdict on what the paper claims.

``run_study`` measures the points that the store does not have yet, then writes the files. A point is plain data and
all that its randomness depends on, so a study that was killed goes on where it was and ends with the same files.
"""

from __future__ import annotations

import io
import json
import math
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import pandas as pd
from threadpoolctl import threadpool_limits

from unmuddle.errors import DatasetError, MissingExtraError, UnmuddleError
from unmuddle.experiments.campaign import OnProgress, Progress
from unmuddle.experiments.lines import Lines, Schema, open_lines
from unmuddle.experiments.plan import seed
from unmuddle.experiments.reproduce import Made
from unmuddle.experiments.run import Status, versions
from unmuddle.experiments.workers import Trade, Workers, start_workers
from unmuddle.experiments.write import fill
from unmuddle.files import write_whole

SCHEMA = Schema("unmuddle studies", 1)

Scalar = str | int | float | bool
Point = Mapping[str, Scalar]

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "unmuddle",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
}
SOURCES = {
    "cifar10n": "Features of CIFAR-10N's images (EfficientNet-Lite0, standardised, 512 principal axes of all 10,000 "
    "training images, all divided by one number), with the labels that people gave. Features are not scaled again.",
    "generated": "CIFAR-10N's features were not used: the data are GENERATED low-rank classes, with labels made wrong "
    "near other classes at the rates of CIFAR-10N (aggre 9.0 %, random1 17.2 %, worst 40.2 %). Figures of "
    "this run say nothing of images.",
}


FEW_TRIALS = (
    "These are not all trials of the study: its verdict is of what was run so far, and a standard error is 0 where "
    "there is one trial."
)


class Study(Protocol):
    """What a study offers. May also have ``notes``, ``alone`` (one process only) and ``cost`` (of a point, relative).

    Must be picklable, for processes measure its points.
    """

    @property
    def name(self) -> str:
        """Of the command and of the files."""

    @property
    def title(self) -> str:
        """Of the page."""

    @property
    def claim(self) -> str:
        """What the paper says, in our words."""

    def points(self, quick: bool) -> Sequence[Point]:
        """What is measured, in order; points with the same data beside each other."""

    def measure(self, point: Point) -> Mapping[str, float]:
        """Numbers of one point, a function of the point alone; NaN where there is none."""

    def draw(self, frame: pd.DataFrame) -> Any:
        """A figure of matplotlib from a row for each point: what it is, then what was measured."""

    def verdict(self, frame: pd.DataFrame) -> str:
        """``reproduced``, ``partly`` or ``not``, a colon, and a sentence with figures."""


class Job(NamedTuple):
    """A point on its way to a process."""

    study: Study
    key: str

    @property
    def point(self) -> dict[str, Scalar]:
        """As the study named it."""
        return json.loads(self.key)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Measured:
    """What came of a point; ``seconds`` is its whole time, for the time left."""

    key: str
    status: Status
    numbers: dict[str, float | None] = field(default_factory=dict)
    seconds: float | None = None
    reason: str = ""
    warned: tuple[str, ...] = ()
    versions: str = ""

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Back from JSON."""
        return cls(**plain | {"key": name_of(plain["key"]), "warned": tuple(plain["warned"])})

    def to_plain(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self) | {"key": json.loads(self.key)}


def name_of(point: Point) -> str:
    """A point as a name that does not depend on the order of its parts.

    >>> name_of({"sigma": 3, "noise": "gaussian"})
    '{"noise": "gaussian", "sigma": 3}'
    """
    return json.dumps(dict(point), sort_keys=True, allow_nan=False)


def seed_of(point: Point, *names: str) -> int:
    """A seed from these parts of a point alone, or from all of it: points that share them share their data."""
    return seed("study", *(f"{name}={point[name]}" for name in names or sorted(point)))


def run_study(
    study: Study,
    folder: Path,
    quick: bool,
    jobs: int,
    on_progress: OnProgress,
    command: str = "",
    *,
    retry: bool = False,
    trials: int = 0,
) -> Made:
    """Measure what is missing, then write ``<name>.csv``, ``.md``, ``.html``, ``.svg`` and ``.png``.

    A quick run writes ``<name>-quick``, and one of the first ``trials`` alone ``<name>-trials2``, so that none takes
    the place of a full one. Points that failed are tried again with ``retry``; those that lacked a file or a package
    always.
    """
    points = study.points(quick)
    few = 0 < trials < trials_of(points)
    keys = [name_of(point) for point in (first_trials(points, trials) if few else points)]
    with open_lines(folder / f"{study.name}.jsonl", SCHEMA, Measured.from_plain) as (lines, stored):
        agenda = Agenda(study, keys, stored, 1 if getattr(study, "alone", False) else jobs, retry)
        on_progress(agenda.progress())
        for record in _measure_all(agenda):
            _keep(record, lines, agenda)
            on_progress(agenda.progress(record))
    found = [agenda.records[key] for key in keys]
    failed = [record for record in found if record.status != "done"]
    size = f" --trials {trials}" if few else ""
    command = command or f"unmuddle reproduce {study.name}{' --quick' if quick else ''}{size}"
    name = study.name + ("-quick" if quick else "") + (suffix_of(trials) if few else "")
    files = write_study(study, folder, name, found, command, (FEW_TRIALS,) if few else ())
    reason = f"{failed[0].key}: {failed[0].reason}" if failed else ""
    return Made(files, len(failed), reason, f"{study.title}\n{study.verdict(make_frame(found))}")


def suffix_of(trials: int) -> str:
    """Of the names of files of the first so many trials."""
    return f"-trials{trials}"


def trials_of(points: Sequence[Point]) -> int:
    """Of a study with these points."""
    return 1 + max((int(point.get("trial", 0)) for point in points), default=0)


def first_trials(points: Sequence[Point], trials: int) -> list[Point]:
    """The points of the first so many trials.

    >>> first_trials([{"n": 5, "trial": 0}, {"n": 5, "trial": 1}], 1)
    [{'n': 5, 'trial': 0}]
    """
    return [point for point in points if int(point.get("trial", 0)) < trials]


class Agenda:
    """What is left of a study, and about how long it takes."""

    def __init__(self, study: Study, keys: Sequence[str], stored: Iterable[Measured], jobs: int, retry: bool) -> None:
        self.study, self.jobs, self._total = study, max(1, jobs), len(set(keys))
        self.records = {record.key: record for record in stored}
        again = ("missing", "failed") if retry else ("missing",)
        wanted = (key for key in keys if key not in self.records or self.records[key].status in again)
        self.left = dict.fromkeys(wanted)

    def settle(self, record: Measured) -> None:
        """A point is done with."""
        self.records[record.key] = record
        self.left.pop(record.key, None)

    def progress(self, last: Measured | None = None) -> Progress:
        """How far it is; points take as long as those before, by their costs."""
        timed = [(self._cost(key), record.seconds) for key, record in self.records.items() if record.seconds]
        spent, seconds = sum(cost for cost, _ in timed), sum(taken for _, taken in timed)
        left = sum(map(self._cost, self.left)) * seconds / spent / self.jobs if spent else None
        return Progress(self._total - len(self.left), self._total, left, bool(timed), last)

    def _cost(self, key: str) -> float:
        cost = getattr(self.study, "cost", None)
        return float(cost(json.loads(key))) if cost else 1.0


def _keep(record: Measured, lines: Lines, agenda: Agenda) -> None:
    lines.append(record.to_plain())
    agenda.settle(record)


def _measure_all(agenda: Agenda) -> Iterable[Measured]:
    todo = [Job(agenda.study, key) for key in agenda.left]
    if agenda.jobs == 1 or len(todo) <= 1:
        with threadpool_limits(1):
            yield from map(run_point, todo)
        return
    with start_workers(min(agenda.jobs, len(todo)), Trade(run_point, _mourn)) as workers:
        while _assign(todo, workers):
            yield from workers.wait()


def _assign(todo: list[Job], workers: Workers[Job, Measured]) -> bool:
    """Give work to whoever waits; False when there is nothing left to wait for."""
    for worker in workers.idle[: len(todo)]:
        worker.start(todo.pop(0))
    return bool(workers.running)


def _mourn(job: Job, reason: str) -> Measured:
    return Measured(job.key, "failed", reason=reason, versions=versions())


def run_point(job: Job) -> Measured:
    """Measure a point whatever happens in it."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numbers = {name: _number(value) for name, value in job.study.measure(job.point).items()}
    except (MissingExtraError, DatasetError) as error:
        return Measured(job.key, "missing", reason=str(error))
    except Exception as error:  # whatever a point raises is a row of the study
        return Measured(job.key, "failed", reason=f"{type(error).__name__}: {error}", versions=versions())
    warned = tuple(sorted({each.category.__name__ for each in caught}))
    return Measured(job.key, "done", numbers, time.perf_counter() - start, "", warned, versions())


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


@dataclass(frozen=True)
class StudyPage:
    """All that the readable files say."""

    study: Study
    name: str
    command: str
    verdict: str
    notes: Sequence[str]
    records: Sequence[Measured]

    @property
    def versions(self) -> list[str]:
        """What the numbers were made with."""
        return sorted({record.versions for record in self.records if record.versions})

    @property
    def failures(self) -> list[tuple[str, str]]:
        """Points without numbers, and why."""
        return [(words_of(json.loads(r.key)), r.reason) for r in self.records if r.status != "done"]

    @property
    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and lines of what was measured, as short numbers; trials by their mean."""
        frame = summarise(self.records)
        lines = [[_show(value) for value in line] for line in frame.itertuples(index=False)]
        return [str(name) for name in frame.columns], lines

    @property
    def warned(self) -> str:
        """What points warned of, and how often."""
        counts = pd.Series([name for record in self.records for name in record.warned], dtype=object).value_counts()
        return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def write_study(
    study: Study, folder: Path, name: str, records: Sequence[Measured], command: str, remarks: Sequence[str] = ()
) -> list[Path]:
    """Write every file, once all of them are made; returns their paths. ``remarks`` come before the study's notes."""
    frame = make_frame(records)
    if frame.empty:
        raise UnmuddleError(
            f"no point of {name} could be measured, so nothing is written; the first failed by: {records[0].reason}"
        )
    page = StudyPage(study, name, command, study.verdict(frame), [*remarks, *_notes(study, frame)], records)
    contents = {
        "csv": _csv(records),
        "md": fill("study.md", page=page).encode(),
        "html": fill("study.html", page=page).encode(),
        **_draw(study, frame),
    }
    for end, content in contents.items():
        write_whole(folder / f"{name}.{end}", content)
    return [folder / f"{name}.{end}" for end in contents]


def make_frame(records: Sequence[Measured]) -> pd.DataFrame:
    """A row for each point that has numbers: what it is, then what was measured."""
    done = [record for record in records if record.status == "done"]
    return pd.DataFrame([{**json.loads(record.key), **_floats(record.numbers)} for record in done])


def summarise(records: Sequence[Measured]) -> pd.DataFrame:
    """Means over trials, without the parts of points that are the same in all."""
    frame = make_frame(records)
    parts = list(dict.fromkeys(name for record in records for name in json.loads(record.key)))
    numbers = [name for name in frame.columns if name not in parts]
    telling = [name for name in parts if name != "trial" and frame[name].nunique() > 1] or parts[:1]
    return frame.groupby(telling, sort=False, dropna=False)[numbers].mean().reset_index()


def words_of(point: Point) -> str:
    """A point for readers.

    >>> words_of({"noise": "gaussian", "sigma": 3.0})
    'noise=gaussian, sigma=3.0'
    """
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _floats(numbers: Mapping[str, float | None]) -> dict[str, float]:
    return {name: math.nan if value is None else value for name, value in numbers.items()}


def _show(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _notes(study: Study, frame: pd.DataFrame) -> list[str]:
    sources = frame["source"].unique() if "source" in frame else ()
    return [*(SOURCES[name] for name in sources if name in SOURCES), *getattr(study, "notes", ())]


def _csv(records: Sequence[Measured]) -> bytes:
    rows = [{**json.loads(r.key), **_floats(r.numbers), "status": r.status, "reason": r.reason} for r in records]
    frame = pd.DataFrame(rows)
    last = ["status", "reason"]
    frame = frame[[name for name in frame.columns if name not in last] + last]
    return frame.to_csv(index=False, float_format="%.6g", lineterminator="\n").encode()


def _draw(study: Study, frame: pd.DataFrame) -> dict[str, bytes]:
    from matplotlib import rc_context  # noqa: PLC0415 - slow to import, and only here

    with rc_context(STYLE):
        figure = study.draw(frame)
        return {kind: _save(figure, kind) for kind in ("svg", "png")}


def _save(figure: Any, kind: str) -> bytes:
    buffer = io.BytesIO()
    when = {"Date": None} if kind == "svg" else {}
    figure.savefig(buffer, format=kind, dpi=150, metadata=when)
    return buffer.getvalue()
