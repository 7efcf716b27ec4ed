"""Transductive SVM: hard labels, switched in pairs, while the unlabelled rows gain weight."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import (
    MAX_NEWTON_STEPS,
    LinearSemiSupervisedClassifier,
    Solution,
)
from semisvm.estimators.task import BinaryTask, Signs
from semisvm.homotopy import Callback, Level, follow, rising, settling
from semisvm.labels import switch_pairs
from semisvm.validation import check_count, check_real
from semisvm.weights import State, minimize

START_WEIGHT = 1e-5


class Switching:
    """The method's two steps: retrain, and switch labels of pairs that disagree."""

    def __init__(
        self, task: BinaryTask, state: State, labels: Signs, max_pairs: int | None
    ) -> None:
        self.task = task
        self.state = state
        self.labels = labels
        self.max_pairs = max_pairs

    def enter(self, level: Level) -> None:
        """Compute the scores afresh before the level that gives the answer."""
        if level.last:
            design = self.task.design
            design.scores(self.state.w, design.all_rows, self.state.scores)

    def weight_step(self, level: Level) -> State:
        """Retrain from the last weights."""
        problem = self.task.semisupervised(self.labels, ~self.labels, level.value)
        return minimize(problem, self.state, tol=level.tol, max_iter=MAX_NEWTON_STEPS)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Switch pairs; settled when no switch lowers the objective."""
        task, scores = self.task, self.state.scores
        self.labels, switched = switch_pairs(scores[task.unlabeled], self.labels, self.max_pairs)
        facts = {
            "objective": task.objective(self.state.w, scores, level.value, self.labels),
            "switched": switched,
            "imbalance": task.imbalance(scores),
        }
        return switched == 0, facts


def supervised_start(task: BinaryTask, tol: float) -> State:
    """Fit the labelled rows, score all rows, and leave a row in the trace."""
    result = task.start(tol, MAX_NEWTON_STEPS)
    task.recorder.record("supervised", result, objective=result.objective)
    task.recorder.level_done()
    return result


def supervised_solution(task: BinaryTask, tol: float) -> Solution:
    """Give the answer where there is no unlabelled row."""
    task.recorder.note("no unlabelled rows: this is the supervised solution")
    result = supervised_start(task, tol)
    nothing = np.zeros(0, dtype=bool)
    return Solution(result.w, result.objective, result.n_iter, result.converged, nothing)


def resume(task: BinaryTask, w: Floats) -> State:
    """Score all rows with the weights of an earlier fit."""
    task.recorder.note("warm start: the schedule was skipped")
    scores = task.design.scores(w, task.design.all_rows, np.zeros(task.design.n_rows))
    return State(w, scores)


def finish(
    task: BinaryTask,
    method: Switching,
    levels: Iterable[Level],
    *,
    lam: float,
    max_rounds: int,
    balance_tol: float | None,
) -> Solution:
    """Run the switching loop to its end and make the outputs keep the class prior."""
    rounds, settled = follow("switching", levels, method, task.recorder, max_rounds)
    state, labels = method.state, method.labels
    w, scores = state.w, state.scores
    shift = 0.0
    if balance_tol is not None and task.design.bias > 0.0:
        shift = task.balancing_shift(scores, balance_tol)
    if shift:
        before = task.imbalance(scores)
        w[-1] += shift / task.design.bias
        scores += shift
        task.recorder.note(
            f"intercept moved by {shift:.3g}: the share of positive outputs was off the class "
            f"prior by {before:.1%} of the rarer class, now {task.imbalance(scores):.1%}"
        )
    objective = task.objective(w, scores, lam, labels)
    return Solution(w, objective, rounds, settled and state.converged, labels)


class TransductiveSVC(LinearSemiSupervisedClassifier):
    r"""Transductive SVM (TSVM) with multiple switching, two classes.

    Minimises over weights w and labels y' of the unlabelled rows ::

        reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i) + unlabeled_weight/(2u) sum_j l(y'_j o_j)

    with l(z) = max(0, 1 - z)^2, where the number of positive y' is fixed by the class
    prior. It starts from the supervised solution, labels the unlabelled rows by it, and
    raises the weight of the unlabelled rows step by step; at each level it retrains and
    switches the labels of pairs that lower the objective, until there is none.

    Parameters
    ----------
    reg : float, default=1e-3
        Strength of the regularisation, lambda.
    unlabeled_weight : float, default=1.0
        Final weight of the unlabelled rows, lambda'.
    class_prior : None, array of shape (2,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows.
    annealing_rate : float, default=1.5
        Factor from one level to the next.
    max_switches : int or None, default=None
        Pairs to switch before retraining. None switches all that improve; 1 is the
        single switch of Joachims, and slow.
    balance_tol : float or None, default=0.1
        The share of positive outputs on the unlabelled rows may miss the prior by this
        share of the rarer class; beyond it the intercept is moved just far enough. None
        leaves the intercept alone.
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
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    class_prior_ : array of shape (2,)
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
        reg: float = 1e-3,
        unlabeled_weight: float = 1.0,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | None = None,
        annealing_rate: float = 1.5,
        max_switches: int | None = None,
        balance_tol: float | None = 0.1,
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
        self.class_prior = class_prior
        self.annealing_rate = annealing_rate
        self.max_switches = max_switches
        self.balance_tol = balance_tol
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
            Labels of two classes, and the marker for unlabelled rows.

        Returns
        -------
        self : TransductiveSVC
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, above=0)
        check_real("annealing_rate", self.annealing_rate, above=1)
        check_count("max_switches", self.max_switches, optional=True)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _solve(self, task: BinaryTask, start: Floats | None) -> Solution:
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        lam = float(self.unlabeled_weight)
        if start is None:
            state = supervised_start(task, self.tol)
            levels = rising(START_WEIGHT, lam, float(self.annealing_rate), self.tol)
        else:
            state = resume(task, start)
            levels = settling(lam, self.tol)
        method = Switching(task, state, task.best_labels(state.scores), self.max_switches)
        return finish(
            task, method, levels, lam=lam, max_rounds=self.max_iter, balance_tol=self.balance_tol
        )
