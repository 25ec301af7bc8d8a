"""Columns become numbers and come back; what is not a table of numbers and categories is refused in words."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import OneHotEncoder

from unmuddle.cleaning import Encoding
from unmuddle.errors import InvalidDataError

QUICK = settings(max_examples=40, deadline=None)
COLOURS = ["blue", None, "red", "green", "red", "blue"]
SIZES = [1.5, 2.0, None, -1.0, 0.0, 3.0]
FLAGS = [True, None, False, True, True, False]
ENCODED = np.array(  # by hand: size; blue, green, red; False or True
    [
        [1.5, 1, 0, 0, 1],
        [2.0, np.nan, np.nan, np.nan, np.nan],
        [np.nan, 0, 0, 1, 0],
        [-1.0, 0, 1, 0, 1],
        [0.0, 0, 0, 1, 1],
        [3.0, 1, 0, 0, 0],
    ]
)


def pandas_table(size, colour, flag):
    columns = {"size": (SIZES, size), "colour": (COLOURS, colour), "flag": (FLAGS, flag)}
    return pd.DataFrame({name: pd.Series(cells, dtype=dtype) for name, (cells, dtype) in columns.items()})


def polars_table(colour):
    return pl.DataFrame({"size": SIZES, "colour": pl.Series(COLOURS, dtype=colour), "flag": FLAGS})


TABLES = {
    "pandas": pandas_table("float64", "object", "object"),
    "pandas with nullable types": pandas_table("Float64", "string", "boolean"),
    "pandas with categories": pandas_table("float32", "category", "category"),
    "pandas with objects": pandas_table("object", "object", "boolean"),
    "polars": polars_table(pl.String),
    "polars with categories": polars_table(pl.Categorical),
    "polars with an enum": polars_table(pl.Enum(["unused", "red", "green", "blue"])),
    "objects of numpy": np.array([SIZES, COLOURS, FLAGS], dtype=object).T,
    "a list of rows": [list(row) for row in zip(SIZES, COLOURS, FLAGS, strict=True)],
}


@pytest.mark.parametrize("name", TABLES)
def test_every_kind_of_table_has_the_same_encoding(name):
    encoding = Encoding.learn(TABLES[name])
    assert encoding.groups.tolist() == [0, 1, 1, 1, 2]
    assert encoding.features[1].categories == ("blue", "green", "red")
    assert encoding.features[1].shares == (0.4, 0.2, 0.4)
    assert encoding.features[2].categories == (False, True)
    np.testing.assert_array_equal(encoding.encode(TABLES[name]), ENCODED)


@pytest.mark.parametrize("name", TABLES)
def test_decoding_gives_the_cells_back(name):
    size, colour, flag = Encoding.learn(TABLES[name]).decode(ENCODED)
    np.testing.assert_array_equal(size, np.array(SIZES, dtype=float))
    assert colour.tolist() == COLOURS
    assert flag.tolist() == FLAGS


@QUICK
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
            st.one_of(st.none(), st.text("aä 1", max_size=3)),
            st.one_of(st.none(), st.booleans()),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_any_table_comes_back_from_its_encoding(rows):
    encoding = Encoding.learn(rows)
    decoded = encoding.decode(encoding.encode(rows))
    back = [
        [None if cell != cell else cell for cell in row] for row in zip(*(c.tolist() for c in decoded), strict=True)
    ]
    assert back == [list(row) for row in rows]


@QUICK
@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=30))
def test_categories_are_encoded_as_scikit_learn_does(cells):
    column = np.array(cells, dtype=object)[:, None]
    oracle = OneHotEncoder(drop="if_binary", sparse_output=False).fit_transform(column)
    if len(set(cells)) == 1:
        oracle = np.zeros_like(oracle)  # a single category says nothing: the column is constant in both
    np.testing.assert_array_equal(Encoding.learn(column).encode(column), oracle)


def test_a_decoded_category_has_the_largest_entry_and_of_two_the_nearer():
    encoding = Encoding.learn([["a", "no"], ["b", "yes"], ["c", "no"]])
    matrix = np.array([[0.2, 0.1, -3.0, 0.6], [-5.0, -2.0, -2.5, 0.4], [np.nan, np.nan, 0.1, 9.0], [np.nan] * 4])
    three, two = encoding.decode(matrix)
    assert three.tolist() == ["a", "b", "c", None]
    assert two.tolist() == ["yes", "no", "yes", None]


def test_a_category_not_seen_before_is_missing():
    encoding = Encoding.learn(pd.DataFrame({"a": ["x", "y", "z"], "b": ["p", "q", "p"]}))
    new = pd.DataFrame({"a": ["new", "y"], "b": ["p", "new"]})
    np.testing.assert_array_equal(encoding.encode(new), [[np.nan] * 3 + [0], [0, 1, 0, np.nan]])


@pytest.mark.parametrize(("known", "new"), [(["1", "2"], [1, 2]), (["True", "False"], [True, False])])
def test_categories_of_another_type_are_refused_in_words(known, new):
    encoding = Encoding.learn(pd.DataFrame({"code": known}))
    with pytest.raises(InvalidDataError, match=r"column 'code' of X must hold text such as .*; got .* Convert"):
        encoding.encode(pd.DataFrame({"code": new}, dtype=object))


def test_truth_values_may_be_given_as_numbers():
    encoding = Encoding.learn(pd.DataFrame({"code": [True, False]}))
    assert encoding.encode(pd.DataFrame({"code": [1, 0]}, dtype=object)).tolist() == [[1.0], [0.0]]


def test_columns_of_nothing_are_missing_as_a_whole():
    table = pd.DataFrame({"a": pd.Series([None, None], dtype=object), "b": pd.Series([None, None], dtype="string")})
    encoding = Encoding.learn(table)
    encoded = encoding.encode(table)
    assert encoded.shape == (2, 2)
    assert np.isnan(encoded).all()
    assert encoding.decode(np.zeros((2, 2)))[1].tolist() == [None, None]
    assert np.isnan(Encoding.learn([[None], [1.0]]).encode(pl.DataFrame({"a": [None, None]}))).all()


def test_text_made_of_digits_is_text_and_objects_that_are_numbers_are_numbers():
    encoding = Encoding.learn(np.array([["1", 1], ["2", 2.5], ["3", None]], dtype=object))
    assert encoding.groups.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_double_matrix_is_passed_through_without_a_copy(order):
    X = np.array(np.random.default_rng(0).normal(size=(5, 3)), order=order)
    X[1, 2] = np.nan
    assert Encoding.learn(X).encode(X) is X
    frame = pd.DataFrame(X)
    assert np.shares_memory(Encoding.learn(frame).encode(frame), frame.to_numpy())


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, ">f8"])
def test_other_numbers_become_doubles(dtype):
    X = np.array([[1, 2], [3, 4]], dtype=dtype)
    encoded = Encoding.learn(X).encode(X)
    assert encoded.dtype == np.float64
    np.testing.assert_array_equal(encoded, [[1, 2], [3, 4]])


def test_columns_in_another_order_are_refused_as_in_scikit_learn():
    encoding = Encoding.learn(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    with pytest.raises(InvalidDataError, match=r"names should match.*same order.*Column 0 was 'a' and is 'b'"):
        encoding.encode(pd.DataFrame({"b": ["x"], "a": [1.0]}))
    with pytest.raises(InvalidDataError, match=r"names should match.*Column 1 was 'b' and is 'c'"):
        encoding.encode(pl.DataFrame({"a": [1.0], "c": ["x"]}))
    with pytest.raises(InvalidDataError, match="X has 1 features, but the encoding is expecting 2"):
        encoding.encode(pd.DataFrame({"a": [1.0]}))


def test_a_table_without_names_is_taken_by_position():
    encoding = Encoding.learn(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}))
    np.testing.assert_array_equal(encoding.encode([[5, "y"]]), [[5, 1]])


@pytest.mark.parametrize("make", [lambda c: pd.DataFrame({"n": c}), lambda c: pl.DataFrame({"n": c})])
def test_more_than_fifty_categories_are_refused_by_name_and_fifty_are_not(make):
    names = [f"name {i}" for i in range(51)]
    with pytest.raises(InvalidDataError, match=r"column 'n' of X must have at most 50 categories; got 51.*Drop"):
        Encoding.learn(make(names))
    assert Encoding.learn(make(names[:50])).encode(make(names)).shape == (51, 50)


@pytest.mark.parametrize(
    "make", [lambda c: pd.DataFrame({"a": [0.0] * 3, "b": c}), lambda c: np.column_stack([[0.0] * 3, c])]
)
def test_infinite_cells_are_refused_by_row_and_column(make):
    encoding = Encoding.learn(make([1.0, np.nan, 2.0]))
    with pytest.raises(InvalidDataError, match=r"1 cells, the first at row 2, column ('b'|1)"):
        encoding.encode(make([1.0, np.nan, -np.inf]))


def test_infinite_cells_beside_categories_are_named_by_their_own_column():
    rows = [["x", 1.0], ["y", 2.0], ["z", np.inf]]
    with pytest.raises(InvalidDataError, match="row 2, column 1"):
        Encoding.learn(rows).encode(rows)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])}), ["column 'when'", "datetime64", "days since"]),
        (pd.DataFrame({"t": pd.to_timedelta([1])}), ["column 't'", "timedelta64", "Convert"]),
        (pl.DataFrame({"when": [pd.Timestamp("2020-01-01").to_pydatetime()]}), ["column 'when'", "Datetime", "days"]),
        (pl.DataFrame({"many": [[1, 2]]}), ["column 'many'", "List"]),
        (np.array([["2020-01-01"]], dtype="M8[D]"), ["column 0", "datetime64"]),
        (pd.DataFrame({"a": [1, "1"]}), ["column 'a'", "int (1) and str ('1')", "one type"]),
        ([[1], [True]], ["column 0", "bool (True) and int (1)"]),
        ([["a"], [b"a"]], ["bytes (b'a') and str ('a')"]),
        (pd.DataFrame({"a": pd.Categorical([1, "1"])}), ["column 'a'", "int (1) and str ('1')"]),
        (pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0])}), ["column 'a'", "sparse"]),
        (np.array([[{}]], dtype=object), ["column 0", "dict"]),
        (np.ones((2, 2), dtype=complex), ["Complex data not supported", "column 0"]),
    ],
)
def test_columns_of_other_things_are_refused_in_words(table, words):
    with pytest.raises(InvalidDataError) as raised:
        Encoding.learn(table)
    for word in words:
        assert word in str(raised.value)


def test_text_in_a_column_of_numbers_is_refused_by_name():
    encoding = Encoding.learn(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(InvalidDataError, match=r"column 'a' of X must hold numbers.*got '\?'"):
        encoding.encode(pd.DataFrame({"a": [None, "?"]}))


def test_a_matrix_of_another_width_is_not_decoded():
    with pytest.raises(InvalidDataError, match=r"the 3 columns that encode gives; got shape \(2, 2\)"):
        Encoding.learn([["a"], ["b"], ["c"]]).decode(np.zeros((2, 2)))
