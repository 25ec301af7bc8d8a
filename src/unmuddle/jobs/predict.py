"""Predict the labels of a file by a model that was saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmuddle.errors import OutputError
from unmuddle.files import beside, write_whole
from unmuddle.jobs.model import load_model
from unmuddle.tabular import features_of, read_source, write_list


@dataclass(frozen=True)
class Predicted:
    """The list that was written, and how many rows got which class."""

    path: Path
    counts: dict[str, int]


def predict_file(
    model_path: Path, path: Path, out: Path | None = None, *, id_column: str | None = None, force: bool = False
) -> Predicted:
    """Write a line for each row: its place, the likeliest class, and the chance of every class."""
    out = out or beside(path, "-predictions.csv")
    if out.resolve() in (path.resolve(), model_path.resolve()):
        raise OutputError(f"cannot write {out}: it is the input itself; choose another --out.")
    if out.exists() and not force:
        raise OutputError(f"cannot write {out}: it is there already; choose another --out, or replace it by --force.")
    model, source = load_model(model_path), read_source(path)
    X = features_of(source, model.features, id_column)
    if not len(X):
        raise source.error("the file must have rows to predict below its header; there is none. Add them.")
    predicted, chances = model.cleaner.predict(X), model.cleaner.predict_proba(X)
    classes = [str(label) for label in model.cleaner.classes_]
    named = [] if id_column is None else ["id"]
    columns = ["row", "line", *named, "prediction", *(f"probability of {label}" for label in classes)]
    rows = (
        [
            row,
            source.line(row),
            *([X.index[row]] if named else []),
            label,
            *(f"{chance:.6f}" for chance in chances[row]),
        ]
        for row, label in enumerate(predicted)
    )
    write_whole(out, write_list(columns, rows))
    return Predicted(out, {label: int((predicted == label).sum()) for label in classes})
