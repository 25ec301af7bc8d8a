"""The cleaner as a user meets it: all kinds of tables and labels, what it finds, what it changes, what it refuses."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from cleaning.planted import Planted, blobs, planted
from unmuddle import HybridCleaner, RobustPCA
from unmuddle.cleaning.engines import MOST_COLUMNS
from unmuddle.cleaning.judging import Replaced, Trial
from unmuddle.errors import DistrustedCellsWarning, InvalidDataError, InvalidParameterError, UncheckedCellsWarning

X, Y = blobs(45)
TEXT = np.array(["ant", "bee", "cat"])[Y]


def cleaner(*args, **kwargs):
    return HybridCleaner(*args, random_state=0, **kwargs)


@pytest.fixture(scope="module")
def problem():
    return Planted(*(part[:300] for part in planted(400)))


@pytest.fixture(scope="module")
def fitted(problem):
    model = cleaner()
    return model, model.fit_clean(problem.X, problem.y)


# What it finds


@pytest.mark.parametrize("wrong", [75, 150])
def test_a_rare_class_far_from_the_others_keeps_its_cells_under_wrong_labels(wrong):
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 1500, p=[0.75, 0.23, 0.02])
    table = rng.normal(size=(1500, 5)) + np.array([[0] * 5, [3, 3, 0, 0, 0], [0, 0, 8, 8, 0]])[truth]
    table[::100, 4] = 30.0
    given = truth.copy()
    given[rng.choice(1500, wrong, replace=False)] = rng.integers(0, 3, wrong)
    cleaned = cleaner().fit_clean(table, given)
    assert np.array_equal(cleaned.X[truth == 2, :4], table[truth == 2, :4])
    assert (cleaned.X[::100, 4] != 30.0).all()
    before, after = (LogisticRegression().fit(*each).score(table[truth == 2], truth[truth == 2]) for each in
                     ((table, given), (cleaned.X, cleaned.y)))  # fmt: skip
    assert after >= before


def test_units_and_offsets_of_columns_say_nothing_of_labels():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(200, 3))
    table = np.column_stack([table, table @ rng.normal(size=(3, 4)) + 0.1 * rng.normal(size=(200, 4))])
    labels = (table[:, 0] > 0).astype(int)
    labels[[7, 50, 90]] ^= 1
    expected = cleaner().fit(table, labels).label_issues_["confidence"]
    for scale, offset in ((1e-9, 0.0), (1.0, 1.7e9)):
        found = cleaner().fit(table * scale + offset, labels).label_issues_["confidence"]
        assert np.allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize("value", ["see file", 5.0])
def test_gaps_round_a_single_value_stay(value):
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "note": [value if i % 9 == 0 else None for i in range(len(X))]})
    cleaned = cleaner().fit_clean(table, TEXT)
    assert cleaned.X["note"].isna().equals(table["note"].isna())
    assert "note" not in set(cleaned.audit["column"])


def test_labels_that_are_text_keep_their_width_where_none_changes():
    assert cleaner().fit_clean(np.arange(20.0)[:, None], np.repeat(["a", "b"], 10)).y.dtype == np.dtype("U1")


def test_planted_wrong_labels_are_flagged_and_put_right(problem, fitted):
    model, cleaned = fitted
    flags, wrong = model.label_issues_["flag"].to_numpy(), problem.y != problem.labels
    assert wrong[flags].mean() > 0.9
    assert flags[wrong].mean() > 0.9
    assert (cleaned.y == problem.labels).mean() > 0.97 > (problem.y == problem.labels).mean()


def test_planted_gross_cells_are_flagged_and_brought_nearer_to_the_truth(problem, fitted):
    model, cleaned = fitted
    flags, wrong = np.zeros(problem.X.shape, dtype=bool), problem.features != problem.X
    flags[model.cell_issues_["row"], model.cell_issues_["column"].astype(int)] = True
    assert wrong[flags].mean() > 0.8
    assert flags[wrong].mean() > 0.9
    before, after = np.abs(problem.X - problem.features)[wrong], np.abs(cleaned.X - problem.features)[wrong]
    assert np.median(after) < 0.1 * np.median(before)


def test_a_gross_cell_in_every_column_does_not_hide_the_others():
    """A twentieth of the cells has the wrong sign; then one of each column is a hundred times too large besides."""
    X, y = load_wine(return_X_y=True)
    turned = np.random.default_rng(1).random(X.shape) < 0.05
    spoilt = np.where(turned, -X, X)
    columns = np.arange(X.shape[1])
    worse = spoilt.copy()
    worse[columns, columns] = 100 * X[columns, columns]
    found = [np.count_nonzero(turned & (table != cleaner().fit_clean(table, y).X)) for table in (spoilt, worse)]
    assert found[1] >= 0.95 * found[0] > 50


def test_the_reported_noise_rate_and_transitions_are_near_the_planted_ones(problem, fitted):
    model, _ = fitted
    rate = model.noise_report_.query("quantity == 'noise rate'").iloc[0]
    truth = (problem.y != problem.labels).mean()
    assert rate["low"] <= truth <= rate["high"]
    assert abs(rate["estimate"] - truth) < 0.04
    counted = pd.crosstab(problem.labels, problem.y, normalize="index").to_numpy()
    assert np.abs(model.transition_.to_numpy() - counted).max() < 0.1


def test_predictions_on_unseen_clean_rows_are_nearly_all_right(fitted):
    model, _ = fitted
    whole = planted(400)
    assert model.score(whole.features[300:], whole.labels[300:]) > 0.97


def test_a_tenth_of_the_rare_class_filed_under_the_common_one_is_found():
    rng = np.random.default_rng(0)
    truth = np.repeat(["fraud", "fine"], [250, 750])
    X = rng.normal(size=(1000, 5))
    X[:250, 0] += 6.0
    given = truth.copy()
    given[rng.choice(250, 25, replace=False)] = "fine"
    model = cleaner().fit(X, given)
    flags, wrong = model.label_issues_["flag"].to_numpy(), given != truth
    assert flags[wrong].mean() > 0.5
    assert (flags & ~wrong).sum() <= 3
    new = rng.normal(size=(4000, 5))
    new[:1000, 0] += 6.0
    plain = cleaner(recovery="none").fit(X, truth)  # who was told the truth
    expected = np.repeat(["fraud", "fine"], [1000, 3000])
    assert model.score(new, expected) > plain.score(new, expected) - 0.01


@pytest.mark.parametrize("seed", range(3))
def test_a_rare_class_in_one_of_many_independent_columns_is_told(seed):
    """No direction stands out there, and what a filter of noise leaves of the rows is chance."""
    rng = np.random.default_rng(seed)
    y = (rng.random(1500) < 0.06).astype(int)
    rows = rng.normal(size=(1500, 8))
    rows[:, 0] += 3 * y
    model = cleaner().fit(rows[:1000], y[:1000])
    best = np.mean((rows[1000:, 0] > 1.5 + np.log(0.94 / 0.06) / 3) == y[1000:])  # by the rule of Bayes
    assert model.score(rows[1000:], y[1000:]) > best - 0.015


def test_clean_data_get_few_flags():
    tidy = planted(flips=0.0, gross=0.0, n_rows=200)
    model = cleaner().fit(tidy.X, tidy.y)
    assert model.label_issues_["flag"].mean() <= 0.01
    assert len(model.cell_issues_) <= 0.01 * tidy.X.size


def test_a_new_row_with_a_gross_cell_comes_nearer_to_the_truth(problem, fitted):
    model, _ = fitted
    row = problem.features[[7]]
    spoiled = row.copy()
    spoiled[0, 2] += 10 * problem.features[:, 2].std()
    assert np.linalg.norm(model.transform(spoiled) - row) < 0.2 * np.linalg.norm(spoiled - row)
    repaired = model.clean(spoiled)
    assert repaired.audit[["row", "column"]].to_numpy().tolist() == [[0, 2]]
    assert abs(repaired.X[0, 2] - row[0, 2]) < 0.2 * abs(spoiled[0, 2] - row[0, 2])
    assert repaired.y is None


def test_labels_of_new_rows_are_repaired_too(problem, fitted):
    model, _ = fitted
    rows, truth = problem.features[:60], problem.labels[:60]
    given = np.where(np.arange(60) % 6 == 0, (truth + 1) % 3, truth)
    repaired = model.clean(rows, given)
    assert (repaired.y == truth).mean() > 0.97
    labels = repaired.audit.query("kind == 'label'")
    assert labels["row"].tolist() == np.flatnonzero(repaired.y != given).tolist()


def test_where_features_say_nothing_no_label_is_changed():
    for rows in (np.ones((30, 3)), X[:3]):
        y = np.arange(len(rows)) % 3
        assert len(cleaner().fit_clean(rows, y).audit) == 0


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


def shops(n_rows, names="ABCDEFGH"):
    return np.random.default_rng(0).choice(list(names), n_rows)


@pytest.mark.parametrize("recovery", ["gaussian", "rpca"])
def test_categories_and_rare_marks_that_have_nothing_to_do_with_the_rest_stay(recovery):
    X, y = load_iris(return_X_y=True, as_frame=True)
    rare = np.random.default_rng(1).random(150) < 0.05
    X = X.assign(shop=shops(150), rare=rare, number=rare[::-1].astype(int))
    audit = cleaner(recovery=recovery).fit_clean(X, y).audit
    assert not audit["column"].isin(["shop", "rare", "number"]).any()


def test_wrong_categories_are_put_right():
    X, y = load_iris(return_X_y=True, as_frame=True)
    wide = pd.Series(np.where(X.iloc[:, 3] > 0.8, "wide", "narrow"))
    spoilt = wide.copy()
    spoilt[::15] = np.where(wide[::15] == "wide", "narrow", "wide")
    cleaned = cleaner().fit_clean(X.assign(petal=spoilt), y)
    changed = set(cleaned.audit["row"][cleaned.audit["column"] == "petal"])
    assert len(changed) >= 5
    assert changed <= set(range(0, 150, 15))
    assert (cleaned.X["petal"] == wide)[list(changed)].all()


def test_of_two_categories_that_contradict_each_other_one_is_changed():
    rng = np.random.default_rng(1)
    codes, y = rng.integers(5, size=200), np.arange(200) % 2
    X = pd.DataFrame(rng.normal(size=(200, 2)) + y[:, None], columns=["a", "b"])
    X["city"], X["code"] = np.array(list("ABCDE"))[codes], np.array(list("vwxyz"))[codes]
    spoilt = [10, 50, 90]
    X.loc[spoilt, "code"] = np.array(list("wxyzv"))[codes[spoilt]]
    cleaned = cleaner().fit_clean(X, y)
    changed = cleaned.audit["row"][cleaned.audit["column"].isin(["city", "code"])]
    assert sorted(changed) == spoilt
    pairs = set(zip(cleaned.X["city"], cleaned.X["code"], strict=True))
    assert pairs == set(zip("ABCDE", "vwxyz", strict=True))


@pytest.mark.parametrize("seed", range(3))
def test_a_missing_category_that_nothing_speaks_for_is_a_common_one(seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    trees = np.array(["ash", "birch", "cedar", "oak"], dtype=object)[rng.choice(4, 300, p=[0.1, 0.1, 0.35, 0.45])]
    trees[:30] = None
    cleaned = cleaner().fit_clean(rows.assign(tree=trees), rows["a"] > 0)
    assert set(cleaned.X["tree"][:30]) <= {"cedar", "oak"}


def test_a_wrong_yes_or_no_is_not_laid_to_the_numbers_that_contradict_it():
    rng = np.random.default_rng(0)
    yes = (rng.random(300) < 0.4).astype(int)
    rows = pd.DataFrame({"yes": yes, "x": 5 * yes, "w": 5 * yes})
    rows[["x", "w"]] += 0.3 * rng.normal(size=(300, 2))
    spoilt = rng.choice(300, 8, replace=False)
    rows.loc[spoilt, "yes"] = 1 - yes[spoilt]
    model = cleaner()
    for cleaned in (model.fit_clean(rows, yes ^ (rng.random(300) < 0.05)), model.clean(rows)):
        cells = cleaned.audit[cleaned.audit["kind"] == "cell"]
        assert set(cells["column"]) == {"yes"}
        assert sorted(cells["row"]) == sorted(spoilt)
        assert np.array_equal(cleaned.X["yes"], yes)


def test_a_stray_number_among_marks_leaves_the_rare_ones_alone():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 3))
    marks = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], 200, p=[0.03, 0.05, 0.8, 0.07, 0.05])
    marks[0], marks[1] = 3.7, 99.0
    found = cleaner().fit(np.column_stack([rows, marks]), np.arange(200) % 2).cell_issues_
    assert found["row"][found["column"] == 3].tolist() == [1]
    assert found["recovered"].iloc[-1] in {1.0, 2.0, 3.0, 4.0, 5.0}


def test_a_number_that_a_column_of_two_values_never_had_is_the_one_that_is_wrong():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.column_stack([rng.normal(size=(60, 4)) + 3 * y[:, None], rng.integers(0, 2, 60)])
    known = cleaner().fit(X, y)
    new = X[:6].copy()
    new[0, 4] = 700.0
    cleaned = known.clean(new)
    assert cleaned.X[0, 4] in (0.0, 1.0)
    assert set(cleaned.audit["column"][cleaned.audit["row"] == 0]) == {4}


def test_a_cell_beyond_all_measure_is_the_only_one_changed():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 4)) + 3 * y[:, None]
    X[3, 1] = 1e160
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # models try the rows as given, too
        audit = cleaner().fit_clean(X, y).audit
    assert list(zip(audit["row"], audit["column"], strict=True)) == [(3, 1)]


def test_a_category_that_was_not_there_in_fit_is_left_alone():
    X, y = load_iris(return_X_y=True, as_frame=True)
    known = cleaner().fit(X.assign(shop=shops(150)), y)
    new = X.assign(shop=[None, "Z"] * 75)
    cleaned = known.clean(new)
    assert (cleaned.X["shop"][1::2] == "Z").all()
    assert cleaned.X["shop"].notna().all()
    assert set(cleaned.audit["row"][cleaned.audit["column"] == "shop"]) == set(range(0, 150, 2))


def test_a_column_that_was_all_missing_is_left_alone():
    empty = X.copy()
    empty[:, 1] = np.nan
    model = cleaner()
    cleaned = model.fit_clean(empty, Y)
    assert np.isnan(cleaned.X[:, 1]).all()
    assert not (model.clean(X).audit["column"] == 1).any()


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


@pytest.mark.parametrize("scale", ["standard", "robust", None])
@pytest.mark.parametrize("cell", [1e40, -1e300])
@pytest.mark.parametrize("recovery", ["auto", "none"])
def test_a_cell_beyond_single_precision_is_wrong_and_nothing_else(recovery, cell, scale):
    rows = X.copy()
    rows[3, 1] = cell
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cleaner(recovery=recovery, scale=scale).fit(rows, Y)
        said = model.predict_proba(rows)
    assert np.isfinite(said).all()
    assert model.score(X[4:], Y[4:]) > 0.8
    if recovery == "auto":
        found = model.cell_issues_.set_index(["row", "column"])
        assert found.loc[(3, 1), "flag"]
        assert abs(found.loc[(3, 1), "recovered"]) < np.abs(X[:, 1]).max()


def test_more_columns_than_the_model_takes_are_not_looked_at_and_that_is_said():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(24, MOST_COLUMNS + 1))
    with pytest.warns(UncheckedCellsWarning, match="1501 columns.*1500"):
        model = cleaner().fit(rows, np.arange(24) % 2)
    with pytest.warns(UncheckedCellsWarning):
        cleaner(recovery=["auto"]).fit(rows, np.arange(24) % 2)
    assert model.recovery_ == "none"
    assert "wrong cells" not in set(model.noise_report_["quantity"])
    assert cleaner().fit(X, Y).recovery_ == "gaussian"


def bag_of_words(n_rows=300, n_words=60, seed=0):
    """Counts that are nearly all 0; every class has words of its own."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 3
    rates = np.where(np.arange(n_words) % 3 == labels[:, None], 0.15, 0.005)
    return rng.poisson(rates).astype(float), labels


def bag_of_weights(seed=0):
    """The same as shares of the words of a text, some longer than others: no longer a few whole numbers."""
    counts, labels = bag_of_words(seed=seed)
    lengths = np.random.default_rng(seed).uniform(1.0, 4.0, (len(counts), 1))
    return counts / lengths, labels


def test_rare_counts_are_not_called_wrong():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistrustedCellsWarning)
        model = cleaner().fit(*bag_of_words())
    assert model.cell_issues_.empty
    assert model.score(*bag_of_words(seed=1)) > 0.8


def test_cells_without_which_no_class_could_be_told_are_not_called_wrong():
    weights, labels = bag_of_weights()
    usual = weights.mean(axis=0)  # without it they are no amounts, and have no tails
    with pytest.warns(DistrustedCellsWarning, match="right from cells as given"):
        model = cleaner().fit(weights - usual, labels)
    assert model.cell_issues_.empty
    assert "wrong cells" not in set(model.noise_report_["quantity"])
    assert model.view_ == "raw"
    new, answers = bag_of_weights(seed=1)
    assert np.array_equal(model.clean(new - usual).X, new - usual)
    assert model.score(new - usual, answers) > 0.8


def test_rare_shares_of_words_are_a_tail_and_stay():
    with warnings.catch_warnings():
        warnings.simplefilter("error", DistrustedCellsWarning)
        model = cleaner().fit(*bag_of_weights())
    new, answers = bag_of_weights(seed=1)
    assert len(model.cell_issues_) < 0.0005 * new.size
    assert np.mean(new != model.clean(new).X) < 0.001
    assert model.score(new, answers) > 0.8


def test_a_handful_of_labels_does_not_speak_for_all_cells():
    rng = np.random.default_rng(2)
    labels = (np.arange(150) < 5).astype(int)
    rows = rng.normal(size=(150, 5))
    rows[:, 0] += 7 * labels  # five rows are known by a far cell
    wrong = rng.random((150, 5)) < 0.06
    wrong[:, 0] = False
    rows[wrong] += 15
    found = cleaner().fit(rows, labels).cell_issues_
    assert set(zip(*np.nonzero(wrong), strict=True)) <= set(zip(found["row"], found["column"], strict=True))


@pytest.mark.parametrize(
    ("shares", "n_rows", "expected"),
    [
        ({"imputed": 0.998, "raw": 1.0}, 500, False),  # one label
        ({"imputed": 0.0, "raw": 1.0}, 4, False),  # two standard errors: four flips of a coin
        ({"denoised": 0.95, "imputed": 0.6, "raw": 0.9}, 500, False),  # cells replaced serve best
        ({"denoised": 0.5, "imputed": 0.6, "raw": 0.9}, 500, True),
        ({"denoised": 0.9}, 500, False),
    ],
)
def test_labels_speak_for_cells_only_by_many_errors_over_the_best_rows_with_cells_replaced(shares, n_rows, expected):
    trials = [Trial(view, 1.0, 1.0, 1.0, share, share) for view, share in shares.items()]
    assert Replaced.of(trials).speaks_for_cells(n_rows) is expected


def test_cells_that_look_wrong_are_wrong_if_labels_do_not_speak_for_them():
    rows = X.copy()
    rows[::7, 1] = 1e3
    model = cleaner().fit(rows, Y)
    flagged = model.cell_issues_.query("column == 1")["row"]
    assert set(range(0, len(X), 7)) <= set(flagged)


@pytest.mark.parametrize("recovery", ["rpca", RobustPCA(scale="robust"), "flr", FunctionTransformer()])
@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
def test_any_engine_fills_in_missing_cells_and_predicts(recovery):
    holes = X.copy()
    holes[3, 2] = np.nan
    model = cleaner(recovery=recovery)
    cleaned = model.fit_clean(holes, Y)
    assert np.isfinite(cleaned.X).all()
    assert model.score(X, Y) > 0.9
    assert model.recovery_ == (recovery if isinstance(recovery, str) else type(recovery).__name__)


class Telling(TransformerMixin, BaseEstimator):
    """Knows the truth behind every cell: what was added to it is beyond the point."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X % 1.0


def test_of_several_engines_noisy_labels_choose_the_one_that_lets_classes_be_told():
    rng = np.random.default_rng(0)
    truth, labels = blobs(150, apart=2.0)
    truth = 0.9 * (truth - truth.min()) / np.ptp(truth)  # within [0, 1): whole numbers hide it, and take nothing away
    hidden = truth + rng.integers(-3, 4, truth.shape)
    model = cleaner(recovery=["none", Telling()]).fit(hidden, labels)
    assert model.recovery_ == "Telling"
    assert set(model.tuning_["recovery"]) == {"none", "Telling"}
    assert model.score(hidden, labels) > 0.9


def test_of_engines_that_noisy_labels_cannot_tell_apart_the_first_is_taken():
    model = cleaner(recovery=["none", "gaussian"]).fit(X, Y)
    assert model.recovery_ == "none"
    assert cleaner(recovery=("gaussian", "none")).fit(X, Y).recovery_ == "gaussian"
    alone = cleaner(recovery="none").fit(X, Y)
    assert np.array_equal(model.predict_proba(X), alone.predict_proba(X))


def test_a_list_of_engines_survives_cloning_and_pickling_and_names_each_apart():
    model = clone(cleaner(recovery=[FunctionTransformer(), FunctionTransformer()])).fit(X, Y)
    assert model.recovery_ == "FunctionTransformer"
    assert set(model.tuning_["recovery"]) == {"FunctionTransformer", "FunctionTransformer 2"}
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
def test_engines_that_use_labels_cope_when_a_fold_has_one_class():
    y = np.array([0] * 11 + [1])
    model = cleaner(recovery="flr").fit(X[:12], y)
    assert model.predict(X).shape == (45,)


def test_an_estimator_without_probabilities_predicts_and_says_it_has_none():
    model = cleaner(LinearSVC(), recovery="none").fit(X, TEXT)
    assert (model.predict(X) == TEXT).all()
    assert not hasattr(model, "predict_proba")
    assert hasattr(cleaner(), "predict_proba")


def test_an_estimator_without_weights_learns_from_repaired_labels():
    y = TEXT.copy()
    y[[3, 16]] = ["bee", "cat"] if TEXT[3] != "bee" and TEXT[16] != "cat" else ["cat", "ant"]
    model = cleaner(KNeighborsClassifier(1), recovery="none").fit(X, y)
    assert (model.predict(X) == TEXT).all()


# What does not matter, and what does


def test_a_seed_fixes_everything_and_a_pickle_keeps_it(problem):
    rows, labels = problem.X[:90], problem.y[:90]
    first, second = cleaner().fit(rows, labels), cleaner().fit(rows, labels)
    restored = pickle.loads(pickle.dumps(first))
    for other in (second, restored):
        for name in ("label_issues_", "cell_issues_", "row_issues_", "noise_report_", "transition_", "tuning_"):
            pd.testing.assert_frame_equal(getattr(first, name), getattr(other, name))
            assert getattr(first, name).attrs == getattr(other, name).attrs
        assert np.array_equal(first.predict_proba(rows), other.predict_proba(rows))
        assert np.array_equal(first.transform(rows), other.transform(rows))
    different = HybridCleaner(random_state=1).fit(rows, labels)
    assert not np.array_equal(first.predict_proba(rows), different.predict_proba(rows))


def test_a_loaded_skops_file_predicts_the_same(problem):
    io = pytest.importorskip("skops.io")
    model = cleaner(LogisticRegression()).fit(problem.X[:60], problem.y[:60])
    data = io.dumps(model)
    types = io.get_untrusted_types(data=data)
    assert all(name.startswith(("unmuddle.", "sklearn.")) for name in types)
    loaded = io.loads(data, trusted=types)
    assert np.array_equal(loaded.predict_proba(problem.X), model.predict_proba(problem.X))
    pd.testing.assert_frame_equal(loaded.label_issues_, model.label_issues_)


def test_names_of_classes_do_not_matter():
    y = Y.copy()
    y[[3, 8]] = (Y[[3, 8]] + 1) % 3
    named = np.array(["a", "b", "c"])[y]
    numbers, names = cleaner(recovery="none").fit(X, y), cleaner(recovery="none").fit(X, named)
    assert np.array_equal(numbers.predict_proba(X), names.predict_proba(X))
    assert np.array_equal(numbers.label_issues_["confidence"], names.label_issues_["confidence"])


def test_classes_in_another_order_give_the_same_suggestions(problem):
    rows, codes = problem.X[:96], problem.y[:96]
    order = np.array([2, 0, 1])
    one, other = cleaner().fit(rows, codes), cleaner().fit(rows, order[codes])
    same = one.label_issues_["suggested"].map(dict(enumerate(order))) == other.label_issues_["suggested"]
    assert same.mean() > 0.97
    gap = np.abs(one.label_issues_["confidence"] - other.label_issues_["confidence"])
    assert gap.mean() < 0.02


@pytest.mark.filterwarnings("ignore::unmuddle.errors.UnmuddleWarning")
@pytest.mark.parametrize("estimator", [None, KNeighborsClassifier(3)], ids=["heads", "no weights"])
def test_labels_of_weight_zero_do_not_matter(estimator):
    rows, codes, silent = X[:24], Y[:24], np.arange(24) % 4 == 0
    weights = np.where(silent, 0.0, 1.0)
    other = np.where(silent, (codes + 1) % 3, codes)
    one = cleaner(estimator, recovery="flr" if estimator is None else "none")
    first = one.fit(rows, codes, sample_weight=weights)
    proba, heard = first.predict_proba(X), first.label_issues_["confidence"].to_numpy()
    again = one.fit(rows, other, sample_weight=weights)
    assert np.array_equal(again.predict_proba(X), proba)
    assert np.array_equal(again.label_issues_["confidence"].to_numpy()[~silent], heard[~silent])


def test_given_probabilities_judge_the_labels():
    sure = np.where(np.eye(3)[Y] > 0, 0.98, 0.01)
    y = Y.copy()
    y[:6] = (Y[:6] + 1) % 3
    noise = np.random.default_rng(0).normal(size=X.shape)  # features say nothing, probabilities all
    model = cleaner(recovery="none").fit(noise, y, pred_probs=pd.DataFrame(sure))
    assert model.label_issues_["flag"].to_numpy().nonzero()[0].tolist() == list(range(6))
    assert (model.label_issues_["suggested"].to_numpy() == Y).all()


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


def test_clouds_judge_where_rows_lie_in_clouds_and_not_where_they_do_not():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=300)
    round_ones = 3.0 * codes[:, None] + rng.normal(size=(300, 2))
    rings = rng.normal(size=(300, 2))
    rings *= (1.0 + 2.0 * codes[:, None]) / np.linalg.norm(rings, axis=1, keepdims=True)
    judges = [HybridCleaner(random_state=0).fit(X, codes).judges_ for X in (round_ones, rings)]
    assert judges == [("linear", "kernel", "clouds", "forest"), ("linear", "kernel", "forest")]
