"""The printed model on a point's data: norms that suit the noise, no intercept, lambdas by noisy cross-validation."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

from unmuddle.core.norms import FEATURE_NORMS, LABEL_NORMS
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.errors import UnmuddleWarning
from unmuddle.estimators import FLRClassifier
from unmuddle.experiments.studies import data
from unmuddle.experiments.studies.study import Point, seed_of

FEATURE_NORM = {"gaussian": "frobenius", "laplacian": "l1"}
"""As the paper has it: the norm is told the kind of noise."""

LABEL_NORM = "l21"


def choose(point: Point) -> Lambdas:
    """The lambdas that ``FLRClassifier`` would choose for the printed model on the noisy data of a point."""
    return _choose(tuple(point[name] for name in data.DATA))


@lru_cache(maxsize=8)
def _choose(parts: tuple[Any, ...]) -> Lambdas:
    point = dict(zip(data.DATA, parts, strict=True))
    found = data.load(point)
    model = printed(point, "auto", "auto", "auto", max_iter=1)  # the choice comes first, and is all that is wanted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmuddleWarning)
        return model.fit(found.X, found.y).lambdas_


def printed(point: Point, *lambdas: float | str, **changes: Any) -> FLRClassifier:
    """The printed model with the three lambdas given, or chosen where they are ``"auto"``."""
    l1, l2, l3 = lambdas
    return FLRClassifier(
        feature_norm=FEATURE_NORM[str(point["noise"])], label_norm=LABEL_NORM, lambda_projection=l1,
        lambda_features=l2, lambda_labels=l3, fit_intercept=False, scale=None,
        random_state=seed_of(point, *data.DATA) % 2**31, **changes,
    )  # fmt: skip


def pose(point: Point, lambdas: Lambdas) -> Problem:
    """The same as a problem for a solver."""
    found = data.load(point)
    feature_norm, label_norm = FEATURE_NORMS[FEATURE_NORM[str(point["noise"])]](1.0), LABEL_NORMS[LABEL_NORM](1.0)
    return Problem(found.X, data.one_hot(found.y), feature_norm, label_norm, lambdas, intercept=False)
