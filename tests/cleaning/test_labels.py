"""Labels of any kind become class numbers; repaired labels keep their kind and type."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import LabelEncoder

from unmuddle.cleaning import Labels
from unmuddle.errors import InvalidDataError, InvalidParameterError

QUICK = settings(max_examples=40, deadline=None)
TEXT = ["b", None, "a", "c", "b"]
NUMBERS = [2, None, 1, 3, 2]
TRUTH = [True, None, False, True, False]
HOLDERS = {
    "a list of text": (TEXT, TEXT),
    "a tuple of numbers": (tuple(NUMBERS), NUMBERS),
    "objects": (np.array(TEXT, dtype=object), TEXT),
    "floats": (np.array(NUMBERS, dtype=float), NUMBERS),
    "truth in a list": (TRUTH, TRUTH),
    "a Series of floats": (pd.Series(NUMBERS, index=list("pqrst"), name="y"), NUMBERS),
    "a Series of text": (pd.Series(TEXT), TEXT),
    "a Series of Int64": (pd.Series(NUMBERS, dtype="Int64"), NUMBERS),
    "a Series of boolean": (pd.Series(TRUTH, dtype="boolean"), TRUTH),
    "a Series of string": (pd.Series(TEXT, dtype="string"), TEXT),
    "a Series of categories": (pd.Series(pd.Categorical(TEXT, categories=list("cbaz"))), TEXT),
    "a Series of numeric categories": (pd.Series(pd.Categorical(NUMBERS)), NUMBERS),
    "a Categorical": (pd.Categorical(TEXT), TEXT),
    "polars integers": (pl.Series("y", NUMBERS), NUMBERS),
    "polars text": (pl.Series("y", TEXT), TEXT),
    "polars truth": (pl.Series("y", TRUTH), TRUTH),
    "polars categories": (pl.Series("y", TEXT, dtype=pl.Categorical), TEXT),
    "a polars enum": (pl.Series("y", TEXT, dtype=pl.Enum(list("zcba"))), TEXT),
}


def cells(y):
    """Plain cells, None for what is missing."""
    listed = y.to_list() if isinstance(y, pl.Series) else np.asarray(y, dtype=object).tolist()
    return [None if pd.isna(cell) else cell for cell in listed]


@pytest.mark.parametrize("name", HOLDERS)
def test_codes_are_those_of_scikit_learn_and_minus_one_without_a_label(name):
    y, plain = HOLDERS[name]
    labels = Labels.learn(y)
    present = [label for label in plain if label is not None]
    oracle = LabelEncoder().fit(present)
    assert labels.classes.tolist() == oracle.classes_.tolist()
    assert labels.codes[labels.codes >= 0].tolist() == oracle.transform(present).tolist()
    assert (labels.codes < 0).tolist() == [label is None for label in plain]


@pytest.mark.parametrize("name", HOLDERS)
def test_repair_changes_the_named_rows_only_and_fills_in_missing_labels(name):
    y, plain = HOLDERS[name]
    labels = Labels.learn(y)
    code = len(labels.classes) - 1
    repaired = labels.repair(y, rows=[1, 4], codes=[code, 0])
    first, last = sorted({label for label in plain if label is not None})[:: code or 1][:2]
    assert cells(repaired) == [plain[0], last, plain[2], plain[3], first]
    if isinstance(y, pd.Series):
        assert repaired.index.tolist() == y.index.tolist()
    assert type(repaired) is type(y)
    assert getattr(repaired, "dtype", None) == getattr(y, "dtype", None)
    assert getattr(repaired, "name", None) == getattr(y, "name", None)
    assert cells(y) == plain
    assert cells(labels.repair(y, rows=[], codes=[])) == plain


@QUICK
@given(
    st.one_of(
        st.lists(st.integers(-(2**63), 2**63 - 1), min_size=2, unique=True),
        st.lists(st.text("aä 1", max_size=3), min_size=2, unique=True),
    ),
    st.data(),
)
def test_any_labels_are_repaired_as_a_list_would_be(classes, data):
    y = classes + data.draw(st.lists(st.one_of(st.sampled_from(classes), st.none()), max_size=10))
    rows = data.draw(st.lists(st.integers(0, len(y) - 1), unique=True))
    codes = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=len(rows), max_size=len(rows)))
    expected = list(y)
    for row, code in zip(rows, codes, strict=True):
        expected[row] = sorted(classes)[code]
    dtype = "Int64" if isinstance(classes[0], int) else "string"
    assert Labels.learn(y).repair(y, rows, codes) == expected
    series = pd.Series(y, dtype=dtype)
    assert cells(Labels.learn(series).repair(series, rows, codes)) == expected
    frame = pl.Series(y)
    assert Labels.learn(frame).repair(frame, rows, codes).to_list() == expected


@pytest.mark.parametrize(
    ("y", "unlabeled", "codes"),
    [
        ([0, -1, 1, 1], -1, [0, -1, 1, 1]),
        (np.array([0, -1, 1, 1], dtype=np.int8), -1, [0, -1, 1, 1]),
        (["a", "?", "b", None], "?", [0, -1, 1, -1]),
        (["a", -1, "b", "b"], -1, [0, -1, 1, 1]),
        (pd.Series([0.0, np.nan, 5.0, -1.0]), -1, [0, -1, 1, -1]),
        ([True, False, True], 1, [1, 0, 1]),
        ([0, 1, 0], None, [0, 1, 0]),
    ],
)
def test_a_value_can_mean_no_label(y, unlabeled, codes):
    labels = Labels.learn(y, unlabeled=unlabeled)
    assert labels.codes.tolist() == codes
    repaired = labels.repair(y, [1], [1])
    assert cells(repaired)[1] == labels.classes[1]


def test_classes_keep_the_type_of_an_array():
    assert Labels.learn(np.array([3, 1], dtype=np.int8)).classes.dtype == np.int8
    assert Labels.learn(np.array(["bb", "a"])).classes.dtype == np.dtype("U2")
    assert Labels.learn(pd.Series([1, 2, None], dtype="Int64")).classes.dtype == np.int64
    assert Labels.learn([True, False]).classes.dtype == bool


def test_a_column_of_one_array_keeps_its_shape_and_warns_as_scikit_learn_does():
    y = np.array([[0], [1], [1]])
    with pytest.warns(UserWarning, match="1d array was expected"):
        labels = Labels.learn(y)
    with pytest.warns(UserWarning, match="1d array was expected"):
        assert labels.repair(y, [0], [1]).tolist() == [[1], [1], [1]]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, ["requires y to be passed, but the target y is None"]),
        ([1, 1, None], ["at least 2 classes", "got 1 class, 1", "3 rows"]),
        ([None, np.nan, pd.NA], ["at least 2 classes", "no label at all", "3 rows"]),
        ([], ["at least 2 classes", "no label at all"]),
        ([1, "1"], ["y must hold", "int (1) and str ('1')", "one type"]),
        ([True, 1], ["bool (True) and int (1)"]),
        ([0.5, 1.5], ["Unknown label type: continuous", "0.5"]),
        ([0.0, np.inf], ["Unknown label type: continuous", "inf"]),
        (pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])), ["y must hold", "Timestamp"]),
        (np.ones((3, 2)), ["one dimension", "(3, 2)"]),
        (pd.DataFrame({"y": [1, 2]}), ["one dimension", "single column"]),
        (pl.DataFrame({"y": [1, 2]}), ["one dimension", "single column"]),
    ],
)
def test_labels_that_cannot_be_learned_are_refused_in_words(y, words):
    with pytest.raises(InvalidDataError) as raised:
        Labels.learn(y)
    for word in words:
        assert word in str(raised.value)


def test_a_repair_that_makes_no_sense_is_refused_in_words():
    y = pd.Series(pd.Categorical(["a", "b", "a"]))
    labels = Labels.learn(y)
    with pytest.raises(InvalidParameterError, match=r"rows must be .* from 0 to 2; got \[3\]"):
        labels.repair(y, [3], [0])
    with pytest.raises(InvalidParameterError, match=r"codes must be .* from 0 to 1; got \[-1\]"):
        labels.repair(y, [0], [-1])
    with pytest.raises(InvalidParameterError, match="2 rows and 1 codes"):
        labels.repair(y, [0, 1], [0])
    with pytest.raises(InvalidDataError, match="3 of them; got 2"):
        labels.repair(y[:2], [0], [0])
    with pytest.raises(InvalidDataError, match="'b'"):
        labels.repair(pd.Series(pd.Categorical(["a", "a", "a"])), [0], [1])
    with pytest.raises(InvalidParameterError, match=r"unlabeled must be one label or None; got \[-1, 0\]"):
        Labels.learn([0, 1], unlabeled=[-1, 0])
