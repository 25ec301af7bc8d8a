"""Feature and Label Recovery as a scikit-learn classifier and transformer."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from unmuddle.core.admm import ADMM
from unmuddle.core.certificate import judge
from unmuddle.core.norms import FEATURE_NORMS, LABEL_NORMS, Norm
from unmuddle.core.paper import Algorithm1
from unmuddle.core.problem import Lambdas, Problem
from unmuddle.core.prox import Array, Mask
from unmuddle.core.result import Point, Solution, Solver, Status
from unmuddle.core.rowspace import row_basis
from unmuddle.core.temperature import fit_temperature
from unmuddle.errors import CollapsedWarning, MemorizedWarning, StationarityWarning
from unmuddle.estimators import validation
from unmuddle.estimators.progress import EXTRA_FRAMES, CallbackSupportMixin, reporting, with_callbacks
from unmuddle.estimators.scaling import SCALINGS
from unmuddle.tuning import AUTO, Given, Scale, Wishes, tune

SOLVERS: dict[str, Solver] = {"admm": ADMM(), "paper": Algorithm1()}

LAMBDAS = "lambda_projection", "lambda_features", "lambda_labels"

MEMORIZED = 0.9
"""Share of rows with unchanged labels from which on a fit is called memorised."""


class FLRClassifier(CallbackSupportMixin, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Learn a linear classifier while recovering noisy features and noisy labels.

    Minimises ``|X|_* + l1 |Z|_* + l2 R(X~ - X) + l3 L(Y~ - X Z - 1 b^T)`` subject to ``0 <= X Z + 1 b^T <= 1`` over
    recovered features X, projection Z and intercept b, where X~ are the given (scaled) features and Y~ the given
    labels, one-hot. This is the model of "Robust Learning under Hybrid Noise" with an intercept added.

    Cells of X may be missing (NaN), and labels too (None, NaN or NA): their errors cost nothing, so they are filled in
    by the rest of the model. A row without a label still counts among the features, and its recovered label still
    keeps to [0, 1].

    Parameters
    ----------
    feature_norm : {"auto", "l1", "frobenius", "huber", "l21", "none"}, default="auto"
        R, what feature errors cost: ``"l1"`` suits Laplacian noise and few gross cells, ``"frobenius"`` (squared)
        Gaussian noise, ``"huber"`` both at once, ``"l21"`` whole bad rows; ``"none"`` takes features as they are.
        ``"auto"`` decides by the tails of what a low rank leaves of the features.
    label_norm : {"auto", "l21", "frobenius", "huber", "l1", "none"}, default="auto"
        L, what label errors cost, by rows for ``"l21"`` and ``"huber"``; ``"none"`` takes labels as they are.
        ``"auto"`` is chosen with the lambdas.
    feature_delta, label_delta : float, default=None
        Corners of the Huber norms, in scaled units. None is 1.5 estimated noise levels for features, and half the
        length of a label switch, ``sqrt(1/2)``, for labels.
    lambda_projection, lambda_features, lambda_labels : float, None or "auto", default="auto"
        The paper's lambda 1, 2 and 3, for scaled data. ``"auto"`` chooses multiples of natural scales of the data by
        the given, noisy labels of rows that were held out: a few loose fits on at most 1500 rows; ``tuning_`` says
        what was tried. None takes a fixed multiple: 0.2 of the lambda 1 at which the projection vanishes; 1 of the
        scale of robust PCA, or of random matrices for ``"frobenius"`` and ``"l21"``; and 0.05.
    fit_intercept : bool, default=True
        Whether to fit an intercept. The paper has none.
    box : bool, default=True
        Whether recovered labels are kept in [0, 1].
    scale : {"standard", "robust", None}, default="standard"
        How columns are scaled first: mean and standard deviation, median and median absolute deviation, or not.
        All results but ``projection_`` and ``components_`` come back in the units of X.
    solver : {"admm", "paper"} or solver object, default="admm"
        ``"admm"`` iterates until the certificate of its point is within ``tol``; ``"paper"`` is Algorithm 1 as
        printed, which mostly stops at points that are not stationary. ``unmuddle.Algorithm1(mu=0.3, rho=1.0)`` is
        Algorithm 1 with a constant penalty.
    max_iter : int, default=None
        Largest number of iterations; None is the solver's own: 2000 for ``"admm"``, 1000 for Algorithm 1.
    tol : float, default=None
        Tolerance of the solver's stopping rule; None is the solver's own: 1e-4 on the certificate for ``"admm"``,
        1e-6 on the residuals, absolute, for Algorithm 1.
    certificate_tol : float, default=1e-3
        Largest violation of a stationarity condition that the certificate accepts.
    unlabeled : label, default=None
        A value of y that means "no label", such as -1, besides None, NaN and NA.
    warm_start : bool, default=False
        Whether ``fit`` starts from the solution of the last one, if data and classes are of the same size: quicker
        after a small change of the lambdas or the data, and a step from one stationary point to one nearby. Keeps two
        more arrays of the size of X. Only ``"admm"`` can.
    random_state : int, RandomState or None, default=None
        Deals rows to folds where something is automatic; an int makes fits repeatable. Nothing else is random.
    verbose : bool, default=False
        Whether to show a progress bar. scikit-learn's own callbacks, from its version 1.9 on, are set with
        ``set_callbacks``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    coef_, intercept_ : ndarrays of shape (n_classes, n_features) and (n_classes,)
        The classifier in the units of X, a row for each class also where there are two.
    projection_ : ndarray of shape (n_features, n_classes)
        The paper's Z, for scaled features.
    recovered_features_, feature_errors_ : ndarrays of shape (n_samples, n_features)
        What the training features should be, and what was wrong with them; they add up to X within the tolerance.
        Missing cells are recovered, and their errors are NaN.
    recovered_labels_, label_errors_ : ndarrays of shape (n_samples, n_classes)
        The same for labels, a column for each class; recovered labels are cut to [0, 1] where ``box=False`` lets
        them out of it. Rows without a label have a recovered one, and NaN for its error.
    components_ : ndarray of shape (rank_, n_features)
        An orthonormal basis of the row space of the recovered features, scaled.
    rank_ : int
        Rank of the recovered (scaled) features.
    lambdas_ : Lambdas
        The weights used: ``projection``, ``features``, ``labels``.
    tuning_ : Tuning or None
        Where something was automatic: every setting that was tried (``trials``, as a table ``to_frame()``), the
        ``chosen`` one and the ``reason``.
    temperature_ : float
        Divides the scores in ``predict_proba``; the given labels are most likely under it.
    memorized_ : float
        Share of labelled rows whose recovered label equals the given one exactly: their label error is zero.
    objective_ : float
        Value of the objective.
    status_ : Status
        How the solve ended; only ``Status.CONVERGED`` is a useful, certified stationary point.
    certificate_ : Certificate
        Every stationarity condition by name, ``worst`` and ``satisfied``.
    trace_ : Trace
        What was measured at every iteration, by name.
    n_iter_, n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from unmuddle import FLRClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["low", "high"], 50)
    >>> X = np.where(y == "low", -1.0, 1.0)[:, None] * np.ones(4) + rng.normal(0, 0.3, (100, 4))
    >>> noisy = y.copy()
    >>> noisy[::5] = "low"  # ten labels of the second half are now wrong
    >>> model = FLRClassifier(random_state=0).fit(X, noisy)
    >>> model.score(X, y)
    1.0
    >>> model.status_.name
    'CONVERGED'
    """

    def __init__(
        self,
        feature_norm: str = AUTO,
        label_norm: str = AUTO,
        *,
        feature_delta: float | None = None,
        label_delta: float | None = None,
        lambda_projection: float | str | None = AUTO,
        lambda_features: float | str | None = AUTO,
        lambda_labels: float | str | None = AUTO,
        fit_intercept: bool = True,
        box: bool = True,
        scale: str | None = "standard",
        solver: str | Solver = "admm",
        max_iter: int | None = None,
        tol: float | None = None,
        certificate_tol: float = 1e-3,
        unlabeled: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.feature_norm = feature_norm
        self.label_norm = label_norm
        self.feature_delta = feature_delta
        self.label_delta = label_delta
        self.lambda_projection = lambda_projection
        self.lambda_features = lambda_features
        self.lambda_labels = lambda_labels
        self.fit_intercept = fit_intercept
        self.box = box
        self.scale = scale
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.certificate_tol = certificate_tol
        self.unlabeled = unlabeled
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def natural(cls, **changes: Any) -> Self:
        """Nothing automatic: l1 on features, l21 on labels, lambdas at their natural multiples."""
        fixed = {"feature_norm": "l1", "label_norm": "l21"}
        return cls(**{**fixed, **dict.fromkeys(LAMBDAS), **changes})

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The published setting: Algorithm 1, l1 on features, l21 on labels, no intercept, the box."""
        return cls.natural(**{"solver": "paper", "fit_intercept": False, "box": True, **changes})

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Recover features and labels and learn the projection between them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Given features; finite numbers, or NaN for cells that are not known.
        y : array-like of shape (n_samples,)
            Given labels: strings or numbers, at least two classes; None, NaN, NA or ``unlabeled`` for no label.
        sample_weight : array-like of shape (n_samples,), default=None
            Numbers from 0 on that multiply what each row's label error costs, after division by their mean over
            labelled rows. They say how far labels are believed; features of every row count once whatever its weight,
            so a row of weight 2 is not the same as two rows. Weight 0 is the same as no label.

        Returns
        -------
        self : FLRClassifier
            The fitted estimator.
        """
        features, missing, codes, weights = self._validate(X, y, sample_weight)
        problem = self._pose(features, codes, missing, weights)
        del features, missing
        solver = self._choose_solver(problem)
        with reporting(self, X, y, "Recovering", self.max_iter) as on_step:
            solution = solver.solve(problem, self.max_iter, self.tol, on_step)
            self._publish(problem, solution, codes)
        self._warn()
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores of rows as they are, not denoised: ``X Z + b``; column 1 minus column 0 for two classes.

        Missing cells, and only these, are taken from ``transform``.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the highest score."""
        best = self._scores(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the scores over ``temperature_``: strictly monotone in them, until rounding makes it 0 or 1."""
        return softmax(self._scores(X) / self.temperature_, axis=1)

    def transform(self, X: Any) -> Array:
        """Denoise rows, each by itself: the closest point under ``feature_norm`` in the row space of the recovery.

        Closest by the cells that are not missing; a row without any becomes the centre of the training rows. The
        recovery of the training rows themselves, which also used their labels, is in ``recovered_features_``.
        """
        check_is_fitted(self)
        return self._scaling.undo(self._denoise(*self._read(X)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.allow_nan = True
        return tags

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        rows, missing = self._read(X)
        if missing is not None:
            rows = np.where(missing, self._denoise(rows, missing), rows)
        return rows @ self.projection_ + self._scaled_intercept

    def _read(self, X: Any) -> tuple[Array, Mask | None]:
        """New rows, checked and scaled, and which cells are missing."""
        features = validation.check_features(self, X, reset=False, keep_single=True, allow_missing=True)
        return validation.scale_features(self._scaling, features)

    def _denoise(self, rows: Array, missing: Mask | None) -> Array:
        """Closest points in the row space, all scaled."""
        return self._feature_norm.closest_by_seen(rows, self.components_, missing).astype(rows.dtype, copy=False)

    def _validate(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Array, Mask | None, NDArray[np.intp], Array | None]:
        self._validate_parameters()
        features = validation.check_features(self, X, reset=True, keep_single=True, allow_missing=True)
        weights = validation.check_weights(sample_weight, len(features))
        self.classes_, codes = validation.check_some_labels(y, len(features), self.unlabeled, weights)
        self._scaling = SCALINGS[self.scale](features)
        return *validation.scale_features(self._scaling, features), codes, validation.label_weights(codes, weights)

    def _validate_parameters(self) -> None:
        validation.check_choice("feature_norm", self.feature_norm, (AUTO, *FEATURE_NORMS))
        validation.check_choice("label_norm", self.label_norm, (AUTO, *LABEL_NORMS))
        validation.check_choice("scale", self.scale, SCALINGS)
        for name in ("feature_delta", "label_delta", "tol"):
            validation.check_positive(name, getattr(self, name), optional=True)
        for name in LAMBDAS:
            validation.check_positive(name, getattr(self, name), optional=True, word=AUTO)
        validation.check_positive("certificate_tol", self.certificate_tol)
        validation.check_count("max_iter", self.max_iter, optional=True)
        validation.check_flag("fit_intercept", self.fit_intercept)
        validation.check_flag("box", self.box)
        validation.check_flag("warm_start", self.warm_start)
        validation.check_flag("verbose", self.verbose)
        validation.check_seed("random_state", self.random_state)
        if isinstance(self.solver, type) or not callable(getattr(self.solver, "solve", None)):
            validation.check_choice("solver", self.solver, SOLVERS)

    def _pose(self, features: Array, codes: NDArray[np.intp], missing: Mask | None, weights: Array | None) -> Problem:
        labels = validation.one_hot(codes, len(self.classes_))
        if self.label_norm == "none":
            validation.check_enough_columns(features.shape[1], len(self.classes_), bool(self.fit_intercept))
        given = Given(features, labels, missing, weights)
        wishes = Wishes(**{field.name: getattr(self, field.name) for field in fields(Wishes)})
        self.tuning_ = tune(given, wishes, self._rng(), self._pose_on) if wishes.any_auto else None
        scale = Scale.of(given, wishes)
        setting = wishes.natural if self.tuning_ is None else self.tuning_.chosen.setting
        lambdas = scale.lambdas(setting) if self.tuning_ is None else self.tuning_.chosen.lambdas
        self._feature_norm, label_norm = scale.norms(setting)
        return self._pose_on(given, self._feature_norm, label_norm, lambdas)

    def _pose_on(self, given: Given, feature_norm: Norm, label_norm: Norm, lambdas: Lambdas) -> Problem:
        terms = feature_norm, label_norm, lambdas, bool(self.fit_intercept), bool(self.box)
        return Problem(given.features, given.labels, *terms, given.missing, given.label_weights)

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(validation.check_seed("random_state", self.random_state).randint(2**31))

    def _choose_solver(self, problem: Problem) -> Solver:
        """The solver; with ``warm_start``, one that starts from the last solution, unless that is of no use."""
        solver = SOLVERS[self.solver] if isinstance(self.solver, str) else self.solver
        last: Solution | None = self.__dict__.pop("_last", None)
        if not self.warm_start or last is None or not isinstance(solver, ADMM):
            return solver
        fits = last.point.X.shape == problem.features.shape and last.point.M4.shape == problem.labels.shape
        return replace(solver, start=last) if fits and not problem.label_norm.fixes_zero else solver

    def _publish(self, problem: Problem, solution: Solution, codes: NDArray[np.intp]) -> None:
        point, scaling = solution.point, self._scaling
        self.certificate_, self.status_ = judge(problem, solution, float(self.certificate_tol))
        self.lambdas_, self.n_iter_, self.trace_ = problem.lambdas, solution.n_iter, solution.trace
        self.objective_ = problem.objective(point.X, point.Z, point.b)
        self.projection_, self._scaled_intercept = point.Z.copy(), point.b.copy()
        self.coef_ = (point.Z / scaling.scale[:, None]).T
        self.intercept_ = point.b - (scaling.centre / scaling.scale) @ point.Z
        self.recovered_features_ = scaling.undo(point.X)
        self.feature_errors_ = scaling.undo_difference(solution.E_f)
        self.recovered_labels_ = np.clip(problem.labels - solution.E_l, 0.0, 1.0)
        self.label_errors_ = solution.E_l
        self.memorized_ = float((solution.E_l[problem.labelled] == 0).all(axis=1).mean())
        self._mark_unknown(problem)
        self.components_ = row_basis(point.X)
        self.rank_ = len(self.components_)
        if self.warm_start and self.status_ in (Status.CONVERGED, Status.MAX_ITER):
            self._last = replace(solution, E_f=solution.E_f[:0], E_l=solution.E_l[:0])
        self.temperature_ = self._fit_temperature(problem, point, codes)

    def _mark_unknown(self, problem: Problem) -> None:
        """Errors of what was not given are not known."""
        if problem.missing is not None:
            self.feature_errors_[problem.missing] = np.nan
        if problem.label_weights is not None:
            self.label_errors_[problem.label_weights == 0] = np.nan

    @staticmethod
    def _fit_temperature(problem: Problem, point: Point, codes: NDArray[np.intp]) -> float:
        """By the labelled rows with their weights, and recovered values in missing cells."""
        rows = problem.features if problem.missing is None else np.where(problem.missing, point.X, problem.features)
        known, weights = problem.labelled, problem.label_weights
        scores = problem.predict(rows, point.Z, point.b)[known]
        return fit_temperature(scores, codes[known], None if weights is None else weights[known])

    def _warn(self) -> None:
        status, lambdas = self.status_, self.lambdas_
        if status is Status.COLLAPSED:
            cure = (
                f"Raise lambda_features ({lambdas.features:.3g}): nothing is left of the features."
                if self.rank_ == 0
                else f"Lower lambda_projection ({lambdas.projection:.3g})."
            )
            _say(CollapsedWarning, f"{status.value} ({self.certificate_}). {cure}")
        elif status is not Status.CONVERGED:
            _say(
                StationarityWarning,
                f"after {self.n_iter_} iterations {status.value} ({self.certificate_}). {self._cure()}",
            )
        elif self.memorized_ > MEMORIZED:
            _say(
                MemorizedWarning,
                f"the recovered label equals the given one on {self.memorized_:.0%} of rows: if some labels are wrong, "
                f"they were believed. Raise lambda_projection ({lambdas.projection:.3g}).",
            )

    def _cure(self) -> str:
        """What helps when the point is not stationary."""
        if self.status_ is Status.MAX_ITER:
            return "Raise max_iter."
        if self.status_ is Status.NON_FINITE:
            return "Scale the data (scale='standard') or use lambdas of moderate size."
        if self.solver == "paper" or isinstance(self.solver, Algorithm1):
            return "Algorithm 1 freezes as its penalty grows; solver='admm' does not."
        if self.tol is not None and self.tol > self.certificate_tol:
            return f"Lower tol to certificate_tol ({self.certificate_tol:g}) or less."
        return "Other lambdas, box=False or another start, solver=unmuddle.ADMM(start='labels'), may settle."


def _say(category: type[Warning], message: str) -> None:
    warnings.warn(message, category, stacklevel=4 + EXTRA_FRAMES)
