"""Files as people have them: recognised by content, read with types, written back with a few cells changed."""

from unmuddle.tabular.columns import Column, Kind
from unmuddle.tabular.lists import read_list, write_list
from unmuddle.tabular.reading import read_source
from unmuddle.tabular.source import Changes, Source
from unmuddle.tabular.table import Roles, Table, features_of, prepare

__all__ = [
    "Changes", "Column", "Kind", "Roles", "Source", "Table", "features_of", "prepare", "read_list", "read_source",
    "write_list",
]  # fmt: skip
