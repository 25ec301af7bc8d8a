"""The FLR problem: data, terms and weights, and the one place where the objective is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmuddle.core.blocks import tiles
from unmuddle.core.norms import Norm
from unmuddle.core.prox import Array
from unmuddle.core.spectrum import nuclear_norm
from unmuddle.errors import InvalidParameterError

ALL = slice(None)


@dataclass(frozen=True)
class Lambdas:
    """The paper's trade-off parameters: lambda 1, 2 and 3, in this order."""

    projection: float
    features: float
    labels: float


@dataclass(frozen=True)
class Problem:
    """Minimise over X, Z and b::

        F(X, Z, b) = |X|_* + l1 |Z|_* + l2 R(X~ - X) + l3 L(Y~ - X Z - 1 b^T)   s.t.  X Z + 1 b^T in [0, 1]

    where ``R`` is ``feature_norm`` and ``L`` is ``label_norm``. Without ``intercept`` b is 0; without ``box``
    the constraint is dropped. A norm that ``fixes_zero`` turns its error into the constraint ``E = 0``.
    """  # noqa: D400, D415 - the formula is the summary

    features: Array
    labels: Array
    feature_norm: Norm
    label_norm: Norm
    lambdas: Lambdas
    intercept: bool = True
    box: bool = True

    def __post_init__(self) -> None:
        if self.feature_norm.fixes_zero and self.label_norm.fixes_zero:
            raise InvalidParameterError(
                "feature_norm and label_norm must not both be 'none': then nothing may be wrong and nothing is "
                "recovered. Give at least one of them a norm."
            )

    def objective(self, X: Array, Z: Array, b: Array) -> float:
        """F at a point; how far the point violates the constraints is the certificate's business."""
        E_l, pieces = self.labels - self.predict(X, Z, b), tiles(slice(0, len(X)), X.shape[1])
        feature_error = sum(self.feature_norm.value(self.features[rows] - X[rows]) for rows in pieces)
        return self.weigh(nuclear_norm(X), nuclear_norm(Z), feature_error, self.label_norm.value(E_l))

    def weigh(self, X_nuclear: float, Z_nuclear: float, feature_error: float, label_error: float) -> float:
        """The four terms of F, each with its weight."""
        l1, l2, l3 = self.lambdas.projection, self.lambdas.features, self.lambdas.labels
        return X_nuclear + l1 * Z_nuclear + l2 * feature_error + l3 * label_error

    @staticmethod
    def predict(X: Array, Z: Array, b: Array) -> Array:
        """``X Z + 1 b^T``."""
        return X @ Z + b

    def prox_feature_error(self, E: Array, step: float, out: Array | None = None) -> Array:
        """Minimise ``step * l2 R(E_f) + |E_f - E|_F**2 / 2``; into ``out``, another array, if one is given."""
        return self.feature_norm.prox(E, step * self.lambdas.features, out)

    def prox_label_error(self, E: Array, step: float) -> Array:
        """Minimise ``step * l3 L(E_l) + |E_l - E|_F**2 / 2``."""
        return self.label_norm.prox(E, step * self.lambdas.labels)

    def prox_recovered_labels(self, B: Array, step: float, rows: slice = ALL) -> Array:
        """Minimise ``step * l3 L(Y~ - B') + |B' - B|_F**2 / 2`` over B', inside the box if there is one."""
        Y, weight = self.labels[rows], step * self.lambdas.labels
        if self.box:
            return Y - self.label_norm.prox_between(Y - B, weight, Y - 1.0, Y)
        return Y - self.label_norm.prox(Y - B, weight)

    def project_labels(self, B: Array) -> Array:
        """The nearest point of the box, or ``B`` itself where there is none."""
        return np.clip(B, 0.0, 1.0) if self.box else B
