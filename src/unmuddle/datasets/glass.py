"""Glass: 214 rows, 9 columns, 6 classes."""

from __future__ import annotations

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.openml import OpenML
from unmuddle.datasets.registry import register
from unmuddle.datasets.table import Table, entry_of, load_table

GLASS = Table(
    name="glass",
    title="Glass: oxides in splinters from the scenes of crimes",
    feature_names=("RI", "Na", "Mg", "Al", "Si", "K", "Ca", "Ba", "Fe"),
    counts={1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29},  # 4, windows of vehicles not float processed, has no row
    source="UCI Machine Learning Repository, Glass Identification (German, 1987)",
    licence="CC BY 4.0",
    file_sha256="919f063e765a0247f759f0d8aeee73a0c912273cd1d5d9905e7efd4b6cd08bd2",
    content_sha256="ba38800421eb6cab00d8ae1d30d99b6ae816187d51f8585e0ad61ef88806d82a",
    openml=OpenML(
        data_id=41,
        classes={
            "build wind float": 1,
            "build wind non-float": 2,
            "vehic wind float": 3,
            "vehic wind non-float": 4,
            "containers": 5,
            "tableware": 6,
            "headlamps": 7,
        },
    ),
)


def load_glass() -> Dataset:
    """Kinds of glass by refractive index and oxides; labels 1, 2, 3, 5, 6, 7 as at UCI."""
    return load_table(GLASS)


register(entry_of(GLASS, load_glass))
