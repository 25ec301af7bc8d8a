"""Recover features, learn from what is recovered, judge labels: one meta-estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from unmuddle.cleaning import issues
from unmuddle.cleaning.audit import Cleaned, make_audit
from unmuddle.cleaning.encoding import Encoding
from unmuddle.cleaning.engines import Recovered, make_engine
from unmuddle.cleaning.heads import Given, make_folds
from unmuddle.cleaning.judging import Verdict, convene, judge_labels, rate_of_noise, weigh_labels
from unmuddle.cleaning.labels import Labels
from unmuddle.cleaning.tables import Table, repair, table_of
from unmuddle.core.evidence import on_simplex
from unmuddle.core.prox import Array, Mask
from unmuddle.errors import InvalidDataError, InvalidParameterError
from unmuddle.estimators import validation
from unmuddle.estimators.scaling import SCALINGS, Scaling

RECOVERIES = ("auto", "gaussian", "rpca", "flr", "none")

DOUBTFUL = 0.9
"""Rows surer than this have one label in the final fit, others their two likeliest, each with its chance."""


@dataclass(frozen=True)
class Seen:
    """Rows as they were given and as they were recovered."""

    table: Table
    matrix: Array
    recovered: Recovered
    flags: Mask


class HybridCleaner(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Find wrong labels and wrong cells, say what they should be, and learn a classifier that holds on clean data.

    Features are recovered first, without labels. Three models are then fitted to the noisy labels; each judges rows
    that it did not see. What they say is sharpened and weighed against the given labels, which gives every row a chance
    that its label is wrong. Last, the estimator is fitted to the recovered rows with the labels that the evidence
    supports. All choices are made on noisy data; nothing has to be set.

    Parameters
    ----------
    estimator : classifier, default=None
        Learns from the cleaned data and predicts. None predicts by the mean of the models that judged.
    recovery : {"auto", "gaussian", "rpca", "flr", "none"} or transformer, default="auto"
        What recovers features. ``"gaussian"``: a normal model of rows with wrong cells, then a filter for noise in all
        cells; ``"rpca"``: robust PCA; ``"flr"``: `FLRClassifier`, which also uses the labels of other rows; ``"none"``:
        only missing cells are filled in. A transformer that denoises may be given instead. ``"auto"`` is ``"gaussian"``
        up to 1500 columns (with categories counted one by one), else ``"none"``. In every case noisy labels decide
        whether models look at rows as given, with single cells replaced, or wholly denoised.
    fdr : float, default=0.1
        Share of false alarms among flagged labels, and among flagged cells, to be expected.
    scale : {"standard", "robust", None}, default="standard"
        How columns are scaled for the models. None for features in common units, such as embeddings.
    unlabeled : label, default=None
        A label that means none, such as -1; None, NaN and NA always do.
    random_state : int, RandomState instance or None, default=None
        Folds, samples and trees; an integer makes everything repeatable.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    label_issues_ : DataFrame
        A line for each row: ``row`` (position), ``index`` (the caller's), ``given``, ``suggested``, ``confidence`` (chance
        that the given label is wrong), ``flag``, ``reason``.
    cell_issues_ : DataFrame
        A line for each flagged cell: ``row``, ``index``, ``column``, ``given``, ``recovered``, ``score``, ``confidence``,
        ``flag``.
    row_issues_ : DataFrame
        Outliers, and copies of rows with another label.
    noise_report_ : DataFrame
        Noise rate and transitions of labels, wrong cells and noise level of each column, with 90 % intervals, and
        which noise hurts most.
    transition_ : DataFrame
        Chances that a true class (row) was given as another (column).
    cell_scores_ : ndarray of shape (n_samples, n_features)
        How suspicious each cell is; only the order means something.
    recovered_ : ndarray of shape (n_samples, n_encoded_features)
        The training rows as models saw them; categories are columns of 0 and 1.
    view_ : {"raw", "imputed", "denoised"}
        Which rows the models looked at.
    tuning_ : DataFrame
        What was tried, and its accuracy on held-out noisy labels.
    estimator_ : classifier or None
        The fitted estimator.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from unmuddle import HybridCleaner
    >>> X, y = load_iris(return_X_y=True)
    >>> y[60] = 0  # one label is wrong now
    >>> cleaner = HybridCleaner(random_state=0).fit(X, y)
    >>> issues = cleaner.label_issues_
    >>> issues.loc[issues["confidence"].idxmax(), ["row", "given", "suggested"]].tolist()
    [60, 0, 1]
    """

    notebook_summary: ClassVar[Callable[[Any], str] | None] = None
    """Tells in HTML what a fitted cleaner found; rooms above set it."""

    def __init__(
        self,
        estimator: Any = None,
        recovery: Any = "auto",
        *,
        fdr: float = 0.1,
        scale: str | None = "standard",
        unlabeled: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recovery = recovery
        self.fdr = fdr
        self.scale = scale
        self.unlabeled = unlabeled
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, pred_probs: Any = None) -> Self:
        """Find out what is wrong, and learn.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n_samples, n_features)
            Numbers or categories; cells may be missing (None, NaN, NA).
        y : array-like of shape (n_samples,)
            Given labels; some may be missing.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each label counts.
        pred_probs : array-like of shape (n_samples, n_classes), default=None
            Probabilities from a model of your own that did not see the row, columns in sorted order of the classes; they
            then judge the labels instead of the built-in models.

        Returns
        -------
        self : HybridCleaner
            The fitted cleaner.
        """
        self._fit(X, y, sample_weight, pred_probs)
        return self

    def fit_clean(self, X: Any, y: Any, sample_weight: Any = None, pred_probs: Any = None) -> Cleaned:
        """Fit, and repair the training data: flagged and missing cells, flagged labels; all else stays as it is."""
        rows, labels, verdict = self._fit(X, y, sample_weight, pred_probs)
        return self._repair(X, y, rows, labels, verdict)

    def clean(self, X: Any, y: Any = None) -> Cleaned:
        """Repair new rows, and their labels if they have any."""
        check_is_fitted(self)
        rows = self._recover(X)
        if y is None:
            return self._repair(X, None, rows, None, None)
        labels = Labels(self.classes_, np.zeros(0, dtype=np.intp)).read(y, self.unlabeled)
        _check_lengths(rows.table, labels)
        verdict = judge_labels(self._panel.predict(rows.recovered), labels.codes, self._evidence, float(self.fdr))
        return self._repair(X, y, rows, labels, _sure(verdict))

    def transform(self, X: Any) -> Array:
        """Rows as the models see them: recovered, in the units of X; categories are columns of 0 and 1."""
        check_is_fitted(self)
        return self._recover(X).recovered.views[self.view_]

    def predict_proba(self, X: Any) -> Array:
        """Chances of the true classes."""
        check_is_fitted(self)
        recovered = self._recover(X).recovered
        if self.estimator_ is None:
            return self._evidence.sharpen(self._panel.predict(recovered))
        found = self.estimator_.predict_proba(recovered.views[self.view_])
        spread = np.zeros((len(found), len(self.classes_)))
        spread[:, self.estimator_.classes_] = found
        return spread

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest true class."""
        check_is_fitted(self)
        if self.estimator_ is None:
            return self.classes_[self.predict_proba(X).argmax(axis=1)]
        return self.classes_[self.estimator_.predict(self._recover(X).recovered.views[self.view_])]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the columns that ``transform`` gives."""
        check_is_fitted(self)
        names = []
        for position, feature in enumerate(self._encoding.features):
            label = feature.label if self._encoding.names else f"x{position}"
            categories = getattr(feature, "categories", ())
            names += [f"{label}_{category}" for category in categories] if feature.width > 1 else [str(label)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _repr_html_inner(self) -> str:
        return self._summary() + super()._repr_html_inner()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return bundle | {kind: self._summary() + html for kind, html in bundle.items() if kind == "text/html"}

    def _summary(self) -> str:
        """What a notebook shows over scikit-learn's diagram."""
        tell = type(self).notebook_summary
        return tell(self) if tell is not None and hasattr(self, "label_issues_") else ""

    def _fit(self, X: Any, y: Any, sample_weight: Any, pred_probs: Any) -> tuple[Seen, Labels, Verdict]:
        self._validate_parameters()
        table = table_of(X)
        self._encoding = Encoding.learn(X)
        self._set_names(table)
        labels = Labels.learn(y, self.unlabeled)
        _check_lengths(table, labels)
        self.classes_ = labels.classes
        seed = int(check_random_state(self.random_state).randint(2**31))
        given = self._given(labels, sample_weight, seed)
        matrix = np.ascontiguousarray(self._encoding.encode(X))
        self._engine = make_engine(self.recovery, self.scale is None, matrix.shape[1])
        recovered = self._engine.fit(matrix, given.codes, given.folds)
        self._panel, P = convene(recovered, given, self._scaling(recovered))
        if pred_probs is not None:
            P = _check_probabilities(pred_probs, P.shape)
        self._evidence = weigh_labels(P, given)
        verdict = _sure(judge_labels(P, given.codes, self._evidence, float(self.fdr)))
        self.view_ = self._panel.view
        self.estimator_ = self._learn(recovered.views[self.view_], verdict, given)
        rows = Seen(table, matrix, recovered, issues.flag_cells(recovered.chances, self._encoding, float(self.fdr)))
        self._publish(rows, labels, verdict, given, P)
        return rows, labels, verdict

    def _validate_parameters(self) -> None:
        if isinstance(self.recovery, str) or not hasattr(self.recovery, "transform"):
            validation.check_choice("recovery", self.recovery, RECOVERIES)
        validation.check_choice("scale", self.scale, SCALINGS)
        if not (isinstance(self.fdr, int | float) and not isinstance(self.fdr, bool) and 0 < self.fdr < 1):
            raise InvalidParameterError(
                f"fdr must be a number between 0 and 1; got {self.fdr!r}. 0.1 lets about one flag in ten be false."
            )
        if self.estimator is not None and not hasattr(self.estimator, "fit"):
            raise InvalidParameterError(
                f"estimator must be a classifier with fit and predict, or None; got {self.estimator!r}."
            )

    def _set_names(self, table: Table) -> None:
        self.n_features_in_ = table.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if self._encoding.names is not None:
            self.feature_names_in_ = np.array(self._encoding.names, dtype=object)

    def _given(self, labels: Labels, sample_weight: Any, seed: int) -> Given:
        codes = labels.codes
        weights = validation.check_weights(sample_weight, len(codes))
        weights = np.ones(len(codes)) if weights is None else weights / weights[weights > 0].mean()
        return Given(codes, weights, len(labels.classes), make_folds(codes, seed), seed)

    def _scaling(self, recovered: Recovered) -> Scaling:
        rows = recovered.views["imputed"]
        if self.scale is not None:
            return SCALINGS[self.scale](rows)
        size = float(np.sqrt(np.mean(rows.var(axis=0)))) or 1.0
        return Scaling(np.zeros(rows.shape[1]), np.full(rows.shape[1], size))

    def _learn(self, X: Array, verdict: Verdict, given: Given) -> Any:
        """Fit the estimator to soft labels, by way of weights; to the likeliest label if it takes none."""
        if self.estimator is None:
            return None
        model = clone(self.estimator)
        if not has_fit_parameter(model, "sample_weight"):
            return model.fit(X, verdict.posterior.argmax(axis=1))
        ranked = np.argsort(-verdict.posterior, axis=1, kind="stable")[:, :2]
        chances = np.take_along_axis(verdict.posterior, ranked, axis=1)
        doubtful = np.flatnonzero(chances[:, 0] < DOUBTFUL)
        rows = np.concatenate([np.arange(len(X)), doubtful])
        codes = np.concatenate([ranked[:, 0], ranked[doubtful, 1]])
        weights = np.concatenate([chances[:, 0], chances[doubtful, 1]]) * given.weights[rows]
        return model.fit(X[rows], codes, sample_weight=weights)

    def _recover(self, X: Any) -> Seen:
        table = table_of(X)
        matrix = np.ascontiguousarray(self._encoding.encode(X))
        recovered = self._engine.recover(matrix)
        return Seen(table, matrix, recovered, issues.flag_cells(recovered.chances, self._encoding, float(self.fdr)))

    def _publish(self, rows: Seen, labels: Labels, verdict: Verdict, given: Given, P: Array) -> None:
        table, recovered, encoding = rows.table, rows.recovered, self._encoding
        named = np.array([*labels.classes.tolist(), None], dtype=object)[labels.codes]
        self.label_issues_ = issues.label_issues(named, labels.classes, table.index, verdict)
        self.cell_scores_ = issues.per_cell(recovered.scores, encoding)
        self.cell_issues_ = issues.cell_issues(
            table, rows.flags, encoding.decode(recovered.repaired), self.cell_scores_,
            issues.per_cell(recovered.chances, encoding),
        )  # fmt: skip
        scaled = self._panel.scaling.apply(recovered.views["raw"])
        distances = self._engine.distances(recovered.views["imputed"])
        self.row_issues_ = issues.row_issues(scaled, labels.codes, distances, table.index)
        present = ~np.isnan(issues.per_cell(rows.matrix, encoding))
        noise = self._engine.noise() if encoding.is_numeric else None
        self.noise_report_ = issues.noise_report(
            labels.classes,
            rate_of_noise(P, np.where(given.known, given.codes, -1), self._evidence),
            self._evidence.transition,
            float(np.mean(1.0 - self._evidence.sharpen(P).max(axis=1))),
            issues.column_noise(list(table.labels), rows.flags, present, noise),
        )
        names = labels.classes.tolist()
        self.transition_ = pd.DataFrame(self._evidence.transition, index=names, columns=names)
        self.recovered_ = recovered.views[self.view_]
        self.tuning_ = pd.DataFrame([trial._asdict() | {"accuracy": trial.accuracy} for trial in self._panel.trials])

    def _repair(self, X: Any, y: Any, rows: Seen, labels: Labels | None, verdict: Verdict | None) -> Cleaned:
        table, encoding = rows.table, self._encoding
        missing = np.isnan(issues.per_cell(rows.matrix, encoding))
        at, columns = np.nonzero(rows.flags | missing)
        decoded = encoding.decode(rows.recovered.repaired)
        new = [decoded[column][row] for row, column in zip(at, columns, strict=True)]
        given = table.cells(at, columns)
        chances = np.where(missing, 1.0, issues.per_cell(rows.recovered.chances, encoding))
        kept = [place for place in range(len(at)) if new[place] is not None and given[place] != new[place]]
        changes = {(int(at[place]), int(columns[place])): new[place] for place in kept}
        cleaned = repair(X, changes)
        written = table_of(cleaned).cells(at[kept], columns[kept])
        lines = {
            "kind": ["missing cell" if missing[at[place], columns[place]] else "cell" for place in kept],
            "row": [int(at[place]) for place in kept],
            "column": [table.labels[columns[place]] for place in kept],
            "given": [given[place] for place in kept],
            "new": list(written),
            "confidence": [float(chances[at[place], columns[place]]) for place in kept],
        }
        fixed = y
        if labels is not None and verdict is not None:
            changed = np.flatnonzero(verdict.flags)
            fixed = labels.repair(y, changed, verdict.suggested[changed])
            lines["kind"] += ["label"] * len(changed)
            lines["row"] += changed.tolist()
            lines["column"] += ["label"] * len(changed)
            lines["given"] += labels.classes[labels.codes[changed]].tolist()
            lines["new"] += labels.classes[verdict.suggested[changed]].tolist()
            lines["confidence"] += verdict.wrong[changed].tolist()
        audit = make_audit(index=[table.index[row] for row in lines["row"]], **lines)
        return Cleaned(cleaned, fixed, audit)


def _sure(verdict: Verdict) -> Verdict:
    """Flags only where the label is likelier wrong than right."""
    with np.errstate(invalid="ignore"):
        return verdict._replace(flags=verdict.flags & (verdict.wrong > issues.CERTAIN))


def _check_lengths(table: Table, labels: Labels) -> None:
    if table.shape[0] != len(labels.codes):
        raise InvalidDataError(
            "X and y must have as many rows; found input variables with inconsistent numbers of samples: "
            f"{table.shape[0]} in X and {len(labels.codes)} in y."
        )


def _check_probabilities(pred_probs: Any, shape: tuple[int, ...]) -> Array:
    P = np.asarray(pred_probs, dtype=float)
    if P.shape != shape or not np.isfinite(P).all() or (P < 0).any() or not np.allclose(P.sum(axis=1), 1.0, atol=1e-3):
        raise InvalidDataError(
            f"pred_probs must hold a probability for each of {shape[0]} rows and {shape[1]} classes, with rows that "
            f"add up to 1; got shape {P.shape}. Take predict_proba of a model that did not see the row, for example by "
            "sklearn.model_selection.cross_val_predict."
        )
    return on_simplex(P)
