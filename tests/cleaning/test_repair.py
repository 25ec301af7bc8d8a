"""Repair changes the cells it is asked to change and nothing else, in every kind of table."""

import struct

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from unmuddle.cleaning import repair, table_of
from unmuddle.errors import InvalidDataError

QUICK = settings(max_examples=40, deadline=None)
FLOATS = st.one_of(st.floats(width=32), st.just(-0.0))  # NaN and infinities too: repair does not look at other cells
LETTERS = st.one_of(st.sampled_from(["ä", "b", "", "long text"]), st.none())
BIG = st.integers(-(2**63), 2**63 - 1)  # most of them are no doubles
PANDAS_TYPES = {
    "float64": (FLOATS, 1.5, 1.5),
    "float32": (FLOATS, 0.1, float(np.float32(0.1))),
    "Float64": (st.one_of(st.floats(allow_nan=False), st.none()), 1e40, 1e40),
    "int64": (BIG, 2.6, 3),
    "uint8": (st.integers(0, 255), 1e9, 255),
    "Int64": (st.one_of(BIG, st.none()), -1e30, -(2**63)),
    "bool": (st.booleans(), 0.9, True),
    "boolean": (st.one_of(st.booleans(), st.none()), False, False),
    "object": (LETTERS, "b", "b"),
    "string": (LETTERS, "new", "new"),
    "category": (LETTERS, "b", "b"),
}
POLARS_TYPES = {
    "Float64": (FLOATS, 1.5, 1.5),
    "Float32": (FLOATS, 1e300, float(np.finfo(np.float32).max)),
    "Int64": (st.one_of(BIG, st.none()), 2**62 + 1, 2**62 + 1),
    "UInt64": (st.one_of(st.integers(0, 2**64 - 1), st.none()), 1e30, 2**64 - 1),
    "UInt8": (st.one_of(st.integers(0, 255), st.none()), -3.2, 0),
    "Boolean": (st.one_of(st.booleans(), st.none()), 1.0, True),
    "String": (LETTERS, "new", "new"),
    "Categorical": (LETTERS, "b", "b"),
    "Enum": (LETTERS, "b", "b"),
}
CATEGORIES = ["", "b", "long text", "unused", "ä"]


def bits(cell):
    """What tells cells apart that compare as equal, such as 0.0 and -0.0, or 1 and True; all missing cells are one."""
    if cell is None or cell is pd.NA or cell != cell:
        return "missing"
    if isinstance(cell, float | np.floating):
        return struct.pack("<d", cell)
    if isinstance(cell, bool | np.bool_):
        return bool(cell), "truth"
    return (int(cell), "integer") if isinstance(cell, int | np.integer) else str(cell)


def pandas_series(type_name, cells):
    if type_name == "category":
        return pd.Series(pd.Categorical(cells, categories=CATEGORIES[::-1], ordered=True))
    return pd.Series(cells, dtype=type_name)


def polars_series(type_name, cells):
    dtype = pl.Enum(CATEGORIES) if type_name == "Enum" else getattr(pl, type_name)
    return pl.Series(cells, dtype=dtype)


def draw_table(data, types):
    """Columns of any types, cells of each, and for some places the value to give and the value to expect."""
    n_rows = data.draw(st.integers(1, 6), label="rows")
    names = data.draw(st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=6), label="types")
    cells = [data.draw(st.lists(types[name][0], min_size=n_rows, max_size=n_rows)) for name in names]
    places = data.draw(
        st.sets(st.tuples(st.integers(0, n_rows - 1), st.integers(0, len(names) - 1))), label="places to change"
    )
    values = {place: types[names[place[1]]][1] for place in places}
    expected = {place: types[names[place[1]]][2] for place in places}
    return names, cells, values, expected


def assert_only(before, after, expected):
    """Every cell is what was expected of it, and as before if nothing was; tables as lists of columns of cells."""
    for column, cells in enumerate(before):
        for row, cell in enumerate(cells):
            assert bits(after[column][row]) == bits(expected.get((row, column), cell)), (row, column)


@QUICK
@given(st.data())
def test_a_pandas_frame_changes_in_the_named_cells_only(data):
    names, cells, values, expected = draw_table(data, PANDAS_TYPES)
    columns = [pandas_series(name, column) for name, column in zip(names, cells, strict=True)]
    frame = pd.concat(columns, axis=1, keys=["same" if i < 2 else i for i in range(len(names))])  # a name twice
    frame.index = pd.Index([f"row {i // 2}" for i in range(len(frame))], name="who")
    before = [list(frame.iloc[:, i].array) for i in range(len(names))]

    repaired = repair(frame, values)

    assert_only(before, [list(repaired.iloc[:, i].array) for i in range(len(names))], expected)
    assert repaired.dtypes.tolist() == frame.dtypes.tolist()
    pd.testing.assert_index_equal(repaired.index, frame.index, exact=True)
    pd.testing.assert_index_equal(repaired.columns, frame.columns, exact=True)
    assert_only(before, [list(frame.iloc[:, i].array) for i in range(len(names))], {})


@QUICK
@given(st.data())
def test_a_polars_frame_changes_in_the_named_cells_only(data):
    names, cells, values, expected = draw_table(data, POLARS_TYPES)
    frame = pl.DataFrame(
        [polars_series(n, c).alias(f"{i} {n}") for i, (n, c) in enumerate(zip(names, cells, strict=True))]
    )
    before = [column.to_list() for column in frame]

    repaired = repair(frame, values)

    assert_only(before, [column.to_list() for column in repaired], expected)
    assert repaired.schema == frame.schema
    assert_only(before, [column.to_list() for column in frame], {})


@QUICK
@given(
    st.data(),
    st.sampled_from([np.float64, np.float32, ">f8", np.float16, np.int64, np.int8, np.uint64, ">i4", bool]),
    st.sampled_from("CF"),
)
def test_an_array_changes_in_the_named_cells_only(data, dtype, order):
    array = np.asarray(data.draw(hnp.arrays(dtype, hnp.array_shapes(min_dims=2, max_dims=2))), order=order)
    places = data.draw(st.sets(st.tuples(*(st.integers(0, size - 1) for size in array.shape))))
    before = array.tobytes()

    repaired = repair(array, dict.fromkeys(places, 1.25))

    expected = array.copy()
    for place in places:
        expected[place] = 1.25 if array.dtype.kind == "f" else 1
    assert repaired.tobytes() == expected.tobytes()
    assert repaired.dtype == array.dtype
    assert repaired.flags.f_contiguous == array.flags.f_contiguous
    assert not np.shares_memory(repaired, array)
    assert array.tobytes() == before


@QUICK
@given(
    st.lists(st.tuples(st.one_of(BIG, st.none()), LETTERS, st.floats()), min_size=1, max_size=5),
    st.sampled_from([list, tuple]),
    st.data(),
)
def test_rows_in_lists_change_in_the_named_cells_only(rows, kind, data):
    given_rows = kind(kind(row) for row in rows)
    asked = data.draw(st.sets(st.integers(0, len(rows) - 1)))
    repaired = repair(given_rows, {(row, 2): 0.5 for row in asked})
    assert type(repaired) is kind
    assert {type(row) for row in repaired} == {kind}
    columns = list(zip(*rows, strict=True))
    assert_only(columns, list(zip(*repaired, strict=True)), {(row, 2): 0.5 for row in asked})


def test_objects_of_numpy_keep_their_types_beside_a_new_one():
    table = np.array([[2**70, "a", True, 1.5], [3, None, False, -0.0]], dtype=object)
    repaired = repair(table, {(1, 0): 3.7, (1, 1): "a", (0, 2): 0.0, (0, 3): 2})
    assert [[(cell, type(cell)) for cell in row] for row in repaired] == [
        [(2**70, int), ("a", str), (False, bool), (2.0, float)],
        [(4, int), ("a", str), (False, bool), (-0.0, float)],
    ]


@pytest.mark.parametrize("value", ["text", 1.5])
def test_a_column_of_missing_cells_takes_any_value(value):
    assert repair(pd.DataFrame({"a": pd.Series([None, None], dtype=object)}), {(1, 0): value})["a"].tolist() == [
        None,
        value,
    ]
    assert repair(pl.DataFrame({"a": [None, None]}), {(1, 0): value})["a"].to_list() == [None, value]
    assert repair([[None], [None]], {(1, 0): value}) == [[None], [value]]


def test_longer_text_widens_an_array_and_is_not_cut():
    assert repair(np.array([["a", "b"]]), {(0, 1): "longer"}).tolist() == [["a", "longer"]]


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]"])
def test_columns_of_pyarrow_keep_their_type(dtype):
    pytest.importorskip("pyarrow")
    old, new = (["a", None, "c"], "b") if "string" in dtype else ([1, None, 0], 1)
    frame = pd.DataFrame({"x": pd.Series(old, dtype=dtype)})
    repaired = repair(frame, {(2, 0): new})
    pd.testing.assert_frame_equal(repaired, pd.DataFrame({"x": pd.Series([*old[:2], new], dtype=dtype)}))


def test_a_copy_of_pandas_shares_nothing_with_the_original():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    repaired = repair(frame, {(0, 0): 9.0})
    repaired.loc[1, "b"] = 7.0
    assert frame.to_numpy().tolist() == [[1.0, 3.0], [2.0, 4.0]]


@pytest.mark.parametrize(
    ("table", "changes", "words"),
    [
        (np.ones((2, 2)), {(2, 0): 1.0}, ["(row, column)", "(1, 1)", "(2, 0)"]),
        (np.ones((2, 2)), {(0, -1): 1.0}, ["(0, -1)"]),
        (pd.DataFrame({"a": [1.0]}), {(0, "a"): 1.0}, ["(0, 'a')", "counted, not named"]),
        (pd.DataFrame({"a": [1.0]}), {(0, 0): np.nan}, ["column 'a'", "must be present", "nan"]),
        (pd.DataFrame({"a": [1]}), {(0, 0): np.inf}, ["column 'a'", "finite number", "inf"]),
        (pd.DataFrame({"a": [1]}), {(0, 0): "x"}, ["column 'a'", "integers", "'x'"]),
        (pd.DataFrame({"a": ["x", "y"]}), {(0, 0): 1.0}, ["column 'a'", "text", "1.0"]),
        (pd.DataFrame({"a": pd.Categorical(["x"])}), {(0, 0): "z"}, ["column 'a'", "category of its type", "'z'"]),
        (pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x"]))}), {(0, 0): "z"}, ["column 'a'", "'z'"]),
        (np.ones((2, 1), dtype=[("f", float), ("g", int)]), {}, ["structured", "f, g", "DataFrame"]),
        (np.ma.ones((2, 2)), {}, ["mask", "filled"]),
        (np.ones(3), {}, ["Expected 2D array", "Reshape your data"]),
        (pl.LazyFrame({"a": [1]}), {}, ["LazyFrame", "collect"]),
        ([[1, 2], [3]], {}, ["as many cells", "row 1"]),
        ([], {}, ["2D"]),
        (np.ones((0, 3)), {}, ["at least one row", "0 sample(s)"]),
        (np.ones((3, 0)), {}, ["0 feature(s) (shape=(3, 0)) while a minimum of 1 is required."]),
    ],
)
def test_what_cannot_be_repaired_is_refused_in_words(table, changes, words):
    with pytest.raises(InvalidDataError) as raised:
        repair(table, changes)
    for word in words:
        assert word in str(raised.value)


def test_a_sparse_matrix_is_refused_with_a_remedy():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(InvalidDataError, match=r"sparse.*toarray"):
        repair(sparse.eye_array(3), {})


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_single_cells_can_be_looked_up_with_the_names_of_rows_and_columns(make):
    table = table_of(make({"a": [1, 2, 3], "b": ["x", None, "z"], "c": [0.5, float("nan"), -0.0]}))
    assert table.cells([1, 0, 1, 2, 1], [1, 1, 2, 0, 0]).tolist() == [None, "x", None, 3, 2]
    assert list(table.labels) == ["a", "b", "c"]
    assert list(table.index) == [0, 1, 2]
    assert list(table_of(pd.DataFrame({"a": [1, 2]}, index=["p", "q"])).index) == ["p", "q"]
