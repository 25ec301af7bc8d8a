"""The cleaner on all kinds of columns: categories, marks, counts, gaps, and numbers beyond all measure."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from cleaning.planted import TEXT, X, Y, cleaner
from unmuddle.cleaning.engines import MOST_COLUMNS
from unmuddle.cleaning.judging import Replaced, Trial
from unmuddle.errors import DistrustedCellsWarning, UncheckedCellsWarning


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


def test_an_amount_a_thousand_times_too_small_is_wrong_and_not_the_cell_that_goes_with_it():
    rng = np.random.default_rng(0)
    size, y = rng.normal(size=400), rng.integers(0, 2, 400)
    income, rent = np.exp(10 + 0.5 * size), np.exp(6.8 + 0.45 * size + rng.normal(0, 0.1, 400))
    table = pd.DataFrame({"income": income, "rent": rent, "mark": 2.0 * y + rng.normal(size=400)})
    table.loc[:3, "income"] /= 1000.0
    model = cleaner().fit(table, y)
    flagged = model.cell_issues_[model.cell_issues_["row"] < 4]
    assert flagged["column"].tolist() == ["income"] * 4
    assert len(model.cell_issues_) <= 7
    assert np.abs(np.log(flagged["recovered"].astype(float).to_numpy() / income[:4])).max() < 0.7
    new = table.assign(income=income).iloc[10:13].copy()
    new.iloc[1, 0] /= 1000.0
    assert model.clean(new).audit[["row", "column"]].to_numpy().tolist() == [[1, "income"]]


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
