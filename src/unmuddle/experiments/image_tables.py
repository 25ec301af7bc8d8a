"""Tables 2 and 3, with the labels of CIFAR-10N, and the CIFAR-10 study: heavy noise on features of images."""

from __future__ import annotations

from dataclasses import replace

from unmuddle import datasets
from unmuddle.errors import InvalidParameterError
from unmuddle.experiments import notes
from unmuddle.experiments.grid import Grid, Request, choose
from unmuddle.experiments.margins import Goal
from unmuddle.experiments.methods import IMAGES
from unmuddle.experiments.paper import Printed, printed
from unmuddle.experiments.plan import Noise, parse
from unmuddle.experiments.table import OVERLAP, Column, Row
from unmuddle.experiments.table1 import ROWS as ALL_ROWS
from unmuddle.experiments.task import REAL

ROWS = tuple(row for row in ALL_ROWS if row.rule != "oracle")
"""Those of Table 1 but the row in hindsight, whose nine fits for each trial would take days."""

QUICK = ("hybrid", "logistic", "ridge", "cleanlab", "clip-pca80-cleanlab")
QUICK_ROWS, QUICK_TRIALS = 600, 2
"""Rows of both parts together; about 500 of them to train on."""

KINDS = {2: "gaussian", 3: "laplacian"}
LEVELS = {2: (3, 7), 3: (3, 5)}
HEAVY = {2: 7, 3: 5}
"""The level at which every cell should be reached."""
TABLE_TRIALS, WANTED = 3, 10
"""Cells, of the twelve of both tables, in which our default should be at or above every baseline."""

STUDY_ROWS, STUDY_TRIALS, RATES = 6000, 5, (0.0, 0.3, 0.6)
PANELS = ("none", "gaussian(sigma=3)", "gaussian(sigma=7)", "laplacian(sigma=3)", "laplacian(sigma=5)")
QUICK_PANELS = ("gaussian(sigma=3)",)
DRAWN = ("hybrid", "unmuddle-auto", "flr-told", "rpca", "gce", "coteaching", "jocor", "dmi", "lqf", "rrl", "logistic",
         "clip-pca80-cleanlab")  # fmt: skip
"""Ours, the paper's rows, and two that a user would try instead."""


def make_table2(request: Request) -> Grid:
    """Gaussian noise on features."""
    return _with_twin(_people(2, request), _people(3, request))


def make_table3(request: Request) -> Grid:
    """Laplacian noise on features."""
    return _with_twin(_people(3, request), _people(2, request))


def _with_twin(grid: Grid, twin: Grid) -> Grid:
    """Tables 2 and 3 have a goal together, where they are whole."""
    return replace(grid, twin=twin, wanted=WANTED) if grid.goals else grid


def _people(number: int, request: Request) -> Grid:
    names, stand_in = _choose_sets(request, f"{{}}:{QUICK_ROWS}" if request.quick else "{}")
    kind, levels = KINDS[number], LEVELS[number]
    columns = tuple(Column(name, Noise(f"{kind}(sigma={s})", REAL)) for s in levels for name in names)
    heavy = tuple(column for column in columns if parse(column.noise.features)[1]["sigma"] == HEAVY[number])
    goal = Goal(f"at sigma {HEAVY[number]}", heavy, len(heavy))
    return Grid(
        name=f"table{number}{_mark(stand_in)}{request.suffix}",
        title=f"Table {number}: labels by people, {kind.capitalize()} noise on features{_warn(stand_in)}",
        rows=_rows(request),
        columns=columns,
        trials=request.trials or (QUICK_TRIALS if request.quick else TABLE_TRIALS),
        printed=_printed(number),
        notes=_tell(request, stand_in, notes.PEOPLE),
        goals=(goal,) if request.is_whole and not stand_in else (),
        overlap=0.0,
        remark=_remark(stand_in),
    )


def _choose_sets(request: Request, form: str) -> tuple[tuple[str, ...], bool]:
    """The sets by the paper's names or by any other, and whether generated ones stand in for them."""
    mark = _mark(not features_at_hand())
    known: dict[str, str] = {label: form.format(f"c10n-{label}{mark}") for label in datasets.PEOPLE}
    wanted: tuple[str, ...] = request.datasets or (datasets.PEOPLE[-1:] if request.quick else datasets.PEOPLE)
    names = tuple(known.get(name, name) for name in wanted)
    return names, any(map(is_generated, names))


def make_cifar10(request: Request) -> Grid:
    """Labels spoiled at three rates, five kinds and levels of noise on features."""
    if request.noise not in notes.MEANING:
        raise InvalidParameterError(f"noise must be one of {', '.join(notes.MEANING)}; got {request.noise!r}.")
    n_rows = QUICK_ROWS if request.quick else STUDY_ROWS
    names = request.datasets or (f"cifar10{_mark(not features_at_hand())}:{n_rows}",)
    stand_in = any(map(is_generated, names))
    panels, rates = (QUICK_PANELS, RATES[::2]) if request.quick else (PANELS, RATES)
    labels = [f"{request.noise}(rate={rate})" if rate else "none" for rate in rates]
    rows = _rows(request)
    return Grid(
        name=f"cifar10-{request.noise}{_mark(stand_in)}{request.suffix}",
        title=f"CIFAR-10 under {request.noise} label noise{_warn(stand_in)}",
        rows=rows,
        columns=tuple(Column(name, Noise(panel, label)) for name in names for panel in panels for label in labels),
        trials=request.trials or (QUICK_TRIALS if request.quick else STUDY_TRIALS),
        notes=_tell(
            request, stand_in, (f"Label noise, {request.noise}: {notes.MEANING[request.noise]}.", *notes.CIFAR10)
        ),
        overlap=OVERLAP,
        remark=_remark(stand_in),
        drawn=tuple(row.name for row in rows if request.methods or row.name in DRAWN),
    )


def features_at_hand() -> bool:
    """Whether the file of features is there."""
    return not _place().startswith("missing")


def is_generated(name: str) -> bool:
    """Whether a set of this name, or part of it, is generated and stands in for images."""
    return name.partition(":")[0] in IMAGES and name.partition(":")[0].endswith(datasets.GENERATED)


def _place() -> str:
    return next(entry for entry in datasets.available() if entry.name == "cifar10").where()


def _rows(request: Request) -> tuple[Row, ...]:
    return choose(request.methods, tuple(row for row in ROWS if not request.quick or row.name in QUICK), ALL_ROWS)


def _printed(number: int) -> tuple[Printed, ...]:
    """The paper's figures under our names of the sets; they stand beside the whole sets only."""
    return tuple(each._replace(dataset=f"c10n-{each.dataset}") for each in printed(number))


def _mark(stand_in: bool) -> str:
    return datasets.GENERATED if stand_in else ""


def _warn(stand_in: bool) -> str:
    return " (GENERATED features, not CIFAR-10)" if stand_in else ""


def _tell(request: Request, stand_in: bool, told: tuple[str, ...]) -> tuple[str, ...]:
    first = (notes.STAND_IN,) if stand_in else ()
    return first + ((notes.QUICK,) if request.quick else ()) + told


def _remark(stand_in: bool) -> str:
    if not stand_in:
        return ""
    if features_at_hand():
        return notes.STAND_IN
    return f"{notes.STAND_IN} For the real ones, {_place().removeprefix('missing: ')}."
