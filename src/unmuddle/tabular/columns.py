"""What a column holds: numbers, categories, or something that says nothing about other rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unmuddle.tabular.source import Cells, Source, is_unnamed

SPELLINGS = "NA N/A n/a #N/A #NA <NA> NaN nan -NaN -nan NULL null None 1.#IND 1.#QNAN -1.#IND -1.#QNAN"
MISSING = frozenset([*SPELLINGS.split(), "#N/A N/A", "?", ""])
"""Text that means that nothing is known: what pandas takes for it, and a question mark."""

MOST_CATEGORIES = 50
"""As the encoding of the cleaner has it."""

FEW = 10
"""Different texts with digits up to which they may be names of classes."""

LARGEST = 2**53
"""Integers beyond it are not exact in double precision: they are names, not amounts."""

MOSTLY = 0.9
"""Share of numbers from which on other text in a column is taken for a slip, and of cells that set how many digits new
values have."""

WHOLE = re.compile(r"[+-]?[0-9]+")
POINT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
COMMA = re.compile(r"[+-]?([0-9]+,?[0-9]*|,[0-9]+)([eE][+-]?[0-9]+)?")
CODE = re.compile(r"0[0-9]+")
AMOUNT = r"[+-]?[0-9]+([.,'\u202f ][0-9]{3})*([.,][0-9]+)?"
DECORATED = re.compile(
    rf"[+-]?[$€£¥] ?{AMOUNT}|{AMOUNT} ?[%$€£¥]|[+-]?[0-9]{{1,3}}([.,'\u202f ][0-9]{{3}})+([.,][0-9]+)?"
)
MEASURED = re.compile(rf"{AMOUNT} ?(?P<unit>[A-Za-zµ°/²³]{{1,8}})")
DATE = re.compile(
    r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.]([0-9]{4}|[0-9]{2}))"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?( ?(Z|[AaPp][Mm]|[+-][0-9]{2}:?[0-9]{2}))?)?"
)


class Kind(StrEnum):
    """The value is the word for it in messages."""

    NUMBER = "numbers"
    WHOLE = "whole numbers"
    CATEGORY = "categories"
    DATE = "dates"
    ID = "names of rows"
    TEXT = "free text"
    EMPTY = "nothing"

    @property
    def is_numeric(self) -> bool:
        """Whether cells are amounts."""
        return self in (Kind.NUMBER, Kind.WHOLE)

    @property
    def is_used(self) -> bool:
        """Whether a model can learn from it."""
        return self.is_numeric or self is Kind.CATEGORY


@dataclass(frozen=True)
class Column:
    """A column that was understood.

    Parameters
    ----------
    name : str
        Of the header.
    kind : Kind
        What its cells are.
    values : ndarray or pandas array
        Numbers, or text with None where nothing is known.
    decimals : int or None
        Digits after the point that nine in ten cells have at most; None where numbers are not text or have exponents.
    comma : bool
        Whether the point is a comma.
    why : str
        Why it is not used, if it is not.
    """

    name: str
    kind: Kind
    values: Any
    decimals: int | None = None
    comma: bool = False
    why: str = ""

    @property
    def n_missing(self) -> int:
        """Cells of which nothing is known."""
        return int(pd.isna(self.values).sum())

    def fit(self, text: str) -> str | None:
        """Text that a person wrote as the column writes it, None if it is no number where all others are."""
        if not self.kind.is_numeric:
            return text
        for pattern in (WHOLE,) if self.kind is Kind.WHOLE else (POINT, COMMA):
            if pattern.fullmatch(text.strip()):
                plain = text.strip().replace(",", ".")
                return plain.replace(".", ",") if self.comma else plain
        return None

    def text_of(self, value: Any) -> str:
        """A new value as the column writes them."""
        if not self.kind.is_numeric:
            return str(value)
        if self.kind is Kind.WHOLE:
            return str(round(value))
        text = repr(float(value)) if self.decimals is None else f"{float(value):.{self.decimals}f}"
        if float(text) == 0:
            text = text.lstrip("-")
        return text.replace(".", ",") if self.comma else text


def understand(source: Source, position: int) -> Column:
    """Find out what a column holds; one that mixes numbers and other text is refused."""
    name, cells = source.names[position], source.cells(position)
    if isinstance(cells, np.ndarray):
        return _typed(name, cells)
    present = [cell for cell in cells if cell not in MISSING]
    if not present:
        return Column(name, Kind.EMPTY, _texts(cells), why="all its cells are missing")
    if all(DATE.fullmatch(cell) for cell in present):
        return Column(name, Kind.DATE, _texts(cells), why="it holds dates; add a column of days, say, to use them")
    pattern = _pattern(source, present)
    if pattern is not None and not any(CODE.fullmatch(cell) for cell in present):
        return _numbers(name, cells, present, pattern)
    if pattern is None:
        _check_slips(source, name, cells, present)
    return _categories(name, cells, present)


def demand(source: Source, position: int, numeric: bool) -> Column:
    """Read a column as one that held numbers, or categories, when a model was fitted."""
    name, cells = source.names[position], source.cells(position)
    if not numeric:
        return Column(name, Kind.CATEGORY, _texts(cells))
    if isinstance(cells, np.ndarray):
        return Column(name, Kind.NUMBER, cells.astype(np.float64))
    present = [cell for cell in cells if cell not in MISSING]
    pattern = _pattern(source, present) or POINT
    _check_numbers(source, name, cells, pattern, "as it did when the model was fitted", "")
    return Column(name, Kind.NUMBER, _to_numbers(cells, pattern is COMMA), comma=pattern is COMMA)


def labels_of(source: Source, position: int) -> Column:
    """The column of labels, as text, None where a row has none."""
    cells = source.cells(position)
    if isinstance(cells, np.ndarray):
        cells = [_label(cell) for cell in cells.tolist()]
    return Column(source.names[position], Kind.CATEGORY, _texts(cells))


def plain(label: str) -> str:
    """As a person writes it: without spaces round it, whole numbers without a point."""
    stripped = label.strip()
    whole = re.fullmatch(r"([-+]?[0-9]+)\.0*", stripped)
    return whole[1] if whole else stripped


def _label(value: Any) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)


def _pattern(source: Source, present: Sequence[str]) -> re.Pattern[str] | None:
    """How numbers are written, if all are."""
    for pattern in (POINT, COMMA) if source.has_decimal_commas else (POINT,):
        if all(pattern.fullmatch(cell) for cell in present):
            return pattern
    return None


def _typed(name: str, cells: NDArray[Any]) -> Column:
    if cells.dtype.kind == "f":
        kind = Kind.EMPTY if np.isnan(cells).all() else Kind.NUMBER
        return Column(name, kind, cells.astype(np.float64), why="" if kind.is_used else "all its cells are missing")
    return _whole(name, cells)


def _numbers(name: str, cells: Sequence[str], present: Sequence[str], pattern: re.Pattern[str]) -> Column:
    if all(WHOLE.fullmatch(cell) for cell in present):
        numbers = [None if cell in MISSING else int(cell) for cell in cells]
        if max(abs(number) for number in numbers if number is not None) > LARGEST:
            return Column(name, Kind.ID, _texts(cells), why="its integers are too large to be amounts")
        complete = len(present) == len(cells)
        return _whole(name, np.array(numbers, dtype=np.int64) if complete else pd.array(numbers, dtype="Int64"))
    point = "," if pattern is COMMA else "."
    has_exponents = any("e" in cell.lower() for cell in present)
    digits = [len(cell.partition(point)[2]) for cell in present]
    decimals = None if has_exponents else int(np.quantile(digits, MOSTLY, method="higher"))
    return Column(name, Kind.NUMBER, _to_numbers(cells, pattern is COMMA), decimals, pattern is COMMA)


def _whole(name: str, numbers: Any) -> Column:
    counted = np.asarray(pd.array(numbers).to_numpy(dtype=np.float64, na_value=np.nan))
    if len(counted) and np.nanmax(np.abs(counted)) > LARGEST:
        return Column(name, Kind.ID, numbers, why="its integers are too large to be amounts")
    steps = np.diff(counted)
    if len(counted) > 2 and ((counted[0] in (0, 1) and (steps == 1).all()) or (is_unnamed(name) and (steps > 0).all())):
        return Column(name, Kind.ID, numbers, why="it numbers the rows")
    return Column(name, Kind.WHOLE, numbers)


def _categories(name: str, cells: Sequence[str], present: Sequence[str]) -> Column:
    different = len(set(present))
    if different > FEW and (_are_amounts(present) or (different > MOST_CATEGORIES and _have_one_unit(present))):
        return Column(
            name, Kind.TEXT, _texts(cells), why=f"it seems to hold amounts such as {_short(present[0])!r}; write plain "
            "numbers with a point, without units and signs of currency, percent or thousands, to use them",
        )  # fmt: skip
    if different == len(present) and different > 2:
        return Column(name, Kind.ID, _texts(cells), why="no two cells are alike")
    if different > MOST_CATEGORIES:
        return Column(
            name, Kind.TEXT, _texts(cells), why=f"it has {different} different texts, more than categories have"
        )
    return Column(name, Kind.CATEGORY, _texts(cells))


def _are_amounts(present: Sequence[str]) -> bool:
    """Whether all cells are numbers, with signs, thousands or decimal commas."""
    return all(any(pattern.fullmatch(cell) for pattern in (DECORATED, POINT, COMMA)) for cell in present)


def _have_one_unit(present: Sequence[str]) -> bool:
    """Whether all cells are numbers with the same letters behind them."""
    found = [MEASURED.fullmatch(cell) for cell in present]
    return None not in found and len({each["unit"] for each in found if each}) == 1


def _check_slips(source: Source, name: str, cells: Sequence[str], present: Sequence[str]) -> None:
    """Refuse a column that is mostly numbers: its other cells are slips, or its numbers are written in two ways."""
    patterns = (POINT, COMMA) if source.has_decimal_commas else (POINT,)
    counts = [sum(bool(pattern.fullmatch(cell)) for cell in present) for pattern in patterns]
    most = max(counts)
    if most >= MOSTLY * len(present) or (2 * most >= len(present) and len(set(present)) > MOST_CATEGORIES):
        way_out = "; --ignore the column if its numbers are only names"
        _check_numbers(
            source, name, cells, patterns[counts.index(most)], f"as {most} of {len(present)} cells do", way_out
        )


def _check_numbers(
    source: Source, name: str, cells: Sequence[str], pattern: re.Pattern[str], as_what: str, way_out: str
) -> None:
    for row, cell in enumerate(cells):
        if cell not in MISSING and not pattern.fullmatch(cell):
            raise source.error(
                f"the column must hold numbers, {as_what}; got {_short(cell)!r}. Correct the cell or leave it empty"
                f"{way_out}.",
                row,
                name,
            )


def _to_numbers(cells: Sequence[str], comma: bool) -> NDArray[np.float64]:
    texts = ["nan" if cell in MISSING else cell for cell in cells]
    return np.array([text.replace(",", ".") for text in texts] if comma else texts, dtype=object).astype(np.float64)


def _texts(cells: Cells) -> NDArray[np.object_]:
    if isinstance(cells, np.ndarray):
        cells = [_label(cell) for cell in cells.tolist()]
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [None if cell in MISSING else cell for cell in cells]
    return texts


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
