"""Recover features, learn from what is recovered, judge labels: one meta-estimator."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from unmuddle.cleaning import issues
from unmuddle.cleaning.audit import Cleaned
from unmuddle.cleaning.changing import audit_of, change_cells, change_labels
from unmuddle.cleaning.checking import (
    check_estimator,
    check_fdr,
    check_lengths,
    check_overlap,
    check_probabilities,
    check_recovery,
    check_several,
)
from unmuddle.cleaning.encoding import Encoding
from unmuddle.cleaning.engines import MOST_COLUMNS, Fitted, Recovered, listed, make_engines
from unmuddle.cleaning.heads import SAMPLE, Given
from unmuddle.cleaning.judging import (
    Replaced,
    Tried,
    Verdict,
    convene,
    informed,
    judge_labels,
    rate_of_noise,
    try_views,
    weigh_labels,
)
from unmuddle.cleaning.labels import Labels
from unmuddle.cleaning.learning import learn
from unmuddle.cleaning.tables import Table, table_of
from unmuddle.core.prox import Array, Mask
from unmuddle.errors import DistrustedCellsWarning, InvalidDataError, UncheckedCellsWarning
from unmuddle.estimators import validation
from unmuddle.estimators.scaling import SCALINGS, Scaling, common_scaling

TABLES = ("label_issues_", "cell_issues_", "row_issues_", "noise_report_", "transition_", "tuning_")
"""Attributes that are frames of pandas; a saved cleaner has them as plain arrays, for skops knows no frames."""


@dataclass(frozen=True)
class Seen:
    """Rows as they were given and as they were recovered."""

    table: Table
    matrix: Array
    recovered: Recovered
    flags: Mask
    missing: Mask


def _gives_probabilities(cleaner: HybridCleaner) -> bool:
    """Whether the estimator has probabilities, for some have them only once fitted; the models that judged have."""
    estimator = getattr(cleaner, "estimator_", cleaner.estimator)
    return estimator is None or hasattr(estimator, "predict_proba")


class HybridCleaner(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Find wrong labels and wrong cells, say what they should be, and learn a classifier that holds on clean data.

    Features are recovered first. Three or four models are then fitted to the noisy labels; each judges rows whose label
    it did not see, and counts for as much as it tells such labels. What they say is sharpened and weighed against the
    given labels, which gives every row a chance that its label is wrong. Last, the estimator is fitted to the recovered
    rows with the labels that the evidence supports.
    All choices are made on noisy data; nothing has to be set.

    Parameters
    ----------
    estimator : classifier, default=None
        Learns from the cleaned data and predicts. None predicts by the mean of the built-in models, of which the linear
        one is fitted once more, to likely labels, in as far as it had learned the given ones by heart.
    recovery : {"auto", "gaussian", "rpca", "flr", "none"}, transformer, or list of these, default="auto"
        What recovers features. ``"gaussian"``: a normal model of rows with wrong cells, then a filter for noise in all
        cells; ``"rpca"``: robust PCA; ``"flr"``: `FLRClassifier`, which also uses the labels of other rows; ``"none"``:
        only missing cells are filled in. A transformer that denoises may be given instead. In every case noisy labels
        decide whether models look at rows as given, with single cells replaced, or wholly denoised. Of a list they also
        decide which to take; an earlier one unless a later one is better by more than chance. ``"auto"`` is
        ``"gaussian"`` up to 1500 columns (with categories counted one by one), else ``"none"``, with a warning: a
        choice among gaussian, rpca and flr was no better, and is slower (``python -m benchmarks.engines``).
    fdr : float, default=0.1
        Share of false alarms among flagged labels, and among flagged cells, to be expected.
    scale : {"standard", "robust", None}, default="standard"
        How columns are scaled for the models. None for features in common units, such as embeddings.
    overlap : bool, default=True
        Whether rows of different classes may look alike. Then labels that models doubt may be right all the same, and
        few are flagged where classes meet. False if you know that features tell the classes apart, as they often do for
        embeddings of images that people labelled: what models cannot explain is then an error.
    unlabeled : label, default=None
        A label that means none, such as -1; None, NaN and NA always do.
    random_state : int, RandomState instance or None, default=None
        Folds, samples and trees; an integer makes everything repeatable.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    label_issues_ : DataFrame
        A line for each row: ``row`` (position), ``index`` (the caller's), ``given``, ``suggested``, ``confidence``
        (chance that the given label is wrong), ``flag``, ``reason``.
    cell_issues_ : DataFrame
        A line for each flagged cell: ``row``, ``index``, ``column``, ``given``, ``recovered``, ``score``,
        ``confidence``, ``flag``.
    row_issues_ : DataFrame
        Outliers, and copies of rows with another label.
    noise_report_ : DataFrame
        Noise rate and transitions of labels, wrong cells and noise level of each column, with 90 % intervals, and
        which noise hurts most.
    transition_ : DataFrame
        Chances that a true class (row) was given as another (column).
    recovery_ : str
        What recovered the features: a name as above, or that of the transformer's class.
    cell_scores_ : ndarray of shape (n_samples, n_features)
        How suspicious each cell is; only the order means something.
    recovered_ : ndarray of shape (n_samples, n_encoded_features)
        The training rows as models saw them; categories are columns of 0 and 1.
    view_ : {"raw", "imputed", "denoised"}
        Which rows the models looked at.
    judges_ : tuple of str
        Which models judged the labels: ``"linear"``, ``"kernel"`` and ``"forest"`` always; ``"clouds"``, normal classes
        of one shape, where they tell held-out noisy labels of 100 rows or more about as well as these.
    voices_ : tuple of float
        What each of them counts, in all 1: the more, the better it tells held-out noisy labels.
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
    >>> worst = issues.loc[issues["confidence"].idxmax()]
    >>> print(worst["row"], worst["given"], worst["suggested"])
    60 0 1
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
        overlap: bool = True,
        unlabeled: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.recovery = recovery
        self.fdr = fdr
        self.scale = scale
        self.overlap = overlap
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
            Probabilities from a model of your own that did not see the row, columns in sorted order of the classes;
            they then judge the labels instead of the built-in models.

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
        check_lengths(rows.table, labels)
        return self._repair(X, y, rows, labels, self._judge(self._panel.predict(rows.recovered), labels))

    def transform(self, X: Any) -> Array:
        """Rows as the models see them: recovered, in the units of X; categories are columns of 0 and 1."""
        check_is_fitted(self)
        return self._recover(X).recovered.views[self.view_]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """Chances of the true classes."""
        check_is_fitted(self)
        recovered = self._recover(X).recovered
        if self.estimator_ is None:
            return self._evidence.sharpen(self._panel.classify(recovered))
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

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        return state | {name: issues.pack(state[name]) for name in TABLES if name in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | {name: issues.unpack(state[name]) for name in TABLES if name in state})

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
        self._progress("scale")
        table = table_of(X)
        self._encoding = Encoding.learn(X)
        self._set_names(table)
        labels = Labels.learn(y, self.unlabeled)
        check_lengths(table, labels)
        self.classes_ = labels.classes
        seed = int(validation.check_seed("random_state", self.random_state).randint(2**31))
        given = self._given(labels, sample_weight, seed)
        own = None if pred_probs is None else check_probabilities(pred_probs, (len(given.codes), given.n_classes))
        matrix = np.ascontiguousarray(self._encoding.encode(X))
        recovered, tried = self._fit_engine(matrix, given)
        self._panel, P = convene(tried, recovered, given, self._progress)
        self._cells_believed = self._believe_cells(int(given.known.sum()))
        P = informed(P if own is None else own, given)
        self._evidence = weigh_labels(P, given, overlap=bool(self.overlap))
        verdict = self._judge(P, labels)
        self.view_, self.judges_, self.voices_ = self._panel.view, self._panel.names, self._panel.voices
        self.estimator_ = learn(self.estimator, recovered.views[self.view_], verdict.posterior, given)
        if self.estimator_ is None:
            self._panel = self._panel.teach(recovered, verdict.posterior, given)
        rows = self._see(table, matrix, recovered)
        self._publish(rows, labels, verdict, given, P)
        return rows, labels, verdict

    def _fit_engine(self, matrix: Array, given: Given) -> tuple[Recovered, Tried]:
        """Of several the first, unless another lets models tell noisy labels better by more than chance would do."""
        self._learned = self._tells(matrix)
        engines = make_engines(self.recovery, self.scale is None, matrix.shape[1], self._encoding.blocks)
        found: list[tuple[Fitted, Recovered]] = []
        for place, engine in enumerate(engines):
            self._progress("recover", place / len(engines))
            found.append(engine.fit(matrix, given.codes, given.folds))
        tried = [try_views(recovered, given, self._scaling, self._progress) for _, recovered in found]
        best = 0
        for place in range(1, len(engines)):
            best = place if tried[place].beats(tried[best]) else best
        self.recovery_, (self._engine, recovered) = engines[best].name, found[best]
        self.tuning_ = pd.DataFrame(
            trial._asdict() | {"accuracy": trial.accuracy, "recovery": engine.name}
            for engine, each in zip(engines, tried, strict=True)
            for trial in each.trials
        )
        self._warn_of_unchecked(matrix.shape[1])
        return recovered, tried[best]

    def _tells(self, matrix: Array) -> Mask:
        """Columns from which cells can be told: not empty, nor one value here and there with gaps between."""
        missing = np.isnan(matrix)
        low, high = np.where(missing, np.inf, matrix).min(axis=0), np.where(missing, -np.inf, matrix).max(axis=0)
        tells: Mask = issues.per_cell((low < high)[None] | ~missing.any(axis=0), self._encoding)[0]
        return tells

    def _warn_of_unchecked(self, n_columns: int) -> None:
        if self.recovery_ == "none" and "none" not in listed(self.recovery):
            warnings.warn(
                f"wrong cells were not looked for: X has {n_columns} columns, and recovery='auto' looks at "
                f"{MOST_COLUMNS} at most. Give recovery='gaussian' to look at all the same, 'none' for silence.",
                UncheckedCellsWarning,
                stacklevel=5,
            )

    def _believe_cells(self, n_labels: int) -> bool:
        """Cells that look wrong are not believed to be if without them the classes cannot be told apart."""
        shares = Replaced.of(self._panel.trials)
        if not shares.speaks_for_cells(min(n_labels, SAMPLE)):
            return True
        warnings.warn(
            "no cell is flagged, for what looks wrong tells the classes apart: models have "
            f"{shares.given:.0%} of held-out labels right from cells as given, {shares.replaced:.0%} with suspicious "
            "ones replaced. That is so where most cells of a column are alike, as in counts of words.",
            DistrustedCellsWarning,
            stacklevel=4,
        )
        return False

    def _judge(self, P: Array, labels: Labels) -> Verdict:
        """Flags only where the label is likelier wrong than right."""
        verdict = judge_labels(P, labels.codes, self._evidence, float(self.fdr))
        with np.errstate(invalid="ignore"):
            return verdict._replace(flags=verdict.flags & (verdict.wrong > issues.CERTAIN))

    def _progress(self, stage: str, done: float = 0.0) -> None:
        """Told when a stage begins, and what share of it is done; who wants to know puts a function in its place."""

    def _validate_parameters(self) -> None:
        check_estimator(self.estimator)
        check_recovery(self.recovery)
        check_fdr(self.fdr)
        validation.check_choice("scale", self.scale, SCALINGS)
        check_overlap(self.overlap)

    def _set_names(self, table: Table) -> None:
        self.n_features_in_ = table.shape[1]
        self.__dict__.pop("feature_names_in_", None)
        if self._encoding.names is not None:
            self.feature_names_in_ = np.array(self._encoding.names, dtype=object)

    def _given(self, labels: Labels, sample_weight: Any, seed: int) -> Given:
        weights = validation.check_weights(sample_weight, len(labels.codes))
        weights = np.ones(len(labels.codes)) if weights is None else weights / weights[weights > 0].mean()
        given = Given.of(labels.codes, weights, len(labels.classes), seed)
        check_several(given.codes[given.known], labels.classes)
        return given

    def _scaling(self, rows: Array) -> Scaling:
        return common_scaling(rows) if self.scale is None else SCALINGS[self.scale](rows)

    def _recover(self, X: Any) -> Seen:
        table = table_of(X)
        if table.shape[1] != self.n_features_in_:
            raise InvalidDataError(
                f"X has {table.shape[1]} features, but HybridCleaner is expecting {self.n_features_in_} features as "
                "input. Give the columns that were there in fit."
            )
        matrix = np.ascontiguousarray(self._encoding.encode(X))
        return self._see(table, matrix, self._engine.recover(matrix))

    def _see(self, table: Table, matrix: Array, recovered: Recovered) -> Seen:
        """Of a column that told nothing in fit nothing is known, nor of a category it did not have: both stay."""
        told = self._learned & self._cells_believed
        flags = issues.flag_cells(recovered.chances, self._encoding, float(self.fdr)) & told
        missing = np.isnan(issues.per_cell(matrix, self._encoding)) & self._learned & ~self._encoding.unseen(table)
        return Seen(table, matrix, recovered, flags, missing)

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
        self.noise_report_ = issues.noise_report(
            labels.classes,
            rate_of_noise(P, given.codes, self._evidence),
            self._evidence.transition,
            float(np.mean(1.0 - self._evidence.sharpen(P).max(axis=1))),
            self._column_noise(rows),
        )
        names = labels.classes.tolist()
        self.transition_ = pd.DataFrame(self._evidence.transition, index=names, columns=names)
        self.recovered_ = recovered.views[self.view_]

    def _column_noise(self, rows: Seen) -> pd.DataFrame:
        """Nothing of cells if none was looked at, or if what looks wrong is not believed to be."""
        if not (self._engine.judges_cells and self._cells_believed):
            return pd.DataFrame()
        present = ~np.isnan(issues.per_cell(rows.matrix, self._encoding))
        noise = self._engine.noise() if self._encoding.is_numeric else None
        return issues.column_noise(list(rows.table.labels), rows.flags, present, noise)

    def _repair(self, X: Any, y: Any, rows: Seen, labels: Labels | None, verdict: Verdict | None) -> Cleaned:
        decoded = self._encoding.decode(rows.recovered.repaired)
        chances = issues.per_cell(rows.recovered.chances, self._encoding)
        repaired, changes = change_cells(X, rows.table, rows.flags, rows.missing, decoded, chances)
        if labels is not None and verdict is not None:
            y, relabelled = change_labels(y, labels, verdict)
            changes += relabelled
        return Cleaned(repaired, y, audit_of(changes, rows.table.index))
