"""Many settings of the lambdas in one call, each from the solution of the one before."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from unmuddle.core.certificate import Certificate
from unmuddle.core.problem import Lambdas
from unmuddle.core.prox import Array
from unmuddle.core.result import Status
from unmuddle.errors import CollapsedWarning, InvalidParameterError, MemorizedWarning, StationarityWarning
from unmuddle.estimators.flr import FLRClassifier


@dataclass(frozen=True)
class PathStep:
    """What one setting gave: the classifier in the units of X, and how the solve ended."""

    lambdas: Lambdas
    coef: Array
    intercept: Array
    objective: float
    rank: int
    memorized: float
    status: Status
    certificate: Certificate
    n_iter: int


def flr_path(X: Any, y: Any, lambdas: Iterable[tuple[float, float, float]], **params: Any) -> list[PathStep]:
    """Fit :class:`FLRClassifier` for each setting of its lambdas, starting each from the last.

    Parameters
    ----------
    X, y : array-like
        As in ``FLRClassifier.fit``.
    lambdas : iterable of (projection, features, labels)
        The settings, in the order in which they are solved. Neighbours should be alike, and a large weight on the
        projection should come late: after a collapse the next setting starts from the data again.
    **params
        Other parameters of ``FLRClassifier``; nothing is automatic unless they say so, norms are l1 and l21.

    Returns
    -------
    list of PathStep
        In the order of ``lambdas``. How a solve ended is in its ``status``; no warnings are given.

    Examples
    --------
    >>> import numpy as np
    >>> from unmuddle import flr_path
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = np.where(y == 0, -1.0, 1.0)[:, None] * np.ones(4) + rng.normal(0, 0.3, (100, 4))
    >>> path = flr_path(X, y, [(weight, 0.1, 0.05) for weight in (0.5, 1.0, 2.0, 100.0)])
    >>> [step.status.name for step in path]
    ['CONVERGED', 'CONVERGED', 'CONVERGED', 'COLLAPSED']
    """
    if "warm_start" in params:
        raise InvalidParameterError("flr_path: warm_start must be left out; a path always starts warm.")
    model, steps = FLRClassifier.natural(warm_start=True, **params), list[PathStep]()
    with warnings.catch_warnings():
        for category in (CollapsedWarning, MemorizedWarning, StationarityWarning):
            warnings.simplefilter("ignore", category)
        for projection, features, labels in lambdas:
            model.set_params(lambda_projection=projection, lambda_features=features, lambda_labels=labels).fit(X, y)
            steps.append(
                PathStep(
                    model.lambdas_, model.coef_, model.intercept_, model.objective_, model.rank_, model.memorized_,
                    model.status_, model.certificate_, model.n_iter_,
                )
            )  # fmt: skip
    return steps
