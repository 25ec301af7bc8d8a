"""The FLR problem: data, terms and weights, and the one place where the objective is written."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from unmuddle.core.blocks import tiles
from unmuddle.core.norms import Norm
from unmuddle.core.prox import Array, Mask, Step
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

    ``missing`` cells of X~ are free of charge: R does not see them, and what stands there means nothing (0, by
    custom). ``label_weights`` multiply what each row adds to L; a row of weight 0 has no label. None stands for no
    missing cell, and for weights of 1.
    """  # noqa: D400, D415 - the formula is the summary

    features: Array
    labels: Array
    feature_norm: Norm
    label_norm: Norm
    lambdas: Lambdas
    intercept: bool = True
    box: bool = True
    missing: Mask | None = None
    label_weights: Array | None = None

    def __post_init__(self) -> None:
        if self.feature_norm.fixes_zero and self.label_norm.fixes_zero:
            raise InvalidParameterError(
                "feature_norm and label_norm must not both be 'none': then nothing may be wrong and nothing is "
                "recovered. Give at least one of them a norm."
            )

    def objective(self, X: Array, Z: Array, b: Array) -> float:
        """F at a point; how far the point violates the constraints is the certificate's business."""
        E_l, pieces = self.labels - self.predict(X, Z, b), tiles(slice(0, len(X)), X.shape[1])
        feature_error = sum(self.feature_cost(self.features[rows] - X[rows], rows) for rows in pieces)
        return self.weigh(nuclear_norm(X), nuclear_norm(Z), feature_error, self.label_cost(E_l))

    def feature_cost(self, E: Array, rows: slice = ALL) -> float:
        """``R(E)`` of some rows, without missing cells."""
        return self.feature_norm.value(self.seen(E, rows))

    def label_cost(self, E: Array) -> float:
        """``L(E)``, each row with its weight."""
        return self.label_norm.value(E, None if self.label_weights is None else self.label_weights[:, None])

    def seen(self, E: Array, rows: slice = ALL) -> Array:
        """Some rows with 0 in missing cells."""
        return E if self.missing is None else np.where(self.missing[rows], E.dtype.type(0), E)

    @property
    def labelled(self) -> Mask | slice:
        """The rows that have a label."""
        return ALL if self.label_weights is None else self.label_weights > 0

    def weigh(self, X_nuclear: float, Z_nuclear: float, feature_error: float, label_error: float) -> float:
        """The four terms of F, each with its weight."""
        l1, l2, l3 = self.lambdas.projection, self.lambdas.features, self.lambdas.labels
        return X_nuclear + l1 * Z_nuclear + l2 * feature_error + l3 * label_error

    @staticmethod
    def predict(X: Array, Z: Array, b: Array) -> Array:
        """``X Z + 1 b^T``."""
        return X @ Z + b

    def prox_feature_error(self, E: Array, step: float, rows: slice = ALL, out: Array | None = None) -> Array:
        """Minimise ``step * l2 R(E_f) + |E_f - E|_F**2 / 2``; into ``out``, another array, if one is given."""
        found = self.feature_norm.prox(self.seen(E, rows), step * self.lambdas.features, out)
        if self.missing is not None:
            np.copyto(found, E, where=self.missing[rows])
        return found

    def prox_label_error(self, E: Array, step: float) -> Array:
        """Minimise ``step * l3 L(E_l) + |E_l - E|_F**2 / 2``."""
        return self.label_norm.prox(E, self._weight_labels(step * self.lambdas.labels))

    def prox_recovered_labels(self, B: Array, step: float, rows: slice = ALL) -> Array:
        """Minimise ``step * l3 L(Y~ - B') + |B' - B|_F**2 / 2`` over B', inside the box if there is one."""
        Y, weight = self.labels[rows], self._weight_labels(step * self.lambdas.labels, rows)
        if self.box:
            return Y - self.label_norm.prox_between(Y - B, weight, Y - 1.0, Y)
        return Y - self.label_norm.prox(Y - B, weight)

    def project_labels(self, B: Array) -> Array:
        """The nearest point of the box, or ``B`` itself where there is none."""
        return np.clip(B, 0.0, 1.0) if self.box else B

    def _weight_labels(self, step: float, rows: slice = ALL) -> Step:
        return step if self.label_weights is None else step * self.label_weights[rows, None]


def mean_label(labels: Array, weights: Array | None) -> Array:
    """The mean of label rows, with their weights if there are any."""
    return labels.mean(axis=0) if weights is None else weights @ labels / weights.sum()
