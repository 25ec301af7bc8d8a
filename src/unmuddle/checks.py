"""Rules that parameters of many rooms obey."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any

from unmuddle.errors import InvalidParameterError

LARGEST_SEED = 2**32 - 1
"""Seeds beyond are refused by numpy."""


def is_number(value: Any) -> bool:
    """Whether it is a real number; True and False are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether it is a finite real number, and none that is too large for a float."""
    try:
        return is_number(value) and isfinite(value)
    except OverflowError:
        return False


def is_size(value: Any) -> bool:
    """Whether it is an integer above 0."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def is_word(value: Any, word: str) -> bool:
    """Whether a parameter is that word; an array is not compared with it."""
    return isinstance(value, str) and value == word


def check_share(name: str, value: Any, alternative: str = "") -> None:
    """The value must be a number from 0 to below 1."""
    if not (is_number(value) and 0 <= value < 1):
        raise InvalidParameterError(f"{name} must be {alternative}a number from 0 to below 1; got {value!r}.")


def check_within(name: str, value: Any, low: float, high: float, *, closed: bool = False) -> None:
    """The value must be a number above one end and at most the other; ``closed`` admits the lower end too."""
    if not (is_number(value) and low <= value <= high and (closed or value > low)):
        start = f"from {low:g}" if closed else f"above {low:g}"
        raise InvalidParameterError(f"{name} must be a number {start} to {high:g}; got {value!r}.")
