"""What all estimators share: reading rows and labels, scores and predictions.

A fitted model is linear in features: those of a kernel, the votes of an ensemble, or the columns
of X themselves. ``kernel_map_`` computes the features, ``coef_`` and ``intercept_`` the scores.
"""

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from semisvm.designs import Floats
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import is_distributed, read_rows
from semisvm.distributed import require_dask
from semisvm.estimators.interop import refuse_wrapper
from semisvm.estimators.parameters import CommonParameters
from semisvm.labels.partial import PartialLabels, encode, is_unlabeled
from semisvm.maps.kernels import PRECOMPUTED
from semisvm.methods.solution import Solution
from semisvm.solvers.snapshots import FitKeeper
from semisvm.solvers.trace import Recorder
from semisvm.validation import check_same_length

DENSE_KERNELS = ("laplacian", PRECOMPUTED)
EXPORTED_KERNELS = ("linear", "rbf", "poly", "cosine")
"""Kernels that are a few products of matrices, which files for other programs have."""


class ScoringClassifier(CommonParameters, ClassifierMixin, BaseEstimator, ABC):
    """Base of all classifiers; subclasses define how the weights of the features are found."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError for invalid parameters."""

    @abstractmethod
    def _fit_checked(self, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        """Fit with parameters that are already checked, using `_read` and `_publish`."""

    @property
    def features_by(self) -> Any:
        """What makes the features: the kernel, by name or as a function, or another way."""
        return self.kernel

    @property
    def is_exportable(self) -> bool:
        """Whether a fitted model can be written to an ONNX file (`semisvm.to_onnx`)."""
        return self.features_by in EXPORTED_KERNELS

    @property
    def reads_in_passes(self) -> bool:
        """Whether a fit only makes passes over X, which may then stay on the disk."""
        return False

    def _why_no_checkpoint(self) -> str | None:
        """Return why a fit cannot go on from a checkpoint; None if it can."""
        return (
            f"a fit of {type(self).__name__} cannot go on from a checkpoint. TransductiveSVC, "
            "AnnealedSVC and NewtonSVC can."
        )

    def _check_checkpoint(self) -> None:
        """Refuse a callback that keeps checkpoints if there can be none."""
        if isinstance(getattr(self, "callback", None), FitKeeper):
            reason = self._why_no_checkpoint()
            if reason is not None:
                raise ValueError(reason)

    def __sklearn_clone__(self) -> Any:
        # a wrapper may fit the copy in another process, where it is not among the callers
        refuse_wrapper(self.unlabeled)
        return super().__sklearn_clone__()

    def _fit(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> Self:
        self._check_parameters()
        refuse_wrapper(self.unlabeled)
        self._check_checkpoint()
        before = dict(self.__dict__)
        try:
            self._fit_checked(X, y, sample_weight)
        except BaseException:
            # the last fit stays whole, with its columns, which validation has replaced
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _read(self, X: Any, y: ArrayLike) -> tuple[Any, PartialLabels]:
        """Check rows and labels."""
        X = read_rows(X, self, in_passes=self.reads_in_passes)
        labels = encode(y, self.unlabeled)
        check_same_length(X, labels.codes, "y")
        return X, labels

    def _publish(
        self, labels: PartialLabels, prior: Floats, solution: Solution, recorder: Recorder
    ) -> None:
        codes = labels.codes.copy()
        codes[labels.unlabeled] = solution.codes
        self.classes_ = labels.classes
        self.class_prior_ = prior
        self.transduction_ = labels.decode(codes)
        self.objective_ = solution.objective
        self.n_iter_ = solution.n_iter
        self.trace_ = recorder.trace
        self.__dict__.pop("label_distribution_", None)
        if solution.beliefs is not None:
            distribution = np.eye(len(labels.classes))[codes]
            distribution[labels.unlabeled] = solution.beliefs
            self.label_distribution_ = distribution
        if not solution.converged and not recorder.stopped:
            message = (
                f"{type(self).__name__} did not converge; see trace_. Raise max_iter "
                f"({self.max_iter}) or tol ({self.tol:g}), or scale the columns of X."
            )
            recorder.note(message)
            warnings.warn(message, ConvergenceWarning, stacklevel=5)

    def decision_function(self, X: Any) -> Floats:
        """Compute scores: one per row for two classes, one per row and class for more.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d), or in parts
            A Dask array or dataframe, or a list of RowsOnDisk, makes the result a lazy Dask
            array with the same chunks.

        Returns
        -------
        scores : array of shape (n,) or (n, m)
            For two classes, positive means ``classes_[1]``.
        """
        check_is_fitted(self)
        if is_distributed(X):
            return self._lazily("decision_function", X, np.float64, len(self.coef_))
        scores = self._all_scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _all_scores(self, X: Any) -> Floats:
        """Compute the scores of rows, one column per score."""
        X = read_rows(X, self, reset=False, order=None, in_passes=True)
        if not isinstance(X, RowsOnDisk):
            return self._linear_scores(X)
        parts = [self._linear_scores(part) for part in X.parts()]
        return np.concatenate(parts) if parts else np.empty((0, len(self.coef_)))

    def _linear_scores(self, X: Any) -> Floats:
        """Compute the scores of validated rows, one column per score."""
        if self.kernel_map_ is not None:
            X = self.kernel_map_.transform(X)
        scores = safe_sparse_dot(X, self.coef_.T, dense_output=True) + self.intercept_
        return np.asarray(scores, dtype=np.float64)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d), or in parts
            A Dask array or dataframe, or a list of RowsOnDisk, makes the result a lazy Dask
            array with the same chunks.

        Returns
        -------
        y : array of shape (n,)
        """
        if is_distributed(X):
            check_is_fitted(self)
            return self._lazily("predict", X, self.classes_.dtype)
        codes = self._predict_codes(X)
        return self.classes_[codes]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the fraction of rows whose class is predicted correctly.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d), or in parts
        y : array-like or Dask array of shape (n,)
            Of all rows: a warning is given if some are marked as unlabelled.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        accuracy : float
        """
        if not is_distributed(X):
            self._doubt_marks(y)
            return float(super().score(X, y, sample_weight))
        from semisvm.distributed.results import accuracy

        return accuracy(self.predict(X), y, sample_weight)

    def _doubt_marks(self, y: Any) -> None:
        marked = int(np.count_nonzero(is_unlabeled(y, self.unlabeled)))
        if marked:
            warnings.warn(
                f"{marked} of {len(y)} rows to be scored are marked as unlabelled, and count as "
                "errors. Score the rows with known labels; in a cross-validation, use "
                "cv=PartialLabelKFold().",
                UserWarning,
                stacklevel=3,
            )

    def _lazily(self, method: str, X: Any, dtype: Any, n_outputs: int = 1) -> Any:
        """Return what a method answers for X in parts, as a Dask array."""
        require_dask()
        from semisvm.distributed.results import over_chunks

        return over_chunks(self, method, X, dtype, None if n_outputs == 1 else n_outputs)

    def _predict_codes(self, X: Any) -> NDArray[np.intp]:
        scores = self.decision_function(X)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def _html_repr(self) -> str:
        """Return what notebooks show: scikit-learn's diagram, and below it the fit."""
        from semisvm.reporting.notebook import diagram_view, estimator_view

        diagram = diagram_view(str(estimator_html_repr(self)))
        return diagram + estimator_view(self) if hasattr(self, "trace_") else diagram

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.features_by not in DENSE_KERNELS
        tags.input_tags.pairwise = self.features_by == PRECOMPUTED
        return tags
