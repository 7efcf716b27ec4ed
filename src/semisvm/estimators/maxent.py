"""Base of the classifiers whose scores are log-probabilities."""

from typing import Any, Self

from numpy.typing import ArrayLike

from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.parameters import (
    ClassPriorParameters,
    InterceptParameters,
    KernelParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.losses import LOG, Loss


@parameters
class MaxentClassifier(
    ClassPriorParameters,
    KernelParameters,
    InterceptParameters,
    WarmSolverParameters,
    LinearSemiSupervisedClassifier,
):
    """Base of the classifiers with constraints on the probabilities of all classes.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None is 1e-4, which suits rows of length
        one.
    fit_intercept : bool
        Whether to fit an intercept; without it the other weights must produce the class
        shares.

    Attributes
    ----------
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector per class, for two classes too.
    """

    reg: float | None = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            A row of weight two counts like two rows, labelled or not, and one of weight zero like
            none. Labelled and unlabelled rows are weighed among themselves.

        Returns
        -------
        self : object
        """
        return self._fit(X, y, sample_weight)

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares; here mean probabilities do, of any value."""
        return False

    def _loss(self) -> Loss:
        return LOG

    def _specification(self) -> Specification:
        reg = LOG.default_reg if self.reg is None else self.reg
        bias = float(self.intercept_scaling) if self.fit_intercept else 0.0
        return Specification(LOG, float(reg), bias, one_score=False)
