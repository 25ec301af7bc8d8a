"""The search: a feature norm from the tails of the residual, then one coordinate after the other on held-out labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmuddle.core.norms import Norm
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.tuning.folds import split
from unmuddle.tuning.given import NO_LABEL, Given
from unmuddle.tuning.judge import Court, Judged, Pose, mean_and_error
from unmuddle.tuning.record import Setting, Trial, Tuning
from unmuddle.tuning.tails import feature_norm_of
from unmuddle.tuning.wishes import AUTO, Scale, Wishes

ALPHAS = 0.02, 0.05, 0.12, 0.25, 0.5
"""From rough to smooth."""

LABEL_NORMS = "frobenius", "huber", "l21"
BETAS = 1.0, 3.0, 0.6
"""The first, at which features lose what noise has, is preferred."""

WEIGHTS = 20.0, 3.0
"""Lambda 3 times the square root of the number of rows."""

NEAR = 0.25
"""Standard errors by which a smoother setting may be behind. A whole one costs accuracy: it takes in settings on the
way to a collapse, as held-out noisy labels tell little about each step."""

SURE = 1.0
"""Standard errors by which another beta must be better: held-out labels hardly tell how much noise features keep."""


def pose_plainly(given: Given, feature_norm: Norm, label_norm: Norm, lambdas: Lambdas) -> Problem:
    """The problem with intercept and box."""
    terms = feature_norm, label_norm, lambdas
    return Problem(given.features, given.labels, *terms, missing=given.missing, label_weights=given.label_weights)


def tune(given: Given, wishes: Wishes, rng: np.random.Generator, pose: Pose = pose_plainly) -> Tuning:
    """Choose what ``wishes`` leaves open from what was given and from nothing else; ``pose`` makes the problem."""
    scale, codes = Scale.of(given, wishes, denoised=True), given.codes
    if wishes.any_auto:
        folds = split(codes, rng)
        if not folds:
            labelled = np.count_nonzero(codes != NO_LABEL)
            return fall_back(scale, (), f"too few rows to judge by ({labelled}, or too few of each class)")
        if not np.ptp(given.features, axis=0).any():
            return fall_back(scale, (), "no feature varies")
        return Search(Court.of(scale, folds, pose)).run()
    return fall_back(scale, (), "nothing was automatic")


def fall_back(scale: Scale, trials: tuple[Trial, ...], why: str) -> Tuning:
    """The natural multiples, with the reason."""
    setting, scale = scale.wishes.natural, replace(scale, denoised=False)
    return Tuning(trials, Trial(setting, scale.lambdas(setting)), f"{describe(setting)}: natural multiples, as {why}.")


def describe(setting: Setting) -> str:
    """The setting in a few words."""
    return (
        f"feature_norm={setting.feature_norm!r}, label_norm={setting.label_norm!r}, alpha={setting.alpha:.3g}, "
        f"beta={setting.beta:.3g}, lambda_labels={setting.label_weight:.3g}"
    )


@dataclass
class Search:
    """Coordinate by coordinate from a good start; what was judged is kept in order."""

    court: Court
    judged: list[Judged] = field(default_factory=list)

    def run(self) -> Tuning:
        """Alpha first, then label norm, label weight and beta, each with the best of the others."""
        scale = self.court.scale
        first, why = self.start()
        leader = smoothest(self.try_all([replace(first, alpha=alpha) for alpha in self.open("alpha", first)]))
        if leader is None:
            leader = best(self.try_all([replace(first, alpha=ALPHAS[0], beta=beta) for beta in BETAS[1:]]))
        if leader is None:
            return fall_back(scale, self.trials, "every setting that was tried collapsed")
        for name in ("label_norm", "label_weight", "beta"):
            setting = leader.trial.setting
            others = [value for value in self.open(name, setting) if value != getattr(setting, name)]
            tried = self.try_all([replace(setting, **{name: value}) for value in others])
            leader = preferred(leader, tried, SURE if name == "beta" else 0.0)
        chosen = leader.trial
        scored = f"it predicts {chosen.score:.1%} of the held-out given labels, {len(self.judged)} settings were tried"
        return Tuning(self.trials, chosen, f"{describe(chosen.setting)}: {why}{scored}.")

    @property
    def trials(self) -> tuple[Trial, ...]:
        """What was tried, in order."""
        return tuple(judged.trial for judged in self.judged)

    def start(self) -> tuple[Setting, str]:
        """The feature norm that suits the tails, and the first values of all that is open."""
        scale, why = self.court.scale, ""
        setting = scale.wishes.natural
        if scale.wishes.feature_norm == AUTO:
            name, share = feature_norm_of(scale.given.features, scale.level, scale.given.missing)
            setting = replace(setting, feature_norm=name)
            why = f"{share:.1%} of the cells are far from a low rank, so features take {name!r}; "
        for name in ("label_norm", "label_weight", "beta"):
            setting = replace(setting, **{name: self.open(name, setting)[0]})
        return setting, why

    def open(self, name: str, setting: Setting) -> tuple[Any, ...]:
        """The values to try for a coordinate: that of the setting alone if the caller fixed it."""
        wishes, rows = self.court.scale.wishes, len(self.court.scale.given.features)
        wish, values = {
            "alpha": (wishes.lambda_projection, ALPHAS),
            "beta": (wishes.lambda_features, BETAS),
            "label_weight": (wishes.lambda_labels, tuple(weight / np.sqrt(rows) for weight in WEIGHTS)),
            "label_norm": (wishes.label_norm, LABEL_NORMS),
        }[name]
        return values if isinstance(wish, str) and wish == AUTO else (getattr(setting, name),)

    def try_all(self, settings: list[Setting]) -> list[Judged]:
        """Judge settings and keep the trials."""
        found = [self.court.judge(setting) for setting in settings]
        self.judged += found
        return found


def best(judged: list[Judged]) -> Judged | None:
    """The highest score among those that are of use; the first of equals."""
    useful = [one for one in judged if one.is_useful]
    return max(useful, key=lambda one: one.trial.score) if useful else None


def preferred(leader: Judged, others: list[Judged], errors: float) -> Judged:
    """The best of all, unless it is better than the leader by no more than so many standard errors."""
    top = best([leader, *others]) or leader
    mean, error = behind(top, leader)
    return top if errors == 0 or mean > errors * error else leader


def smoothest(judged: list[Judged]) -> Judged | None:
    """The largest alpha whose score is near the best, by the standard error of the difference, row by row."""
    top = best(judged)
    if top is None:
        return None
    near = [one for one in judged if one.is_useful and -behind(one, top)[0] <= NEAR * behind(one, top)[1]]
    return max(near, key=lambda one: one.trial.setting.alpha)


def behind(one: Judged, other: Judged) -> tuple[float, float]:
    """Mean difference in right predictions of the same held-out rows, and its standard error."""
    return mean_and_error(one.right.astype(float) - other.right, one.weights)
