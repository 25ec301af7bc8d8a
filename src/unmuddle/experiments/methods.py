"""What a method of the tables is, and the register that a file outside the package can add to."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unmuddle.datasets import GENERATED, PEOPLE
from unmuddle.errors import InvalidParameterError, MissingExtraError

Setting = Mapping[str, Any]

IMAGES = tuple(
    name + twin for name in (*(f"c10n-{labels}" for labels in PEOPLE), "cifar10") for twin in ("", GENERATED)
)
LARGE = ("cnae9", *IMAGES)
"""Where one fit of Algorithm 1 takes most of a minute or more: the first trial chooses for all."""


@dataclass(frozen=True)
class Task:
    """All that a method may see: noisy training data and a seed of its own; the noise rate only if it is ``told``."""

    X: NDArray[np.floating]
    y: NDArray[Any]
    seed: int
    noise_rate: float | None = None

    @property
    def random_state(self) -> int:
        """The seed, short enough for scikit-learn."""
        return self.seed % 2**32


@dataclass(frozen=True)
class Answer:
    """What a fitted method has to say; only ``predict`` is a must.

    ``label_scores`` and ``cell_scores`` are higher the more suspicious a label or cell is, ``labels`` and ``features``
    are those of the training rows after repair. A cleaner may say more: ``label_confidence`` is the chance that a given
    label is wrong, ``label_flags`` and ``cell_flags`` are what it calls wrong, ``noise_rate`` is the share of wrong
    labels as it sees it, with the ends of an interval of 90 %.
    """

    predict: Callable[[NDArray[Any]], NDArray[Any]]
    label_scores: NDArray[np.floating] | None = None
    labels: NDArray[Any] | None = None
    features: NDArray[np.floating] | None = None
    cell_scores: NDArray[np.floating] | None = None
    label_confidence: NDArray[np.floating] | None = None
    label_flags: NDArray[np.bool_] | None = None
    cell_flags: NDArray[np.bool_] | None = None
    noise_rate: tuple[float, float, float] | None = None


Fit = Callable[..., Answer]


@dataclass(frozen=True)
class Method:
    """A name, a title for tables, and the function that is timed.

    ``fit(task)`` for a method that makes its own choices; ``fit(task, setting)`` for one that offers ``settings``, of
    which the runner takes the best on a noisy hold-out. ``tune_once`` names datasets on which that choice is made in
    the first trial only and kept. ``told`` marks a method that gets the true share of wrong labels, which no user has:
    it is shown and never ranked. ``needs`` is the extra that brings the package ``requires``.
    """

    name: str
    title: str
    fit: Fit
    settings: Callable[[Task], Sequence[Setting]] | None = None
    tune_once: tuple[str, ...] = ()
    takes_missing: bool = False
    told: bool = False
    requires: str = ""
    needs: str = ""

    @property
    def built_in(self) -> bool:
        """Whether it comes with the package."""
        return self.fit.__module__.startswith("unmuddle.")

    def tunes_once(self, dataset: str) -> bool:
        """Whether the first trial chooses for all."""
        return dataset.partition(":")[0] in self.tune_once

    def tuning_trial(self, dataset: str, trial: int) -> int:
        """The trial whose hold-out decides."""
        return 0 if self.tunes_once(dataset) else trial

    def check_installed(self) -> None:
        """Say which extra to install, if one is missing."""
        if self.requires and importlib.util.find_spec(self.requires) is None:
            raise MissingExtraError(
                f"{self.name} needs {self.requires}, which is not installed: pip install 'unmuddle[{self.needs}]'."
            )


METHODS: dict[str, Method] = {}


def method(name: str, title: str, **details: Any) -> Callable[[Fit], Fit]:
    """Register a function as a method, in this package or in any file that is loaded as a plug-in."""

    def add(fit: Fit) -> Fit:
        known = METHODS.get(name)
        if known is not None and _home(known.fit) != _home(fit):
            raise InvalidParameterError(
                f"method name {name!r} is taken by {'.'.join(_home(known.fit))}; choose another."
            )
        METHODS[name] = Method(name, title, fit, **details)
        return fit

    return add


def get_method(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise InvalidParameterError(f"method must be one of {', '.join(METHODS)}; got {name!r}.")
    return METHODS[name]


def load_plugin(path: Path) -> None:
    """Run a Python file that registers methods or datasets; a second time it does nothing."""
    name = f"unmuddle_plugin_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}"
    if name in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InvalidParameterError(f"plugin must be a Python file; got {str(path)!r}.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InvalidParameterError(f"plugin {path} cannot be loaded: {type(error).__name__}: {error}") from error


def _home(function: Fit) -> tuple[str, str]:
    return function.__module__, function.__qualname__
