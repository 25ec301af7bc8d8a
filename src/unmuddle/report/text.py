"""Values as a reader sees them: one line of text, clipped, without characters that a page cannot hold."""

from __future__ import annotations

import math
import unicodedata
from numbers import Integral, Real
from typing import Any

import pandas as pd

MOST_CHARACTERS = 100
"""Of a cell, a name or a label that are shown; the CSV files have all of them."""

NOTHING = "\N{EN DASH}"

REPLACED = "\N{REPLACEMENT CHARACTER}"
MARKS = {"\n": "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}", "\r": "", "\t": "\N{RIGHTWARDS ARROW TO BAR}"}
TURNING = {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))}
"""Characters that turn the direction of what follows; text is isolated by elements instead."""


def shown(value: Any, most: int = MOST_CHARACTERS) -> str:
    r"""A value of the user's data as text.

    >>> shown(14.230), shown(None), shown("two\nlines"), shown("a" * 500, most=3)
    ('14.23', '–', 'two↵lines', 'aaa… (500 characters)')
    """
    if isinstance(value, str):
        return clip(value, most)
    if is_missing(value):
        return NOTHING
    if isinstance(value, Real) and not isinstance(value, Integral):
        return exact(float(value))
    try:
        return clip(str(value), most)
    except ValueError:  # Python refuses to write integers of more than 4300 digits
        return "a number of thousands of digits"


def clip(text: str, most: int = MOST_CHARACTERS) -> str:
    """The beginning of a long text, with its length; control characters are replaced."""
    head = "".join(map(_visible, text[:most]))
    return head if len(text) <= most else f"{head}\N{HORIZONTAL ELLIPSIS} ({len(text):,} characters)"


def _visible(character: str) -> str:
    if character in MARKS:
        return MARKS[character]
    hidden = unicodedata.category(character) in ("Cc", "Cs") or character in TURNING
    return REPLACED if hidden else character


def is_missing(value: Any) -> bool:
    """None, NaN and NA."""
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value))


def exact(value: float) -> str:
    """A number as given, without the noise of the last binary digits."""
    return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.15g}"


def rounded(value: Any) -> str:
    """A number with four digits, for one that was estimated; other values as they are.

    >>> rounded(106.219225), rounded(12345.6), rounded("dark")
    ('106.2', '12346', 'dark')
    """
    if is_missing(value) or isinstance(value, Integral) or not isinstance(value, Real):
        return shown(value)
    size = float(value)
    return f"{size:.0f}" if 1e4 <= abs(size) < 1e15 else f"{size:.4g}"


def percent(share: float, digits: int = 0) -> str:
    r"""A share in per cent, or a dash where it is not known.

    >>> percent(0.1976)
    '20\xa0%'
    """
    return NOTHING if math.isnan(share) else f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def chance(value: float) -> str:
    """A chance in per cent, never quite certain."""
    return f">{percent(0.999, 1)}" if value > 0.999 else percent(value, 1)


def seconds(value: float) -> str:
    """A duration."""
    return f"{value:.2g} s" if value < 1 else f"{value:.1f} s" if value < 100 else f"{value / 60:.1f} min"


def counted(n: int, what: str) -> str:
    """A number with what it counts.

    >>> counted(1, "row"), counted(2500, "row")
    ('1 row', '2,500 rows')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
