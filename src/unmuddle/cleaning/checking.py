"""What a cleaner is given, held against its rules: errors name parameter, rule, value and remedy."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from unmuddle.cleaning.engines import listed
from unmuddle.cleaning.labels import Labels
from unmuddle.cleaning.tables import Table
from unmuddle.core.evidence import on_simplex
from unmuddle.core.prox import Array
from unmuddle.errors import InvalidDataError, InvalidParameterError

RECOVERIES = ("auto", "gaussian", "rpca", "flr", "none")


def check_estimator(estimator: Any) -> None:
    """A classifier, not its class, or None."""
    if estimator is not None and (isinstance(estimator, type) or not hasattr(estimator, "fit")):
        raise InvalidParameterError(
            f"estimator must be a classifier with fit and predict, or None; got {estimator!r}. "
            "Give an instance, such as LogisticRegression()."
        )
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        raise InvalidParameterError(
            f"estimator must be a classifier; got the regressor {estimator!r}. Give one that predicts classes, such as "
            "LogisticRegression()."
        )


def check_fdr(fdr: Any) -> None:
    """A share."""
    if not (isinstance(fdr, Real) and not isinstance(fdr, bool) and 0 < float(fdr) < 1):
        raise InvalidParameterError(
            f"fdr must be a number between 0 and 1; got {fdr!r}. 0.1 lets about one flag in ten be false."
        )


def check_overlap(overlap: Any) -> None:
    """A truth value."""
    if not isinstance(overlap, (bool, np.bool_)):
        raise InvalidParameterError(
            f"overlap must be True or False; got {overlap!r}. Give True if rows of two classes may look alike."
        )


def check_recovery(recovery: Any) -> None:
    """A name, a transformer, or a list of these."""
    entries = listed(recovery)
    if not (entries and all(map(_recovers, entries))):
        raise InvalidParameterError(
            f"recovery must be one of {', '.join(map(repr, RECOVERIES))}, a transformer, or a list of these; got "
            f"{recovery!r}. Give a name, or an instance such as RobustPCA()."
        )


def _recovers(recovery: Any) -> bool:
    """Whether it is a name or a transformer."""
    if isinstance(recovery, str):
        return recovery in RECOVERIES
    return hasattr(recovery, "transform") and not isinstance(recovery, type)


def check_lengths(table: Table, labels: Labels) -> None:
    """As many labels as rows."""
    if table.shape[0] != len(labels.codes):
        raise InvalidDataError(
            "X and y must have as many rows; found input variables with inconsistent numbers of samples: "
            f"{table.shape[0]} in X and {len(labels.codes)} in y. Give one label, or None, for each row."
        )


def check_several(codes: NDArray[np.intp], classes: NDArray[Any]) -> None:
    """Two classes or more among the labels that count."""
    found = np.unique(codes)
    if len(found) < 2:
        raise InvalidDataError(
            f"y must hold at least 2 classes in rows of positive sample_weight; only {classes[found].tolist()} are "
            "there. Give weight to labels of several classes."
        )


def check_probabilities(pred_probs: Any, shape: tuple[int, ...]) -> Array:
    """Probabilities of the classes for each row."""
    try:
        P = np.asarray(pred_probs, dtype=float)
    except (TypeError, ValueError):
        P = np.full((1, 1), np.nan)
    if P.shape != shape or not np.isfinite(P).all() or (P < 0).any() or not np.allclose(P.sum(axis=1), 1.0, atol=1e-3):
        raise InvalidDataError(
            f"pred_probs must hold a probability for each of {shape[0]} rows and {shape[1]} classes, with rows that "
            f"add up to 1; got {_described(pred_probs, P)}. Take predict_proba of a model that did not see the row, "
            "for example by sklearn.model_selection.cross_val_predict."
        )
    return on_simplex(P)


def _described(pred_probs: Any, P: Array) -> str:
    """What was given, in few words."""
    ends = f", entries from {P.min():g} to {P.max():g}" if P.size else ""
    return f"shape {np.shape(pred_probs)}{ends}"
