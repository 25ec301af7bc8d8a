"""The record of what was changed."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from unmuddle.cleaning.columns import to_objects
from unmuddle.errors import InvalidDataError

SCHEMA_VERSION = 1
"""Of the columns of an audit and their meaning; a change of them raises it."""

AuditKind = Literal["label", "cell", "missing cell", "missing label"]


class Cleaned(NamedTuple):
    """Data after cleaning: features and labels of the kind that was given, and a line for each change."""

    X: Any
    y: Any
    audit: pd.DataFrame


def make_audit(
    kind: Sequence[AuditKind],
    row: ArrayLike,
    index: Sequence[Hashable],
    column: Sequence[Hashable],
    given: Sequence[Any],
    new: Sequence[Any],
    confidence: ArrayLike,
) -> pd.DataFrame:
    """A line for each change, in the order of rows; changes of one row stay in the order given.

    ``row`` is the position and ``index`` the caller's own name of it, ``column`` the name of the column, ``given`` and
    ``new`` the values before and after, ``confidence`` the chance that the change is right.

    >>> make_audit(["cell"], [3], ["d"], ["age"], [210], [21], [0.9]).to_dict("records")[0]["new"]
    21
    """
    named = {"index": index, "column": column, "given": given, "new": new}
    _check_lines(kind, row, confidence, *named.values())
    audit = pd.DataFrame(
        {
            "kind": pd.Series(to_objects(kind), dtype=object),
            "row": np.asarray(row, dtype=np.int64),
            **{name: pd.Series(to_objects(values), dtype=object) for name, values in named.items()},
            "confidence": np.asarray(confidence, dtype=np.float64),
        }
    )
    audit = audit.sort_values("row", kind="stable", ignore_index=True)
    audit.attrs["schema_version"] = SCHEMA_VERSION
    return audit


def _check_lines(kind: Sequence[str], *others: Any) -> None:
    lengths = [len(values) for values in (kind, *others)]
    if len(set(lengths)) > 1:
        raise InvalidDataError(
            f"an audit must have one value in every column for each change; got {lengths} values. "
            "Give lists of one length."
        )
    known = get_args(AuditKind)
    for word in set(kind) - set(known):
        raise InvalidDataError(f"kind must be one of {', '.join(map(repr, known))}; got {word!r}. Correct the word.")
