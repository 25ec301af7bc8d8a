"""Nothing that chooses a setting sees clean labels or test data: these are swapped for garbage, and nothing changes."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV

from unmuddle import FLRClassifier, HybridCleaner
from unmuddle.experiments import methods, table1
from unmuddle.experiments import task as tasks
from unmuddle.experiments.methods import Answer, get_method, load_plugin
from unmuddle.experiments.plan import Cell, Noise
from unmuddle.experiments.run import run_cell

NOISE = Noise("laplacian(sigma=1)", "real")
SELF_TUNING = ("unmuddle-auto", "hybrid", "logistic", "ridge", "forest", "cleanlab", "clip-pca80-cleanlab")
TUNED = ("flr-frobenius", "flr-l1", "rpca")


@pytest.fixture(autouse=True)
def _people():
    load_plugin(Path(__file__).with_name("plugin_people.py"))


def swap(monkeypatch):
    """Clean labels of both parts and the features of the test part become garbage; what methods are given does not."""
    data = tasks.load("people")
    rng = np.random.default_rng(5)
    train, test = tasks.split(data, 0)
    X, X_test = tasks.scale(data, train, test)
    honest = tasks.Parts(X, data.y[train], X_test, data.y[test], data.y_noisy[train])
    garbage = replace(
        honest,
        y=rng.permutation(honest.y),
        y_test=rng.permutation(honest.y_test),
        X_test=rng.normal(size=honest.X_test.shape),
    )
    assert np.mean(garbage.y == honest.y) < 0.6
    monkeypatch.setattr(tasks, "prepare", lambda dataset, trial: garbage)


@pytest.fixture(name="choices")
def _choices(monkeypatch):
    """All that is chosen in a fit, written down as text."""
    found = []

    def watch(kind, tell):
        fit = kind.fit

        def watched(self, X, y, *rest, **more):
            fitted = fit(self, X, y, *rest, **more)
            found.append(tell(self))
            return fitted

        monkeypatch.setattr(kind, "fit", watched)

    watch(
        FLRClassifier,
        lambda model: (repr(model.tuning_.to_frame().drop(columns="seconds").to_dict()), model.tuning_.reason),
    )
    watch(HybridCleaner, lambda model: repr((model.label_issues_.to_dict(), model.noise_report_.to_dict())))
    watch(GridSearchCV, lambda model: (repr(model.best_params_), model.cv_results_["mean_test_score"].tolist()))
    watch(RandomForestClassifier, lambda model: (model.min_samples_leaf, getattr(model, "oob_score_", None)))
    return found


def test_the_lists_here_are_all_that_choose_anything():
    offered = {name for name, each in methods.METHODS.items() if each.settings is not None and each.built_in}
    assert offered == set(TUNED)
    assert set(SELF_TUNING) <= {row.name for row in table1.ROWS}


@pytest.mark.parametrize("name", SELF_TUNING)
def test_a_method_that_tunes_itself_chooses_the_same_when_the_truth_is_garbage(monkeypatch, choices, name):
    if get_method(name).requires:
        pytest.importorskip(get_method(name).requires)
    cell = Cell(name, "people", NOISE, 0)
    honest = run_cell(cell)
    before = choices.copy()
    choices.clear()
    swap(monkeypatch)
    blind = run_cell(cell)
    assert honest.reason == blind.reason == ""
    assert before
    assert choices == before
    assert blind.scores["accuracy"] < honest.scores["accuracy"] - 0.1  # the truth really was garbage


@pytest.mark.parametrize("name", TUNED)
def test_the_runner_chooses_the_same_setting_when_the_truth_is_garbage(monkeypatch, name):
    cell = Cell(name, "people", NOISE, 0, "tune")
    honest = run_cell(cell)
    swap(monkeypatch)
    blind = run_cell(cell)
    assert len(honest.tuning) == 9
    assert (blind.tuning, blind.best) == (honest.tuning, honest.best)


def test_a_method_that_does_peek_is_found_out(monkeypatch):
    """Told the share of wrong labels, a method can choose by it: the same swap shows that in its settings."""

    def offer(task):
        return [{"shrink": task.noise_rate}]

    methods.method("peeking", "told", settings=offer, told=True)(
        lambda task, setting: Answer(lambda X: task.y[: len(X)])
    )
    try:
        cell = Cell("peeking", "people", NOISE, 0, "tune")
        honest = run_cell(cell)
        swap(monkeypatch)
        assert run_cell(cell).tuning != honest.tuning
    finally:
        del methods.METHODS["peeking"]
