"""What the default solver carries from iteration to iteration."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unmuddle.core.penalties import Balance, Penalties
from unmuddle.core.prox import Array

RESIDUALS = tuple(f"{kind}_{group}" for kind in ("residual", "dual") for group in ("features", "labels", "projection"))


@dataclass
class State:
    """Copies, multipliers and penalties between two iterations. S and U are large, and changed in place.

    ``S = (X~ - E_f + M1 / mx + K - M5 / mx) / 2`` is what X thresholds, ``U = E_f + M1 / mx`` holds both E_f and M1,
    ``KJ`` is K J + 1 b^T, and ``C = B + M4 / my``, with the over-relaxed B, is what it is drawn to. ``sums`` is what
    the side of the problem, tall or wide, keeps of S; ``rank`` is that of the last X.
    """

    S: Array
    U: Array
    KJ: Array
    M4: Array
    C: Array
    J: Array
    b: Array
    M3: Array
    sums: tuple[Any, ...]
    penalty: Penalties
    balance: Balance
    rank: int | None = None
    n_iter: int = 0
    residuals: dict[str, float] = field(default_factory=lambda: dict.fromkeys(RESIDUALS, 1.0))

    def copy(self, into: State | None = None) -> State:
        """A copy that later iterations leave alone; arrays other than S and U are replaced, never changed.

        ``into`` is an older copy whose memory may be used.
        """
        S, U = (np.empty_like(self.S), np.empty_like(self.U)) if into is None else (into.S, into.U)
        S[:], U[:] = self.S, self.U
        return replace(self, S=S, U=U, balance=replace(self.balance), residuals=dict(self.residuals))

    @property
    def is_finite(self) -> bool:
        """Whether everything that was measured is a number."""
        return bool(np.isfinite(list(self.residuals.values())).all())
