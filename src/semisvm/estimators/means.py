"""Label means: label the unlabelled rows so that the means of the classes are far apart."""

from dataclasses import KW_ONLY
from typing import Any, Self

from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.parameters import (
    BalanceParameters,
    KernelParameters,
    SolverParameters,
    parameters,
)
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.methods.label_means import METHODS, LabelMeans
from semisvm.methods.solution import Solution, refuse_balancing
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_choice, check_real


@parameters
class MeanSVC(
    BalanceParameters, KernelParameters, SolverParameters, LinearSemiSupervisedClassifier
):
    r"""Semi-supervised SVM by label means (meanS3VM).

    First the labels of the unlabelled rows are chosen so that the means m+ and m- of the
    two classes are separated by the largest margin rho: ::

        1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)) - C_unlabeled rho,    f(x) = w . x + b
        f(m+) >= rho,  f(m-) <= -rho

    The class shares fix the number of positive rows. This step needs only the inner
    products of the labelled rows and two vectors, whatever the number of unlabelled rows.
    Then an SVM is fitted to all rows with these labels: ::

        1/2 ||w||^2 + C sum_labelled max(0, 1 - y_i f(x_i))
            + C_unlabeled sum_unlabelled max(0, 1 - y'_j f(x_j))

    The intercept is not regularised. More than two classes are solved as one-vs-rest
    problems; their labels are chosen jointly, so that every class has its count.

    Parameters
    ----------
    C : float
        Cost of the labelled rows.
    C_unlabeled : float
        Cost of the means, and of the unlabelled rows in the final SVM.
    method : {"iter", "mkl"}
        "iter" alternates between means and labels; "mkl" solves a convex relaxation with
        cutting planes.
    balance_tol : float or None
        For two classes: how far the estimated share of positive outputs on new rows may be
        from the class share, relative to the share of the rarer class. Beyond that the
        intercept is moved just far enough. None leaves the intercept alone, as in the paper.
        With more classes intercepts are never moved, and other values are an error.
    tol : float
        Certified relative error of the objectives at which to stop.
    max_iter : int
        Maximum number of rounds or cutting planes; inner solvers may take ten thousand
        times as many steps.

    Attributes
    ----------
    objective_ : float
        Objective of the final SVM, before the intercept is moved; for more than two classes,
        the sum over their problems.
    n_iter_ : int
        Number of rounds, plus one for the final SVM.
    trace_ : Trace
        Its column "margin" is rho.

    References
    ----------
    Li, Kwok and Zhou, Semi-supervised learning using label mean, ICML 2009,
    doi:10.1145/1553374.1553456.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import MeanSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> labels = np.where(np.arange(len(y)) < 30, y, -1)
    >>> model = MeanSVC(class_prior=[0.37, 0.63]).fit(scale(X), labels)
    >>> bool(model.score(scale(X), y) > 0.9)
    True
    """

    C: float = 100.0
    _: KW_ONLY
    C_unlabeled: float = 0.1
    method: str = "iter"
    gamma: float | str = "mean_distance"
    tol: float = 1e-4
    max_iter: int = 100

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            Factors of the costs of the rows, and their weights in the means: a row of weight two
            counts like two rows. The smallest weight counts as one row if the others are whole
            multiples of it, otherwise the mean weight does.
        """
        return super().fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("C", self.C, above=0)
        check_real("C_unlabeled", self.C_unlabeled, above=0)
        check_choice("method", self.method, METHODS)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _loss(self) -> Loss:
        return SQUARED_HINGE

    def _specification(self) -> Specification:
        # the loss only sets the form of the scores; reg is the weight of 1/2 ||w||^2
        return Specification(SQUARED_HINGE, 1.0)

    def _method(self) -> LabelMeans:
        return LabelMeans(
            self.method,
            float(self.C),
            float(self.C_unlabeled),
            float(self.tol),
            int(self.max_iter),
            self.balance_tol,
        )

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        return self._method().solve(task)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        return self._method().solve_many(task)
