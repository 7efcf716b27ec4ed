"""What the linear two-class estimators share: reading the data, publishing the model."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted, validate_data

from semisvm.designs import Floats, Workers, make_design, thread_count
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Recorder
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.partial_labels import (
    PartialLabels,
    encode,
    prior_counts,
    refuse_empty_classes,
    resolve_prior,
)
from semisvm.validation import (
    check_count,
    check_finite,
    check_real,
    check_same_length,
    check_weights,
)

FLOATS = (np.float64, np.float32)
MAX_NEWTON_STEPS = 200


@dataclass
class Solution:
    """What a method hands back.

    Attributes
    ----------
    w : array of shape (n_weights,)
        In the order of the design.
    objective : float
    n_iter : int
    converged : bool
    positive : bool array of shape (u,)
        Labels chosen for the unlabelled rows.
    beliefs : array of shape (u,), optional
        Probability of the second class, for methods that have it.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool
    positive: NDArray[np.bool_]
    beliefs: Floats | None = None


class LinearSemiSupervisedClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base of the linear classifiers; subclasses say how a `BinaryTask` is solved."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _solve(self, task: BinaryTask, start: Floats | None) -> Solution:
        """Solve the task; ``start`` holds the weights of the last fit under warm_start."""

    def _loss(self) -> Loss:
        return SQUARED_HINGE

    def _check_shared_parameters(self) -> None:
        check_real("reg", self.reg, above=0)
        check_real("tol", self.tol, above=0)
        check_count("max_iter", self.max_iter)
        if self.fit_intercept:
            check_real("intercept_scaling", self.intercept_scaling, above=0)
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, got {self.callback!r}.")

    def _fit(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> Self:
        self._check_parameters()
        X = validate_data(
            self, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, order="C"
        )
        check_finite(X)
        labels = encode(y, self.unlabeled)
        check_same_length(X, labels.codes, "y")
        if len(labels.classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(labels.classes)} labelled classes, {labels.classes[:5].tolist()}"
                f"{'...' if len(labels.classes) > 5 else ''}. "
                "sklearn.multiclass.OneVsRestClassifier does not keep unlabelled rows apart."
            )
        weight = check_weights(sample_weight, X)
        if weight is not None and not weight[labels.labeled].any():
            raise ValueError("sample_weight is zero on every labelled row; nothing to fit.")
        prior = self._class_prior(labels, weight)
        recorder = Recorder(self.callback, self.verbose)
        with Workers(thread_count(self.n_jobs)) as workers:
            bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
            design = make_design(X, bias, workers, self._reads_all_rows(labels))
            task = self._task(design, labels, prior, weight, recorder)
            solution = self._solve(task, self._warm_weights(design, labels))
            coef, intercept = design.decode(solution.w)
        self._publish(labels, prior, solution, coef, intercept, recorder)
        return self

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return True

    def _class_prior(self, labels: PartialLabels, weight: Floats | None) -> Floats:
        given = getattr(self, "class_prior", None)
        prior = resolve_prior(given, labels, weight)
        if given is not None and len(labels.unlabeled):
            refuse_empty_classes(prior, len(labels.unlabeled), labels.classes)
        return prior

    def _task(
        self,
        design: Any,
        labels: PartialLabels,
        prior: Floats,
        weight: Floats | None,
        recorder: Recorder,
    ) -> BinaryTask:
        rows = labels.labeled
        shares = np.ones(len(rows)) if weight is None else weight[rows]
        return BinaryTask(
            design=design,
            labeled=rows,
            unlabeled=labels.unlabeled,
            positive=labels.codes[rows] == 1,
            weight=shares / shares.sum(),
            n_positive=int(prior_counts(prior, len(labels.unlabeled))[1]),
            loss=self._loss(),
            reg=float(self.reg),
            recorder=recorder,
        )

    def _warm_weights(self, design: Any, labels: PartialLabels) -> Floats | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        if not np.array_equal(self.classes_, labels.classes):
            raise ValueError(
                f"warm_start=True goes on from a fit with classes {self.classes_.tolist()}, but y "
                f"has {labels.classes.tolist()}. Use warm_start=False for another problem."
            )
        if self.coef_.shape[1] != design.n_weights - 1:
            raise ValueError(
                f"warm_start=True goes on from a fit with {self.coef_.shape[1]} features, but X "
                f"has {design.n_weights - 1}. Use warm_start=False for another problem."
            )
        return design.encode(self.coef_[0], float(self.intercept_[0]))

    def _publish(
        self,
        labels: PartialLabels,
        prior: Floats,
        solution: Solution,
        coef: Floats,
        intercept: float,
        recorder: Recorder,
    ) -> None:
        codes = labels.codes.copy()
        codes[labels.unlabeled] = solution.positive
        self.classes_ = labels.classes
        self.class_prior_ = prior
        self.coef_ = coef[np.newaxis, :]
        self.intercept_ = np.array([intercept])
        self.transduction_ = labels.decode(codes)
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        self.trace_ = recorder.trace
        if solution.beliefs is not None:
            distribution = np.eye(2)[codes]
            distribution[labels.unlabeled] = np.column_stack(
                [1.0 - solution.beliefs, solution.beliefs]
            )
            self.label_distribution_ = distribution
        if not solution.converged and not recorder.stopped:
            message = (
                f"{type(self).__name__} did not converge; see trace_. Raise max_iter "
                f"({self.max_iter}) or tol ({self.tol:g})."
            )
            recorder.note(message)
            warnings.warn(message, ConvergenceWarning, stacklevel=3)

    def decision_function(self, X: Any) -> Floats:
        """Signed distance to the boundary, in units of the margin.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        scores : array of shape (n,)
            Positive for ``classes_[1]``.
        """
        check_is_fitted(self)
        X = validate_data(
            self, X, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False, reset=False
        )
        check_finite(X)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores, dtype=np.float64).ravel()

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        y : array of shape (n,)
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(np.intp)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        return tags
