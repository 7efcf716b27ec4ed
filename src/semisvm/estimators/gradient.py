"""Gradient TSVM: the labels are minimised away, which leaves a smooth function of the weights."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.estimators.transductive import (
    BALANCE_TOL,
    balance,
    refuse_balancing,
    supervised_solution,
)
from semisvm.homotopy import Callback, Level, follow, rising, settling
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.validation import check_real
from semisvm.vectors import dot
from semisvm.weights import State
from semisvm.weights.quasi_newton import Point, minimize

SHARPNESS = 3.0
"""exp(-3 f^2) is close to the squared hinge of the nearer label, and smooth."""
FIRST_WEIGHT = 1e-3
RATE = 2.0


@dataclass(frozen=True)
class Outputs:
    r"""The objective at one weight of the unlabelled rows, for the quasi-Newton solver.

    The mean output of the unlabelled rows is to be c = 2 r - 1. With mu their mean row,
    outputs f = v . (x - mu) + c keep that whatever the weights v are, so the constraint
    is gone; X stays as it is, since ``(X - 1 mu^T) v = X v - (mu . v) 1``.
    """

    task: BinaryTask
    lam: float
    mu: Floats

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        return self.task.reg

    @property
    def level(self) -> float:
        """Mean output of the unlabelled rows."""
        return 2.0 * self.task.positive_share - 1.0

    def weights(self, v: Floats, level: float = 0.0) -> Floats:
        """Give the weights of a model, with the intercept that makes ``level`` the mean."""
        offset = (level - dot(self.mu[:-1], v)) / self.task.design.bias
        return np.append(v, offset)

    def scores(self, w: Floats) -> Floats:
        """Give (X - 1 mu^T) w for weights, or for a step of the weights."""
        design = self.task.design
        return design.scores(self.weights(w), design.all_rows, np.zeros(design.n_rows))

    def _losses(self, scores: Floats) -> tuple[float, Floats]:
        """Give the losses of labelled and unlabelled rows, and their slopes."""
        task, slopes = self.task, np.zeros(len(scores))
        sign = np.where(task.positive, 1.0, -1.0)
        below = np.maximum(1.0 - sign * (scores[task.labeled] + self.level), 0.0)
        slopes[task.labeled] = -task.weight * sign * below
        free = scores[task.unlabeled] + self.level
        cost = 0.5 * self.lam / len(free)
        bumps = cost * np.exp(-SHARPNESS * free * free)
        slopes[task.unlabeled] = -2.0 * SHARPNESS * free * bumps
        return 0.5 * float(np.sum(task.weight * below * below)) + float(bumps.sum()), slopes

    def at(self, w: Floats, scores: Floats) -> Point:
        """Evaluate the objective and its gradient, by one pass over the rows."""
        loss, slopes = self._losses(scores)
        design = self.task.design
        pulled = design.pull_back(slopes, design.all_rows, np.empty(design.n_weights))
        gradient = pulled[:-1] - (pulled[-1] / design.bias) * self.mu[:-1] + self.reg * w
        objective = loss + 0.5 * self.reg * dot(w, w)
        return Point(w, scores, objective, objective, gradient)

    def along(
        self, point: Point, step: Floats, step_scores: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Give t -> value and slope at ``point.w + t step``, without the data."""
        ww, ws, ss = dot(point.w, point.w), dot(point.w, step), dot(step, step)

        def evaluate(t: float) -> tuple[float, float]:
            loss, slopes = self._losses(point.scores + t * step_scores)
            value = loss + 0.5 * self.reg * (ww + 2.0 * t * ws + t * t * ss)
            return value, dot(slopes, step_scores) + self.reg * (ws + t * ss)

        return evaluate


class Descending:
    """The one step of the method at a weight of the unlabelled rows."""

    def __init__(self, task: BinaryTask, v: Floats, max_steps: int) -> None:
        self.task = task
        self.max_steps = max_steps
        share = np.zeros(task.design.n_rows)
        share[task.unlabeled] = 1.0 / len(task.unlabeled)
        rows = task.design.rows(task.unlabeled)
        self.mu = task.design.pull_back(share, rows, np.empty(task.n_weights))
        self.v = v
        self.state = State(v, np.empty(0))

    def enter(self, level: Level) -> None:
        """Nothing changes but the weight."""

    def weight_step(self, level: Level) -> State:
        """Go down from the last weights to a first-order point."""
        function = Outputs(self.task, level.value, self.mu)
        point, steps = minimize(function, self.v, level.tol, self.max_steps)
        self.v, gap = point.w, point.gap(self.task.reg)
        self.state = State(
            function.weights(point.w, function.level),
            point.scores + function.level,
            point.objective,
            float(np.sqrt(dot(point.gradient, point.gradient))),
            gap,
            n_iter=steps,
            n_active=self.task.design.n_rows,
            converged=gap <= level.tol * point.objective,
        )
        return self.state

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """There are no labels to choose."""
        facts = {"imbalance": self.task.imbalance(self.state.scores)}
        return True, {"objective": self.state.objective, **facts}


class GradientTSVC(LinearSemiSupervisedClassifier):
    r"""Transductive SVM by gradient descent on a smooth objective (nabla-TSVM).

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i max(0, 1 - y_i f(x_i))^2
            + unlabeled_weight/(2u) sum_j exp(-3 f(x_j)^2),    mean_j f(x_j) = 2 r - 1

    where r is the share of the second class. The last term pushes outputs of unlabelled
    rows away from zero, to either side. Its weight is doubled from 1e-3 on, and each
    problem is solved from the last solution by a quasi-Newton method. The constraint on
    the mean is eliminated exactly, and the intercept is not regularised.

    The mean output does not fix the share of positive outputs where a class is rare;
    ``balance_tol`` moves the intercept where that share is far off.

    More than two classes are one-vs-rest problems with the class prior.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda; None is 1e-3, for rows of length one.
    unlabeled_weight : float, default=1.0
        Final weight of the unlabelled rows, lambda'.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    annealing_rate : float or None, default=None
        Factor from one weight to the next; None is 2.
    balance_tol : float or None, default=0.1
        For two classes: the share of positive outputs on the unlabelled rows may miss the
        prior by this share of the rarer class; beyond it the intercept is moved just far
        enough. None leaves the intercept alone. More classes always leave it alone, and
        refuse other values.
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
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-5
        ||gradient||^2 / (2 reg), relative to the objective, at which the last level stops.
    max_iter : int, default=500
        Quasi-Newton steps at one level.
    warm_start : bool, default=False
        Start from the weights of the last fit, at the final weight of the unlabelled rows.
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
    reg_ : float
        The regularisation that was used.
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        Of many classes, the sum over their problems.
    n_iter_ : int
        Levels.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Chapelle and Zien, Semi-supervised classification by low density separation, AISTATS
    2005. Sindhwani, Keerthi and Chapelle, Deterministic annealing for semi-supervised
    kernel machines, ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import GradientTSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = GradientTSVC(kernel="rbf", gamma=5.0, class_prior=[0.5, 0.5]).fit(X, labels)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    loss = SQUARED_HINGE.name
    fit_intercept = True
    intercept_scaling = 1.0

    def __init__(
        self,
        reg: float | None = None,
        *,
        unlabeled_weight: float = 1.0,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        annealing_rate: float | None = None,
        balance_tol: float | None = BALANCE_TOL,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 500,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.unlabeled_weight = unlabeled_weight
        self.class_prior = class_prior
        self.annealing_rate = annealing_rate
        self.balance_tol = balance_tol
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
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
        self : GradientTSVC
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, above=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _descend(self, task: BinaryTask, start: Floats | None) -> tuple[State, int]:
        """Follow the weight of the unlabelled rows up."""
        lam, tol = float(self.unlabeled_weight), float(self.tol)
        rate = RATE if self.annealing_rate is None else float(self.annealing_rate)
        levels = rising(FIRST_WEIGHT, lam, rate, tol) if start is None else settling(lam, tol)
        v = np.zeros(task.n_weights - 1) if start is None else start[:-1].copy()
        method = Descending(task, v, self.max_iter)
        rounds, _ = follow("descending", levels, method, task.recorder, max_rounds=1)
        return method.state, rounds

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        state, rounds = self._descend(task, start)
        if self.balance_tol is not None:
            balance(task, state, self.balance_tol)
        codes = (state.scores[task.unlabeled] > 0.0).astype(np.intp)
        return Solution(state.w, state.objective, rounds, state.converged, codes)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        m = len(task.counts)
        starts = [None] * m if start is None else list(start.reshape(-1, m).T)
        found = [self._descend(one_against_rest(task, y), starts[y]) for y in range(m)]
        states = [state for state, _ in found]
        scores = np.column_stack([state.scores[task.unlabeled] for state in states])
        return Solution(
            np.column_stack([state.w for state in states]).ravel(),
            sum(state.objective for state in states),
            sum(rounds for _, rounds in found),
            all(state.converged for state in states),
            scores.argmax(axis=1),
        )


def one_against_rest(task: MultiTask, y: int) -> BinaryTask:
    """Give the two-class problem of one class."""
    return BinaryTask(
        design=task.design,
        labeled=task.labeled,
        unlabeled=task.unlabeled,
        positive=task.codes == y,
        weight=task.weight,
        n_positive=int(task.counts[y]),
        loss=LOSSES[task.loss.name],
        reg=task.reg,
        recorder=task.recorder,
    )
