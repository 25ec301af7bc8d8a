"""A table to be made: rows by columns over trials, with all that its pages say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unmuddle.errors import InvalidParameterError
from unmuddle.experiments.campaign import Records
from unmuddle.experiments.margins import Goal
from unmuddle.experiments.methods import METHODS
from unmuddle.experiments.paper import Printed
from unmuddle.experiments.plan import Block, Noise, Plan
from unmuddle.experiments.table import OVERLAP, Column, Row, Table, collect, row_of


@dataclass(frozen=True)
class Request:
    """What a user asked for; empty and 0 leave the choice to the table."""

    noise: str = "uniform"
    quick: bool = False
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    trials: int = 0

    @property
    def suffix(self) -> str:
        """Of the names of files of what is not the whole table."""
        return ("-quick" if self.quick else "") + ("-part" if self.is_part else "")

    @property
    def is_part(self) -> bool:
        """Whether rows, datasets or trials were chosen."""
        return bool(self.methods or self.datasets or self.trials)

    @property
    def is_whole(self) -> bool:
        """Whether it is the table as it should be, to which its goals apply."""
        return not (self.quick or self.is_part)


@dataclass(frozen=True)
class Grid:
    """What is run and written.

    ``name`` begins the names of its files. The first of ``rows`` is the one that is compared with the others.
    ``overlap`` is test rows over training rows where every trial splits anew, 0 where the split is given. ``remark`` is
    said on every page and on the command line. Together with its ``twin`` it should reach ``wanted`` cells. Rows in
    ``drawn`` are shown in a figure, a panel for each kind and level of feature noise.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    trials: int
    printed: tuple[Printed, ...] = ()
    notes: tuple[str, ...] = ()
    goals: tuple[Goal, ...] = ()
    overlap: float = OVERLAP
    remark: str = ""
    drawn: tuple[str, ...] = ()
    twin: Grid | None = None
    wanted: int = 0

    @property
    def plan(self) -> Plan:
        """What has to be run for it."""
        return Plan(self.name, tuple(self._block(*column) for column in self.columns))

    def _block(self, dataset: str, noise: Noise) -> Block:
        methods = tuple(dict.fromkeys(row.method(noise) for row in self.rows))
        oracle = tuple(row.method(noise) for row in self.rows if row.rule == "oracle")
        return Block(methods, (dataset,), (noise,), self.trials, oracle)

    def collect(self, records: Records) -> Table:
        """The table as far as the records go."""
        return collect(self.rows, self.columns, self.trials, records, self.printed, self.overlap)


def choose(names: Sequence[str], rows: tuple[Row, ...], known: Sequence[Row]) -> tuple[Row, ...]:
    """Rows by name, among those known and all registered methods; no name is ``rows`` and all methods of plug-ins."""
    if not names:
        return rows + tuple(row_of(name) for name, each in METHODS.items() if not each.built_in)
    found = {name: row_of(name) for name in METHODS} | {row.name: row for row in known}
    for name in names:
        if name not in found:
            raise InvalidParameterError(f"methods must be among {', '.join(found)}; got {name!r}.")
    return tuple(found[name] for name in dict.fromkeys(names))
