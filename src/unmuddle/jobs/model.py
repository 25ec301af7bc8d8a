"""A fitted cleaner as a file that can be loaded without trusting whoever wrote it.

The file is skops's: an archive of JSON and plain arrays. It may name types, and only those on the list below and
scikit-learn's estimators are made; a file that names any other is refused before anything of it is built.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree._tree import Tree  # its arrays are checked

from unmuddle import __version__
from unmuddle.cleaning import HybridCleaner
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError

SCHEMA_VERSION = 11
"""Of the model file; a change of what it holds raises it."""

TRUSTED = frozenset(
    f"unmuddle.{name}"
    for name in (
        "cleaning.cleaner.HybridCleaner",
        "cleaning.encoding.Categorical",
        "cleaning.encoding.Encoding",
        "cleaning.encoding.Numeric",
        "cleaning.engines.FittedGaussian",
        "cleaning.engines.FittedNothing",
        "cleaning.heads.Forest",
        "cleaning.heads.Kernel",
        "cleaning.heads.Linear",
        "cleaning.judging.Panel",
        "cleaning.judging.Trial",
        "core.categories.Category",
        "core.cellwise.CellModel",
        "core.cellwise.Pairs",
        "core.margins.Bulk",
        "core.margins.Densities",
        "core.grades.Grades",
        "core.tails.Tails",
        "core.borders.Doubt",
        "core.evidence.Evidence",
        "core.kernel.Ridge",
        "core.wiener.Wiener",
        "estimators.scaling.Scaling",
    )
) | {"sklearn.tree._tree.Tree"}
"""Types that a model file may name besides those that skops itself trusts."""

TRAINING_ONLY = ("recovered_", "cell_scores_", "_progress")
"""Attributes that hold training rows and that no prediction needs; nor do tables of issues."""


@dataclass(frozen=True)
class Model:
    """A cleaner that predicts, and how the columns of its file are to be read.

    Parameters
    ----------
    cleaner : HybridCleaner
        Fitted.
    label : str
        The column of labels.
    features : tuple of (str, bool)
        Names of the columns to learn from, and whether each holds numbers.
    """

    cleaner: HybridCleaner
    label: str
    features: tuple[tuple[str, bool], ...]


def save_model(model: Model) -> bytes:
    """The content of a model file; training rows and the lists of issues are left out."""
    import skops.io  # noqa: PLC0415 - it imports all of scikit-learn

    state = {
        "schema_version": SCHEMA_VERSION,
        "unmuddle": __version__,
        "label": model.label,
        "features": [[name, numeric] for name, numeric in model.features],
        "cleaner": _lean(model.cleaner),
    }
    content: bytes = skops.io.dumps(state)
    return content


def load_model(path: Path) -> Model:
    """Read a model file; nothing in it is run."""
    import skops.io  # noqa: PLC0415

    content = _read(path)
    try:
        unknown = set(skops.io.get_untrusted_types(data=content))
        _check_types(path, unknown)
        state = skops.io.loads(content, trusted=sorted(unknown))
    except InvalidDataError:
        raise
    except Exception as error:  # whatever a damaged file does to the parser
        raise _not_a_model(path, f"it cannot be read ({type(error).__name__}: {error})") from error
    return _model_of(path, state)


def _lean(cleaner: HybridCleaner) -> HybridCleaner:
    lean = HybridCleaner(**cleaner.get_params(deep=False))
    kept = {
        name: value
        for name, value in vars(cleaner).items()
        if name not in TRAINING_ONLY and not isinstance(value, pd.DataFrame)
    }
    lean.__dict__.update(kept)
    return lean


def _read(path: Path) -> bytes:
    if path.is_dir():
        path = path / "model.skops"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidDataError(
            f"{path} must be a model file that unmuddle clean wrote; {error.strerror or error}. Correct the path."
        ) from error
    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise _not_a_model(path, "it is another format; pickles are never loaded")
    return content


def _check_types(path: Path, unknown: set[str]) -> None:
    foreign = sorted(unknown - TRUSTED)
    if foreign:
        raise _not_a_model(path, f"it names types that are not trusted: {', '.join(foreign[:3])[:200]}")


def _model_of(path: Path, state: Any) -> Model:
    if not isinstance(state, dict) or not isinstance(state.get("cleaner"), HybridCleaner):
        raise _not_a_model(path, "it holds something else")
    if state.get("schema_version") != SCHEMA_VERSION:
        raise InvalidDataError(
            f"{path}: the schema version of the model must be {SCHEMA_VERSION}; got {state.get('schema_version')!r}, "
            f"written by unmuddle {state.get('unmuddle')}. Run unmuddle clean again, or install that version."
        )
    cleaner = state["cleaner"]
    for tree in _trees(cleaner):
        _check_tree(path, tree)
    return Model(cleaner, str(state["label"]), tuple((str(name), bool(numeric)) for name, numeric in state["features"]))


def _trees(value: Any, seen: set[int] | None = None) -> list[Tree]:
    """All decision trees in a loaded object."""
    seen = set() if seen is None else seen
    if id(value) in seen or isinstance(value, str | bytes | int | float | type(None)):
        return []
    seen.add(id(value))
    if isinstance(value, Tree):
        return [value]
    if isinstance(value, np.ndarray):
        parts = list(value.ravel()) if value.dtype == object else []
    elif isinstance(value, dict):
        parts = list(value.values())
    else:
        parts = list(value) if isinstance(value, list | tuple | set) else list(getattr(value, "__dict__", {}).values())
    return [tree for part in parts for tree in _trees(part, seen)]


def _check_tree(path: Path, tree: Tree) -> None:
    """Compiled code follows the numbers in a tree without looking: they must lead down, and to columns there are."""
    nodes = np.arange(tree.node_count)
    inner = tree.children_left != -1
    below: Array = np.stack([tree.children_left, tree.children_right])[:, inner]
    leads_down = (below > nodes[inner]).all() and (below < tree.node_count).all()
    columns = tree.feature[inner]
    if not (leads_down and (columns >= 0).all() and (columns < tree.n_features).all()):
        raise _not_a_model(path, "a decision tree in it is damaged")


def _not_a_model(path: Path, why: str) -> InvalidDataError:
    return InvalidDataError(
        f"{path} must be a model file that unmuddle clean wrote; {why}. Give model.skops of an output folder."
    )
