"""The supervised machine that the others are built on."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Callback
from semisvm.partial_labels import PartialLabels
from semisvm.weights import State


class NewtonSVC(LinearSemiSupervisedClassifier):
    r"""Linear SVM by modified finite Newton (l2-SVM-MFN), fitted to the labelled rows.

    Minimises, over the l labelled rows with weights s_i (1 where not given), ::

        reg/2 ||w||^2 + 1/(2 sum s) sum_i s_i l(y_i o_i),    o_i = w . x_i

    with l(z) = max(0, 1 - z)^2, or (1 - z)^2 for regularised least squares. More than two
    classes have one weight vector each, and the loss of a row is the sum of its
    one-vs-rest losses, or the logistic loss of the softmax of its scores (maxent). The
    intercept is the weight of a constant feature and is regularised like the others.
    Unlabelled rows do not enter; they are predicted in ``transduction_``.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda. None is the default of the loss, for rows
        of length one: 1e-3, and 1e-4 for "log" and "crammer_singer".
    loss : {"squared_hinge", "hinge", "squared", "log", "crammer_singer"}
        Default "squared_hinge". "hinge" is max(0, 1 - z), for two classes.
        "squared" is regularised least squares; "log" is maxent; "crammer_singer" the
        margin loss max_z [(z != y) + s_z] - s_y, solved to a duality gap of 1e-4.
    hierarchy : None, nested dict, list of paths or dict child -> parent, default=None
        Class hierarchy with the classes as leaves: the score of a class sums the scores
        of the nodes on its path, and the weights of the nodes are regularised.
    kernel : str or callable, default="linear"
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed". Other kernels than "linear" are feature maps: the fit holds n x rank
        numbers, and prediction needs the pivot rows only.
    gamma : float, "scale" or "mean_distance", default="scale"
        Of the kernel: 1 / (d var(X)), or 1 / (2 width^2) with the average distance of two
        rows as the width.
    degree : int, default=3
    coef0 : float, default=1.0
        Of the kernels "poly" and "sigmoid".
    n_components : int or None, default=None
        Most features of the kernel (Nystroem); None leaves it to ``kernel_tol``.
    kernel_tol : float, default=1e-4
        Share of the trace of the kernel matrix that the features may leave out.
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-10
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
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Fractions of the labelled rows.
    reg_ : float
        The regularisation that was used.
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
        reg: float | None = None,
        *,
        loss: str = "squared_hinge",
        hierarchy: Any = None,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unlabeled: Any = -1,
        tol: float = 1e-10,
        max_iter: int = 200,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.loss = loss
        self.hierarchy = hierarchy
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
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
            Labels of two or more classes, and the marker for unlabelled rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight two counts like the row given twice.

        Returns
        -------
        self : NewtonSVC
        """
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()

    def _reads_all_rows(self, labels: PartialLabels) -> bool:
        return len(labels.labeled) > len(labels.unlabeled)

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        return solve_labeled(self, task, start)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        return solve_labeled(self, task, start)


def solve_labeled(
    estimator: Any, task: BinaryTask | MultiTask, start: Floats | None = None
) -> Solution:
    """Fit the labelled rows, and predict the others."""
    w = np.zeros(task.n_weights) if start is None else start
    state = task.start(w, **newton_options(estimator, task))
    task.recorder.level_done()
    if isinstance(task, BinaryTask):
        scores = np.zeros(task.design.n_rows)
        task.design.scores(state.w, task.design.rows(task.unlabeled), scores)
        codes = (scores[task.unlabeled] > 0.0).astype(np.intp)
    else:
        codes = task.scores(state.w, task.unlabeled)[task.unlabeled].argmax(axis=1)
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)


def newton_options(estimator: Any, task: BinaryTask | MultiTask) -> dict[str, Any]:
    """Give what an estimator tells the Newton solver; every step is a row of the trace."""

    def record(state: State) -> bool:
        task.recorder.record("newton", state, objective=state.objective)
        return task.recorder.stopped

    return {"tol": estimator.tol, "max_iter": estimator.max_iter, "on_step": record}
