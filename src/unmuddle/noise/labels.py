"""Noise on labels. Classes are in sorted order; what a kind does to each is a matrix in ``transitions``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unmuddle.errors import InvalidDataError, InvalidParameterError
from unmuddle.noise.checks import (
    Floats,
    Labels,
    check_alternatives,
    check_features,
    check_generator,
    check_labels,
    check_same_rows,
)
from unmuddle.noise.picking import count_share, pick
from unmuddle.noise.transitions import check_transition

ROUNDING = 1e-12
"""A deviation below this, relative to the size of the entries, is none."""


class NoisyLabels(NamedTuple):
    """Labels after noise, which rows it picked, and which of these really have another label now."""

    values: NDArray[Any]
    selected: NDArray[np.bool_]
    changed: NDArray[np.bool_]


def redraw_uniformly(y: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyLabels:
    """Pick exactly ``round(rate * n)`` rows and draw their labels anew, uniformly over all classes.

    >>> noisy = redraw_uniformly(np.repeat(["a", "b"], 50), 0.3, np.random.default_rng(0))
    >>> int(noisy.selected.sum()), bool((noisy.changed <= noisy.selected).all())
    (30, True)
    """
    labels = check_labels(y)
    selected = pick(len(labels.values), rate, rng)
    return _move(labels, selected, rng.integers(len(labels.classes), size=selected.sum()))


def flip(y: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyLabels:
    """Pick exactly ``round(rate * n)`` rows and move each to another class, all others equally likely.

    >>> noisy = flip(np.repeat(["a", "b", "c"], 10), 0.2, np.random.default_rng(0))
    >>> int(noisy.selected.sum()), int(noisy.changed.sum())
    (6, 6)
    """
    labels = check_labels(y)
    check_alternatives(labels)
    selected = pick(len(labels.values), rate, rng)
    steps = rng.integers(1, len(labels.classes), size=selected.sum())
    return _move(labels, selected, (labels.codes[selected] + steps) % len(labels.classes))


def flip_pairs(y: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyLabels:
    """Pick exactly ``round(rate * n)`` rows and move each to the next class, from the last to the first.

    >>> flip_pairs(["a", "b", "c"], 1.0, np.random.default_rng(0)).values.tolist()
    ['b', 'c', 'a']
    """
    labels = check_labels(y)
    check_alternatives(labels)
    selected = pick(len(labels.values), rate, rng)
    return _move(labels, selected, (labels.codes[selected] + 1) % len(labels.classes))


def flip_by_features(y: ArrayLike, X: ArrayLike, rate: float, rng: np.random.Generator) -> NoisyLabels:
    """Pick exactly ``round(rate * n)`` rows, likelier near another class, and move each to the nearest other class.

    Columns are standardised, constant ones are left out. The margin of a row is its distance to the mean of its own
    class, the row among them, less that to the nearest mean of another class. With z the standardised margin, rows are
    drawn one after the other, without replacement, each with probability proportional to ``exp(z)`` among those left.

    >>> X = np.array([[0.0], [0.1], [0.9], [3.0], [2.9], [5.0]])
    >>> noisy = flip_by_features(["a", "a", "a", "b", "b", "c"], X, 0.5, np.random.default_rng(0))
    >>> int(noisy.changed.sum())
    3
    """
    labels, X = check_labels(y), check_features(X)
    check_alternatives(labels)
    check_same_rows(X, labels)
    check_generator(rng)
    count = count_share(len(X), rate)
    margins, nearest = _compare_classes(X, labels)
    selected = _pick_likely(margins, count, rng)
    return _move(labels, selected, nearest[selected])


def redraw_by_transition(
    y: ArrayLike, T: ArrayLike, rng: np.random.Generator, classes: ArrayLike | None = None
) -> NoisyLabels:
    """Draw every label anew, each by itself, with ``T[i, j]`` the chance that class i becomes class j.

    Rows and columns of T follow ``classes``; if that is None, the classes of y in sorted order. The rate holds in
    expectation only. Every row is drawn, so all are selected.

    >>> redraw_by_transition([1, 2, 1], [[0, 1], [1, 0]], np.random.default_rng(0)).values
    array([2, 1, 2])
    """
    labels = check_labels(y) if classes is None else _recode(check_labels(y), classes)
    T = check_transition(T, len(labels.classes))
    check_generator(rng)
    selected = np.ones(len(labels.values), dtype=bool)
    return _move(labels, selected, _draw_from_rows(T, labels.codes, rng))


def _move(labels: Labels, selected: NDArray[np.bool_], new_codes: NDArray[np.integer[Any]]) -> NoisyLabels:
    """Give the selected rows the classes ``new_codes``; all other rows keep the very label they had."""
    changed = np.zeros(len(labels.values), dtype=bool)
    changed[selected] = new_codes != labels.codes[selected]
    values = labels.values.astype(np.result_type(labels.values, labels.classes))
    values[changed] = labels.classes[new_codes[changed[selected]]]
    return NoisyLabels(values, selected, changed)


def _compare_classes(X: Floats, labels: Labels) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """How much farther the mean of the own class is than the nearest other, standardised, and which class that is."""
    Z, rows = _standardise(X, np.abs(X).max(axis=0)), np.arange(len(X))
    means = [Z[labels.codes == code].mean(axis=0) for code in range(len(labels.classes))]
    distances = np.stack([np.linalg.norm(Z - mean, axis=1) for mean in means], axis=1)
    own, largest = distances[rows, labels.codes], distances.max()
    distances[rows, labels.codes] = np.inf
    return _standardise(own - distances.min(axis=1), largest), distances.argmin(axis=1)


def _standardise(values: Floats, sizes: ArrayLike) -> NDArray[np.float64]:
    """Mean 0 and deviation 1 in each column, or 0 where entries of these sizes differ by rounding only."""
    # Divided by the size first, so that no square overflows.
    relative = values.astype(np.float64) / np.where(np.asarray(sizes) > 0, sizes, 1.0)
    deviations = relative.std(axis=0)
    return (relative - relative.mean(axis=0)) / np.where(deviations > ROUNDING, deviations, np.inf)


def _pick_likely(log_weights: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw without replacement: the largest sums of log weight and Gumbel noise are distributed just so."""
    picked = np.zeros(len(log_weights), dtype=bool)
    picked[np.argsort(-(log_weights + rng.gumbel(size=len(log_weights))))[:count]] = True
    return picked


def _draw_from_rows(
    T: NDArray[np.float64], codes: NDArray[np.intp], rng: np.random.Generator
) -> NDArray[np.integer[Any]]:
    """For each code a draw from that row of T: the first class whose cumulated chance exceeds a uniform number."""
    cumulated = T.cumsum(axis=1)
    cumulated /= cumulated[:, -1:]  # ends at 1 exactly, so rounding opens no class of chance 0
    return (rng.random(len(codes))[:, None] >= cumulated[codes]).sum(axis=1)


def _recode(labels: Labels, classes: ArrayLike) -> Labels:
    """The same labels, numbered by the places of their classes in ``classes``."""
    known = np.asarray(classes)
    places = {label: place for place, label in enumerate(known.tolist())} if known.ndim == 1 else {}
    if len(places) != known.size:
        raise InvalidParameterError(f"classes must be a list of labels that all differ; got {classes!r}.")
    unknown = [label for label in labels.classes.tolist() if label not in places]
    if unknown:
        raise InvalidDataError(
            f"y must hold labels of classes only; {unknown[0]!r} is not among {known.tolist()}. Add it, with its row "
            "and column of T."
        )
    order = np.array([places[label] for label in labels.classes.tolist()])
    return Labels(labels.values, known, order[labels.codes])
