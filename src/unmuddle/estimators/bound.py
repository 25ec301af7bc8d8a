"""Theorem 2 for a fitted model."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from unmuddle.core.bound import GeneralizationBound, Norms, bound_risk
from unmuddle.core.prox import Array, row_lengths
from unmuddle.core.spectrum import nuclear_norm
from unmuddle.errors import InvalidParameterError
from unmuddle.estimators.flr import FLRClassifier

COVERED = {"feature_norm": ("l1", "none"), "label_norm": ("l21", "none")}
"""The norms of the theorem; without an error its norm is 0."""


def generalization_bound(
    model: FLRClassifier, delta: float = 0.05, lipschitz: float = 1.0, loss_bound: float = 1.0
) -> GeneralizationBound:
    """Theorem 2 of the paper at a fitted model: how far its risk may be from its training risk.

    The theorem fixes limits on the norms before the data are seen. Here they are those of the fit, the smallest that
    let it in, so the result is the least that the theorem could say rather than a guarantee. Norms are those of the
    scaled features. Risks are means over entries of the label matrix, noisy labels on both sides.

    Parameters
    ----------
    model : FLRClassifier
        Fitted without intercept on complete data, with ``feature_norm`` l1 and ``label_norm`` l21 (or none):
        ``FLRClassifier.paper()``, or ``FLRClassifier.natural(fit_intercept=False)``. Others are refused.
    delta : float, default=0.05
        The chance that the statement fails, above 0 and at most 1.
    lipschitz : float, default=1.0
        The largest slope of the loss in the score. The default is that of ``min(|score - label|, 1)``.
    loss_bound : float, default=1.0
        The loss is between 0 and this. The default is that of the same loss.

    Returns
    -------
    GeneralizationBound
        Each term by name, their sum ``value``, and whether that is ``vacuous``; it prints as a small table.

    Examples
    --------
    >>> import numpy as np
    >>> from unmuddle import FLRClassifier, generalization_bound
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1, 2], 50)
    >>> X = 3 * np.eye(3, 6)[y] + rng.laplace(0, 0.3, (150, 6))
    >>> y[::10] = 1
    >>> model = FLRClassifier.natural(fit_intercept=False, scale=None, lambda_labels=0.1).fit(X, y)
    >>> bound = generalization_bound(model)
    >>> bound.smallest, bound.vacuous
    ('constant', True)
    """
    if not isinstance(model, FLRClassifier):
        raise InvalidParameterError(
            f"model must be a fitted FLRClassifier, the model of Theorem 2; got {type(model).__name__}."
        )
    check_is_fitted(model)
    _refuse_intercept(model)
    _refuse_norms(model)
    _refuse_gaps(model)
    n, d = model.recovered_features_.shape
    return bound_risk(n, d, len(model.classes_), measure_norms(model), delta, lipschitz, loss_bound)


def measure_norms(model: FLRClassifier) -> Norms:
    """The theorem's norms at a fitted model, in scaled units."""
    X: Array = model._scaling.apply(model.recovered_features_.astype(np.float64))
    E_f = model.feature_errors_.astype(np.float64) / model._scaling.scale
    return Norms(
        X_nuclear=nuclear_norm(X),
        Z_nuclear=nuclear_norm(model.projection_),
        given_frobenius=float(np.linalg.norm(X + E_f)),
        E_f_entrywise=float(np.abs(E_f).sum()),
        E_l_rows=float(row_lengths(model.label_errors_).sum()),
        E_f_induced=float(np.abs(E_f).sum(axis=0).max()),
        XZ_frobenius=float(np.linalg.norm(X @ model.projection_)),
    )


def _refuse_intercept(model: FLRClassifier) -> None:
    if np.any(model._scaled_intercept):
        raise InvalidParameterError(
            "model must be fitted without an intercept: the functions of Theorem 2 are X Z, and it says nothing of "
            "X Z + b; got fit_intercept=True. Fit FLRClassifier.natural(fit_intercept=False) or FLRClassifier.paper()."
        )


def _refuse_norms(model: FLRClassifier) -> None:
    """The norms that were used are those that were chosen, where that was automatic."""
    used: Any = model if model.tuning_ is None else model.tuning_.chosen.setting
    for name, covered in COVERED.items():
        norm = getattr(used, name)
        if norm not in covered:
            raise InvalidParameterError(
                f"model must be fitted with {name} {covered[0]!r} (or 'none'): Theorem 2 is about that norm; got "
                f"{norm!r}. Fit FLRClassifier.natural(fit_intercept=False) or FLRClassifier.paper()."
            )


def _refuse_gaps(model: FLRClassifier) -> None:
    for what, errors in (("cells", model.feature_errors_), ("labels", model.label_errors_[:, 0])):
        if np.isnan(errors).any():
            raise InvalidParameterError(
                f"model must be fitted on complete data: Theorem 2 knows no missing {what}; got "
                f"{np.isnan(errors).sum()} of them. Fit rows that are complete."
            )
