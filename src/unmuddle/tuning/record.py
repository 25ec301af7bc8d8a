"""What was tried, what was chosen, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import pandas as pd

from unmuddle.core.problem import Lambdas

RANKED = "ranked"


@dataclass(frozen=True)
class Setting:
    """Two norms, and the lambdas as multiples of their natural sizes.

    ``label_weight`` is lambda 3 for all rows; on a part of them it grows as their number falls (see ``wishes``).
    """

    feature_norm: str
    label_norm: str
    alpha: float
    beta: float
    label_weight: float


@dataclass(frozen=True)
class Trial:
    """One setting and how it did on held-out noisy labels.

    ``score`` is the share of held-out rows whose given label was predicted, with a small credit for the margin;
    ``standard_error`` that of this mean; ``status`` is "ranked", "collapsed", "not finite" or, where nothing was
    solved, "not tried".
    """

    setting: Setting
    lambdas: Lambdas
    score: float = float("nan")
    standard_error: float = float("nan")
    seconds: float = field(default=0.0, compare=False)
    status: str = "not tried"


@dataclass(frozen=True)
class Tuning:
    """The choice of an automatic fit: all that was tried in order, the trial that was chosen, and the reason."""

    trials: tuple[Trial, ...]
    chosen: Trial
    reason: str

    def to_frame(self) -> pd.DataFrame:
        """The trials as a table, a row for each; the lambdas are those for all rows."""
        return pd.DataFrame([self._row(trial) for trial in self.trials or (self.chosen,)])

    def _row(self, trial: Trial) -> dict[str, object]:
        lambdas = {f"lambda_{name}": value for name, value in asdict(trial.lambdas).items()}
        rest = {name: getattr(trial, name) for name in ("score", "standard_error", "seconds", "status")}
        return {**asdict(trial.setting), **lambdas, **rest, "chosen": trial is self.chosen}
