"""Classifiers that are linear programs with the 1-norm: RLP, the 1-norm SVM and FSV.

FSV is an SVM with a penalty on the number of its weights, by a sequence of programs.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.parameters import KernelParameters, parameters
from semisvm.labels.hierarchy import Hierarchy
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.maps.feature_maps import FeatureMap, fit_expansion
from semisvm.methods.linear_programs import Counting, Found, fewest_errors, one_norm
from semisvm.methods.solution import Solution, joined, one_vs_rest
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_real


@parameters
class OneNormClassifier(KernelParameters, LinearSemiSupervisedClassifier):
    """Base of the classifiers that are linear programs; many classes are one-vs-rest.

    With a kernel, f(x) = sum_j u_j k(x, a_j) + b over training rows a_j, and u has the place
    of w. Features whose inner products are the kernel would not do: the 1-norm of their weights
    changes with a rotation, so it would depend on the order of the rows.

    Parameters
    ----------
    kernel : str or callable
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows,
        or "precomputed". With a kernel other than "linear",
        f(x) = sum_j u_j k(x, a_j) + b with one weight u_j for each training row a_j,
        labelled or not, and the 1-norm is that of u. The kernel need not be positive
        semi-definite.
    n_components : int or None
        Maximum number of training rows a_j that have a weight (reduced SVM), drawn at random
        by their values: the same rows in any order of X. None takes all distinct rows.
    kernel_tol : float
        Not used: the kernel is exact. For the same parameters as other methods.
    callback : callable or None
        Called with each row of the trace.

    Attributes
    ----------
    reg_ : float
        mu.
    kernel_map_ : ExpansionMap or None
        Rows a_j of the kernel (``pivots``), with one weight each in ``coef_``; None if linear.
    n_nonzero_ : int array of shape (1,) or (m,)
        Number of weights that are not zero.
    objective_ : float
        For more than two classes, the sum over their problems.
    n_iter_ : int
        Number of linear programs solved.
    """

    _regularizes_length = False

    @property
    def estimates_shares(self) -> bool:
        """Whether ``class_prior=None`` means an estimate: it leaves the shares free."""
        return False

    @abstractmethod
    def _solve_program(self, task: TwoClassTask) -> Found:
        """Solve a problem of two classes."""

    def _loss(self) -> Loss:
        return SQUARED_HINGE

    def _specification(self) -> Specification:
        # the programs use only rows and signs; the loss sets the form of the scores
        return Specification(SQUARED_HINGE, float(self.get_params(deep=False).get("mu", 0.0)))

    def fit(self, X: Any, y: ArrayLike) -> Self:  # type: ignore[override]
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.

        Returns
        -------
        self : estimator
        """
        return super().fit(X, y)

    def _fit_map(self, rows: Any, kernel: Any, **parameters: Any) -> tuple[FeatureMap, Floats]:
        """Take the values of the kernel themselves as features."""
        check_real("kernel_tol", self.kernel_tol, at_least=0)
        return fit_expansion(rows, kernel, **parameters)

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        found = self._solve_program(task)
        self._publish_certificate([found])
        return self._solution(task, found)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        tasks = one_vs_rest(task, SQUARED_HINGE)
        found = [self._solve_program(part) for part in tasks]
        self._publish_certificate(found)
        parts = [self._solution(*pair) for pair in zip(tasks, found, strict=True)]
        return joined(parts, [part.rows.all.outputs() for part in tasks])

    def _solution(self, task: TwoClassTask, found: Found) -> Solution:
        task.rows.all.score(found.w)
        codes = task.rows.all.predictions()
        return Solution(found.w, found.objective, found.n_iter, found.converged, codes)

    def _publish_certificate(self, found: list[Found]) -> None:
        """Publish what is known about the optimum; by default nothing."""

    def _publish_weights(self, coef: Floats, intercept: Floats, hierarchy: Hierarchy) -> None:
        super()._publish_weights(coef, intercept, hierarchy)
        self.n_nonzero_ = np.count_nonzero(self.coef_, axis=1)


@parameters
class RobustLPC(OneNormClassifier):
    r"""Robust linear programming (RLP): the smallest sum of margin errors.

    Minimises, over the labelled rows, ::

        sum_i max(0, 1 - y_i (w . x_i + b))

    If the classes can be separated, many weights make no errors, and the choice among them
    decides about new rows. Here it is the one with the smallest ||w||_1, which means the
    widest margin in the infinity norm; among several intercepts it is the middle one. This
    is the limit of `OneNormSVC` as mu falls to zero. Unlabelled rows are not used;
    ``transduction_`` holds predictions for them. More than two classes are solved as
    one-vs-rest problems.

    Attributes
    ----------
    reg_ : float
        Zero: nothing is regularised.
    objective_ : float
        The sum of the errors; for more than two classes, the sum over their problems.

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

    def _check_parameters(self) -> None:
        self._check_shared_parameters()

    def _solve_program(self, task: TwoClassTask) -> Found:
        return fewest_errors(task)


@parameters
class OneNormSVC(OneNormClassifier):
    r"""SVM with the 1-norm: a linear program whose solution has few nonzero weights.

    Minimises, over the labelled rows, ::

        sum_i max(0, 1 - y_i (w . x_i + b)) + mu ||w||_1

    The intercept is not regularised; among equally good ones the middle one is taken.
    Unlabelled rows are not used; ``transduction_`` holds predictions for them. More than
    two classes are solved as one-vs-rest problems.

    Parameters
    ----------
    mu : float
        Weight of the 1-norm against the sum (not the mean) of the errors, so the same mu
        regularises less when there are more rows.

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

    mu: float = 1.0

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)

    def _solve_program(self, task: TwoClassTask) -> Found:
        return one_norm(task, float(self.mu))


@parameters
class FeatureSelectionSVC(OneNormClassifier):
    r"""SVM that selects features: the number of nonzero weights is part of the objective (FSV).

    Minimises, over the labelled rows, to a local minimum, ::

        sum_i max(0, 1 - y_i (w . x_i + b)) + mu sum_k [ 1 - exp(-sharpness |w_k|) ]

    A weight costs nearly nothing or nearly mu, whatever its size, while the 1-norm of
    `OneNormSVC` also shrinks the weights it keeps. Each step solves a linear program that lies
    above the objective and touches it at the last weights, so the objective never rises. The
    intercept is free; among equally good ones the middle one is taken. Unlabelled rows are not
    used; ``transduction_`` holds predictions for them. More than two classes are solved as
    one-vs-rest problems.

    Parameters
    ----------
    mu : float
        Price of a feature against the sum (not the mean) of the errors.
    sharpness : float
        How quickly a weight counts as a whole feature; relative to the unit of the columns,
        which should be standardised.
    kernel : str or callable
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows,
        or "precomputed". With a kernel other than "linear",
        f(x) = sum_j u_j k(x, a_j) + b with one weight u_j for each training row a_j,
        labelled or not, and the weights that are counted are the u_j. The kernel need
        not be positive semi-definite.
    tol : float
        Stop when a program gains less than this part of the objective.
    max_iter : int
        Maximum number of linear programs.

    Attributes
    ----------
    n_nonzero_ : int array of shape (1,) or (m,)
        Number of features that were selected.

    References
    ----------
    Bradley and Mangasarian, Feature selection via concave minimization and support vector
    machines, ICML 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import FeatureSelectionSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FeatureSelectionSVC(mu=10.0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2), model.n_nonzero_.tolist()
    (0.97, [3])
    """

    mu: float = 1.0
    _: KW_ONLY
    sharpness: float = 5.0
    tol: float = 1e-6
    max_iter: int = 200

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("sharpness", self.sharpness, above=0)

    def _check_tol(self) -> None:
        # 0 is allowed: there are finitely many vertices, so the objective stops falling
        check_real("tol", self.tol, at_least=0)

    def _solve_program(self, task: TwoClassTask) -> Found:
        method = Counting(task, float(self.mu), float(self.sharpness))
        rounds, settled = method.follow(float(self.tol), self.max_iter)
        return Found(method.state.w, method.state.objective, rounds, settled)
