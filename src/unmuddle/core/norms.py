"""The norms that measure feature and label errors: each is its value plus its proximal map.

To add one, write its class here and enter it in the tables at the end. Solvers, certificate and estimators
use nothing but the methods of :class:`Norm`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unmuddle.core import prox, rowspace
from unmuddle.core.prox import TINY, Array, Mask, Step, row_lengths

SEARCH_STEPS = 60
"""Enough halvings of a bracket to reach rounding error; Newton's method takes far fewer."""

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Norm(ABC):
    """A convex function ``R`` of an error matrix, with minimum ``R(0) = 0``."""

    fixes_zero: ClassVar[bool] = False
    """The error is zero by decree and its multiplier free (an ablation of the model)."""

    label_slope: ClassVar[float] = 1.0
    """Length of the gradient at a unit label error; it sets the scale of lambda 1 (see ``scales``)."""

    @abstractmethod
    def value(self, errors: Array, weights: Array | None = None) -> float:
        """R at ``errors``; ``weights``, a column, multiply what each row adds to it."""

    @abstractmethod
    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        """Minimise ``step * R(x) + |x - errors|_F**2 / 2``; into ``out``, another array, if one is given.

        A ``step`` for each row weighs the rows; at step 0 the minimiser is the row itself.
        """

    @abstractmethod
    def prox_between(self, errors: Array, step: Step, lower: Array, upper: Array) -> Array:
        """The same subject to ``lower <= x <= upper``, where ``lower <= 0 <= upper``."""

    def closest(self, rows: Array, basis: Array) -> Array:
        """For each row x the point p in the span of an orthonormal ``basis`` that minimises ``R(x - p)``.

        The orthogonal projection, for every R that grows with the length of the row.
        """
        return rowspace.project(rows, basis)

    def closest_by_seen(self, rows: Array, basis: Array, missing: Mask | None) -> Array:
        """The same by the cells that are not missing; the smallest such point where they leave a choice."""
        return self.closest(rows, basis) if missing is None else rowspace.fit_seen(rows, basis, missing, self.closest)

    def feature_weight(self, shape: tuple[int, int], noise_level: float, seen: float = 1.0) -> float:
        """The natural size of lambda 2 for features of this shape, before the factor beta.

        ``seen`` is the share of cells that are not missing. Signs of noise in these have spectral norm
        ``sqrt(seen)`` times that of a full matrix (Candes et al. 2011, Theorem 1.2).
        """
        return 1.0 / np.sqrt(seen * max(shape))

    def threshold(self, weight: float) -> float:
        """By how much every singular value of features falls under this norm, so weighted; 0 if not all alike."""
        return 0.0


class EntryNorm(Norm):
    """A sum over entries: each is a convex problem in one variable, so bounds merely clip the free minimiser."""

    def prox_between(self, errors: Array, step: Step, lower: Array, upper: Array) -> Array:
        return prox.prox_box(self.prox(errors, step), lower, upper)


class RowNorm(Norm):
    """A sum over rows of Huber's function of their lengths; a corner at 0 makes it the length itself."""

    @property
    @abstractmethod
    def corner(self) -> float:
        """The length up to which rows count with their squares."""

    def prox_between(self, errors: Array, step: Step, lower: Array, upper: Array) -> Array:
        """The minimiser is ``clip(e / (1 + step / max(r, corner)))`` where r is its own length.

        An entry on the wrong side of a bound that is 0 stays at 0 whatever r is. With these set to 0 the prox without
        bounds is right for every row that it leaves inside its bounds; few rows need a search for r.
        """
        held = np.where(errors > 0, upper, lower) == 0
        allowed = np.where(held, 0.0, errors)
        found = self.prox(allowed, step)
        outside = np.flatnonzero(((found < lower) | (found > upper)).any(axis=1))
        if len(outside):
            steps = step[outside] if isinstance(step, np.ndarray) else step
            found[outside] = self._search_length(allowed[outside], steps, lower[outside], upper[outside])
        return found

    def _search_length(self, errors: Array, step: Step, lower: Array, upper: Array) -> Array:
        """Newton's method on ``|minimiser(r)| = r`` in a bracket, which is halved where a step would leave it."""
        r = high = row_lengths(prox.prox_box(errors, lower, upper))
        low = np.zeros_like(r)
        for _ in range(SEARCH_STEPS):
            divisor = 1.0 + step / np.maximum(r, max(self.corner, TINY))
            x = prox.prox_box(errors / divisor, lower, upper)
            length = row_lengths(x)
            low, high = np.where(length >= r, r, low), np.where(length >= r, high, r)
            free = np.where((x > lower) & (x < upper), x, 0.0)
            bending = np.where(r > self.corner, step / np.maximum(r, TINY) ** 2 / divisor, 0.0)
            slope = bending * np.square(free).sum(axis=1, keepdims=True) / np.maximum(length, TINY)
            newton = r - (length - r) / (slope - 1.0)
            following = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            moved, r = np.abs(following - r), following
            if np.all(moved <= 4 * EPSILON * np.maximum(r, EPSILON)):
                break
        return x

    def feature_weight(self, shape: tuple[int, int], noise_level: float, seen: float = 1.0) -> float:
        """The weight that brings unit rows of pure noise, of spectral norm ``sqrt(n / d) + 1``, to norm 1."""
        n, d = shape
        return np.sqrt(d) / (np.sqrt(n) + np.sqrt(d))


@dataclass(frozen=True)
class L1(EntryNorm):
    """``sum |e_ij|``: Laplacian noise, or few gross cells."""

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return _sum(np.abs(errors), weights)

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return prox.prox_l1(errors, step, out)

    def closest(self, rows: Array, basis: Array) -> Array:
        return rowspace.fit_huber(rows, basis, delta=0.0)


@dataclass(frozen=True)
class SquaredFrobenius(EntryNorm):
    """``sum e_ij**2``, no half: Gaussian noise."""

    label_slope = 2.0

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return _sum(np.square(errors), weights)

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return prox.prox_squared_frobenius(errors, step, out)

    def feature_weight(self, shape: tuple[int, int], noise_level: float, seen: float = 1.0) -> float:
        """The weight whose gradient just reaches the spectral norm of pure noise, ``s (sqrt n + sqrt d)``."""
        n, d = shape
        return 1.0 / (2.0 * max(noise_level, TINY) * (np.sqrt(n) + np.sqrt(d)))

    def threshold(self, weight: float) -> float:
        return 1.0 / (2.0 * weight)


@dataclass(frozen=True)
class Huber(EntryNorm):
    """Squares up to ``delta``, absolute values beyond: Gaussian noise with some gross cells."""

    delta: float = 1.0

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return _sum(_huber(np.abs(errors), self.delta), weights)

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return prox.prox_huber(errors, step, self.delta, out)

    def closest(self, rows: Array, basis: Array) -> Array:
        return rowspace.fit_huber(rows, basis, self.delta)


@dataclass(frozen=True)
class L21(RowNorm):
    """``sum_i |e_i|_2``: a few whole rows are wrong, as a wrong label is a wrong row of one-hot labels."""

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return _sum(row_lengths(errors), weights)

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return prox.prox_l21(errors, step, out)

    @property
    def corner(self) -> float:
        return 0.0


@dataclass(frozen=True)
class HuberRows(RowNorm):
    """Huber's function of every row's length."""

    delta: float = 1.0

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return _sum(_huber(row_lengths(errors), self.delta), weights)

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return prox.prox_huber_rows(errors, step, self.delta, out)

    @property
    def corner(self) -> float:
        return self.delta


@dataclass(frozen=True)
class Zero(EntryNorm):
    """No error at all, where a row counts: the ablations "w/o feature recov." and "w/o label recov."."""

    fixes_zero = True

    def value(self, errors: Array, weights: Array | None = None) -> float:
        return 0.0

    def prox(self, errors: Array, step: Step, out: Array | None = None) -> Array:
        return np.multiply(errors, np.equal(step, 0.0), out=out)


def _huber(sizes: Array, delta: float) -> Array:
    inner = np.minimum(sizes, delta)
    return inner**2 / (2.0 * delta) + (sizes - inner)


def _sum(terms: Array, weights: Array | None) -> float:
    return float(terms.sum() if weights is None else (weights * terms).sum())


NormMaker = Callable[[float], Norm]
"""Makes a norm from its corner ``delta``, which most do not need."""

FEATURE_NORMS: Mapping[str, NormMaker] = {
    "l1": lambda delta: L1(),
    "frobenius": lambda delta: SquaredFrobenius(),
    "huber": Huber,
    "l21": lambda delta: L21(),
    "none": lambda delta: Zero(),
}

LABEL_NORMS: Mapping[str, NormMaker] = {
    "l21": lambda delta: L21(),
    "frobenius": lambda delta: SquaredFrobenius(),
    "huber": HuberRows,
    "l1": lambda delta: L1(),
    "none": lambda delta: Zero(),
}
