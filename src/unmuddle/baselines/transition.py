"""The noise transition matrix from how often a row and its two nearest neighbours have which noisy labels (HOC).

If neighbours share the clean class, their noisy labels are independent draws from one row of the matrix; the
frequencies of single labels, pairs and triples then determine matrix and class prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, linear_sum_assignment, minimize
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
Floats = NDArray[np.floating[Any]]
Codes = NDArray[np.integer[Any]]

MAX_ROWS, MIN_ROUNDS = 15_000, 50
"""Rows of a round at most, and rounds at least."""

CHUNK = 4_000_000
"""Similarities computed at a time."""

EXACT = 1e-17
"""A loss at which no further restart can gain anything."""

PATIENCE, GAIN = 20, 1e-3
"""A minimisation that gains less than this share of the loss in as many steps has stalled."""

OPTIONS: Any = {"maxiter": 2000, "maxfun": 4000, "maxcor": 30, "ftol": 0.0, "gtol": 1e-11}
"""Of L-BFGS, which would stop early otherwise: losses are far below 1."""


@dataclass(frozen=True)
class Consensus:
    """Frequencies of the labels of a row (K,), of it with its neighbour (K, K), and of it with both (K, K, K)."""

    first: Array
    second: Array
    third: Array


@dataclass(frozen=True)
class Transition:
    """``matrix[i, j]``, the chance that clean class i is given as j; the share of each clean class; the misfit left."""

    matrix: Array
    prior: Array
    residual: float

    @property
    def noise_rate(self) -> float:
        """Expected share of wrong labels."""
        return float(self.prior @ (1 - np.diag(self.matrix)))


def estimate_transition(
    X: Floats,
    codes: Codes,
    n_classes: int,
    rng: np.random.Generator,
    *,
    weights: Floats | None = None,
    shrink: float = 0.0,
    rounds: int | None = None,
) -> Transition:
    """Transition matrix and prior from standardised features and noisy class numbers.

    Columns are multiplied by ``weights``. ``shrink`` between 0 and 1 moves the matrix towards the identity. With fewer
    than three rows nobody has two neighbours, and the labels are taken as they are: the identity.
    """
    if len(X) < 3:
        shares = (np.bincount(codes, minlength=n_classes) + 1 / n_classes) / (len(X) + 1)
        return Transition(np.eye(n_classes), shares, 0.0)
    weighted = X if weights is None else X * weights
    found = solve_transition(count_consensus(weighted, codes, n_classes, rng, rounds=rounds), rng)
    return Transition((1 - shrink) * found.matrix + shrink * np.eye(n_classes), found.prior, found.residual)


def consensus_of(transition: Array, prior: Array) -> Consensus:
    """The frequencies that a transition matrix and a prior imply."""
    n_classes = len(prior)
    pairs = (prior[:, None] * transition)[:, :, None] * transition[:, None, :]
    third = pairs.reshape(n_classes, -1).T @ transition
    return Consensus(prior @ transition, pairs.sum(axis=0), third.reshape((n_classes,) * 3))


def count_consensus(
    X: Floats, codes: Codes, n_classes: int, rng: np.random.Generator, *, rounds: int | None = None
) -> Consensus:
    """Mean frequencies over rounds, each on a random half of the rows with neighbours by cosine within that half.

    A round has at least 2 K^2 rows where there are as many, and 15000 at most. A row is never its own neighbour,
    however many are equal to it; ties go to the first in the random order of the round. At least three rows are
    needed: ``estimate_transition`` answers with the identity for fewer.
    """
    n = len(X)
    size = min(max(n // 2, 2 * n_classes**2, 3), MAX_ROWS, n)
    rounds = rounds if rounds is not None else max(MIN_ROUNDS, 3 * (n // size))
    unit, counts = _unit_rows(X), np.zeros(n_classes**3)
    for _ in range(rounds):
        rows = rng.choice(n, size, replace=False)
        labels = codes[rows].astype(np.intp)
        nearest, second = _two_nearest(unit[rows])
        triples = (labels * n_classes + labels[nearest]) * n_classes + labels[second]
        counts += np.bincount(triples, minlength=n_classes**3)
    third = (counts / (rounds * size)).reshape((n_classes,) * 3)
    return Consensus(third.sum(axis=(1, 2)), third.sum(axis=2), third)


def solve_transition(consensus: Consensus, rng: np.random.Generator, *, restarts: int = 5) -> Transition:
    """Matrix and prior whose implied frequencies are closest in squares, the best of some restarts of L-BFGS.

    Frequencies are the same for any order of the clean classes. A penalty on rows whose largest entry is not on the
    diagonal is part of the loss, and the classes end in the order with the largest trace, which is the true one
    whenever every class keeps its own label more often than it gets any other.
    """
    n_classes = len(consensus.first)
    target = _symmetrise(consensus)
    best, least = np.zeros(n_classes * (n_classes + 1)), np.inf
    for _ in range(restarts):
        scores = 3 * np.eye(n_classes) - 2 * rng.random((n_classes, n_classes))
        start = np.append(scores, 1 / n_classes + 0.1 * rng.random(n_classes))
        found = _descend(start, target)
        if found.fun < least:
            best, least = found.x, float(found.fun)
        if least < EXACT:
            break
    matrix, prior = _unpack(best, n_classes)
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    order = rows[np.argsort(columns)]
    return Transition(matrix[order], prior[order], float(np.sqrt(_misfit(matrix, prior, target)[0])))


def _descend(start: Array, target: Consensus) -> OptimizeResult:
    """L-BFGS from a start, on one thread: for matrices this small others cost ten times what they gain."""
    with threadpool_limits(1, user_api="blas"):
        return minimize(_loss, start, (target,), "L-BFGS-B", jac=True, options=OPTIONS, callback=_stop_when_it_stalls())


def _stop_when_it_stalls() -> Callable[..., None]:
    """A callback that ends a minimisation when it has fallen by a thousandth or less in 20 steps."""
    values: list[float] = []

    def look(intermediate_result: OptimizeResult) -> None:
        values.append(intermediate_result.fun)
        if len(values) > PATIENCE and values[-1] >= (1 - GAIN) * values[-1 - PATIENCE]:
            raise StopIteration

    return look


def _loss(parameters: Array, target: Consensus) -> tuple[float, Array]:
    """Misfit and penalty, and their gradient by the scores under the softmaxes."""
    T, prior = _unpack(parameters, len(target.first))
    misfit, by_matrix, by_prior = _misfit(T, prior, target)
    penalty, by_penalised = _penalty(T)
    by_matrix += by_penalised
    by_scores = T * (by_matrix - np.sum(T * by_matrix, axis=1, keepdims=True))
    return misfit + penalty, np.append(by_scores, prior * (by_prior - prior @ by_prior))


def _misfit(T: Array, prior: Array, target: Consensus) -> tuple[float, Array, Array]:
    """Sum of squared differences from symmetric frequencies, and its gradients by matrix and prior."""
    model = consensus_of(T, prior)
    first, second, third = model.first - target.first, model.second - target.second, model.third - target.third
    value = np.vdot(first, first) + np.vdot(second, second) + np.vdot(third, third)
    by_second = T @ second
    by_third = np.matmul(T[:, None, :], (T @ third.reshape(len(T), -1)).reshape(third.shape))[:, 0]
    by_prior = 2 * np.sum(T * (first + by_second + by_third), axis=1)
    by_matrix = 2 * prior[:, None] * (first + 2 * by_second + 3 * by_third)
    return float(value), by_matrix, by_prior


def _penalty(T: Array) -> tuple[float, Array]:
    """Sum of squares of how far each diagonal entry is below the largest of its row, and its gradient."""
    rows, largest = np.arange(len(T)), T.argmax(axis=1)
    lacking = T[rows, largest] - np.diag(T)
    gradient = np.zeros_like(T)
    gradient[rows, largest] = 2 * lacking
    gradient[rows, rows] -= 2 * lacking
    return float(lacking @ lacking), gradient


def _unpack(parameters: Array, n_classes: int) -> tuple[Array, Array]:
    """Matrix and prior from their scores, one softmax for each row and one for the prior."""
    scores = parameters.reshape(n_classes + 1, n_classes)
    rows = np.exp(scores - scores.max(axis=1, keepdims=True))
    rows /= rows.sum(axis=1, keepdims=True)
    return rows[:-1], rows[-1]


def _symmetrise(consensus: Consensus) -> Consensus:
    """Means over the orders of the rows, as the model does not tell a row from its neighbours; no minimiser moves."""
    third = consensus.third
    orders = (0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)
    mean = sum((third.transpose(order) for order in orders), np.zeros_like(third)) / len(orders)
    return Consensus(consensus.first, (consensus.second + consensus.second.T) / 2, mean)


def _unit_rows(X: Floats) -> NDArray[np.float32]:
    """Rows of length 1; those of length 0 stay, at cosine 0 to all."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return (X / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _two_nearest(unit: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each row the two others at the largest cosine, a chunk of rows at a time."""
    n = len(unit)
    step = max(1, CHUNK // n)
    nearest, second = np.empty(n, dtype=np.intp), np.empty(n, dtype=np.intp)
    for start in range(0, n, step):
        chunk = slice(start, min(start + step, n))
        cosines = unit[chunk] @ unit.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf
        nearest[chunk] = cosines.argmax(axis=1)
        cosines[rows, nearest[chunk]] = -np.inf
        second[chunk] = cosines.argmax(axis=1)
    return nearest, second
