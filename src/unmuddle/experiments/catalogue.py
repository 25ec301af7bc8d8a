"""What can be reproduced, by name.

**A new table or study is one line in STUDIES.**
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from unmuddle.errors import InvalidParameterError
from unmuddle.experiments import image_tables, studies, table1
from unmuddle.experiments.grid import Grid, Request
from unmuddle.experiments.plan import Plan
from unmuddle.experiments.reproduce import Made, Setup, make_grid
from unmuddle.experiments.studies import Study, run_study

Command = Callable[[str], str]
"""From the name of a study to the command that makes it, for its pages."""


@dataclass(frozen=True)
class Item:
    """Something to reproduce.

    ``make(request, setup, command)`` runs what is missing, writes into ``setup.folder`` and says what it made. One that
    fills a table from cells also has ``grid``, so that its cells count in the time left of all.
    """

    make: Callable[[Request, Setup, str], Made]
    grid: Callable[[Request], Grid] | None = None


def of_cells(grid: Callable[[Request], Grid]) -> Item:
    """A table of cells."""
    return Item(lambda request, setup, command: make_grid(grid(request), setup, command), grid)


def of_points(study: Study) -> Item:
    """A study with its own points."""

    def make(request: Request, setup: Setup, command: str) -> Made:
        if request.methods or request.datasets:
            raise InvalidParameterError(
                f"methods and datasets must be left to {study.name}, which has its own; got {request.methods} and "
                f"{request.datasets}. They are for tables."
            )
        told, size = (setup.on_progress, command), (request.quick, setup.jobs)
        return run_study(study, setup.folder, *size, *told, retry=setup.retry, trials=request.trials)

    return Item(make)


STUDIES: dict[str, Item] = {
    "table1": of_cells(table1.make_grid),
    "table2": of_cells(image_tables.make_table2),
    "table3": of_cells(image_tables.make_table3),
    "cifar10": of_cells(image_tables.make_cifar10),
    **{name: of_points(study) for name, study in studies.STUDIES.items()},
}
"""In the order in which ``all`` makes them."""

ALL = "all"

OWN_NOISE = ("table2", "table3", *studies.STUDIES)
"""Where people or the study made the label noise, and ``noise`` says nothing."""


def names() -> list[str]:
    """What can be asked for."""
    return [*STUDIES, ALL]


def reproduce(what: str, request: Request, setup: Setup, command: Command) -> Iterator[tuple[str, Made]]:
    """Make one study or all of them, one after the other into one folder; each is handed over as it is done."""
    if what not in names():
        raise InvalidParameterError(f"what must be one of {', '.join(names())}; got {what!r}.")
    if what != ALL:
        yield what, STUDIES[what].make(request, setup, command(what))
        return
    if request.datasets:
        raise InvalidParameterError(
            f"datasets must be left to the tables with {ALL}, for each has its own; got {', '.join(request.datasets)}. "
            "Make the tables one by one."
        )
    grids = [item.grid(request) for item in STUDIES.values() if item.grid is not None]
    whole = Plan(ALL, tuple(block for grid in grids for block in grid.plan.blocks))
    for name, item in STUDIES.items():
        asked = request if item.grid else replace(request, methods=())
        yield name, item.make(asked, replace(setup, whole=whole), command(name))
