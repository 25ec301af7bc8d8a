"""What recovers features: engines that see the rows, and give them back filled in, repaired and denoised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.utils import get_tags

from unmuddle.cleaning.heads import Folds, Rows
from unmuddle.core.categories import Category, Columns, judge_categories, learn_categories
from unmuddle.core.cellwise import CellModel, Judged, fit_cells, log_t
from unmuddle.core.filling import complete, fill
from unmuddle.core.grades import Grades, find_grades
from unmuddle.core.margins import find_lumped, find_unknown, reach_of_classes
from unmuddle.core.prox import Array, Mask
from unmuddle.core.tails import Tails
from unmuddle.core.wiener import Wiener
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators import FLRClassifier, RobustPCA
from unmuddle.estimators.scaling import Scaling, inner_scaling

FAR = 3.5
"""Robust deviations from which on what an engine takes out of a cell makes it wrong."""

LEAST_SPREAD = 0.3
"""Least spread, in robust deviations of a column, of what an engine takes out of it: one that leaves most cells as they
are, as robust PCA does, would else call every other one wrong, by however little it differs."""

FARTHEST = 1e6
"""Scaled units beyond which it does not matter how far a cell is off."""

NOT_JUDGED = -50.0
"""Log odds of cells that are in no doubt, as those of which nobody can say what they may be."""

DEEP = 10.0
"""So deep in a tail nothing is spared."""

MOST_COLUMNS = 1500
"""Columns up to which a covariance matrix is inverted."""

VIEWS = ("denoised", "imputed", "raw")
"""Rows as a model may see them, the first preferred among equals: all cells filtered; only wrong and missing cells
replaced; only missing ones."""


Blocks = tuple[tuple[int, int], ...]
"""For every column of categories the columns that it has when encoded: the first, and the one after the last. Two
categories have one column, and are judged as grades."""


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


class Fitted(ABC):
    """What an engine learned from the training rows."""

    judges_cells = True
    """Whether it looks for wrong cells at all."""

    @abstractmethod
    def recover(self, X: Array) -> Recovered:
        """Recover new rows."""

    def noise(self) -> Array | None:
        """Standard deviation of the noise that is in all cells, for each column; None where it is not measured."""
        return None

    def distances(self, X: Array) -> Array | None:
        """Squared distances of recovered rows from the middle, about chi-square where rows are normal."""
        return None


class Engine(ABC):
    """A way to recover features, before it has seen any."""

    name: str

    @abstractmethod
    def fit(self, X: Array, codes: Rows, folds: Folds) -> tuple[Fitted, Recovered]:
        """Learn from rows (NaN where a cell is missing), and recover them."""


@dataclass(frozen=True)
class FittedGaussian(Fitted):
    """The normal model of scaled rows, and the filter, which knows them in units of its own."""

    model: CellModel
    scaling: Scaling
    wiener: Wiener
    units: Array
    tails: Tails
    grades: tuple[Grades, ...] = ()
    """In the units of X, as tails are."""
    categories: tuple[Category, ...] = ()

    def recover(self, X: Array) -> Recovered:
        """By the model of the training rows; new ones may be less noisy than these, and are then filtered less."""
        scaled = np.where(self.tails.too_small(X) & self._single(), np.nan, bounded(self.scaling.apply(X)))
        judged = judge_categories(scaled, self.categories, self.model, self.model.judge(scaled))
        return self.report(X, scaled, judged, self.wiener.adapt)

    def noise(self) -> Array | None:
        """Of the filter, in the units of X."""
        return np.sqrt(self.wiener.noise) * self.scaling.scale / self.units

    def distances(self, X: Array) -> Array | None:
        """Mahalanobis's; cells in a long tail do not count."""
        scaled = bounded(self.scaling.apply(X))
        usual = complete(scaled, ~self.model.bulk.is_far(scaled), self.model.mean, self.model.precision)
        deviations = usual - self.model.mean
        squared: Array = np.einsum("ij,ij->i", deviations @ self.model.precision, deviations)
        return squared

    def report(self, X: Array, scaled: Array, judged: Judged, denoise: Callable[[Array], Array]) -> Recovered:
        """The verdict on cells, in the units of X."""
        missing, judged = np.isnan(X), self._spare_tails(X, scaled, self._refuse_tiny(X, judged))
        filled = self.scaling.undo(judged.rows)
        for each in self.grades:
            replaced = (judged.wrong | missing)[:, each.column]
            filled[replaced, each.column] = each.snap(filled[replaced, each.column])
        denoised = None
        if not self.wiener.is_idle:
            denoised = self.scaling.undo(denoise(judged.rows * self.units) / self.units)
        log_odds = np.where(missing, -np.inf, np.maximum(judged.log_odds, NOT_JUDGED))
        chances = np.where(missing, np.nan, expit(log_odds))
        return _views(X, filled, denoised, judged.wrong | missing, chances, log_odds)

    def _refuse_tiny(self, X: Array, judged: Judged) -> Judged:
        """Amounts that are too small were set aside before rows were looked at; odds as where a tail is spared."""
        tiny = self.tails.too_small(X) & self._single()
        odds = logit(self.model.chance_near) * (1.0 - np.minimum(self.tails.depth_below(X), DEEP) ** 2)
        return judged._replace(wrong=judged.wrong | tiny, log_odds=np.where(tiny, odds, judged.log_odds))

    def _spare_tails(self, X: Array, scaled: Array, judged: Judged) -> Judged:
        """Cells in a long tail are not wrong by themselves; the model of rows does without them all the same.

        Log odds rise with the square of the depth, as for a normal column: from those of any near cell they come to be
        even where the tail ends. Rows that contradict a cell are heard.
        """
        depth = self.tails.depth(X)
        above = judged.wrong & self._single() & (scaled > self.model.bulk.high) & np.isfinite(depth)
        rows = above.any(axis=1)
        by_column = logit(self.model.chance_near) * (1.0 - np.minimum(depth[rows], DEEP) ** 2)
        by_row = self._odds_by_row(X[rows], scaled[rows], judged.wrong[rows])
        log_odds = judged.log_odds.copy()
        spared = np.minimum(log_odds[rows], np.maximum(by_column, by_row))
        log_odds[rows] = np.where(above[rows], spared, log_odds[rows])
        return judged._replace(wrong=judged.wrong & ~(above & (log_odds <= 0)), log_odds=log_odds)

    def _odds_by_row(self, X: Array, scaled: Array, wrong: Mask) -> Array:
        """Log odds of amounts as if they were near, on the scale on which they are even; none where most are zero."""
        with np.errstate(over="ignore"):
            model, unit = self.model, np.minimum(self.scaling.scale / self.tails.size, FARTHEST)
        filled = fill(np.nan_to_num(scaled), ~(wrong | np.isnan(X)), model.mean, model.precision)
        even, usual = self.tails.even(X), self.scaling.undo(model.mean)
        expected = self.scaling.undo(scaled - filled.residuals)
        alone = log_t(even - self.tails.even(usual), np.diag(model.covariance) * unit**2)
        given_row = log_t(even - self.tails.even(expected), filled.variances * unit**2)
        return np.where(self.scaling.centre > 0, alone - given_row + logit(model.chance_near), -np.inf)

    def _single(self) -> Mask:
        """Columns of numbers, neither categories nor grades."""
        single: Mask = self.model.single.copy()
        single[[each.column for each in self.grades]] = False
        return single


@dataclass(frozen=True)
class Gaussian(Engine):
    """A normal model of rows with wrong cells, then a Wiener filter.

    Labels only tell whether cells far out are how a rare class looks.
    """

    common_units: bool = False
    """Whether noise is alike in all columns as they are, not after each is scaled."""
    name: str = "gaussian"
    blocks: Blocks = ()

    def fit(self, X: Array, codes: Rows, folds: Folds) -> tuple[FittedGaussian, Recovered]:
        """Learn mean, covariance, and how often cells are wrong."""
        scaling = inner_scaling(X)
        spread = scaling.scale
        units = spread / np.sqrt(np.mean(spread**2)) if self.common_units else np.ones_like(spread)
        scaled, blocks = bounded(scaling.apply(X)), _columns_of(self.blocks)
        single = _outside(blocks, X.shape[1]) & ~find_unknown(X)
        grades = find_grades(X, np.flatnonzero(single).tolist())
        graded = tuple(each.scale(scaling.centre[each.column], scaling.scale[each.column]) for each in grades)
        tails, numbers = Tails.of(X), single & ~np.isin(np.arange(X.shape[1]), [each.column for each in grades])
        scaled[tails.too_small(X) & numbers] = np.nan
        model, judged = fit_cells(scaled, single=single, graded=graded)
        bulk = reach_of_classes(scaled, judged.wrong & ~find_lumped(scaled), codes, model.bulk)
        if (bulk.is_far(scaled) != model.bulk.is_far(scaled)).any():
            model, judged = fit_cells(scaled, single=single, graded=graded, bulk=bulk)
        categories = learn_categories(scaled, blocks, model, judged.rows)
        judged = judge_categories(scaled, categories, model, judged)
        covariance = model.covariance * np.outer(units, units)
        wiener = Wiener.of(model.mean * units, covariance, judged.rows * units, alike=self.common_units)
        fitted = FittedGaussian(model, scaling, wiener, units, tails, grades, categories)
        return fitted, fitted.report(X, scaled, judged, wiener.apply)


@dataclass(frozen=True)
class FittedTransformer(Fitted):
    """A fitted transformer, the scale of the columns, of what it takes out of them, and which ones it judges."""

    transformer: Any
    scaling: Scaling
    spread: Array
    judged: Mask

    def recover(self, X: Array) -> Recovered:
        """By the transformer that was fitted to all rows."""
        return self.report(X, _denoise(self.transformer, X, self.scaling))

    def noise(self) -> Array | None:
        """Spread of what was taken out."""
        return self.spread

    def report(self, X: Array, denoised: Array) -> Recovered:
        """A cell is wrong if much more is taken out of it than of others in its column; categories are not judged."""
        missing = np.isnan(X)
        spread = np.maximum(self.spread, LEAST_SPREAD * self.scaling.scale)
        sizes = np.where(missing | ~self.judged, 0.0, np.abs(X - denoised) / spread)
        chances = np.where(missing, np.nan, expit(2.0 * (sizes - FAR)))
        scores = np.where(missing, -np.inf, np.abs(X - denoised) / self.scaling.scale)
        return _views(X, denoised, denoised, (sizes > FAR) | missing, chances, scores)


@dataclass(frozen=True)
class Transformer(Engine):
    """Any transformer that denoises; one that learns from labels sees no row that it is to recover."""

    transformer: Any
    name: str
    uses_labels: bool = False
    blocks: Blocks = ()

    def fit(self, X: Array, codes: Rows, folds: Folds) -> tuple[FittedTransformer, Recovered]:
        """Fit on all rows; the training rows are recovered fold by fold where labels are used."""
        scaling = inner_scaling(X)
        transformer = self._fit(X, codes, scaling)
        denoised = (
            self._denoise_folds(X, codes, folds, scaling) if self.uses_labels else _denoise(transformer, X, scaling)
        )
        pairs = [[each.column] for each in find_grades(X, range(X.shape[1])) if len(each.levels) == 2]
        judged = _outside([*_columns_of(self.blocks), *pairs], X.shape[1])
        fitted = FittedTransformer(transformer, scaling, inner_scaling(X - denoised).scale, judged)
        return fitted, fitted.report(X, denoised)

    def _denoise_folds(self, X: Array, codes: Rows, folds: Folds, scaling: Scaling) -> Array:
        """Rows stay as they are where the others have labels of one class only."""
        denoised = _complete(X, scaling)
        for train, test in folds:
            if len(np.unique(codes[train][codes[train] >= 0])) > 1:
                denoised[test] = _denoise(self._fit(X[train], codes[train], scaling), X[test], scaling)
        return denoised

    def _fit(self, X: Array, codes: Rows, scaling: Scaling) -> Any:
        model = clone(self.transformer)
        rows = X if _takes_missing(model) else _complete(X, scaling)
        if not self.uses_labels:
            return model.fit(rows)
        labels = np.where(codes >= 0, codes.astype(float), np.nan) if (codes < 0).any() else codes
        return model.fit(rows, labels)


@dataclass(frozen=True)
class FittedNothing(Fitted):
    """The medians of the columns."""

    medians: Array
    judges_cells = False

    def recover(self, X: Array) -> Recovered:
        """Fill in."""
        missing = np.isnan(X)
        filled = np.where(missing, self.medians, X)
        unknown = np.where(missing, np.nan, 0.0)
        return Recovered({"raw": filled, "imputed": filled, "filled": filled}, unknown, np.where(missing, -np.inf, 0.0))


@dataclass(frozen=True)
class Nothing(Engine):
    """Takes the cells as they are, and the median of a column for one that is missing."""

    name: str = "none"

    def fit(self, X: Array, codes: Rows, folds: Folds) -> tuple[FittedNothing, Recovered]:
        """Learn the medians."""
        fitted = FittedNothing(inner_scaling(X).centre)
        return fitted, fitted.recover(X)


AnyEngine = Gaussian | Transformer | Nothing


def bounded(scaled: Array) -> Array:
    """Scaled rows whose squares can be added up, in single precision too; cells so far off are wrong all the same."""
    return np.clip(scaled, -FARTHEST, FARTHEST)


def make_engines(recovery: Any, common_units: bool, n_columns: int, blocks: Blocks = ()) -> list[AnyEngine]:
    """The engines to choose from, each with a name of its own: one for each entry of a list, else one."""
    engines: list[AnyEngine] = []
    for entry in listed(recovery):
        engine = make_engine(entry, common_units, n_columns, blocks)
        known = sum(other.name.split(" ")[0] == engine.name for other in engines)
        engines.append(replace(engine, name=f"{engine.name} {known + 1}") if known else engine)
    return engines


def listed(recovery: Any) -> list[Any]:
    """The entries of a list, or the one that was given alone."""
    return list(recovery) if isinstance(recovery, (list, tuple)) else [recovery]


def make_engine(recovery: Any, common_units: bool, n_columns: int, blocks: Blocks = ()) -> AnyEngine:
    """The engine of that name, or round the transformer that is given."""
    if not isinstance(recovery, str):
        uses_labels = hasattr(recovery, "predict")
        return Transformer(recovery, type(recovery).__name__, uses_labels=uses_labels, blocks=blocks)
    if recovery == "none" or (recovery == "auto" and n_columns > MOST_COLUMNS):
        return Nothing()
    if recovery == "rpca":
        return Transformer(RobustPCA(scale=None if common_units else "robust"), "rpca", blocks=blocks)
    if recovery == "flr":
        model = FLRClassifier.natural(scale=None if common_units else "standard")
        return Transformer(model, "flr", uses_labels=True, blocks=blocks)
    return Gaussian(common_units, blocks=blocks)


def _columns_of(blocks: Blocks) -> list[Columns]:
    """Of categories, three and more."""
    return [np.arange(*ends) for ends in blocks if ends[1] > ends[0] + 1]


def _outside(blocks: Sequence[Columns | list[int]], n_columns: int) -> Mask:
    """Columns in no block."""
    outside = np.ones(n_columns, dtype=bool)
    for columns in blocks:
        outside[columns] = False
    return outside


def _views(X: Array, filled: Array, denoised: Array | None, replaced: Mask, chances: Array, scores: Array) -> Recovered:
    """All views; one that is None there is not."""
    views = {"imputed": np.where(replaced, filled, X), "raw": np.where(np.isnan(X), filled, X), "filled": filled}
    return Recovered(views if denoised is None else {"denoised": denoised, **views}, chances, scores)


def _denoise(transformer: Any, X: Array, scaling: Scaling) -> Array:
    """What the transformer makes of rows; it must keep their shape."""
    rows = X if _takes_missing(transformer) else _complete(X, scaling)
    denoised = np.asarray(transformer.transform(rows), dtype=np.float64)
    if denoised.shape != X.shape or not np.isfinite(denoised).all():
        raise InvalidParameterError(
            f"recovery must be a transformer that denoises: it must give finite rows of {X.shape[1]} columns; got "
            f"shape {denoised.shape} for {X.shape} from {transformer!r}. Use RobustPCA(), or one of the names."
        )
    return denoised


def _takes_missing(transformer: Any) -> bool:
    return bool(get_tags(transformer).input_tags.allow_nan)


def _complete(X: Array, scaling: Scaling) -> Array:
    """Rows with medians in missing cells, in memory of their own."""
    return np.where(np.isnan(X), scaling.centre, X)
