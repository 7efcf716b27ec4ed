"""The supervised SVM on which the other methods are built."""

from dataclasses import KW_ONLY
from typing import Any, Self

from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.estimators.parameters import (
    InterceptParameters,
    KernelParameters,
    LossParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.labels.partial import PartialLabels
from semisvm.labels.weights import ClassWeight, RowWeights, check_class_weight, times_class_weight
from semisvm.methods.solution import Solution
from semisvm.methods.supervised import solve_labeled
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask


@parameters
class NewtonSVC(
    LossParameters,
    KernelParameters,
    InterceptParameters,
    WarmSolverParameters,
    LinearSemiSupervisedClassifier,
):
    r"""Linear SVM by modified finite Newton (l2-SVM-MFN), fitted to the labelled rows.

    Minimises, over the l labelled rows with weights s_i (1 where not given), ::

        reg/2 ||w||^2 + 1/(2 sum s) sum_i s_i l(y_i o_i),    o_i = w . x_i

    with l(z) = max(0, 1 - z)^2, or (1 - z)^2 for regularised least squares. With more than
    two classes there is one weight vector per class, and the loss of a row is the sum of
    its one-vs-rest losses, or the logistic loss of the softmax of its scores (maxent). The
    intercept is the weight of a constant feature and is regularised like the others.
    Unlabelled rows are not used; ``transduction_`` holds predictions for them.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None takes the default of the loss, which
        suits rows of length one: 1e-4 for "log" and "crammer_singer", otherwise 1e-3.
    class_weight : None, "balanced" or dict class -> weight
        Factors of the weights of the rows of each class. "balanced" lets all classes count
        alike, however many rows they have; classes that a dict does not name have factor one.
    tol : float
        Certified relative error of the objective at which to stop: the bound
        ||gradient||^2 / (2 reg) on objective - minimum, divided by the objective. The loss
        "crammer_singer" is solved to a duality gap of 1e-4.
    max_iter : int
        Maximum number of Newton steps.

    Attributes
    ----------
    n_iter_ : int
        Number of Newton steps.

    References
    ----------
    Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale
    linear SVMs, JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import NewtonSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(NewtonSVC().fit(scale(X), y).score(scale(X), y), 2)
    0.99
    """

    _only_passes = True

    reg: float | None = None
    _: KW_ONLY
    class_weight: ClassWeight = None
    tol: float = 1e-10
    max_iter: int = 200

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the labelled rows.

        Parameters
        ----------
        sample_weight : array-like or Dask array of shape (n,), optional
            A row of weight two counts like two copies of the row, one of weight zero like none.
        """
        return super().fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_class_weight(self.class_weight)

    def _row_weights(self, labels: PartialLabels, weight: Floats | None) -> RowWeights:
        return RowWeights.of(labels, times_class_weight(self.class_weight, labels, weight))

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return len(labels.labeled) > len(labels.unlabeled)

    def _why_no_checkpoint(self) -> str | None:
        return self._why_no_checkpoint_of_loss()

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, start, tol=self.tol, max_iter=self.max_iter)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, start, tol=self.tol, max_iter=self.max_iter)
