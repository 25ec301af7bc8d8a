"""What can be reproduced, by name.

**A new table or study is one line in STUDIES.**
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from unmuddle.errors import InvalidParameterError
from unmuddle.experiments import image_tables, table1
from unmuddle.experiments.grid import Grid, Request
from unmuddle.experiments.plan import Plan
from unmuddle.experiments.reproduce import Made, Setup, make_grid

Command = Callable[[str], str]
"""From the name of a study to the command that makes it, for its pages."""


@dataclass(frozen=True)
class Study:
    """Something to reproduce.

    ``make(request, setup, command)`` runs what is missing, writes into ``setup.folder`` and says what it made. One that
    fills a table from cells also has ``grid``, so that its cells count in the time left of all.
    """

    make: Callable[[Request, Setup, str], Made]
    grid: Callable[[Request], Grid] | None = None


def of_cells(grid: Callable[[Request], Grid]) -> Study:
    """The study that is one table of cells."""
    return Study(lambda request, setup, command: make_grid(grid(request), setup, command), grid)


STUDIES: dict[str, Study] = {
    "table1": of_cells(table1.make_grid),
    "table2": of_cells(image_tables.make_table2),
    "table3": of_cells(image_tables.make_table3),
    "cifar10": of_cells(image_tables.make_cifar10),
}
"""In the order in which ``all`` makes them."""

ALL = "all"

BY_PEOPLE = ("table2", "table3")
"""Where people made the label noise, and ``noise`` says nothing."""


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
    grids = [study.grid(request) for study in STUDIES.values() if study.grid is not None]
    whole = Plan(ALL, tuple(block for grid in grids for block in grid.plan.blocks))
    for name, study in STUDIES.items():
        yield name, study.make(request, replace(setup, whole=whole), command(name))
