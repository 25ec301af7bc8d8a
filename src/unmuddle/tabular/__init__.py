"""Files as people have them: recognised by content, read with types, written back with a few cells changed."""

from unmuddle.tabular.columns import Column, Kind, understand
from unmuddle.tabular.lists import check_columns, read_list, write_list
from unmuddle.tabular.reading import read_source
from unmuddle.tabular.source import Cells, Changes, Source
from unmuddle.tabular.table import Roles, Table, features_of, prepare

__all__ = [
    "Cells", "Changes", "Column", "Kind", "Roles", "Source", "Table", "check_columns", "features_of", "prepare",
    "read_list", "read_source", "understand", "write_list",
]  # fmt: skip
