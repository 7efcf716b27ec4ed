"""Machines with the 1-norm that are one linear program: RLP and the 1-norm SVM."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.gradient import one_against_rest
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.hierarchy import Hierarchy
from semisvm.homotopy import Callback
from semisvm.losses import SQUARED_HINGE
from semisvm.programs import ProgramError, Status
from semisvm.validation import check_real
from semisvm.weights import State
from semisvm.weights.hinge_program import HingeProgram, HingeSolution

FEWEST_ERRORS_TOL = 1e-6
"""Sum of errors, relative to the least one or to one row, that counts as the least."""
LARGEST_PRICE = 1e9
"""Of errors in units of the 1-norm; data that need more have margins of 1e-9 of their size."""


@dataclass(frozen=True)
class Found:
    """The answer to a problem of two classes.

    Attributes
    ----------
    w : array of shape (n_weights,)
    objective : float
    n_iter : int
        Programs that were solved.
    converged : bool
    bound : float
        No weights have a lower objective; -inf where that is not known.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool = True
    bound: float = -np.inf


class OneNormClassifier(LinearSemiSupervisedClassifier):
    """Base of the machines that are programs; many classes are one-vs-rest problems."""

    # which kind of task the base makes; programs look at its rows and signs alone
    loss = SQUARED_HINGE.name
    fit_intercept = True
    intercept_scaling = 1.0
    warm_start = False
    # without class_prior= the labelled fractions constrain nothing
    balances_by_default = False
    n_jobs: int | None = None

    @abstractmethod
    def _solve_program(self, task: BinaryTask) -> Found:
        """Solve a problem of two classes."""

    def _regularisation(self) -> float:
        return float(self.mu)

    def _check_shared_parameters(self) -> None:
        if self.callback is not None and not callable(self.callback):
            raise ValueError(f"callback must be a function or None, got {self.callback!r}.")

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes, and the marker for unlabelled rows.

        Returns
        -------
        self : estimator
        """
        return self._fit(X, y)

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        return self._solution([task])

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        return self._solution([one_against_rest(task, y) for y in range(len(task.counts))])

    def _solution(self, tasks: list[BinaryTask]) -> Solution:
        """Solve one problem of two classes, or one for each class."""
        found = [self._solve_program(task) for task in tasks]
        self._publish_certificate(found)
        scores = np.column_stack(
            [outputs(task, part.w)[task.unlabeled] for task, part in zip(tasks, found, strict=True)]
        )
        binary = len(tasks) == 1
        return Solution(
            np.column_stack([part.w for part in found]).ravel(),
            sum(part.objective for part in found),
            sum(part.n_iter for part in found),
            all(part.converged for part in found),
            (scores[:, 0] > 0.0).astype(np.intp) if binary else scores.argmax(axis=1),
        )

    def _publish_certificate(self, found: list[Found]) -> None:
        """Note what is known of the optimum; most have nothing to say."""

    def _publish_weights(self, coef: Floats, intercept: Floats, hierarchy: Hierarchy) -> None:
        super()._publish_weights(coef, intercept, hierarchy)
        self.n_nonzero_ = np.count_nonzero(self.coef_, axis=1)


def outputs(task: BinaryTask, w: Floats) -> Floats:
    """Give the outputs of all rows."""
    return task.design.scores(w, task.design.all_rows, np.zeros(task.design.n_rows))


def signs_of(task: BinaryTask) -> Floats:
    """Give 1 for labelled rows of the second class, -1 for the others."""
    return np.where(task.positive, 1.0, -1.0)


def record(task: BinaryTask, phase: str, found: HingeSolution, objective: float) -> None:
    """Write a row of the trace for a program that was solved."""
    n_rows, none = len(task.labeled), np.empty(0)
    state = State(found.w, none, gradient_norm=np.nan, n_iter=found.pivots, n_active=n_rows)
    task.recorder.record(phase, state, objective=objective, pivots=found.pivots)
    task.recorder.level_done()


class RobustLPC(OneNormClassifier):
    r"""Robust linear programming (RLP): the fewest errors, measured by their depth.

    Minimises, over the labelled rows, ::

        sum_i max(0, 1 - y_i (w . x_i + b))

    Where the classes can be separated, many weights make no errors, and which one is
    taken decides about new rows. Here it is the one with the least ||w||_1, which means
    the widest margin in the infinity norm; of several intercepts the middle one. That is
    the limit of `OneNormSVC` as mu falls to zero. Unlabelled rows do not enter; they are
    predicted in ``transduction_``. More than two classes are one-vs-rest problems.

    Parameters
    ----------
    kernel : str or callable, default="linear"
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed". Other kernels than "linear" are feature maps: the fit holds n x rank
        numbers, and prediction needs the pivot rows only. The 1-norm is then that of the
        weights of the features.
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
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    n_nonzero_ : int array of shape (1,) or (m,)
        Weights that are not zero.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Fractions of the labelled rows.
    reg_ : float
        Zero: nothing is regularised.
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        The sum of the errors; of many classes, the sum over their problems.
    n_iter_ : int
        Linear programs that were solved.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Bennett and Mangasarian, Robust linear programming discrimination of two linearly
    inseparable sets, Optimization Methods and Software 1, 1992. Fung and Mangasarian,
    Semi-supervised support vector machines for unlabeled data classification,
    Optimization Methods and Software 15, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import RobustLPC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(RobustLPC().fit(scale(X), y).score(scale(X), y), 2)
    1.0
    """

    mu = 0.0

    def __init__(
        self,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        self._check_shared_parameters()

    def _solve_program(self, task: BinaryTask) -> Found:
        """Raise the price of errors until they are as few as without the 1-norm."""
        X, signs = task.design.matrix(task.labeled), signs_of(task)
        # the answer does not depend on the unit of X, so let the numbers be around one
        unit = float(abs(X).max()) or 1.0
        X, ones = X / unit, np.ones(len(signs))
        least = HingeProgram(X, signs, mu=0.0).solve(ones).bound
        program = HingeProgram(X, signs, mu=1.0)
        enough = least + FEWEST_ERRORS_TOL * max(1.0, least)
        price, n_iter = 1.0, 1
        while price <= LARGEST_PRICE:
            found, n_iter = program.solve(price * ones), n_iter + 1
            errors = found.loss / price
            record(task, "pricing", found, errors)
            if errors <= enough:
                w = np.append(found.w[:-1] / unit, found.w[-1])
                return Found(w, errors, n_iter)
            price *= 10.0
        raise ProgramError(Status.TROUBLE, "the program of least errors and least 1-norm")


class OneNormSVC(OneNormClassifier):
    r"""SVM with the 1-norm, a linear program with few weights that are not zero.

    Minimises, over the labelled rows, ::

        sum_i max(0, 1 - y_i (w . x_i + b)) + mu ||w||_1

    The intercept is not regularised; of several that are equally good the middle one is
    taken. Unlabelled rows do not enter; they are predicted in ``transduction_``. More
    than two classes are one-vs-rest problems.

    Parameters
    ----------
    mu : float, default=1.0
        Weight of the 1-norm against the sum of the errors: not their mean, so it means
        less where there are more rows.
    kernel : str or callable, default="linear"
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed". Other kernels than "linear" are feature maps: the fit holds n x rank
        numbers, and prediction needs the pivot rows only. The 1-norm is then that of the
        weights of the features.
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
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    n_nonzero_ : int array of shape (1,) or (m,)
        Weights that are not zero.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Fractions of the labelled rows.
    reg_ : float
        mu.
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        Of many classes, the sum over their problems.
    n_iter_ : int
        Linear programs that were solved.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Bradley and Mangasarian, Feature selection via concave minimization and support vector
    machines, ICML 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import OneNormSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OneNormSVC(mu=10.0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2), model.n_nonzero_.tolist()
    (0.97, [9])
    """

    def __init__(
        self,
        mu: float = 1.0,
        *,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.mu = mu
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
        self.unlabeled = unlabeled
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)

    def _solve_program(self, task: BinaryTask) -> Found:
        X, signs = task.design.matrix(task.labeled), signs_of(task)
        found = HingeProgram(X, signs, float(self.mu)).solve(np.ones(len(signs)))
        record(task, "program", found, found.value)
        return Found(found.w, found.value, 1, bound=found.bound)
