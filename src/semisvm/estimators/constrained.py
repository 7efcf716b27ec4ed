"""Maxent whose probabilities keep the class shares on the unlabelled rows."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from semisvm.designs import Floats
from semisvm.estimators.base import Solution
from semisvm.estimators.lagrangian import Multiplying
from semisvm.estimators.maxent import MaxentClassifier, first_state
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.transductive import FIRST_WEIGHT_OF_MANY, supervised_solution
from semisvm.homotopy import Callback, Level, decades, follow, rising, settling
from semisvm.validation import check_real


class _ShareConstrained(MaxentClassifier):
    """What the two classifiers with constraints on the model's own probabilities share."""

    @abstractmethod
    def _levels(self, warm: bool) -> Iterable[Level]:
        """Give the weights of the entropy, one after the other."""

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("constraint_tol", self.constraint_tol, above=0)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        if len(task.unlabeled) == 0:
            self.multipliers_ = np.zeros(len(task.counts))
            return supervised_solution(task, self.tol)
        # the weights of an earlier fit rest on its multipliers
        multipliers = np.zeros(len(task.counts)) if start is None else self.multipliers_
        state = first_state(task, start, self.tol)
        method = Multiplying(task, state, multipliers, float(self.constraint_tol))
        levels = self._levels(start is not None)
        rounds, _ = follow("multipliers", levels, method, task.recorder, self.max_iter)
        if np.isfinite(method.state.w).all():
            # otherwise the fit fails, and an earlier one keeps its own
            self.multipliers_ = method.multipliers
        if not task.recorder.stopped and method.residual > method.residual_tol:
            self._warn(task, method.residual)
        p = method.probabilities
        codes, state = p.argmax(axis=1), method.state
        return Solution(state.w, state.objective, rounds, state.converged, codes, p)

    def _warn(self, task: MultiTask, residual: float) -> None:
        message = (
            f"{type(self).__name__} misses the class shares by {residual:.2g}, more than "
            f"constraint_tol ({self.constraint_tol:g}). Weaker regularisation, a larger "
            "intercept_scaling or more rounds (max_iter) may reach them."
        )
        task.recorder.note(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=6)


class ExpectationConstrainedClassifier(_ShareConstrained):
    r"""Maxent with an expectation constraint on the unlabelled rows.

    Minimises, over l labelled and u unlabelled rows, ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i)
        s.t.  1/u sum_j p_j(y) = n(y)/u    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y and the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model. The unlabelled rows enter by the
    constraint only: the class counts n(y), which the class prior gives, hold for the sums
    of the probabilities, not for the number of rows predicted in a class. The constraint
    is kept by an augmented Lagrangian, whose subproblems L-BFGS solves.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda; None is 1e-4, for rows of length one.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    constraint_tol : float, default=1e-4
        Largest difference of the mean of p_j(y) and its share n(y)/u.
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
        Without an intercept the weights of the features must make up for the shares.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-5
        A minimisation stops when ||gradient||^2 / (2 reg) is this share of the objective.
        For the supervised start that certifies the relative error.
    max_iter : int, default=100
        Rounds of minimisation and renewed multipliers.
    warm_start : bool, default=False
        Go on from the weights and multipliers of the last fit.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        Print a line for the start, the loose and the tight rounds.
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector a class, for two classes too.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
    reg_ : float
        The regularisation that was used.
    multipliers_ : array of shape (m,)
        Of the constraints; they sum to zero.
    transduction_ : array of shape (n,)
        Given labels, and the most probable class of the unlabelled rows.
    label_distribution_ : array of shape (n, m)
        Given labels as 0 and 1, and the probabilities of the unlabelled rows.
    objective_ : float
        Without the constraint.
    n_iter_ : int
        Rounds.
    trace_ : Trace
        Its ``residual`` is the largest difference to a wanted share; its
        ``newton_steps`` are those of L-BFGS.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    Notes
    -----
    The constraint is on the mean probability. Few labels make rows that hardly differ:
    then every row may have about the probability n(y)/u of a rare class y, the shares
    hold, and no row is predicted in it. The order of the rows by `predict_proba` is sound
    nevertheless; where the counts are to hold for predictions, take the n(y) first ones,
    or use a method whose labels are counted, such as `TransductiveSVC`. Without an
    intercept the constraint bends the weights of common features, and the order suffers.

    References
    ----------
    Mann and McCallum, Generalized expectation criteria for semi-supervised learning with
    weakly labeled data, JMLR 11, 2010.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012, equation 12.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import ExpectationConstrainedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = ExpectationConstrainedClassifier(reg=0.1, class_prior=[0.37, 0.63])
    >>> p = model.fit(scale(X), partly).predict_proba(scale(X)[partly == -1])
    >>> p.mean(axis=0).round(2).tolist()
    [0.37, 0.63]
    """

    def __init__(
        self,
        reg: float | None = None,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        constraint_tol: float = 1e-4,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 100,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.class_prior = class_prior
        self.constraint_tol = constraint_tol
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

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes, and the marker for unlabelled rows.

        Returns
        -------
        self : ExpectationConstrainedClassifier
        """
        return self._fit(X, y)

    def _levels(self, warm: bool) -> Iterable[Level]:
        return settling(0.0, self.tol)


class EntropyRegularizedClassifier(_ShareConstrained):
    r"""Maxent that is sure of the unlabelled rows, with an expectation constraint.

    Minimises, over l labelled and u unlabelled rows, ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + unlabeled_weight/u sum_j H(p_j)
        s.t.  1/u sum_j p_j(y) = n(y)/u    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y, the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model and their entropy
    H(p) = -sum_y p(y) log p(y). The entropy drives the boundary away from the unlabelled
    rows, and the constraint keeps them from falling into one class. The entropy is not
    convex in W: its weight goes up step by step from the supervised solution, each step
    starting from the last. At every step the constraint is kept by an augmented
    Lagrangian, whose subproblems L-BFGS solves; the result is a local minimum.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda; None is 1e-4, for rows of length one.
    unlabeled_weight : float, default=1.0
        Final weight of the entropy.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    annealing_rate : float or None, default=None
        Factor from one weight of the entropy to the next, from 1e-4 on. None is 3 and
        10/3 in turns.
    constraint_tol : float, default=1e-4
        Largest difference of the mean of p_j(y) and its share n(y)/u.
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
        Without an intercept the weights of the features must make up for the shares.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-5
        A minimisation stops when ||gradient||^2 / (2 reg) is this share of the objective;
        early levels at 1e-3. For the supervised start that certifies the relative error.
        The function is flat near its minimum: at 1e-5 two ways to the same one, sparse
        and dense rows say, may differ by 0.01 in a score and 1e-4 in a probability, at
        1e-9 by 1e-3 and 1e-5.
    max_iter : int, default=100
        Rounds of minimisation and renewed multipliers at one level.
    warm_start : bool, default=False
        Go on from the weights and multipliers of the last fit, at the final level.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        Print one line a level.
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector a class, for two classes too.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
    reg_ : float
        The regularisation that was used.
    multipliers_ : array of shape (m,)
        Of the constraints; they sum to zero.
    transduction_ : array of shape (n,)
        Given labels, and the most probable class of the unlabelled rows.
    label_distribution_ : array of shape (n, m)
        Given labels as 0 and 1, and the probabilities of the unlabelled rows.
    objective_ : float
        Without the constraint.
    n_iter_ : int
        Rounds over all levels.
    trace_ : Trace
        Its ``value`` is the weight of the entropy, its ``residual`` the largest
        difference to a wanted share; its ``newton_steps`` are those of L-BFGS.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Grandvalet and Bengio, Semi-supervised learning by entropy minimization, NIPS 2004.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012, equation 11.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import EntropyRegularizedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = EntropyRegularizedClassifier(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    def __init__(
        self,
        reg: float | None = None,
        unlabeled_weight: float = 1.0,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        annealing_rate: float | None = None,
        constraint_tol: float = 1e-4,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 100,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.unlabeled_weight = unlabeled_weight
        self.class_prior = class_prior
        self.annealing_rate = annealing_rate
        self.constraint_tol = constraint_tol
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

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes, and the marker for unlabelled rows.

        Returns
        -------
        self : EntropyRegularizedClassifier
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, above=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)

    def _levels(self, warm: bool) -> Iterable[Level]:
        lam = float(self.unlabeled_weight)
        if warm:
            return settling(lam, self.tol)
        if self.annealing_rate is None:
            return decades(FIRST_WEIGHT_OF_MANY, lam, self.tol)
        return rising(FIRST_WEIGHT_OF_MANY, lam, float(self.annealing_rate), self.tol)
