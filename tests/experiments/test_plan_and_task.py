"""Cells, their seeds, and the data that follow from their names."""

from dataclasses import replace

import numpy as np
import pytest

from unmuddle.datasets import load_wine
from unmuddle.errors import DatasetError, InvalidParameterError
from unmuddle.experiments import task as tasks
from unmuddle.experiments.methods import METHODS, Answer
from unmuddle.experiments.plan import Block, Cell, Noise, Plan, parse, seed
from unmuddle.experiments.table import row_of

LIGHT = Noise("gaussian(sigma=0.2)", "uniform(rate=0.3)")


def cell(method="any", noise=LIGHT, trial=0, dataset="wine"):
    return Cell(method, dataset, noise, trial)


def test_a_seed_is_the_start_of_a_sha256_that_other_tools_give_too():
    # printf 'wine\x1f0' | sha256sum, its first eight bytes read from the last to the first
    assert seed("wine", 0) == 0x2542EA35F5132224


def test_names_that_run_together_have_different_seeds():
    assert seed("ab", "c") != seed("a", "bc")


@pytest.mark.parametrize("spec", ["gaussian(0.2)", "gaussian(sigma=high)", "gaussian(sigma=0.2", "", "a b"])
def test_a_noise_that_cannot_be_read_is_refused_with_an_example(spec):
    with pytest.raises(InvalidParameterError, match=r"must read like 'gaussian\(sigma=0.2\)'"):
        parse(spec)


def test_a_larger_plan_has_the_cells_of_a_smaller_one():
    small = Plan("plan", (Block(("a",), ("wine",), (LIGHT,), 2),))
    large = Plan("plan", (Block(("b", "a", "c"), ("glass", "wine"), (Noise("none", "none"), LIGHT), 3),))
    assert set(small) < set(large)


def test_running_other_cells_first_changes_no_data():
    before = tasks.make_task(cell())[0]
    for other in (cell("b"), cell(trial=1), cell(noise=Noise("none", "flip(rate=0.6)")), cell(dataset="wine:100")):
        tasks.make_task(other)
    np.random.default_rng().normal(size=10)
    after = tasks.make_task(cell())[0]
    np.testing.assert_array_equal(before.X, after.X)
    np.testing.assert_array_equal(before.y, after.y)
    assert before.seed == after.seed


def test_every_method_meets_the_same_data_with_a_seed_of_its_own():
    first, second = tasks.make_task(cell("one"))[0], tasks.make_task(cell("two"))[0]
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)
    assert first.seed != second.seed


def test_only_a_method_that_is_told_learns_the_share_of_wrong_labels():
    (ignorant, _), (told, truth) = tasks.make_task(cell()), tasks.make_task(cell(), told=True)
    assert ignorant.noise_rate is None
    assert told.noise_rate == np.mean(truth.y != told.y)
    told_methods = {name for name, each in METHODS.items() if each.told}
    assert told_methods == {"coteaching-told", "jocor-told", "mentornet-told"}
    assert all(row_of(name).rule == "told" for name in told_methods)
    assert row_of("coteaching").rule == ""


def test_noises_share_split_and_labels_share_draws_across_feature_noise():
    light, heavy = tasks.make_task(cell()), tasks.make_task(cell(noise=Noise("laplacian(sigma=0.5)", LIGHT.labels)))
    np.testing.assert_array_equal(light[1].X_test, heavy[1].X_test)
    np.testing.assert_array_equal(light[0].y, heavy[0].y)
    assert not np.array_equal(light[0].X, heavy[0].X)


def test_trials_differ_in_split_and_noise():
    first, second = tasks.make_task(cell(trial=0))[1], tasks.make_task(cell(trial=1))[1]
    assert not np.array_equal(first.y_test, second.y_test) or not np.array_equal(first.X_test, second.X_test)


def test_training_and_test_rows_are_all_rows_once_and_standardised_by_the_clean_training_part():
    _, truth = tasks.make_task(cell())
    wine = load_wine()
    assert len(truth.y_test) == round(0.2 * 178)
    assert len(truth.y) + len(truth.y_test) == 178
    np.testing.assert_allclose(truth.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(truth.X.std(axis=0), 1)
    # undo the scaling by its definition: the same rows as in the file must come back, each once
    order = np.random.default_rng(seed("split", "wine", 0)).permutation(178)
    train = np.sort(order[36:])
    centre, spread = wine.X[train].mean(axis=0), wine.X[train].std(axis=0)
    rows = np.vstack([truth.X, truth.X_test]) * spread + centre
    np.testing.assert_allclose(rows[np.lexsort(rows.T)], wine.X[np.lexsort(wine.X.T)])


@pytest.mark.parametrize(("rate", "kind"), [(0.3, "uniform"), (0.6, "flip")])
def test_noise_touches_training_data_alone_and_the_truth_says_where(rate, kind):
    task, truth = tasks.make_task(cell(noise=Noise("gross(rate=0.1,size=4)", f"{kind}(rate={rate})")))
    np.testing.assert_array_equal(task.y != truth.y, truth.labels)
    np.testing.assert_array_equal(task.X != truth.X, truth.cells)
    assert truth.cells.sum() == round(0.1 * truth.cells.size)
    if kind == "flip":
        assert truth.labels.sum() == round(rate * len(truth.y))
    clean = tasks.make_task(cell(noise=Noise("none", "none")))[1]
    np.testing.assert_array_equal(truth.X_test, clean.X_test)


def test_sparse_counts_are_divided_by_their_spread_and_not_centred():
    data = replace(load_wine(), scale="spread")
    X, _ = tasks.scale(data, np.arange(100), np.arange(100, 178))
    np.testing.assert_allclose(X.std(axis=0), 1)
    np.testing.assert_allclose(X / X[:1], data.X[:100] / data.X[:1], rtol=1e-12)  # ratios survive: nothing was shifted


def test_a_column_without_spread_is_left_alone():
    data = replace(load_wine(), X=np.ones((178, 2)), scale="spread")
    assert np.isfinite(tasks.scale(data, np.arange(100), np.arange(100, 178))[0]).all()


def test_a_hold_out_judges_by_rows_that_were_not_fitted():
    task, _ = tasks.make_task(cell())
    part, X_judged, y_judged = tasks.hold_out(task, cell())
    assert len(part.y) + len(y_judged) == len(task.y)
    rows = np.vstack([part.X, X_judged])
    np.testing.assert_array_equal(rows[np.lexsort(rows.T)], task.X[np.lexsort(task.X.T)])


def test_missing_cells_are_imputed_by_the_median_for_methods_that_cannot_take_them():
    noise = Noise("missing(rate=0.2)", "none")
    with_gaps, _ = tasks.make_task(cell(noise=noise), takes_missing=True)
    filled, _ = tasks.make_task(cell(noise=noise))
    gaps = np.isnan(with_gaps.X)
    assert gaps.sum() == round(0.2 * gaps.size)
    for column in range(13):
        seen = np.sort(with_gaps.X[~gaps[:, column], column])
        middle = (seen[(len(seen) - 1) // 2] + seen[len(seen) // 2]) / 2
        np.testing.assert_allclose(filled.X[gaps[:, column], column], middle)
    np.testing.assert_array_equal(filled.X[~gaps], with_gaps.X[~gaps])


def test_a_column_with_nothing_left_becomes_zero():
    assert tasks.impute_medians(np.array([[np.nan, 1.0], [np.nan, 3.0], [np.nan, np.nan]])).tolist() == [
        [0, 1], [0, 3], [0, 2],
    ]  # fmt: skip


def test_a_perfect_answer_has_perfect_scores_and_what_is_not_said_has_none():
    task, truth = tasks.make_task(cell(noise=Noise("gross(rate=0.1,size=4)", "flip(rate=0.3)")))
    perfect = Answer(
        predict=lambda X: truth.y_test,
        label_scores=truth.labels.astype(float),
        labels=truth.y,
        features=truth.X,
        cell_scores=np.abs(task.X - truth.X),
    )
    assert tasks.score(perfect, truth) == {
        "accuracy": 1.0, "label_auc": 1.0, "label_ap": 1.0, "labels_right": 1.0, "feature_error": 0.0, "cell_auc": 1.0,
    }  # fmt: skip
    silent = tasks.score(Answer(predict=lambda X: truth.y_test[::-1]), truth)
    assert [name for name, value in silent.items() if value is not None] == ["accuracy"]


@pytest.mark.parametrize("name", ["wine:0", "wine:many", "wine:179", "wine:-3"])
def test_a_bad_number_of_rows_is_refused(name):
    with pytest.raises(DatasetError, match="rows of wine must be a number from 1 to 178"):
        tasks.load(name)


def test_a_part_of_a_dataset_is_some_of_its_rows():
    part, whole = tasks.load("wine:50"), load_wine()
    assert len(np.unique(part.X, axis=0)) == 50
    assert {tuple(row) for row in part.X} < {tuple(row) for row in whole.X}
