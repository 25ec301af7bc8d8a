"""The record of changes is a table with fixed columns."""

import pickle

import pandas as pd
import pytest

from unmuddle.cleaning import Cleaned, make_audit
from unmuddle.errors import InvalidDataError

COLUMNS = ["kind", "row", "index", "column", "given", "new", "confidence"]
LINES = {
    "kind": ["missing cell", "label", "cell", "missing label"],
    "row": [2, 0, 2, 1],
    "index": ["r", "p", "r", "q"],
    "column": ["age", "y", 3, "y"],
    "given": [None, "cat", 2**60 + 1, None],
    "new": [1.5, "dog", 7, "cat"],
    "confidence": [0.5, 0.9, 1, 0.25],
}


def test_lines_are_in_the_order_of_rows_and_cells_keep_their_types():
    audit = make_audit(**LINES)
    assert audit.columns.tolist() == COLUMNS
    assert audit.index.tolist() == [0, 1, 2, 3]
    assert audit.attrs == {"schema_version": 1}
    order = [1, 3, 0, 2]
    for name, values in LINES.items():
        assert audit[name].tolist() == [values[line] for line in order], name
    assert [type(value) for value in audit["new"]] == [str, str, float, int]


def test_an_empty_audit_has_the_same_columns_and_types():
    empty = make_audit(**{name: [] for name in COLUMNS})
    assert len(empty) == 0
    assert empty.dtypes.tolist() == make_audit(**LINES).dtypes.tolist()
    assert empty.attrs == {"schema_version": 1}


def test_lines_that_do_not_match_are_refused():
    with pytest.raises(InvalidDataError, match="one length"):
        make_audit(**{**LINES, "row": [1]})
    with pytest.raises(InvalidDataError, match=r"'missing cell'.*got 'typo'"):
        make_audit(**{**LINES, "kind": ["label", "typo", "cell", "cell"]})


def test_cleaned_data_unpack_and_survive_a_pickle():
    X, y, audit = pickle.loads(pickle.dumps(Cleaned([[1]], ["a"], make_audit(**LINES))))
    assert (X, y) == ([[1]], ["a"])
    pd.testing.assert_frame_equal(audit, make_audit(**LINES))
