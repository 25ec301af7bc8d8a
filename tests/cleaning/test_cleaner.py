"""The cleaner as a user meets it: all kinds of tables and labels, what it finds, what it changes, what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from cleaning.planted import TEXT, Planted, X, Y, blobs, cleaner, planted
from unmuddle import HybridCleaner, RobustPCA
from unmuddle.cleaning.judging import Panel


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


def test_an_estimator_that_has_probabilities_once_fitted_gives_them():
    stack = StackingClassifier([("line", LogisticRegression()), ("near", KNeighborsClassifier())])
    assert not hasattr(stack, "predict_proba")
    model = cleaner(stack, recovery="none").fit(X, TEXT)
    assert np.allclose(model.predict_proba(X), model.estimator_.predict_proba(model.transform(X)))


def test_an_estimator_without_weights_learns_from_repaired_labels():
    y = TEXT.copy()
    y[[3, 16]] = ["bee", "cat"] if TEXT[3] != "bee" and TEXT[16] != "cat" else ["cat", "ant"]
    model = cleaner(KNeighborsClassifier(1), recovery="none").fit(X, y)
    assert (model.predict(X) == TEXT).all()


# What does not matter, and what does


def test_a_vote_of_which_one_takes_no_weights_learns_from_repaired_labels():
    vote = VotingClassifier([("line", LogisticRegression()), ("near", KNeighborsClassifier(3))])
    y = TEXT.copy()
    y[4] = "ant" if TEXT[4] != "ant" else "bee"
    assert (cleaner(vote, recovery="none").fit(X, y).predict(X) == TEXT).all()


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


@pytest.mark.parametrize("seed", [0, 1])
def test_a_rule_on_one_of_many_columns_is_told_nearly_as_well_as_by_a_forest(seed):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(860, 10))
    truth = (np.abs(table[:, 0]) < 0.7).astype(int)  # no line tells it, and a kernel sees all columns
    y = np.where(rng.random(360) < 0.1, 1 - truth[:360], truth[:360])
    model = cleaner().fit(table[:360], y)
    forest = RandomForestClassifier(200, random_state=0).fit(table[:360], y)
    assert model.score(table[360:], truth[360:]) >= forest.score(table[360:], truth[360:]) - 0.03
    assert model.voices_[model.judges_.index("forest")] > 0.5
    assert sum(model.voices_) == pytest.approx(1)


def test_a_linear_model_that_learned_wrong_labels_by_heart_is_taught_better(monkeypatch):
    """Counts of words, as many columns as rows; what it was taught has no say in verdicts, its labels are in it."""
    gained = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y, ways = rng.integers(0, 4, 700), rng.dirichlet(np.full(400, 0.05), size=4)
        rows = np.array([rng.multinomial(12, 0.5 * ways[each] + 0.5 / 400) for each in y], dtype=float)
        spoiled = np.where(rng.random(400) < 0.35, (y[:400] + 1) % 4, y[:400])
        model = HybridCleaner(recovery="none", random_state=0).fit(rows[:400], spoiled)
        assert model._panel.memorised > 0.3
        taught, judged = model.score(rows[400:], y[400:]), model.clean(rows[400:], y[400:]).y
        monkeypatch.setattr(Panel, "classify", Panel.predict)
        gained.append(taught - model.score(rows[400:], y[400:]))
        np.testing.assert_array_equal(judged, model.clean(rows[400:], y[400:]).y)
        monkeypatch.undo()
    assert np.mean(gained) > 0.01


def test_clouds_judge_where_rows_lie_in_clouds_and_not_where_they_do_not():
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=300)
    round_ones = 3.0 * codes[:, None] + rng.normal(size=(300, 2))
    rings = rng.normal(size=(300, 2))
    rings *= (1.0 + 2.0 * codes[:, None]) / np.linalg.norm(rings, axis=1, keepdims=True)
    judges = [HybridCleaner(random_state=0).fit(X, codes).judges_ for X in (round_ones, rings)]
    assert judges == [("linear", "kernel", "clouds", "forest"), ("linear", "kernel", "forest")]
