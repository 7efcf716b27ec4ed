"""The supervised machine that the others are built on."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Callback
from semisvm.losses import LOSSES, Loss
from semisvm.partial_labels import PartialLabels
from semisvm.validation import check_choice
from semisvm.weights import State, minimize


class NewtonSVC(LinearSemiSupervisedClassifier):
    r"""Linear SVM by modified finite Newton (l2-SVM-MFN), fitted to the labelled rows.

    Minimises, over the l labelled rows with weights s_i (1 where not given), ::

        reg/2 ||w||^2 + 1/(2 sum s) sum_i s_i l(y_i o_i),    o_i = w . x_i

    with l(z) = max(0, 1 - z)^2, or (1 - z)^2 for regularised least squares. The intercept
    is the weight of a constant feature and is regularised like the others. Unlabelled
    rows do not enter; they are predicted in ``transduction_``.

    Parameters
    ----------
    reg : float, default=1e-3
        Strength of the regularisation, lambda.
    loss : {"squared_hinge", "squared"}, default="squared_hinge"
        "squared" is regularised least squares: one linear system.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-8
        Certified relative error of the objective at which to stop: the bound
        ||gradient||^2 / (2 reg) on objective - minimum, divided by the objective.
    max_iter : int, default=200
        Newton steps.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    class_prior_ : array of shape (2,)
        Fractions of the labelled rows.
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
    n_iter_ : int
        Newton steps.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

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

    def __init__(
        self,
        reg: float = 1e-3,
        *,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unlabeled: Any = -1,
        tol: float = 1e-8,
        max_iter: int = 200,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the labelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two classes, and the marker for unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight two counts like the row given twice.

        Returns
        -------
        self : NewtonSVC
        """
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_choice("loss", self.loss, LOSSES)

    def _loss(self) -> Loss:
        return LOSSES[self.loss]

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return len(labels.labeled) > len(labels.unlabeled)

    def _solve(self, task: BinaryTask, start: Floats | None) -> Solution:
        problem = task.supervised()
        w = np.zeros(task.design.n_weights) if start is None else start
        result = minimize(
            problem,
            State.at(w, problem),
            tol=self.tol,
            max_iter=self.max_iter,
            on_step=lambda state: self._record(task, state),
        )
        task.recorder.level_done()
        scores = np.zeros(task.design.n_rows)
        task.design.scores(result.w, task.design.rows(task.unlabeled), scores)
        return Solution(
            w=result.w,
            objective=result.objective,
            n_iter=result.n_iter,
            converged=result.converged,
            positive=scores[task.unlabeled] > 0.0,
        )

    @staticmethod
    def _record(task: BinaryTask, state: State) -> bool:
        task.recorder.record("newton", state, objective=state.objective)
        return task.recorder.stopped
