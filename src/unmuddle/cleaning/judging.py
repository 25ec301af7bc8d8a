"""From recovered rows and given labels to a verdict: try views, hear the heads, weigh what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import norm

from unmuddle.cleaning.engines import VIEWS, Recovered, bounded
from unmuddle.cleaning.heads import (
    Given,
    Head,
    Heard,
    Rows,
    hear_clouds,
    hear_forest,
    hear_kernel,
    hear_linear,
    memorised,
    sample_rows,
    teach_linear,
    tune_kernel,
    tune_linear,
)
from unmuddle.core.evidence import Evidence, discover, on_simplex, weigh
from unmuddle.core.kernel import Choice
from unmuddle.core.prox import Array, Mask
from unmuddle.estimators.scaling import Scaling, inner_scaling

Tell = Callable[[str, float], None]

Scale = Callable[[Array], Scaling]
"""Learns how columns are scaled."""

WORTH = 0.5
"""Standard errors by which another view must be better to be preferred."""

PREFERRED = 2.0
"""Standard errors by which a later engine must be better to be preferred."""

NEAR, VOICES = 1.0, 3.0
"""Standard errors by which clouds may tell fewer noisy labels than the mean of the others and still be heard; what they
count then, times their skill: as much as the three others, for these look at labels alone, and make the same errors
where labels do."""

SURE = 4.0
"""Standard errors by which rows as given must be better than with cells replaced for these to be right after all."""

LEVEL = 0.9
"""Of the interval of the noise rate."""


class Trial(NamedTuple):
    """A view with its settings and how many held-out noisy labels it got right."""

    view: str
    strength: float
    width: float
    penalty: float
    linear_accuracy: float
    kernel_accuracy: float

    @property
    def accuracy(self) -> float:
        """Mean of both."""
        return (self.linear_accuracy + self.kernel_accuracy) / 2


@dataclass(frozen=True)
class Panel:
    """The heads with their names and what each counts; the forest, the last, has a view and a scale of its own.

    The linear model, the first, learns labels by heart that it could not foresee, all of them where columns are as many
    as rows. ``memorised`` says how far, and so far it is ``taught`` what labels most likely are. That is for
    predictions alone: it has then heard of the labels that are to be judged.
    """

    view: str
    forest_view: str
    scaling: Scaling
    forest_scaling: Scaling
    names: tuple[str, ...]
    heads: tuple[Head, ...]
    voices: tuple[float, ...]
    trials: tuple[Trial, ...]
    memorised: float
    taught: Head | None = None

    def predict(self, recovered: Recovered) -> Array:
        """Mean of what the heads say of the labels of new rows."""
        return self._mean(self.heads, recovered)

    def classify(self, recovered: Recovered) -> Array:
        """The same with the linear model as it was taught."""
        linear, *others = self.heads
        return self._mean((self.taught or linear, *others), recovered)

    def teach(self, recovered: Recovered, posterior: Array, given: Given) -> Panel:
        """With the linear model fitted to what labels most likely are, in as far as it memorises them."""
        if self.memorised == 0.0:
            return self
        strength = next(trial.strength for trial in self.trials if trial.view == self.view)
        return replace(self, taught=teach_linear(self._scaled(recovered), given, strength, posterior, self.memorised))

    def _scaled(self, recovered: Recovered) -> Array:
        return bounded(self.scaling.apply(recovered.views[self.view]))

    def _mean(self, heads: tuple[Head, ...], recovered: Recovered) -> Array:
        scaled = self._scaled(recovered)
        *smooth, forest = heads
        said = [head.predict(scaled) for head in smooth]
        said.append(forest.predict(bounded(self.forest_scaling.apply(recovered.views[self.forest_view]))))
        return mean_opinion(said, self.voices)


class Verdict(NamedTuple):
    """What is known of the label of every row."""

    posterior: Array
    wrong: Array
    """Chance that the given label is wrong; NaN where there is none."""
    flags: Mask
    suggested: Rows


class Rate(NamedTuple):
    """An estimate with the ends of its interval."""

    estimate: float
    low: float
    high: float


class Tried(NamedTuple):
    """The views of recovered rows, scaled, and how well each lets models tell the noisy labels."""

    scaled: dict[str, Array]
    scalings: dict[str, Scaling]
    trials: tuple[Trial, ...]
    best: Trial
    n_rows: int

    def beats(self, other: Tried) -> bool:
        """Whether more labels are right by more than chance would do."""
        mine, theirs = self.best.accuracy, other.best.accuracy
        return mine - theirs > PREFERRED * _error_of_mean(mine, theirs, self.n_rows)


def try_views(recovered: Recovered, given: Given, scale: Scale, tell: Tell = lambda stage, done: None) -> Tried:
    """Choose the view, and the settings of the models on it, on noisy labels.

    ``tell`` hears the stage and the share of it that is done. Rows as given have a scale of their own: where single
    cells were replaced wrongly, as in columns that are mostly zero, little of their spread is left.
    """
    rows = sample_rows(given.codes, given.seed)
    sample = given.take(rows)
    scalings = {name: scale(recovered.views[name]) for name in ("raw", "imputed")}
    scalings["denoised"] = scalings["imputed"]
    scaled = {name: bounded(scalings[name].apply(recovered.views[name])) for name in VIEWS if name in recovered.views}
    views = _distinct(scaled)
    trials: tuple[Trial, ...] = ()
    for name, view in views.items():
        tell("tune", len(trials) / len(views))
        trials += (_try(name, view[rows], sample),)
    most = max(trial.accuracy for trial in trials)
    margin = WORTH * np.sqrt(most * (1 - most) / len(rows))
    best = next(trial for trial in trials if trial.accuracy >= most - margin)
    return Tried(scaled, scalings, trials, best, len(rows))


def convene(
    tried: Tried, recovered: Recovered, given: Given, tell: Tell = lambda stage, done: None
) -> tuple[Panel, Array]:
    """Fit the heads on the chosen view, and return what they say of rows they did not see.

    Trees do not mind how columns are scaled, but compare in single precision: so each column has a scale of its own.
    """
    tell("cross-fit", 0.0)
    best = tried.best
    forest_view = "raw" if best.view == "raw" else "imputed"
    X, forest_rows = tried.scaled[best.view], recovered.views[forest_view]
    forest_scaling = inner_scaling(forest_rows)
    heard = {
        "linear": hear_linear(X, given, best.strength),
        "kernel": hear_kernel(X, given, _choice(best)),
        "clouds": hear_clouds(X, given),
        "forest": hear_forest(bounded(forest_scaling.apply(forest_rows)), given, lambda done: tell("cross-fit", done)),
    }
    if not _holds(heard["clouds"], [each for name, each in heard.items() if name != "clouds"], given):
        del heard["clouds"]
    voices = voices_of([each.held_out for each in heard.values()], given)
    voices *= [VOICES if name == "clouds" else 1.0 for name in heard]
    voices /= voices.sum()
    heads = tuple(each.head for each in heard.values())
    panel = Panel(
        best.view, forest_view, tried.scalings[best.view], forest_scaling, tuple(heard), heads,
        tuple(voices.tolist()), tried.trials, memorised(heard["linear"], X, given),
    )  # fmt: skip
    return panel, mean_opinion([each.held_out for each in heard.values()], voices)


def voices_of(held_out: list[Array], given: Given) -> Array:
    """What each model counts: the square of by how much it tells more noisy labels than chance would.

    A standard error is added to that, so that models which few labels cannot tell apart count alike.
    """
    skills = np.array([max(0.0, given.accuracy(P) - _by_chance(P, given)) for P in held_out])
    labels = int(given.known.sum())
    right = (np.array([given.accuracy(P) for P in held_out]) * labels + 1.0) / (labels + 2.0)
    voices: Array = (skills + np.sqrt(right * (1.0 - right) / labels)) ** 2
    return voices / voices.sum()


def _by_chance(P: Array, given: Given) -> float:
    """Share of labels that would be right if predictions had nothing to do with them."""
    codes, weights = (P.argmax(axis=1), given.codes), given.weights[given.known]
    said, meant = (np.bincount(each[given.known], weights, P.shape[1]) for each in codes)
    return float(said @ meant / (said.sum() * meant.sum()))


def _holds(clouds: Heard, others: list[Heard], given: Given) -> bool:
    """Whether clouds tell the noisy labels about as well as the plain mean of the others: rows may lie in other shapes.

    Of few rows nobody can say.
    """
    if given.few:
        return False
    theirs = given.accuracy(mean_opinion([each.held_out for each in others]))
    mine = given.accuracy(clouds.held_out)
    return theirs - mine <= NEAR * _error_of_mean(mine, theirs, int(given.known.sum()))


class Replaced(NamedTuple):
    """Shares of held-out labels that are right from cells as given, and with suspicious ones replaced."""

    given: float
    replaced: float

    @classmethod
    def of(cls, trials: Sequence[Trial]) -> Self:
        """The better of the views with cells replaced; rows as given that were not tried equal one of these."""
        shares = {trial.view: trial.accuracy for trial in trials}
        replaced = max(share for view, share in shares.items() if view != "raw")
        return cls(shares.get("raw", replaced), replaced)

    def speaks_for_cells(self, n_rows: int) -> bool:
        """Whether labels are so much easier to tell from rows as given that cells which look wrong must be right."""
        return self.given - self.replaced > SURE * _error_of_mean(self.given, self.replaced, n_rows)


def informed(P: Array, given: Given) -> Array:
    """Held-out predictions; all classes alike if they meet the labels no more often than chance would.

    A model that leaves a row out says any class but the row's own where features tell nothing.
    """
    return P if given.accuracy(P) > _by_chance(P, given) else np.full_like(P, 1.0 / P.shape[1])


def weigh_labels(P: Array, given: Given, *, overlap: bool) -> Evidence:
    """What the given labels say about held-out predictions."""
    return weigh(P, given.codes, 1.0 - given.accuracy(P), given.weights, overlap=overlap)


def judge_labels(P: Array, codes: Rows, evidence: Evidence, fdr: float) -> Verdict:
    """Chances of all classes; flags such that about a share ``fdr`` of them are false."""
    q = evidence.posterior(P, codes)
    rows = np.arange(len(codes))
    wrong = np.where(codes >= 0, 1.0 - q[rows, codes], np.nan)
    flags = np.zeros(len(codes), dtype=bool)
    known = np.flatnonzero(codes >= 0)
    flags[known] = discover(wrong[known], fdr)
    others = q.copy()
    others[rows[flags], codes[flags]] = -1.0  # a flagged label is not its own remedy
    return Verdict(q, wrong, flags, others.argmax(axis=1))


def rate_of_noise(P: Array, codes: Rows, evidence: Evidence) -> Rate:
    """Share of wrong labels; the interval counts both the spread over powers and that of the labels."""
    means, variances = evidence.noise_rates(P, codes)
    mean, n = float(evidence.weights @ means), int((codes >= 0).sum())
    cautious = evidence.cautious
    variance = cautious @ (means - mean) ** 2 + cautious @ variances + mean * (1 - mean) / n
    reach = float(norm.ppf(0.5 + LEVEL / 2) * np.sqrt(variance))
    return Rate(mean, max(0.0, mean - reach), min(1.0, mean + reach))


def mean_opinion(scores: list[Array], voices: Sequence[float] | Array | None = None) -> Array:
    """Scores as probabilities, averaged; each counts as much as its voices say."""
    mean: Array = np.average([on_simplex(each) for each in scores], axis=0, weights=voices)
    return mean


def _try(name: str, X: Array, sample: Given) -> Trial:
    strength, linear = tune_linear(X, sample)
    choice, kernel = tune_kernel(X, sample)
    return Trial(name, strength, *choice, linear, kernel)


def _error_of_mean(share: float, other: float, n_rows: int) -> float:
    """Standard error of the mean of two shares: one of all labels right alone would have none."""
    mean = (share + other) / 2
    return float(np.sqrt(mean * (1.0 - mean) / n_rows))


def _choice(trial: Trial) -> Choice:
    return Choice(trial.width, trial.penalty)


def _distinct(views: dict[str, Array]) -> dict[str, Array]:
    """Without those that equal an earlier one."""
    kept: dict[str, Array] = {}
    for name, view in views.items():
        if not any(np.array_equal(view, other) for other in kept.values()):
            kept[name] = view
    return kept
