"""What all classifiers share: how a fit begins and ends, scores and predictions.

A fitted model is linear in features: those of a kernel, the votes of an ensemble, or the columns
of X themselves. ``kernel_map_`` computes the features, ``coef_`` and ``intercept_`` the scores.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import currentframe
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from semisvm.designs import Floats
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import is_distributed, read_rows
from semisvm.distributed import require_dask
from semisvm.estimators.interop import TakesCallbacks, fit_task
from semisvm.estimators.parameters import CommonParameters
from semisvm.estimators.typed_bases import BaseEstimator, ClassifierMixin
from semisvm.labels.partial import PartialLabels, is_unlabeled
from semisvm.maps.kernels import PRECOMPUTED
from semisvm.methods.solution import Solution
from semisvm.solvers.snapshots import FitKeeper
from semisvm.solvers.trace import Recorder

DENSE_KERNELS = ("laplacian", PRECOMPUTED)
EXPORTED_KERNELS = ("linear", "rbf", "poly", "cosine", "latent")
"""Kernels that are a few products of matrices, which files for other programs have."""
INSTEAD = {
    "VotingClassifier": "SemiSupervisedCommittee",
    "StackingClassifier": "SemiSupervisedCommittee, which learns the weights of its members",
    "BaggingClassifier": "SemiSupervisedCommittee with several members",
    "AdaBoostClassifier": "SemiBoostClassifier",
    "OneVsRestClassifier": "the estimator alone, which handles many classes",
    "OneVsOneClassifier": "the estimator alone, which handles many classes",
    "OutputCodeClassifier": "the estimator alone, which handles many classes",
    "ClassifierChain": "MultiLabelSVC",
    "CalibratedClassifierCV": "CalibratedPartialClassifier of semisvm.model_selection",
    "cross_val_predict": "compare or audit_labels of semisvm.model_selection",
}
"""Meta-estimators of scikit-learn that take the marker for a class -> what does their work here."""
ENCODER = "le"
HOLDERS = ("self", "ensemble", ENCODER)
"""Local variables of scikit-learn's functions with an estimator that has ``classes_``."""


@contextmanager
def fitting(estimator: Any) -> Iterator[None]:
    """Check an estimator before its fit; the last fit stays whole if this one fails."""
    estimator._check_parameters()
    callback = estimator.callback
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function or None, got {callback!r}.")
    refuse_wrapper(estimator.unlabeled)
    reason = estimator._why_no_checkpoint() if isinstance(callback, FitKeeper) else None
    if reason is not None:
        raise ValueError(reason)
    with fit_task(estimator):
        before = dict(estimator.__dict__)
        try:
            yield
        except BaseException:
            # with its columns, which validation has replaced
            estimator.__dict__.clear()
            estimator.__dict__.update(before)
            raise


def user_level() -> int:
    """Return the ``stacklevel`` of a warning, from its caller, at which the user's code is."""
    frame, level = currentframe(), 0
    while frame is not None and frame.f_globals.get("__name__", "").startswith("semisvm."):
        frame, level = frame.f_back, level + 1
    return level


def publish(
    estimator: Any, labels: PartialLabels, prior: Floats, solution: Solution, recorder: Recorder
) -> None:
    """Set what every fitted estimator has; warn if the fit did not converge."""
    codes = labels.codes.copy()
    codes[labels.unlabeled] = solution.codes
    estimator.classes_ = labels.classes
    estimator.class_prior_ = prior
    estimator.transduction_ = labels.decode(codes)
    estimator.objective_ = solution.objective
    estimator.n_iter_ = solution.n_iter
    estimator.trace_ = recorder.trace
    estimator.__dict__.pop("label_distribution_", None)
    if solution.beliefs is not None:
        distribution = np.eye(len(labels.classes))[codes]
        distribution[labels.unlabeled] = solution.beliefs
        estimator.label_distribution_ = distribution
    if not solution.converged and not recorder.stopped:
        message = (
            f"{type(estimator).__name__} did not converge; see trace_. Raise max_iter "
            f"({estimator.max_iter}) or tol ({estimator.tol:g}), or scale the columns of X."
        )
        recorder.note(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=user_level())


def refuse_wrapper(unlabeled: Any) -> None:
    """Raise if code of scikit-learn that takes the marker for a class is using this estimator.

    What it passes on does not show that: most meta-estimators encode y first, so that the marker
    -1 arrives as class 0. Therefore the callers are examined.
    """
    held = ((name, known) for name, known in _wrappers() if known is not None)
    names = [name for name, known in held if _has_marked(known, unlabeled)]
    if names:
        name = names[-1]  # the outermost one, which the user has called
        raise ValueError(
            f"{name} treats the marker of unlabelled rows, {unlabeled!r}, as a class, so its "
            f"predictions would be wrong. Use {INSTEAD.get(name, 'the estimator alone')}, or "
            f"give {name} the labelled rows only. If {unlabeled!r} is a class here, set "
            "unlabeled= to another value."
        )


def _has_marked(labels: Any, unlabeled: Any) -> bool:
    """Return whether some of the labels, or classes, that a caller holds are the marker."""
    several = isinstance(labels, list) and len(labels) > 0 and np.ndim(labels[0]) == 1
    columns = labels if several else np.atleast_2d(np.transpose(labels))
    return any(bool(np.any(is_unlabeled(column, unlabeled))) for column in columns)


def _wrappers() -> Iterator[tuple[str, Any]]:
    """Yield names of callers in scikit-learn, with what they hold to be classes, or their y."""
    frame = currentframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("sklearn."):
            for local in {*HOLDERS}.intersection(frame.f_code.co_varnames):
                holder = frame.f_locals.get(local)
                if isinstance(holder, BaseEstimator):
                    name = type(holder).__name__ if local != ENCODER else frame.f_code.co_name
                    given = frame.f_locals.get("y", frame.f_locals.get("Y"))
                    y = given if name in INSTEAD else None
                    yield name, vars(holder).get("classes_", y)
        frame = frame.f_back


class ScoringClassifier(CommonParameters, TakesCallbacks, ClassifierMixin, BaseEstimator, ABC):
    """Base of all classifiers; subclasses define how the weights of the features are found."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise ValueError for invalid parameters."""

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

    def __sklearn_clone__(self) -> Any:
        # a wrapper may fit the copy in another process, where it is not among the callers
        refuse_wrapper(self.unlabeled)
        return super().__sklearn_clone__()

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
        refuse_wrapper(self.unlabeled)  # one around a fitted model never calls fit
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
        from semisvm.distributed.rows import accuracy

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
        from semisvm.distributed.rows import over_chunks

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
