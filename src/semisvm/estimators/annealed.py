"""Deterministic annealing: soft labels that harden as a temperature falls."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.annealing import Annealing, Rival, labeled_by
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import Assigning, Cooling, MultiTask
from semisvm.estimators.switching import Switching
from semisvm.estimators.task import BinaryTask
from semisvm.estimators.transductive import (
    BALANCE_TOL,
    finish_binary,
    finish_multi,
    first_state,
    refuse_balancing,
    supervised_solution,
)
from semisvm.homotopy import Callback, Level, falling, follow, settling
from semisvm.validation import check_real

# A class with a smaller share than this can be lost on the path, so that its start is better
# than its end. `benchmarks answers` counts how often: 2 of 8 draws of reuters (6%), 1 of 4 of
# usps (20%), none of 124 others, 84 of them above this share.
RARE = 0.25
# Rows with equal scores at the threshold share their belief at every temperature, so the
# entropy may never vanish; below this share of the start nothing changes any more.
COLDEST = 1e-8
NOT_ANNEALED = (
    "labels switched from the supervised start on have a lower objective than those at the end of "
    "the path: they are returned"
)


class AnnealedSVC(LinearSemiSupervisedClassifier):
    r"""Semi-supervised SVM by deterministic annealing (DA).

    Minimises over weights w and beliefs p_j that row j is of the second class ::

        reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i)
            + unlabeled_weight/(2u) sum_j [ p_j l(o_j) + (1 - p_j) l(-o_j) ]
            + T/(2u) sum_j [ p_j log p_j + (1 - p_j) log(1 - p_j) ],    mean(p) = r

    with l(z) = max(0, 1 - z)^2, while the temperature T falls. At a high temperature the
    problem is nearly convex; its solution is followed down to T = 0, where the beliefs
    are hard labels and the objective is that of `TransductiveSVC`.

    More than two classes have one score each, the one-vs-rest or the maxent loss of
    `TransductiveSVC`, and beliefs over all classes whose column sums are the class
    counts: entropic transportation.

    The published model is the point of the path with the lowest transductive objective
    under the class prior, among those whose outputs keep the prior, settled by label
    switching. Annealing can lose a small class for good: for two classes with a squared
    loss, the rarer below 25%, the supervised start is settled in the same way, and counts
    where it has the lower objective; a note in ``trace_`` says so.
    The objective without the prior prefers models that put every row on one side, so it
    is not used to choose.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda. None is the default of the loss, for rows
        of length one: 1e-3, and 1e-4 for "log" and "crammer_singer".
    unlabeled_weight : float, default=1.0
        Weight of the unlabelled rows, lambda'.
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
    temperature : float, default=10.0
        First temperature, in units of ``unlabeled_weight``.
    annealing_rate : float, default=1.5
        Quotient from one temperature to the next.
    entropy_tol : float, default=1e-6
        A temperature is left when the mean divergence between successive beliefs is
        below it, or the gradient small (or predicted to be); annealing ends when the mean
        entropy of the beliefs is below it.
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
        Certified relative error of the objective of the last weight step. On the path
        weight steps are solved to 1e-4.
    max_iter : int, default=1000
        Rounds of weight and label step at one temperature.
    warm_start : bool, default=False
        Go on from the weights of the last fit, at T = 0.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        Print one line a temperature.
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
    label_distribution_ : array of shape (n, m)
        Given labels as 0 and 1, and beliefs of the published model at the last
        temperature, which are close to 0 and 1 too.
    objective_ : float
        Transductive objective of the published weights and labels.
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
    >>> from semisvm import AnnealedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = AnnealedSVC(reg=0.1).fit(scale(X), partly)
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
        temperature: float = 10.0,
        annealing_rate: float = 1.5,
        entropy_tol: float = 1e-6,
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
        self.temperature = temperature
        self.annealing_rate = annealing_rate
        self.entropy_tol = entropy_tol
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
        self : AnnealedSVC
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, above=0)
        check_real("temperature", self.temperature, above=0)
        check_real("annealing_rate", self.annealing_rate, above=1)
        check_real("entropy_tol", self.entropy_tol, above=0)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        u, lam = len(task.unlabeled), float(self.unlabeled_weight)
        if u == 0:
            return supervised_solution(task, self.tol)
        annealing = Annealing(task, first_state(task, start, self.tol), lam, self.entropy_tol)
        first, rounds = annealing.state.w.copy(), 0
        if start is None and 0 < task.n_positive < u:
            rounds = self._cool(annealing)
        annealing.let_go()
        loose, *rest = settling(lam, self.tol)
        switching = Switching(task, *labeled_by(task, annealing.best), None)
        more, _ = follow("switching", [loose], switching, task.recorder, self.max_iter)
        if rounds and task.rarer_share < RARE:
            # weights are enough to come back to it, and rows take memory
            w, value = switching.state.w, switching.objective(lam)
            del switching
            found, again = self._or_start(task, w, value, first, loose)
            switching, more = Switching(task, *labeled_by(task, found), None), more + again
        solution = finish_binary(
            switching,
            rest or [loose],
            lam=lam,
            max_rounds=self.max_iter,
            balance_tol=self.balance_tol,
        )
        solution.n_iter += rounds + more
        beliefs = switching.labels.astype(np.float64)
        if rounds:
            beliefs = annealing.beliefs(switching.state.scores)
        solution.beliefs = np.column_stack([1.0 - beliefs, beliefs])
        return solution

    def _or_start(
        self, task: BinaryTask, w: Floats, value: float, first: Floats, level: Level
    ) -> tuple[Floats, int]:
        """Settle the start of the path too; give the weights with the lower objective.

        Parameters
        ----------
        task : BinaryTask
        w, value : array of shape (n_weights,), float
            The end of the path, settled, and its objective.
        first : array of shape (n_weights,)
            The start.
        level : Level

        Returns
        -------
        w : array of shape (n_weights,)
        rounds : int
        """
        rival = Rival(task, *labeled_by(task, first), value)
        rounds, _ = follow("from the start", [level], rival, task.recorder, self.max_iter)
        if rival.objective(level.value) >= value:
            return w, rounds
        task.recorder.note(NOT_ANNEALED)
        return rival.state.w, rounds

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        lam = float(self.unlabeled_weight)
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        cooling = Cooling(task, first_state(task, start, self.tol), lam, self.entropy_tol)
        rounds = self._cool(cooling) if start is None else 0
        assigning = Assigning(task, cooling.best, "exact")
        levels = settling(lam, self.tol)
        solution = finish_multi(assigning, levels, lam=lam, max_rounds=self.max_iter)
        solution.n_iter += rounds
        solution.beliefs = np.eye(len(task.counts))[solution.codes]
        if rounds:
            solution.beliefs = cooling.beliefs(assigning.state.scores)
        return solution

    def _cool(self, method: Annealing | Cooling) -> int:
        """Follow the solution down to a temperature at which the labels are hard."""
        hottest = float(self.temperature) * float(self.unlabeled_weight)
        rate = float(self.annealing_rate)
        levels = falling(hottest, COLDEST * hottest, rate, self.tol, method.cold)
        rounds, _ = follow("annealing", levels, method, method.task.recorder, self.max_iter)
        return rounds
