"""Robust PCA as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmuddle.core.norms import L1
from unmuddle.core.prox import Array, Mask
from unmuddle.core.rowspace import row_basis
from unmuddle.core.rpca import Decomposition, decompose
from unmuddle.core.scales import seen_share
from unmuddle.errors import StationarityWarning
from unmuddle.estimators import validation
from unmuddle.estimators.progress import EXTRA_FRAMES, CallbackSupportMixin, reporting, with_callbacks
from unmuddle.estimators.scaling import SCALINGS


class RobustPCA(CallbackSupportMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Split a matrix into low rank and sparse: minimise ``|L|_* + lambda |S|_1`` subject to ``X = L + S``.

    Missing cells (NaN) of X cost nothing in S: the low-rank part fills them in.

    Parameters
    ----------
    lambda_sparse : float, default=None
        Weight of the sparse part; None is ``1 / sqrt(max(n_samples, n_features))``, over the root of the share of
        cells that are not missing. Thin tables often want twice that.
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
        The two parts of the training data, in its units; scaling adds the centre to the low-rank part. In missing
        cells the low-rank part has values and the sparse part NaN.
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
            Finite numbers, or NaN for cells that are not known.
        y : None
            Ignored, here for pipelines.

        Returns
        -------
        self : RobustPCA
            The fitted transformer.
        """
        features, missing = self._validate(X)
        default = L1().feature_weight(features.shape, noise_level=1.0, seen=seen_share(missing))
        self.lambda_sparse_ = default if self.lambda_sparse is None else float(self.lambda_sparse)
        with reporting(self, X, y, "Decomposing", self.max_iter) as on_step:
            found = decompose(features, self.lambda_sparse_, self.max_iter, self.tol, on_step, missing)
            self._publish(found, missing)
        return self

    def transform(self, X: Any) -> Array:
        """Denoise rows, each by itself: the closest point in absolute values in the row space of the low-rank part.

        Closest by the cells that are not missing; a row without any becomes the centre of the training rows.
        """
        check_is_fitted(self)
        features = validation.check_features(self, X, reset=False, allow_missing=True)
        rows, missing = validation.scale_features(self._scaling, features)
        return self._scaling.undo(L1().closest_by_seen(rows, self.components_, missing))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _validate(self, X: Any) -> tuple[Array, Mask | None]:
        validation.check_positive("lambda_sparse", self.lambda_sparse, optional=True)
        validation.check_choice("scale", self.scale, SCALINGS)
        validation.check_count("max_iter", self.max_iter)
        validation.check_positive("tol", self.tol)
        features = validation.check_features(self, X, reset=True, allow_missing=True)
        self._scaling = SCALINGS[self.scale](features)
        return validation.scale_features(self._scaling, features)

    def _publish(self, found: Decomposition, missing: Mask | None) -> None:
        self.low_rank_ = self._scaling.undo(found.low_rank)
        self.sparse_ = self._scaling.undo_difference(found.sparse)
        if missing is not None:
            self.sparse_[missing] = np.nan
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
