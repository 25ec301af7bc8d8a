"""Kinds of noise by name, for plans that are plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from unmuddle.errors import InvalidParameterError
from unmuddle.noise.checks import check_features, check_generator, check_labels
from unmuddle.noise.features import (
    NoisyFeatures,
    add_gaussian,
    add_laplacian,
    remove_cells,
    spoil_cells,
    spoil_rows,
    swap_cells,
)
from unmuddle.noise.labels import (
    NoisyLabels,
    flip,
    flip_by_features,
    flip_pairs,
    redraw_by_transition,
    redraw_uniformly,
)


def spoil_features(X: ArrayLike, kind: str, rng: np.random.Generator, **settings: Any) -> NoisyFeatures:
    """Spoil features by the noise of that name; ``settings`` are its parameters.

    >>> spoiled = spoil_features(np.zeros((10, 4)), "gross", np.random.default_rng(0), rate=0.1, size=4.0)
    >>> int(spoiled.changed.sum())
    4
    """
    _check_kind("feature", kind, FEATURE_KINDS)
    noise = FEATURE_NOISE[kind]
    _check_settings(f"feature noise {kind!r}", noise, settings)
    return noise(X, rng=rng, **settings)


def spoil_labels(
    y: ArrayLike, kind: str, rng: np.random.Generator, X: ArrayLike | None = None, **settings: Any
) -> NoisyLabels:
    """Spoil labels by the noise of that name; only "features" looks at X, which the others ignore.

    >>> spoil_labels(["a", "b", "c"], "pair", np.random.default_rng(0), rate=1.0).values.tolist()
    ['b', 'c', 'a']
    """
    _check_kind("label", kind, LABEL_KINDS)
    noise = LABEL_NOISE[kind]
    _check_settings(f"label noise {kind!r}", noise, settings)
    if "X" not in signature(noise).parameters:
        return noise(y, rng=rng, **settings)
    if X is None:
        raise InvalidParameterError(f"X must hold the features for label noise {kind!r}; got None. Give X=.")
    return noise(y, X=X, rng=rng, **settings)


def _keep_features(X: ArrayLike, rng: np.random.Generator) -> NoisyFeatures:
    check_generator(rng)
    values = check_features(X).copy()
    return NoisyFeatures(values, np.zeros(len(values), dtype=bool), np.zeros(values.shape, dtype=bool))


def _keep_labels(y: ArrayLike, rng: np.random.Generator) -> NoisyLabels:
    check_generator(rng)
    values = check_labels(y).values.copy()
    return NoisyLabels(values, np.zeros(len(values), dtype=bool), np.zeros(len(values), dtype=bool))


def _check_kind(what: str, kind: str, kinds: Collection[str]) -> None:
    if not isinstance(kind, str) or kind not in kinds:
        listed = ", ".join(repr(known) for known in kinds)
        raise InvalidParameterError(f"kind of {what} noise must be one of {listed}; got {kind!r}.")


def _check_settings(what: str, noise: Callable[..., Any], settings: Mapping[str, Any]) -> None:
    expected = {
        name: parameter for name, parameter in signature(noise).parameters.items() if name not in ("X", "y", "rng")
    }
    required = {name for name, parameter in expected.items() if parameter.default is Parameter.empty}
    if not required <= set(settings) <= set(expected):
        listed = ", ".join(name if name in required else f"{name} (optional)" for name in expected) or "none"
        given = ", ".join(settings) or "none"
        raise InvalidParameterError(f"settings of {what} must be: {listed}; got: {given}.")


FEATURE_NOISE: Mapping[str, Callable[..., NoisyFeatures]] = {
    "none": _keep_features,
    "gaussian": add_gaussian,
    "laplacian": add_laplacian,
    "gross": spoil_cells,
    "swapped": swap_cells,
    "rows": spoil_rows,
    "missing": remove_cells,
}

LABEL_NOISE: Mapping[str, Callable[..., NoisyLabels]] = {
    "none": _keep_labels,
    "uniform": redraw_uniformly,
    "flip": flip,
    "pair": flip_pairs,
    "features": flip_by_features,
    "transition": redraw_by_transition,
}

FEATURE_KINDS = tuple(FEATURE_NOISE)
LABEL_KINDS = tuple(LABEL_NOISE)
