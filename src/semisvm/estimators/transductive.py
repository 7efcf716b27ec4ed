"""Transductive SVM: hard labels that follow the weights while unlabelled rows gain weight."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import LABEL_STEPS, Assigning, MultiTask
from semisvm.estimators.switching import Switching
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Callback, Level, decades, follow, rising, settling
from semisvm.labels.result import chosen_cost
from semisvm.validation import check_choice, check_count, check_real
from semisvm.weights import State

FIRST_WEIGHT_OF_TWO = 1e-5
FIRST_WEIGHT_OF_MANY = 1e-4
BALANCE_TOL = 0.1


def first_state(task: BinaryTask | MultiTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is None:
        state = task.start(np.zeros(task.n_weights), tol)
        task.recorder.record("supervised", state, objective=state.objective)
        task.recorder.level_done()
    else:
        task.recorder.note("warm start: the schedule was skipped")
        state = State(start, np.empty(0))
    task.score_all(state)
    return state


def supervised_solution(task: BinaryTask | MultiTask, tol: float) -> Solution:
    """Give the answer where there is no unlabelled row."""
    task.recorder.note("no unlabelled rows: this is the supervised solution")
    state = first_state(task, None, tol)
    nothing = np.zeros(0, dtype=np.intp)
    return Solution(state.w, state.objective, state.n_iter, state.converged, nothing)


def balance(task: BinaryTask, state: State, tol: float) -> None:
    """Move the intercept if too many or too few outputs are positive, just far enough."""
    shift = task.balancing_shift(state.scores, tol)
    if not shift:
        return
    before = task.imbalance(state.scores)
    state.w[-1] += shift / task.design.bias
    state.scores += shift
    task.recorder.note(
        f"intercept moved by {shift:.3g}: the share of positive outputs was off the class "
        f"prior by {before:.1%} of the rarer class, now {task.imbalance(state.scores):.1%}"
    )


def refuse_balancing(balance_tol: float | None) -> None:
    """Refuse a tolerance that machines with one score a class would ignore."""
    if balance_tol is not None and balance_tol != BALANCE_TOL:
        raise ValueError(
            f"balance_tol={balance_tol!r} would have no effect: intercepts are moved only for two "
            "classes with a squared loss and without a hierarchy. Use balance_tol=None, or "
            "loss='squared_hinge' for two classes."
        )


def finish_binary(
    method: Switching,
    levels: Iterable[Level],
    *,
    lam: float,
    max_rounds: int,
    balance_tol: float | None,
) -> Solution:
    """Run the switching loop to its end and make the outputs keep the class prior."""
    task = method.task
    rounds, settled = follow("switching", levels, method, task.recorder, max_rounds)
    state, labels = method.state, method.labels
    if balance_tol is not None and task.design.bias > 0.0:
        balance(task, state, balance_tol)
    objective = method.objective(lam)
    converged = settled and state.converged
    return Solution(state.w, objective, rounds, converged, labels.astype(np.intp))


def finish_multi(
    method: Assigning, levels: Iterable[Level], *, lam: float, max_rounds: int
) -> Solution:
    """Run the assigning loop to its end."""
    task = method.task
    rounds, settled = follow("assigning", levels, method, task.recorder, max_rounds)
    state, labels = method.state, method.step.labels
    cost = chosen_cost(task.label_costs(state.scores), labels)
    objective = task.objective(state, lam, cost)
    return Solution(state.w, objective, rounds, settled and state.converged, labels)


class TransductiveSVC(LinearSemiSupervisedClassifier):
    r"""Transductive SVM (TSVM).

    Minimises over weights w and labels y' of the unlabelled rows ::

        reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i) + unlabeled_weight/(2u) sum_j l(y'_j o_j)

    with l(z) = max(0, 1 - z)^2, where the number of positive y' is fixed by the class
    prior. It starts from the supervised solution, labels the unlabelled rows by it, and
    raises the weight of the unlabelled rows step by step; at each level it retrains and
    switches the labels of pairs that lower the objective, until there is none.

    More than two classes have one score each, and minimise ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + unlabeled_weight/u sum_j xi(s_j, y'_j)

    with the one-vs-rest loss xi(s, y) = 1/2 [l(s_y) + sum_{z != y} l(-s_z)], or the maxent
    loss log sum_z exp(s_z) - s_y. The label step is then a transportation problem, which
    is solved exactly.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda. None is the default of the loss, for rows
        of length one: 1e-3, and 1e-4 for "log" and "crammer_singer".
    unlabeled_weight : float, default=1.0
        Final weight of the unlabelled rows, lambda'.
    loss : {"squared_hinge", "hinge", "squared", "log", "crammer_singer"}
        Default "squared_hinge". "hinge" is max(0, 1 - z), for two classes.
        "squared" is (1 - z)^2; "log" is maxent, for two classes too; "crammer_singer" is
        the margin loss max_z [(z != y) + s_z] - s_y.
    hierarchy : None, nested dict, list of paths or dict child -> parent, default=None
        Class hierarchy with the classes as leaves: the score of a class sums the scores
        of the nodes on its path, and the weights of the nodes are regularised.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    annealing_rate : float or None, default=None
        Factor from one level to the next. None is 1.5, from a weight of 1e-5 on, for two
        classes with a squared loss; else 3 and 10/3 in turns, from 1e-4 on.
    label_step : {"exact", "switching"}, default="exact"
        For more than two classes: the optimal labels, or those of pairwise switching. For
        two classes they are the same.
    max_switches : int or None, default=None
        Pairs of labels to switch before retraining. None switches all that improve, or
        takes the labels of ``label_step``; 1 is the single switch of Joachims, and slow.
    balance_tol : float or None, default=0.1
        For two classes with a squared loss: the share of positive outputs on the
        unlabelled rows may miss the prior by this share of the rarer class; beyond it the
        intercept is moved just far enough. None leaves the intercept alone. More classes,
        other losses and hierarchies always leave it alone, and refuse other values.
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
    tol : float, default=1e-5
        Certified relative error of the objective of the last weight step. Early levels
        are solved to 1e-3.
    max_iter : int, default=1000
        Rounds of weight and label step at one level.
    warm_start : bool, default=False
        Go on from the weights of the last fit, at the final level.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        Print one line a level.
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
        Weights of the classes, summed along their paths.
    intercept_ : array of shape (1,) or (m,)
    node_coef_, node_intercept_ : arrays of shape (k, d) and (k,)
        Weights of the nodes of the hierarchy; ``hierarchy_.names`` names them.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
    reg_ : float
        The regularisation that was used.
    transduction_ : array of shape (n,)
        Given labels, and the labels chosen for the unlabelled rows, whose counts follow
        the class prior exactly.
    objective_ : float
        Objective of the published weights and labels.
    n_iter_ : int
        Rounds of weight and label step.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Sindhwani and Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006,
    doi:10.1145/1148170.1148253.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import TransductiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = TransductiveSVC(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    def __init__(
        self,
        reg: float | None = None,
        unlabeled_weight: float = 1.0,
        *,
        loss: str = "squared_hinge",
        hierarchy: Any = None,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        annealing_rate: float | None = None,
        label_step: str = "exact",
        max_switches: int | None = None,
        balance_tol: float | None = BALANCE_TOL,
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
        max_iter: int = 1000,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.unlabeled_weight = unlabeled_weight
        self.loss = loss
        self.hierarchy = hierarchy
        self.class_prior = class_prior
        self.annealing_rate = annealing_rate
        self.label_step = label_step
        self.max_switches = max_switches
        self.balance_tol = balance_tol
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
        self : TransductiveSVC
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, above=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)
        check_choice("label_step", self.label_step, LABEL_STEPS)
        check_count("max_switches", self.max_switches, optional=True)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        lam = float(self.unlabeled_weight)
        rate = 1.5 if self.annealing_rate is None else float(self.annealing_rate)
        levels = settling(lam, self.tol)
        if start is None:
            levels = rising(FIRST_WEIGHT_OF_TWO, lam, rate, self.tol)
        state = first_state(task, start, self.tol)
        method = Switching(task, state, task.best_labels(state.scores), self.max_switches)
        return finish_binary(
            method, levels, lam=lam, max_rounds=self.max_iter, balance_tol=self.balance_tol
        )

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        lam = float(self.unlabeled_weight)
        levels = settling(lam, self.tol)
        if start is None and self.annealing_rate is not None:
            levels = rising(FIRST_WEIGHT_OF_MANY, lam, float(self.annealing_rate), self.tol)
        elif start is None:
            levels = decades(FIRST_WEIGHT_OF_MANY, lam, self.tol)
        state = first_state(task, start, self.tol)
        method = Assigning(task, state, self.label_step, self.max_switches)
        return finish_multi(method, levels, lam=lam, max_rounds=self.max_iter)
