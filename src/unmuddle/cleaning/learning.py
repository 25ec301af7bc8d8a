"""Fitting any classifier to labels that are only likely."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from unmuddle.cleaning.heads import Given, Rows
from unmuddle.core.prox import Array

DOUBTFUL = 0.9
"""Rows surer than this have one label in the final fit, others their two likeliest, each with its chance."""


def learn(estimator: Any, X: Array, posterior: Array, given: Given) -> Any:
    """Fit a copy of the estimator to soft labels, by way of weights; to the likeliest label if it takes none."""
    if estimator is None:
        return None
    if has_fit_parameter(estimator, "sample_weight"):
        rows, codes, weights = _soft_rows(posterior, given)
        try:
            return clone(estimator).fit(X[rows], codes, sample_weight=weights)
        except TypeError as error:
            if "weight" not in str(error):  # else one within it takes none, as in a stack or a vote
                raise
    rows = np.flatnonzero(given.weights > 0)
    return clone(estimator).fit(X[rows], _several(posterior[rows].argmax(axis=1), given.codes[rows]))


def _soft_rows(posterior: Array, given: Given) -> tuple[Rows, Rows, Array]:
    """Rows, labels and weights: the likeliest label of each row, and of doubtful rows the second likeliest too."""
    ranked = np.argsort(-posterior, axis=1, kind="stable")[:, :2]
    chances = np.take_along_axis(posterior, ranked, axis=1)
    counted = given.weights > 0
    doubtful = np.flatnonzero(counted & (chances[:, 0] < DOUBTFUL))
    sure = np.flatnonzero(counted)
    rows = np.concatenate([sure, doubtful])
    codes = np.concatenate([ranked[sure, 0], ranked[doubtful, 1]])
    weights = np.concatenate([chances[sure, 0], chances[doubtful, 1]]) * given.weights[rows]
    return rows, _several(codes, given.codes[rows]), weights


def _several(codes: Rows, given: Rows) -> Rows:
    """Codes for an estimator that must have two classes: if one is left, given labels stand."""
    return codes if len(np.unique(codes)) > 1 else np.where(given >= 0, given, codes)
