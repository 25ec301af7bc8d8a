"""Binned pictures, the map of rows, and displays for notebooks."""

import sys

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from report.tables import three_blobs
from unmuddle import FLRClassifier
from unmuddle.errors import InvalidParameterError, MissingExtraError
from unmuddle.estimators.scaling import inner_scaling
from unmuddle.report import CellIssuesDisplay, ConvergenceDisplay, LabelIssuesDisplay
from unmuddle.report.grid import Grid
from unmuddle.report.projection import project

mpl.use("Agg")


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 450), st.integers(1, 130), st.integers(0, 2**32 - 1))
def test_bins_hold_the_mean_of_their_cells(n, d, seed):
    wrong = np.random.default_rng(seed).random((n, d)) < 0.3
    grid = Grid.of(wrong, ~wrong, tuple(map(str, range(d))))
    assert grid.shape[0] <= 200
    assert grid.shape[1] <= 60
    a, b = grid.rows_each, grid.columns_each
    for i, row in enumerate(grid.wrong):
        for j, share in enumerate(row):
            assert share == pytest.approx(wrong[i * a : (i + 1) * a, j * b : (j + 1) * b].mean())
            assert grid.missing[i][j] == pytest.approx(1 - share)
    assert grid.names[-1] == str((grid.shape[1] - 1) * b)


def test_the_map_has_the_axes_of_principal_components():
    X, _ = three_blobs(n=60)
    recovered = X * 0.9
    places = project(X, recovered)
    scaled = inner_scaling(X).apply(recovered)
    reference = PCA(2).fit(scaled)
    inside = ((places.after > 0) & (places.after < 1)).all(axis=1)
    for axis in range(2):
        theirs = reference.transform(scaled)[inside, axis]
        assert abs(np.corrcoef(theirs, places.after[inside, axis])[0, 1]) == pytest.approx(1.0)
    assert places.explained == pytest.approx(reference.explained_variance_ratio_.sum())


@pytest.mark.parametrize("shape", [(2, 1), (3, 1), (5, 40), (1, 3)])
def test_any_shape_has_a_map(shape):
    X = np.random.default_rng(0).normal(size=shape)
    X[0, 0] = np.nan
    places = project(X, np.nan_to_num(X))
    for points in (places.before, places.after):
        assert points.shape == (shape[0], 2)
        assert ((points >= 0) & (points <= 1)).all()


def test_the_label_display_counts_every_labelled_row(plain):
    display = LabelIssuesDisplay.from_estimator(plain.cleaner).plot()
    others, flagged = (sum(bar.get_height() for bar in bars) for bars in display.ax_.containers)
    assert others + flagged == len(plain.y)
    assert flagged == plain.cleaner.label_issues_["flag"].sum()
    given_axes = mpl.figure.Figure().subplots()
    assert LabelIssuesDisplay.from_estimator(plain.cleaner).plot(ax=given_axes).ax_ is given_axes
    mpl.pyplot.close("all")


def test_the_cell_display_draws_every_wrong_cell(plain):
    display = CellIssuesDisplay.from_estimator(plain.cleaner).plot()
    drawn = np.asarray(display.ax_.images[0].get_array())
    lines = plain.cleaner.cell_issues_
    columns = [plain.X.columns.get_loc(name) for name in lines["column"]]
    assert sorted(zip(*np.nonzero(drawn.T), strict=True)) == sorted(zip(lines["row"], columns, strict=True))
    mpl.pyplot.close("all")


def test_the_convergence_display_shows_the_trace():
    X, y = three_blobs(n=50)
    model = FLRClassifier.natural(solver="admm").fit(X, y)
    display = ConvergenceDisplay.from_estimator(model).plot()
    line = display.ax_.lines[0].get_ydata()
    assert len(line) == model.n_iter_
    assert line[-1] == max(model.trace_[name][-1] for name in model.trace_ if name.startswith("residual"))
    assert display.ax_.get_title() == str(model.certificate_)
    mpl.pyplot.close("all")


def test_a_cleaner_without_iterations_is_refused(plain):
    with pytest.raises(InvalidParameterError, match="no iterations to show"):
        ConvergenceDisplay.from_estimator(plain.cleaner)


def test_without_matplotlib_the_message_says_what_to_install(plain, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match="pip install matplotlib"):
        LabelIssuesDisplay.from_estimator(plain.cleaner).plot()
