"""Robust PCA as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from unmuddle.core.norms import L1
from unmuddle.core.prox import Array
from unmuddle.core.rowspace import row_basis
from unmuddle.core.rpca import Decomposition, decompose
from unmuddle.errors import StationarityWarning
from unmuddle.estimators import validation
from unmuddle.estimators.progress import EXTRA_FRAMES, CallbackSupportMixin, reporting, with_callbacks
from unmuddle.estimators.scaling import SCALINGS


class RobustPCA(CallbackSupportMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Split a matrix into low rank and sparse: minimise ``|L|_* + lambda |S|_1`` subject to ``X = L + S``.

    Parameters
    ----------
    lambda_sparse : float, default=None
        Weight of the sparse part; None is ``1 / sqrt(max(n_samples, n_features))``. Thin tables often want twice that.
    scale : {"standard", "robust", None}, default=None
        How columns are scaled first. None is the textbook method; columns in different units want ``"standard"``.
    max_iter : int, default=1000
        Largest number of iterations.
    tol : float, default=1e-7
        Largest residual ``|X - L - S|_F / |X|_F``.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    low_rank_, sparse_ : ndarrays of shape (n_samples, n_features)
        The two parts of the training data, in its units; scaling adds the centre to the low-rank part.
    components_ : ndarray of shape (rank_, n_features)
        An orthonormal basis of the row space of the (scaled) low-rank part.
    rank_ : int
        Its rank.
    objective_ : float
        Value of the objective, for scaled data.
    lambda_sparse_ : float
        The weight used.
    trace_ : Trace
        Residual, objective and penalty at every iteration.
    n_iter_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from unmuddle import RobustPCA
    >>> X = np.outer(np.arange(1.0, 41.0), np.linspace(1, 2, 30))
    >>> X[3, 4] = 1000.0
    >>> model = RobustPCA().fit(X)
    >>> model.rank_, np.argwhere(np.abs(model.sparse_) > 1).tolist()
    (1, [[3, 4]])
    """

    def __init__(
        self,
        lambda_sparse: float | None = None,
        *,
        scale: str | None = None,
        max_iter: int = 1000,
        tol: float = 1e-7,
        verbose: bool = False,
    ) -> None:
        self.lambda_sparse = lambda_sparse
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Split the training data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.
        y : None
            Ignored, here for pipelines.

        Returns
        -------
        self : RobustPCA
            The fitted transformer.
        """
        features = self._validate(X)
        default = 1.0 / np.sqrt(max(features.shape))
        self.lambda_sparse_ = default if self.lambda_sparse is None else float(self.lambda_sparse)
        with reporting(self, X, y, "Decomposing", self.max_iter) as on_step:
            self._publish(decompose(features, self.lambda_sparse_, self.max_iter, self.tol, on_step))
        return self

    def transform(self, X: Any) -> Array:
        """Denoise rows, each by itself: the closest point in absolute values in the row space of the low-rank part."""
        check_is_fitted(self)
        rows = validation.check_scaled(self._scaling.apply(validation.check_features(self, X, reset=False)))
        return self._scaling.undo(L1().closest(rows, self.components_))

    def _validate(self, X: Any) -> Array:
        validation.check_positive("lambda_sparse", self.lambda_sparse, optional=True)
        validation.check_choice("scale", self.scale, SCALINGS)
        validation.check_count("max_iter", self.max_iter)
        validation.check_positive("tol", self.tol)
        features = validation.check_features(self, X, reset=True)
        self._scaling = SCALINGS[self.scale](features)
        return validation.check_scaled(self._scaling.apply(features))

    def _publish(self, found: Decomposition) -> None:
        self.low_rank_ = self._scaling.undo(found.low_rank)
        self.sparse_ = self._scaling.undo_difference(found.sparse)
        self.components_ = row_basis(found.low_rank)
        self.rank_ = len(self.components_)
        self.objective_, self.n_iter_, self.trace_ = found.objective, found.n_iter, found.trace
        if not found.converged:
            residual = found.trace["residual"][-1]
            warnings.warn(
                f"the residual is {residual:.1e} after {found.n_iter} iterations, above tol={self.tol:g}. "
                "Raise max_iter or tol.",
                StationarityWarning,
                stacklevel=3 + EXTRA_FRAMES,
            )
