"""NPZ archives of numpy with a matrix X and labels y."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from unmuddle.errors import InvalidDataError
from unmuddle.tabular.source import Cells, Changes, Source

LABEL = "y"


@dataclass(frozen=True)
class ArrayFile(Source):
    """Columns x0, x1 and so on, and y where the archive has one; other arrays are kept as they are."""

    arrays: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, path: Path, content: bytes) -> Self:
        """Pickled objects are never loaded."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        except Exception as error:  # whatever a damaged file does to the parser
            pickled = "allow_pickle" in str(error)
            why = "it holds Python objects, which could run code" if pickled else f"it cannot be read ({error})"
            remedy = "Save labels as text, y.astype(str)" if pickled else "Copy or save it again"
            raise InvalidDataError(f"{path}: the archive must hold plain arrays; {why}. {remedy}.") from error
        source = cls(path, content, arrays)
        source._check()
        return source

    @property
    def format(self) -> str:
        """NPZ."""
        return "NPZ"

    @property
    def suffix(self) -> str:
        """The usual one."""
        return ".npz"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Positions of X, then the labels."""
        return (
            *(f"x{place}" for place in range(self.arrays["X"].shape[1])),
            *([LABEL] if LABEL in self.arrays else []),
        )

    @property
    def n_rows(self) -> int:
        """Of X."""
        return len(self.arrays["X"])

    @property
    def label(self) -> str | None:
        """Always y."""
        return LABEL if LABEL in self.arrays else None

    def cells(self, position: int) -> Cells:
        """A column of X as numbers, or the labels as text."""
        X = self.arrays["X"]
        return X[:, position] if position < X.shape[1] else _texts(self.arrays[LABEL])

    def edit(self, changes: Changes) -> bytes:
        """Types stay; longer labels make y wider."""
        X, labels = self.arrays["X"].copy(), dict[int, str]()
        whole = X.dtype.kind in "iu"
        for (row, column), text in changes.items():
            if column < X.shape[1]:
                X[row, column] = round(float(text)) if whole else float(text)
            else:
                labels[row] = text
        arrays = self.arrays | {"X": X} | ({LABEL: _relabel(self.arrays[LABEL], labels)} if labels else {})
        stream = io.BytesIO()
        np.savez(stream, **arrays)  # type: ignore[arg-type]
        return stream.getvalue()

    def line(self, row: int) -> int:
        """There is no header."""
        return row + 1

    def _check(self) -> None:
        X, y = self.arrays.get("X"), self.arrays.get(LABEL)
        if X is None:
            raise InvalidDataError(
                f"{self.path}: the archive must hold a matrix X; got {', '.join(self.arrays) or 'nothing'}. "
                "Save it with np.savez(path, X=X, y=y)."
            )
        if X.ndim != 2 or X.dtype.kind not in "iuf":
            raise InvalidDataError(
                f"{self.path}: X must be a matrix of numbers, rows by columns; got shape {X.shape}, type {X.dtype}. "
                "Reshape or convert it."
            )
        if y is not None and (y.ndim != 1 or len(y) != len(X)):
            raise InvalidDataError(
                f"{self.path}: y must hold one label for each of the {len(X)} rows of X; got shape {y.shape}. "
                "Save labels in one dimension."
            )


def _texts(y: NDArray[Any]) -> list[str]:
    return ["" if label != label else str(label) for label in y.tolist()]  # noqa: PLR0124


def _relabel(y: NDArray[Any], labels: dict[int, str]) -> NDArray[Any]:
    if y.dtype.kind == "b":
        texts = [text == "True" for text in labels.values()]
        new: NDArray[Any] = np.array(texts)
    else:
        new = np.array(list(labels.values()))
        new = new if y.dtype.kind == "U" else new.astype(float).astype(y.dtype)
    written = y.astype(np.promote_types(y.dtype, new.dtype) if y.dtype.kind == "U" else y.dtype)
    written[list(labels)] = new
    return written
