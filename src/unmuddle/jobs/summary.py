"""summary.json: what was done to which file, by which versions, and what was found."""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from unmuddle.errors import InvalidDataError

SCHEMA_VERSION = 1
"""Of summary.json and of the lists beside it; a change of their meaning raises it."""

FEW = 0.05
"""Share of wrong labels below which they are not worth a word."""

NAME = "summary.json"
PACKAGES = ("unmuddle", "numpy", "scipy", "scikit-learn", "pandas", "skops")


def versions() -> dict[str, str]:
    """Of Python and of the packages that results depend on."""
    from unmuddle import __version__  # noqa: PLC0415 - also where the package is not installed

    found = {name: version(name) for name in PACKAGES if name != "unmuddle"}
    return {"unmuddle": __version__, "python": platform.python_version(), **found}


def read_summary(folder: Path) -> dict[str, Any]:
    """The summary of an output folder."""
    path = folder / NAME
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidDataError(
            f"{folder} must be a folder that unmuddle clean wrote; {path.name} in it cannot be read: "
            f"{error.strerror or error}. Correct the path."
        ) from error
    except ValueError as error:
        raise InvalidDataError(f"{path} must be JSON; it is damaged ({error}). Run unmuddle clean again.") from error
    found = summary.get("schema_version") if isinstance(summary, dict) else None
    if found != SCHEMA_VERSION:
        raise InvalidDataError(
            f"{path}: the schema version must be {SCHEMA_VERSION}; got {found!r}. Run unmuddle clean again."
        )
    return dict(summary)


def verdict(summary: dict[str, Any]) -> str:
    """What was found, in one line."""
    counts, rates = summary["counts"], summary["rates"]
    noise, n_wrong = rates["label_noise"], counts["labels_flagged"] + counts["cells_flagged"]
    worse = {"labels": "Wrong labels hurt more than wrong cells", "features": "Wrong cells hurt more than wrong labels"}
    clean = "Nothing stands out" if noise["estimate"] < FEW else "Which of them are cannot be told one by one"
    last = worse[rates["hurts_most"]] if n_wrong else clean
    labels = f"{counts['labels_flagged']} of {counts['labels']} labels"
    cells = f"{counts['cells_flagged']} of {counts['cells']} cells"
    examined = counts.get("cells_examined", True)
    found = f"{labels} and {cells} look wrong" if examined else f"{labels} look wrong, cells were not examined"
    return (
        f"{found}; of all labels about {noise['estimate']:.0%} are ({noise['low']:.0%} to {noise['high']:.0%}). {last}."
    )
