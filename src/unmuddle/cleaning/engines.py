"""What recovers features: engines that see the rows, and give them back filled in, repaired and denoised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, clone

from unmuddle.cleaning.heads import Folds, Rows
from unmuddle.core.cellwise import CellModel, Judged, fit_cells
from unmuddle.core.prox import Array, Mask
from unmuddle.core.wiener import Wiener
from unmuddle.estimators import FLRClassifier, RobustPCA
from unmuddle.estimators.scaling import Scaling, inner_scaling

FAR = 3.5
"""Robust deviations from which on what an engine takes out of a cell makes it wrong."""

MOST_COLUMNS = 1500
"""Columns up to which a covariance matrix is inverted."""

VIEWS = ("denoised", "imputed", "raw")
"""Rows as a model may see them, the first preferred among equals: all cells filtered; only wrong and missing cells
replaced; only missing ones."""


class Recovered(NamedTuple):
    """Rows in their three views, and every cell's chance of being wrong."""

    views: dict[str, Array]
    chances: Array
    """Between 0 and 1; NaN where a cell is missing."""
    scores: Array
    """Higher for more suspicious cells, finer than the chances; lowest where a cell is missing."""

    @property
    def repaired(self) -> Array:
        """The best single value for a cell that is wrong or missing."""
        return self.views["filled"]


class Engine(ABC):
    """Recovers the rows it is fitted to, then new ones."""

    uses_labels = False

    @abstractmethod
    def fit(self, X: Array, codes: Rows, folds: Folds) -> Recovered:
        """Learn from rows (NaN where a cell is missing), and recover them."""

    @abstractmethod
    def recover(self, X: Array) -> Recovered:
        """Recover new rows."""

    def noise(self) -> Array | None:
        """Standard deviation of the noise that is in all cells, for each column; None where it is not measured."""
        return None

    def distances(self, X: Array) -> Array | None:
        """Squared distances of recovered rows from the middle, about chi-square where rows are normal."""
        return None


@dataclass
class Gaussian(Engine):
    """A normal model of rows with wrong cells, then a Wiener filter; labels are not used."""

    common_units: bool = False
    """Whether noise is alike in all columns as they are, not after each is scaled."""
    model: CellModel | None = field(default=None, init=False)
    scaling: Scaling | None = field(default=None, init=False)
    wiener: Wiener | None = field(default=None, init=False)
    units: Array | None = field(default=None, init=False)

    def fit(self, X: Array, codes: Rows, folds: Folds) -> Recovered:
        """Learn mean, covariance, and how often cells are wrong."""
        self.scaling = inner_scaling(X)
        spread = self.scaling.scale
        self.units = spread / np.sqrt(np.mean(spread**2)) if self.common_units else np.ones_like(spread)
        self.model, judged = fit_cells(self.scaling.apply(X))
        covariance = self.model.covariance * np.outer(self.units, self.units)
        self.wiener = Wiener.of(self.model.mean * self.units, covariance, judged.rows * self.units)
        return self._report(X, judged)

    def recover(self, X: Array) -> Recovered:
        """By the model of the training rows."""
        assert self.model is not None and self.scaling is not None
        return self._report(X, self.model.judge(self.scaling.apply(X)))

    def noise(self) -> Array | None:
        """Of the filter, in the units of X."""
        assert self.wiener is not None and self.scaling is not None and self.units is not None
        return np.sqrt(self.wiener.noise) * self.scaling.scale / self.units

    def distances(self, X: Array) -> Array | None:
        """Mahalanobis's."""
        assert self.model is not None and self.scaling is not None
        deviations = self.scaling.apply(X) - self.model.mean
        squared: Array = np.einsum("ij,ij->i", deviations @ self.model.precision, deviations)
        return squared

    def _report(self, X: Array, judged: Judged) -> Recovered:
        assert self.wiener is not None and self.scaling is not None and self.units is not None
        missing = np.isnan(X)
        filled = self.scaling.undo(judged.rows)
        denoised = self.scaling.undo(self.wiener.apply(judged.rows * self.units) / self.units)
        chances = np.where(missing, np.nan, expit(judged.log_odds))
        return _views(X, filled, denoised, judged.wrong | missing, chances, judged.log_odds)


@dataclass
class Transformer(Engine):
    """Any transformer that denoises; one that learns from labels sees no row that it is to recover."""

    transformer: BaseEstimator
    uses_labels: bool = False
    scaling: Scaling | None = field(default=None, init=False)
    noise_: Array | None = field(default=None, init=False)
    fitted: Any = field(default=None, init=False)

    def fit(self, X: Array, codes: Rows, folds: Folds) -> Recovered:
        """Fit on all rows; the training rows are recovered fold by fold where labels are used."""
        self.scaling = inner_scaling(X)
        self.fitted = self._fit(X, codes)
        if not self.uses_labels:
            denoised = self.fitted.transform(X)
        else:
            denoised = np.empty_like(X)
            for train, test in folds:
                denoised[test] = self._fit(X[train], codes[train]).transform(X[test])
        self.noise_ = inner_scaling(X - denoised).scale
        return self._report(X, denoised)

    def recover(self, X: Array) -> Recovered:
        """By the transformer that was fitted to all rows."""
        return self._report(X, self.fitted.transform(X))

    def noise(self) -> Array | None:
        """Spread of what was taken out."""
        return self.noise_

    def _fit(self, X: Array, codes: Rows) -> Any:
        model = clone(self.transformer)
        if not self.uses_labels:
            return model.fit(X)
        labels = np.where(codes >= 0, codes.astype(float), np.nan) if (codes < 0).any() else codes
        return model.fit(X, labels)

    def _report(self, X: Array, denoised: Array) -> Recovered:
        assert self.scaling is not None and self.noise_ is not None
        missing = np.isnan(X)
        sizes = np.where(missing, 0.0, np.abs(X - denoised) / self.noise_)
        chances = np.where(missing, np.nan, expit(2.0 * (sizes - FAR)))
        scores = np.where(missing, -np.inf, np.abs(X - denoised) / self.scaling.scale)
        return _views(X, denoised, denoised, (sizes > FAR) | missing, chances, scores)


@dataclass
class Nothing(Engine):
    """Takes the cells as they are, and the median of a column for one that is missing."""

    medians: Array | None = field(default=None, init=False)

    def fit(self, X: Array, codes: Rows, folds: Folds) -> Recovered:
        """Learn the medians."""
        self.medians = inner_scaling(X).centre
        return self.recover(X)

    def recover(self, X: Array) -> Recovered:
        """Fill in."""
        assert self.medians is not None
        missing = np.isnan(X)
        filled = np.where(missing, self.medians, X)
        unknown = np.where(missing, np.nan, 0.0)
        return Recovered({"raw": filled, "imputed": filled, "filled": filled}, unknown, np.where(missing, -np.inf, 0.0))


def make_engine(recovery: Any, common_units: bool, n_columns: int) -> Engine:
    """The engine of that name, or round the transformer that is given."""
    if recovery == "none" or (recovery == "auto" and n_columns > MOST_COLUMNS):
        return Nothing()
    if recovery in ("auto", "gaussian"):
        return Gaussian(common_units)
    if recovery == "rpca":
        return Transformer(RobustPCA(scale=None if common_units else "robust"))
    if recovery == "flr":
        return Transformer(FLRClassifier.natural(scale=None if common_units else "standard"), uses_labels=True)
    return Transformer(recovery, uses_labels=hasattr(recovery, "predict"))


def _views(X: Array, filled: Array, denoised: Array, replaced: Mask, chances: Array, scores: Array) -> Recovered:
    views = {
        "denoised": denoised,
        "imputed": np.where(replaced, filled, X),
        "raw": np.where(np.isnan(X), filled, X),
        "filled": filled,
    }
    return Recovered(views, chances, scores)
