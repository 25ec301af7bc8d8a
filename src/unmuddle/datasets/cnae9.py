"""CNAE-9: 1080 rows, 856 columns, 9 classes; 99 % of the cells are zero."""

from __future__ import annotations

from unmuddle.datasets.dataset import Dataset
from unmuddle.datasets.openml import OpenML
from unmuddle.datasets.registry import register
from unmuddle.datasets.table import Table, entry_of, load_table

CNAE9 = Table(
    name="cnae9",
    title="CNAE-9: words in descriptions of Brazilian companies",
    feature_names=tuple(f"w{number}" for number in range(1, 857)),
    counts=dict.fromkeys(range(1, 10), 120),
    source="UCI Machine Learning Repository, CNAE-9 (Ciarelli and Oliveira, 2009)",
    licence="CC BY 4.0",
    file_sha256="6c74138e7ca16b26e48e63d395ec2e070c25eb50cc1124c47748f3702571c118",
    content_sha256="11a5b5f67a2bff8bbb02afbb5e801cbf0b5eb6b5831fa333c0d2c4b9e419bbd0",
    scale="spread",  # centring would turn a sparse table into a full one
    openml=OpenML(data_id=1468),
)


def load_cnae9() -> Dataset:
    """Counts of words by economic activity; labels 1 to 9, one row without any word, 28 rows twice."""
    return load_table(CNAE9)


register(entry_of(CNAE9, load_cnae9))
