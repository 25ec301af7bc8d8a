"""The paper's own numbers: Tables 1, 2 and 3 of "Robust Learning under Hybrid Noise", as printed.

Accuracies in per cent, mean and standard deviation over five trials (three in Tables 2 and 3), with the printed marks:
``best`` was bold, ``second`` underlined. How its authors set up the competitors is not known.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

SOURCE = "Robust Learning under Hybrid Noise, Tables 1 to 3"


class Printed(NamedTuple):
    """One number of the paper."""

    table: int
    noise: str
    dataset: str
    sigma: float
    rate: float | None
    method: str
    mean: float
    std: float
    mark: str


@cache
def printed(table: int) -> tuple[Printed, ...]:
    """All numbers of a table, in the order of its rows.

    >>> first = printed(1)[0]
    >>> first.method, first.dataset, first.mean, first.std
    ('RPCA', 'glass', 45.25, 3.12)
    """
    content = files("unmuddle.experiments").joinpath("data", "paper.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(content.splitlines())
    return tuple(_parse(row) for row in rows if row["table"] == str(table))


def _parse(row: dict[str, str]) -> Printed:
    rate = float(row["rate"]) if row["rate"] else None
    return Printed(
        int(row["table"]),
        row["noise"],
        row["dataset"],
        float(row["sigma"]),
        rate,
        row["method"],
        float(row["mean"]),
        float(row["std"]),
        row["mark"],
    )
