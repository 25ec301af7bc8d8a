"""Studies: what is run is run once, what is written is whole, and the numbers mean what they say."""

import json
from dataclasses import dataclass

import cvxpy
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from unmuddle.errors import InvalidParameterError, MemorizedWarning, StationarityWarning, UnmuddleError
from unmuddle.estimators import FLRClassifier
from unmuddle.experiments import catalogue
from unmuddle.experiments.grid import Request
from unmuddle.experiments.reproduce import Setup
from unmuddle.experiments.studies import STUDIES, ablation, complexity, convergence, data, run_study, sensitivity, tuned
from unmuddle.experiments.studies.slopes import fit_slope
from unmuddle.experiments.studies.study import name_of, seed_of

MEASURED = []
"""Points that were measured in this process, in order."""


@dataclass(frozen=True)
class Squares:
    """A study whose numbers are known: squares, with a point that fails."""

    name: str = "squares"
    title: str = "Squares"
    claim: str = "Squares grow."
    notes: tuple[str, ...] = ("A <note> of its own.",)
    kill_after: int = 1000
    breaks: str = ""

    def points(self, quick):
        return [{"source": "generated", "x": x, "trial": trial} for x in range(3 if quick else 5) for trial in (0, 1)]

    def measure(self, point):
        if len(MEASURED) >= self.kill_after:
            raise KeyboardInterrupt
        MEASURED.append(point)
        if point["x"] == 2 and point["trial"] == 1:
            raise ValueError("two | is\nbroken")
        noise = np.random.default_rng(seed_of(point)).normal()
        return {"square": float(point["x"] ** 2), "noise": noise, "nothing": float("nan")}

    def draw(self, frame):
        if self.breaks == "draw":
            raise RuntimeError("no ink")
        figure = Figure()
        figure.subplots().plot(frame["x"], frame["square"])
        return figure

    def verdict(self, frame):
        return f"reproduced: up to {frame['square'].max():g}."


@dataclass(frozen=True)
class Hopeless(Squares):
    name: str = "hopeless"

    def measure(self, point):
        raise ValueError("never")


@pytest.fixture(autouse=True)
def _fresh():
    MEASURED.clear()


def run(study, folder, quick=False, **options):
    return run_study(study, folder, quick, 1, lambda progress: None, **options)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".jsonl"}


@pytest.mark.parametrize("k", [0, 4, 9])
def test_stopped_after_k_points_and_resumed_the_files_are_the_same_and_no_point_is_measured_twice(tmp_path, k):
    run(Squares(), tmp_path / "whole")
    whole = list(MEASURED)
    MEASURED.clear()
    with pytest.raises(KeyboardInterrupt):
        run(Squares(kill_after=k), tmp_path / "parts")
    assert len(MEASURED) == k
    assert contents(tmp_path / "parts") == {}
    with (tmp_path / "parts" / "squares.jsonl").open("ab") as store:
        store.write(b'{"key": {"x"')  # a line that was torn by the kill
    run(Squares(), tmp_path / "parts")
    assert whole == MEASURED
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert len(contents(tmp_path / "whole")) == 5


def test_a_failed_point_is_a_row_with_its_reason_and_runs_again_only_on_request(tmp_path):
    made = run(Squares(), tmp_path)
    assert made.summary == "Squares\nreproduced: up to 16."
    assert made.failed == 1
    assert "two | is\nbroken" in made.reason
    frame = pd.read_csv(tmp_path / "squares.csv")
    assert list(frame["status"]) == ["done"] * 5 + ["failed"] + ["done"] * 4
    assert frame.loc[5, "reason"] == "ValueError: two | is\nbroken"
    assert np.isnan(frame.loc[5, "square"])
    assert list(frame["square"].drop(5)) == [0, 0, 1, 1, 4, 9, 9, 16, 16]
    assert "ValueError: two \\| is broken" in (tmp_path / "squares.md").read_text()
    MEASURED.clear()
    run(Squares(), tmp_path)
    assert MEASURED == []
    run(Squares(), tmp_path, retry=True)
    assert [(point["x"], point["trial"]) for point in MEASURED] == [(2, 1)]


def test_a_quick_run_shares_points_but_leaves_the_files_of_a_full_one_alone(tmp_path):
    run(Squares(), tmp_path)
    full = contents(tmp_path)
    MEASURED.clear()
    run(Squares(), tmp_path, quick=True)
    assert MEASURED == []
    assert {name: now for name, now in contents(tmp_path).items() if "quick" not in name} == full


@pytest.mark.parametrize(
    ("study", "error", "words"),
    [(Squares(breaks="draw"), RuntimeError, "no ink"), (Hopeless(), UnmuddleError, "ValueError: never")],
)
def test_nothing_is_written_if_the_figure_fails_or_no_point_has_a_result(tmp_path, study, error, words):
    with pytest.raises(error, match=words):
        run(study, tmp_path)
    assert contents(tmp_path) == {}


def test_pages_say_claim_verdict_notes_and_that_data_were_generated(tmp_path):
    run(Squares(), tmp_path, command="unmuddle reproduce squares")
    for name, note in (("squares.md", "A <note> of its own."), ("squares.html", "A &lt;note&gt; of its own.")):
        page = (tmp_path / name).read_text()
        for words in ("Squares grow.", "reproduced: up to 16.", note, "GENERATED", "unmuddle reproduce squares"):
            assert words in page


def test_progress_counts_points_and_tells_the_time_left_once_one_is_timed(tmp_path):
    told = []
    run_study(Squares(), tmp_path, True, 1, told.append)
    assert [progress.done for progress in told] == list(range(7))
    assert told[0].seconds_left is None
    assert told[1].seconds_left > 0
    assert told[-1].seconds_left == 0


def test_two_processes_measure_the_same_as_one(tmp_path, monkeypatch):
    few = [point_of(n=40, d=6, variant="no feature recovery", trial=trial) for trial in (0, 1)]
    monkeypatch.setattr(ablation.Ablation, "points", lambda study, quick: few)  # here alone; processes only measure
    for jobs in (1, 2):
        run_study(STUDIES["ablation"], tmp_path / str(jobs), True, jobs, lambda progress: None)
    one, two = ((tmp_path / jobs / "ablation-quick.csv").read_text() for jobs in "12")
    assert one == two
    assert one.count(",done,") == 2


def test_seeds_depend_on_the_named_parts_alone_and_not_on_their_order():
    point = {"a": 1, "b": "x", "c": 2.5}
    assert seed_of(point, "a", "b") == seed_of(point | {"c": 7}, "a", "b")
    assert seed_of(point) == seed_of(dict(reversed(point.items())))
    assert seed_of(point) != seed_of(point | {"c": 7})
    assert name_of(point) == name_of(dict(reversed(point.items())))


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_points_of_every_study_are_plain_and_different_from_each_other(study, monkeypatch):
    monkeypatch.setattr(data, "find", lambda file: None)
    for quick in (True, False):
        names = [name_of(point) for point in study.points(quick)]
        assert len(set(names)) == len(names)
        assert all(json.loads(name).get("source", "generated") == "generated" for name in names)


def point_of(**changes):
    plain = {"source": "generated", "labels": "random1", "n": 60, "d": 12, "noise": "gaussian", "sigma": 0.5}
    return {**plain, "trial": 0, "variant": "full", **changes}


def test_generated_features_are_of_low_rank_and_of_mean_variance_one_with_unequal_columns():
    found = data.load(point_of(n=500, d=64))
    variances = found.X_true.var(axis=0)
    assert variances.mean() == pytest.approx(1)
    assert variances.max() > 2 * variances.min()
    values = np.linalg.svd(found.X_true - found.X_true.mean(axis=0), compute_uv=False)
    assert np.count_nonzero(values > 1e-9 * values[0]) == data.RANK
    assert np.mean(found.y != found.y_true) == pytest.approx(0.172)
    assert np.std(found.X - found.X_true) == pytest.approx(0.5, rel=0.02)


def test_variants_of_an_ablation_meet_the_same_data():
    first, second = (data.load(point_of(variant=variant)) for variant in ("full", "no label recovery"))
    assert np.array_equal(first.X, second.X)
    assert not np.array_equal(first.X, data.load(point_of(trial=1)).X)


def test_without_feature_recovery_it_is_the_convex_fit_of_the_projection_to_features_as_given():
    point = point_of(variant="no feature recovery", n=40, d=6)
    found = data.load(point)
    model = ablation.fit(point, found)
    assert np.linalg.norm(model.recovered_features_ - found.X) <= 1e-3 * np.linalg.norm(found.X)
    l1, l3 = model.lambdas_.projection, model.lambdas_.labels
    Y, X = data.one_hot(found.y), found.X
    Z, b = cvxpy.Variable((X.shape[1], Y.shape[1])), cvxpy.Variable((1, Y.shape[1]))
    B = X @ Z + np.ones((len(X), 1)) @ b
    rows = cvxpy.norm(Y - B, 2, axis=1)
    corner = np.sqrt(0.5)
    loss = {
        "frobenius": cvxpy.sum_squares(Y - B),
        "l21": cvxpy.sum(rows),
        "huber": cvxpy.sum(cvxpy.huber(rows, corner)) / (2 * corner),
    }[model.tuning_.chosen.setting.label_norm]
    program = cvxpy.Problem(cvxpy.Minimize(l1 * cvxpy.normNuc(Z) + l3 * loss), [B >= 0, B <= 1])
    program.solve(solver="CLARABEL")
    ours = model.objective_ - np.linalg.svd(X, compute_uv=False).sum()
    assert ours == pytest.approx(program.value, rel=2e-3)


def test_without_label_recovery_the_recovered_labels_are_those_given():
    point = point_of(variant="no label recovery", n=80, d=16)
    found = data.load(point)
    with pytest.warns(MemorizedWarning):
        model = ablation.fit(point, found)
    assert np.array_equal(model.classes_[model.recovered_labels_.argmax(axis=1)], found.y)


@pytest.mark.parametrize("quick", [True, False])
def test_the_grid_of_each_lambda_spans_five_decades_and_has_the_choice_in_it(quick):
    points = pd.DataFrame(STUDIES["sensitivity"].points(quick))
    for _, part in points.groupby(["noise", "trial", "solver", "lambda"]):
        assert 0.0 in set(part["exponent"])
        assert part["exponent"].max() - part["exponent"].min() == 5


def test_at_exponent_zero_the_fit_is_that_of_the_automatic_choice():
    point = {**point_of(n=40, d=6), "solver": "admm", "lambda": "labels", "exponent": 0.0}
    found, measured = data.load(point), sensitivity.Sensitivity().measure(point)
    model = FLRClassifier(
        "frobenius", "l21", fit_intercept=False, scale=None, random_state=seed_of(point, *data.DATA) % 2**31
    ).fit(found.X, found.y)
    assert measured["lambda_projection"] == pytest.approx(model.lambdas_.projection, rel=1e-12)
    assert measured["lambda_features"] == pytest.approx(model.lambdas_.features, rel=1e-12)
    assert measured["lambda_labels"] == pytest.approx(model.lambdas_.labels, rel=1e-12)
    assert measured["accuracy"] == model.score(found.X_test, found.y_test)


def test_choices_never_see_clean_labels_or_test_data(monkeypatch):
    point = point_of(n=40, d=6)
    found, before = data.load(point), tuned.choose(point)
    garbage = np.random.default_rng(0).permutation
    changes = {"y_true": garbage(found.y_true), "y_test": garbage(found.y_test), "X_test": garbage(found.X_test)}
    monkeypatch.setattr(data, "load", lambda point: data.Data(**vars(found) | changes))
    tuned._choose.cache_clear()
    assert tuned.choose(point) == before


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, -1.0])
def test_the_slope_of_a_power_law_is_its_power(power):
    x = np.array([10, 20, 40, 80, 160])
    assert fit_slope(x, 3.0 * x**power).value == pytest.approx(power, abs=1e-12)
    noisy = 3.0 * x**power * np.exp(np.random.default_rng(0).normal(0, 0.1, 5))
    line = np.polyfit(np.log(x), np.log(noisy), 1, cov=True)
    found = fit_slope(x, noisy)
    assert found.value == pytest.approx(line[0][0])
    assert found.error == pytest.approx(np.sqrt(line[1][0, 0]))


def test_slopes_of_known_times_are_found_and_judged_against_the_formula():
    rows = pd.DataFrame(STUDIES["complexity"].points(True))
    for name in ("printed", "mended"):
        formula = getattr(complexity, f"{name}_formula")
        rows[name] = [formula(n, d) for n, d in zip(rows["n"], rows["d"], strict=True)]
    rows["seconds"] = 1e-6 * rows["n"] * rows["d"] ** 1.5 * (1 + rows["trial"])
    assert complexity.slope_of(rows, "n", "paper").value == pytest.approx(1.0)
    assert complexity.slope_of(rows, "d", "admm").value == pytest.approx(1.5)
    assert complexity.slope_of(rows, "d", "admm").error == pytest.approx(0, abs=1e-9)
    study = STUDIES["complexity"]
    assert study.verdict(rows).startswith("reproduced")
    assert study.verdict(rows.assign(seconds=rows["n"] ** 3.0 * rows["d"] ** 4.0)).startswith("not")
    assert complexity.printed_formula(100, 3, 2) == 900 + 900 + 54 + 300 + 200
    assert complexity.printed_formula(4, 3, 2) == 16 + 36 + 54 + 12 + 8


def test_a_convergence_point_is_the_solver_stopped_there():
    point = {**point_of(n=40, d=6), "solver": "paper", "iterations": 60}
    measured = convergence.Convergence().measure(point)
    found, chosen = data.load(point), tuned.choose(point)
    lambdas = dict(zip(("lambda_projection", "lambda_features", "lambda_labels"), vars(chosen).values(), strict=True))
    model = FLRClassifier.paper(feature_norm="frobenius", scale=None, max_iter=60, **lambdas)
    with pytest.warns(StationarityWarning, match="after 60 iterations"):
        model.fit(found.X, found.y)
    assert measured["n_iter"] == 60
    assert measured["objective"] == pytest.approx(model.objective_)
    assert measured["certificate"] == pytest.approx(model.certificate_.worst)
    assert measured["mu_change_K"] == pytest.approx(model.trace_["mu_change_K"][-1])
    assert not measured["collapsed"]


def test_a_stationary_point_that_says_the_same_of_every_row_does_not_speak_for_theorem_1():
    rows = pd.DataFrame(STUDIES["convergence"].points(True)).assign(residual=1e-9, certificate=1e-9, collapsed=0.0)
    rows[list(convergence.LIMITS)] = 0.0
    assert STUDIES["convergence"].verdict(rows).startswith("reproduced")
    rows.loc[(rows["solver"] == "paper") & (rows["labels"] == "worst"), "collapsed"] = 1.0
    assert STUDIES["convergence"].verdict(rows).startswith("partly")
    assert "collapsed to the same scores for every row in 2" in STUDIES["convergence"].verdict(rows)
    early = rows["iterations"] < rows["iterations"].max()
    assert "every row in 0" in STUDIES["convergence"].verdict(rows.assign(collapsed=np.where(early, 1.0, np.nan)))
    assert STUDIES["convergence"].verdict(rows.drop(columns="collapsed")).startswith("partly")


def test_the_ablation_is_reproduced_only_if_the_full_model_is_ahead_by_much_everywhere():
    rows = pd.DataFrame(STUDIES["ablation"].points(True))
    for gap, word in ((0.05, "reproduced"), (0.005, "partly"), (-0.05, "not")):
        rows["accuracy"] = np.where(rows["variant"] == "full", 0.7 + gap, 0.7) + 0.01 * rows["trial"]
        assert STUDIES["ablation"].verdict(rows).startswith(f"{word}: ")
        assert f"{100 * gap:+.1f} points" in STUDIES["ablation"].verdict(rows)


def test_sensitivity_is_judged_by_the_largest_mean_change():
    rows = pd.DataFrame(STUDIES["sensitivity"].points(True)).assign(accuracy=0.8)
    assert STUDIES["sensitivity"].verdict(rows).startswith("reproduced")
    rows.loc[rows["exponent"] == 2.5, "accuracy"] = 0.5
    assert STUDIES["sensitivity"].verdict(rows).startswith("partly")
    assert "0 points within a decade, 30 over all" in STUDIES["sensitivity"].verdict(rows)
    rows.loc[rows["exponent"] == 1.0, "accuracy"] = 0.6
    assert STUDIES["sensitivity"].verdict(rows).startswith("not")
    rows.loc[rows["exponent"] == 1.0, "accuracy"] = 1.0
    assert "20 points within a decade, 30 over all" in STUDIES["sensitivity"].verdict(rows)


def test_what_learns_nothing_is_not_insensitive():
    rows = pd.DataFrame(STUDIES["sensitivity"].points(True)).assign(accuracy=0.8)
    assert STUDIES["sensitivity"].verdict(rows[rows["exponent"] != 0]).startswith("not")
    rows.loc[rows["solver"] == "paper", "accuracy"] = 0.1
    assert STUDIES["sensitivity"].verdict(rows).startswith("partly")
    assert STUDIES["sensitivity"].verdict(rows).count("it learns nothing at the choice") == 2
    rows.loc[(rows["solver"] == "admm") & (rows["exponent"] == 1.0), "accuracy"] = 0.6
    assert STUDIES["sensitivity"].verdict(rows).startswith("not")


def test_recovery_counts_a_gain_only_beyond_twice_its_standard_error():
    rows = pd.DataFrame(STUDIES["recovery"].points(True))
    rows = rows.assign(feature_error_given=1.0, labels_right_given=0.5)
    better = rows.assign(feature_error=50 / rows["n"], labels_right=rows["n"] / 1000)
    assert STUDIES["recovery"].verdict(better).startswith("reproduced")
    noisy = better.assign(labels_right=0.5 + 0.1 * rows["trial"] + rows["n"] / 1e5)
    assert STUDIES["recovery"].verdict(noisy).startswith("partly")
    flat = rows.assign(feature_error=0.5, labels_right=0.5)
    assert STUDIES["recovery"].verdict(flat).startswith("not")
    as_given = rows.assign(feature_error=0.5, labels_right=rows["n"] / 1000, labels_right_given=rows["n"] / 1000)
    assert STUDIES["recovery"].verdict(as_given).startswith("not")


def test_some_trials_alone_have_files_of_their_own_and_the_rest_goes_on_from_them(tmp_path):
    MEASURED.clear()
    setup = Setup(tmp_path, 1, lambda progress: None)
    part = catalogue.of_points(Squares()).make(Request(trials=1), setup, "a command")
    assert [point["trial"] for point in MEASURED] == [0] * 5
    assert {path.stem for path in part.files} == {"squares-trials1"}
    assert set(pd.read_csv(tmp_path / "squares-trials1.csv")["trial"]) == {0}
    whole = catalogue.of_points(Squares()).make(Request(trials=2), setup, "a command")
    assert {path.stem for path in whole.files} == {"squares"}
    assert [point["trial"] for point in MEASURED] == [0] * 5 + [1] * 5


def test_every_study_is_a_command_and_is_made_from_points_of_its_own(tmp_path):
    assert set(STUDIES) < set(catalogue.names())
    setup = Setup(tmp_path, 1, lambda progress: None)
    with pytest.raises(InvalidParameterError, match="datasets must be left to bound"):
        list(catalogue.reproduce("bound", Request(datasets=("wine",)), setup, str))
    made = catalogue.of_points(Squares()).make(Request(quick=True), setup, "a command")
    assert {path.suffix for path in made.files} == {".csv", ".md", ".html", ".svg", ".png"}
