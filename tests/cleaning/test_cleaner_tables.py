"""The cleaner on all kinds of tables and labels: what comes back, what stays, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge

from cleaning.planted import TEXT, X, Y, blobs, cleaner
from unmuddle import RobustPCA
from unmuddle.errors import InvalidDataError, InvalidParameterError


def test_labels_that_are_text_keep_their_width_where_none_changes():
    assert cleaner().fit_clean(np.arange(20.0)[:, None], np.repeat(["a", "b"], 10)).y.dtype == np.dtype("U1")


# What it changes


def make_pandas():
    frame = pd.DataFrame(X.copy(), columns=list("abcd"), index=[f"row {i}" for i in range(len(X))])
    frame["kind"] = pd.Categorical(TEXT, categories=["cat", "bee", "ant", "unused"])
    frame["word"] = pd.array(np.where(Y == 1, "yes", "no"), dtype="string")
    frame["count"] = pd.array(np.round(X[:, 0]).astype(int), dtype="Int64")
    frame["truth"] = Y == 2
    frame["same"] = np.int8(1)
    frame["single"] = X[:, 1].astype(np.float32)
    frame.iloc[[0, 9], [4]] = None
    frame.iloc[3, 6], frame.iloc[5, 5], frame.iloc[7, 0] = pd.NA, pd.NA, np.nan
    frame.iloc[11, 1], frame.iloc[12, 6] = 500.0, 400
    return frame


def make_polars():
    frame = make_pandas().drop(columns="kind")
    cells = {name: [None if pd.isna(cell) else cell for cell in frame[name].tolist()] for name in frame}
    return pl.DataFrame(cells).with_columns(
        pl.col("same").cast(pl.Int8),
        pl.col("single").cast(pl.Float32),
        pl.Series("kind", TEXT, dtype=pl.Categorical),
        pl.Series("empty", [None] * len(X), dtype=pl.Float64),
    )


def make_single():
    single = X.astype(np.float32)
    single[2, 1], single[4, 3], single[8, 0] = np.nan, 300.0, -0.0
    return single


def make_rows():
    rows = [[*map(float, cells), str(word)] for cells, word in zip(X, TEXT, strict=True)]
    rows[6][1], rows[10][4], rows[20][2] = None, None, 1e4
    return rows


def columns_of(table):
    """Every column as a list of Python's objects, by the library's own means."""
    if isinstance(table, pd.DataFrame):
        return [[None if pd.isna(cell) else cell for cell in table.iloc[:, i]] for i in range(table.shape[1])]
    if isinstance(table, pl.DataFrame):
        return [[None if cell != cell else cell for cell in table[name].to_list()] for name in table.columns]
    return [[None if cell is None or cell != cell else cell for cell in column] for column in zip(*table, strict=True)]


def names_of(table):
    return list(table.columns) if hasattr(table, "columns") else list(range(len(table[0])))


@pytest.mark.parametrize(
    ("make", "recovery"),
    [
        (make_pandas, "gaussian"),
        (make_polars, "gaussian"),
        (make_single, "gaussian"),
        (make_rows, "gaussian"),
        (make_rows, "rpca"),
        (make_pandas, "none"),
    ],
)
@pytest.mark.filterwarnings("ignore::unmuddle.errors.StationarityWarning")
def test_what_differs_after_cleaning_is_what_the_audit_says(make, recovery):
    table = make()
    given = [None if i == 30 else str(word) for i, word in enumerate(TEXT)]
    given[13], given[22] = "cat" if given[13] != "cat" else "ant", "bee" if given[22] != "bee" else "ant"

    model = cleaner(recovery=recovery)
    cleaned = model.fit_clean(table, given)

    before, after, names = columns_of(table), columns_of(cleaned.X), names_of(table)
    assert type(cleaned.X) is type(table)
    assert names_of(cleaned.X) == names
    changed = {
        (row, names[column]): (old, new)
        for column, cells in enumerate(zip(before, after, strict=True))
        for row, (old, new) in enumerate(zip(*cells, strict=True))
        if repr(old) != repr(new)
    }
    cells = cleaned.audit[cleaned.audit["kind"] != "label"]
    audited = {(line.row, line.column): (line.given, line.new) for line in cells.itertuples()}
    assert len(audited) == len(cells)
    assert audited.keys() == changed.keys()
    assert all(pytest.approx(changed[place][1]) == new for place, (_, new) in audited.items())
    flagged = set(zip(model.cell_issues_["row"], model.cell_issues_["column"], strict=True))
    missing = {(row, names[j]) for j, column in enumerate(before) for row, cell in enumerate(column) if cell is None}
    assert changed.keys() <= flagged | missing
    assert {place for place in missing if place[1] != "empty"} <= changed.keys()
    labels = {row for row in range(len(given)) if given[row] != cleaned.y[row]}
    assert labels == set(cleaned.audit.query("kind == 'label'")["row"])
    assert labels == set(np.flatnonzero(model.label_issues_["flag"]))


def test_types_index_and_categories_of_a_frame_stay():
    frame = make_pandas()
    y = pd.Series(pd.Categorical(TEXT), index=frame.index, name="animal")
    y.iloc[4] = "ant" if TEXT[4] != "ant" else "bee"
    cleaned = cleaner(fdr=0.2).fit_clean(frame, y)
    assert (cleaned.X.dtypes == frame.dtypes).all()
    assert cleaned.X.index.equals(frame.index)
    assert cleaned.y.dtype == y.dtype
    assert cleaned.y.iloc[4] == TEXT[4]
    line = cleaned.audit.query("kind == 'label'").iloc[0]
    assert (line["index"], line["given"], line["new"]) == ("row 4", y.iloc[4], TEXT[4])


# Tables and labels of all kinds


@pytest.mark.parametrize(
    ("labels", "option"),
    [
        (TEXT.tolist(), None),
        (list(TEXT), None),
        (Y.astype(float), None),
        (Y == 1, None),
        ([None if i % 5 == 0 else int(code) for i, code in enumerate(Y)], None),
        (np.where(np.arange(45) % 5 == 0, np.nan, Y), None),
        (np.where(np.arange(45) % 5 == 0, -1, Y), -1),
        (pd.array(Y, dtype="Int64"), None),
        (pl.Series(TEXT), None),
    ],
    ids=["text", "numpy text", "floats", "truth values", "None", "NaN", "-1", "Int64", "polars"],
)
def test_all_kinds_of_labels_are_learned_and_given_back(labels, option):
    model = cleaner(recovery="none", unlabeled=option).fit(X, labels)
    values = [value for value in list(labels) if value is not None and value == value and value != option]
    assert model.classes_.tolist() == sorted(set(values))
    truth = {code: value for code, value in zip(Y, list(labels), strict=True) if value in set(values)}
    assert (model.predict(X) == np.array([truth[code] for code in Y])).all()
    assert not model.label_issues_["reason"].str.contains("np.").any()
    assert all(type(given).__module__ == "builtins" for given in model.label_issues_["given"])


def wide(n_rows, n_columns):
    return blobs(n_rows, 2, n_columns)


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (X[:2], Y[:2]),
        (X[:5], Y[:5]),
        (X[:9], Y[:9]),
        (X[:, :1], Y),
        (X, np.where(np.arange(45) == 4, 7, Y)),
        (np.repeat(X[:9], 5, axis=0), np.repeat(Y[:9], 5)),
        (np.column_stack([X, np.zeros(45)]), Y),
        (np.full((12, 2), np.nan), np.arange(12) % 2),
        wide(20, 60),
        blobs(80, 20),
    ],
    ids=["n=2", "n=5", "n=9", "one column", "class of one", "copies", "constant", "all missing", "wide", "20 classes"],
)
def test_odd_tables_are_cleaned_and_predicted(rows, labels):
    model = cleaner(LogisticRegression(max_iter=1000) if len(rows) < 10 else None)
    cleaned = model.fit_clean(rows, labels)
    assert cleaned.X.shape == rows.shape
    assert set(model.predict(rows)) <= set(labels)
    assert np.allclose(model.predict_proba(rows).sum(axis=1), 1.0)
    assert np.isfinite(model.transform(rows)).all()
    assert len(model.label_issues_) == len(rows)


# Frames that it gives, and names of columns


def test_transformed_frames_have_names_and_categories_have_columns():
    model = cleaner().set_output(transform="pandas").fit(make_pandas(), TEXT)
    names = ["a", "b", "c", "d", "kind_ant", "kind_bee", "kind_cat", "word", "count", "truth", "same", "single"]
    assert list(model.get_feature_names_out()) == names
    assert list(model.transform(make_pandas()).columns) == names
    assert model.n_features_in_ == 10
    assert list(model.feature_names_in_) == list(make_pandas().columns)


# What it refuses


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"fdr": 0.0}, r"fdr must be a number between 0 and 1; got 0\.0"),
        ({"overlap": "no"}, r"overlap must be True or False; got 'no'"),
        ({"fdr": 1}, "fdr.*got 1"),
        ({"fdr": True}, "fdr.*got True"),
        ({"fdr": "low"}, "fdr.*'low'"),
        ({"fdr": float("nan")}, "fdr.*nan"),
        ({"recovery": "magic"}, "recovery must be one of 'auto'.*'magic'"),
        ({"recovery": RobustPCA}, r"recovery.*instance such as RobustPCA\(\)"),
        ({"recovery": None}, "recovery.*None"),
        ({"recovery": []}, r"recovery.*a list of these; got \[\]"),
        ({"recovery": ["gaussian", "magic"]}, r"recovery.*\['gaussian', 'magic'\]"),
        ({"recovery": PCA(2)}, r"recovery.*4 columns; got shape \(45, 2\)"),
        ({"scale": "loud"}, "scale must be one of.*'loud'"),
        ({"estimator": LogisticRegression}, "estimator must be a classifier.*instance"),
        ({"estimator": Ridge()}, r"estimator must be a classifier; got the regressor Ridge\(\).*LogisticRegression"),
        ({"estimator": 3}, "estimator.*got 3"),
        ({"unlabeled": [1, 2]}, "unlabeled must be one label"),
    ],
)
def test_bad_parameters_are_named_with_rule_and_value(changes, words):
    with pytest.raises(InvalidParameterError, match=words):
        cleaner(**changes).fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((X, Y[:-1]), "inconsistent numbers of samples: 45 in X and 44 in y"),
        ((np.where(X > 5, np.inf, X), Y), r"infinity \(inf\).*first at row"),
        ((X, np.zeros(45)), "at least 2 classes"),
        ((X, Y, np.where(Y == 1, 1.0, 0.0)), "at least 2 classes in rows of positive sample_weight"),
        ((X, Y, np.ones(44)), "sample_weight must hold one number for each of the 45"),
        ((X, Y, None, np.ones((45, 3))), "pred_probs.*add up to 1.*entries from 1 to 1"),
        ((X, Y, None, np.ones((45, 2)) / 2), r"pred_probs.*3 classes.*shape \(45, 2\)"),
        ((X, Y, None, np.full((45, 3), np.nan)), "pred_probs.*nan"),
        ((X, Y, None, "guess"), "pred_probs must hold a probability"),
    ],
)
def test_bad_data_are_refused_in_words(arguments, words):
    with pytest.raises(InvalidDataError, match=words):
        cleaner(recovery="none").fit(*arguments)


def test_new_rows_and_labels_must_be_of_the_kind_learned():
    model = cleaner(recovery="none").fit(X, TEXT)
    with pytest.raises(InvalidDataError, match="X has 3 features, but HybridCleaner is expecting 4"):
        model.predict(X[:, :3])
    with pytest.raises(InvalidDataError, match="'dog'"):
        model.clean(X[:1], ["dog"])
    with pytest.raises(InvalidDataError, match="inconsistent numbers of samples: 2 in X and 1 in y"):
        model.clean(X[:2], ["ant"])
