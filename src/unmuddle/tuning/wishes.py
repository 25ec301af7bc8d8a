"""What the caller fixed and what is left to choose; from a setting to norms and lambdas, on all rows or on some."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from unmuddle.core.norms import FEATURE_NORMS, LABEL_NORMS, Norm
from unmuddle.core.problem import Lambdas
from unmuddle.core.scales import ALPHA, BETA, LABEL_DELTA, LABELS, noise_level, projection_scale, seen_share
from unmuddle.tuning.given import Given
from unmuddle.tuning.record import Setting

AUTO = "auto"

FEATURE_DELTA_LEVELS = 1.5
"""Huber's corner for features, in noise levels."""

NATURAL_NORMS = "l1", "l21"
"""Features, labels: what stands for "auto" where nothing can be chosen."""


@dataclass(frozen=True)
class Wishes:
    """Norms by name or "auto"; lambdas as numbers, None for the natural multiple, or "auto"; corners of Huber norms."""

    feature_norm: str = AUTO
    label_norm: str = AUTO
    lambda_projection: float | str | None = AUTO
    lambda_features: float | str | None = AUTO
    lambda_labels: float | str | None = AUTO
    feature_delta: float | None = None
    label_delta: float | None = None

    @property
    def any_auto(self) -> bool:
        """Whether anything is left to choose."""
        lambdas = self.lambda_projection, self.lambda_features, self.lambda_labels
        return any(isinstance(wish, str) and wish == AUTO for wish in (self.feature_norm, self.label_norm, *lambdas))

    @property
    def natural(self) -> Setting:
        """The natural multiples, with what the caller fixed."""
        return Setting(
            NATURAL_NORMS[0] if self.feature_norm == AUTO else self.feature_norm,
            NATURAL_NORMS[1] if self.label_norm == AUTO else self.label_norm,
            ALPHA,
            BETA,
            LABELS if self.lambda_labels is None or isinstance(self.lambda_labels, str) else float(self.lambda_labels),
        )


@dataclass(frozen=True)
class Scale:
    """The data whose natural sizes turn settings into norms and lambdas: all rows, or some of them.

    With k times as many rows of the same kind, the nuclear norm of X grows by sqrt(k) and sums over rows by k. So the
    minimiser stays the same if lambda 2 and 3 fall by sqrt(k) and lambda 1 grows by it. The natural sizes of lambda 1
    and 2 do so by themselves; lambda 3, which has no such size, is multiplied by the square root of the share.

    ``denoised`` is for a search: the size of lambda 1 is then that of features which their norm has shrunk, where that
    is a matter of a threshold, so that alpha means the same whatever beta is. Else alphas that suit features as given
    let a smaller beta collapse.
    """

    given: Given
    wishes: Wishes
    level: float
    denoised: bool = False
    slopes: dict[tuple[int, float, str, float], tuple[Given, float]] = field(default_factory=dict, repr=False)
    """Sizes of lambda 1 that were found already, with the rows that they are of."""

    @classmethod
    def of(cls, given: Given, wishes: Wishes, *, denoised: bool = False) -> Scale:
        """Measure the noise level of all rows."""
        return cls(given, wishes, noise_level(given.features), denoised)

    def norms(self, setting: Setting) -> tuple[Norm, Norm]:
        """Feature norm and label norm, with their corners."""
        wishes = self.wishes
        corner = FEATURE_DELTA_LEVELS * self.level if wishes.feature_delta is None else wishes.feature_delta
        label_corner = LABEL_DELTA if wishes.label_delta is None else wishes.label_delta
        return FEATURE_NORMS[setting.feature_norm](corner), LABEL_NORMS[setting.label_norm](label_corner)

    def lambdas(self, setting: Setting) -> Lambdas:
        """Weights for all rows: the caller's where there are any, else multiples of the natural sizes."""
        return self.lambdas_of_part(setting, self.given)

    def lambdas_of_part(self, setting: Setting, part: Given) -> Lambdas:
        """The same for a part of the rows, so that the minimiser is about the same."""
        weight = setting.label_weight * np.sqrt(len(self.given.features) / len(part.features))
        features = self._features(setting, part)
        return Lambdas(self._projection(setting, part, weight, features), features, weight)

    def _features(self, setting: Setting, part: Given) -> float:
        norm, wish = self.norms(setting)[0], _fixed(self.wishes.lambda_features)
        size, whole = (
            norm.feature_weight(given.features.shape, self.level, seen_share(given.missing))
            for given in (part, self.given)
        )
        return setting.beta * size if wish is None else wish * (size / whole)

    def _projection(self, setting: Setting, part: Given, weight: float, features: float) -> float:
        wish = _fixed(self.wishes.lambda_projection)
        if wish is None:
            lowered = self.norms(setting)[0].threshold(features) if self.denoised else 0.0
            return setting.alpha * self._slope(setting, part, weight, lowered)
        return wish * (self._slope(setting, part, weight) / self._slope(setting, self.given, setting.label_weight))

    def _slope(self, setting: Setting, given: Given, weight: float, lowered: float = 0.0) -> float:
        """The size of lambda 1, reckoned once."""
        key = id(given), lowered, setting.label_norm, weight
        if key not in self.slopes:
            terms = given.labels, self.norms(setting)[1], weight, given.label_weights, lowered
            self.slopes[key] = given, projection_scale(given.features, *terms)
        return self.slopes[key][1]


def _fixed(wish: float | str | None) -> float | None:
    """What the caller fixed; None where it was left to its natural size, or to be chosen."""
    return None if wish is None or isinstance(wish, str) else float(wish)
