"""Label means: labels of the unlabelled rows such that their two means are far apart."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.gradient import one_against_rest
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.estimators.transductive import balance
from semisvm.homotopy import Callback, Level, follow
from semisvm.labels import exact
from semisvm.losses import SQUARED_HINGE, Signs
from semisvm.validation import check_choice, check_real
from semisvm.weights import State
from semisvm.weights.inner_products import RowGram
from semisvm.weights.label_means import MeanMargin
from semisvm.weights.pairs import PairState, hinge_problem, solve_pairs

# A step of the solver costs a pass over one number a row; thousands make a solution.
STEPS_PER_ITERATION = 10_000
SUPERVISED = "no unlabelled rows: this is the supervised solution"


class Alternating:
    """Labels fixed, the largest margin of the means; the margin fixed, the best labels.

    Neither step raises the objective, so the labels settle; where rounding or ties could
    lead back to labels that were there before, the method stops too.
    """

    def __init__(self, task: BinaryTask, machine: MeanMargin, tol: float, max_steps: int) -> None:
        self.task = task
        self.machine = machine
        self.options: dict[str, Any] = {"tol": tol, "max_iter": max_steps}
        self.beta = machine.start(tol, max_steps)
        self.scores = _scores(task, machine.labeled_direction(self.beta))
        self.labels = task.best_labels(self.scores)
        self.seen = {self.labels.tobytes()}

    def enter(self, level: Level) -> None:
        """There is one level only."""

    def weight_step(self, level: Level) -> State:
        """Separate the means of the present labels."""
        plane = self.machine.plane(self.labels)
        self.found = self.machine.solve([plane], np.ones(1), self.beta, **self.options)
        self.beta = self.found.dual.beta
        return self._state()

    def _state(self) -> State:
        w = self.machine.weights(self.found)
        self.scores = _scores(self.task, w)
        return _summary(w, self.scores, self.found.dual, self.found.objective)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Label the largest outputs positive."""
        labels = self.task.best_labels(self.scores)
        changed = int(np.count_nonzero(labels != self.labels))
        self.labels, before = labels, len(self.seen)
        self.seen.add(labels.tobytes())
        return len(self.seen) == before, {**self._facts(), "changed": changed}

    def _facts(self) -> dict[str, Any]:
        return {"objective": self.found.objective, "margin": self.machine.margin(self.found)}


class CuttingPlanes(Alternating):
    """All choices of labels that mattered so far, with weights; then one more.

    A new choice is the one that the labelled rows alone would make. It is added while it
    is violated, that is while its energy is above those of the others.
    """

    def __init__(self, task: BinaryTask, machine: MeanMargin, tol: float, max_steps: int) -> None:
        super().__init__(task, machine, tol, max_steps)
        first = 0.5 * machine.C_unlabeled * np.where(machine.positive, 1.0, -1.0)
        self.planes = [machine.plane(self._most_violated(first))]
        self.mu = np.ones(1)

    def _most_violated(self, beta: Floats) -> Signs:
        return self.task.best_labels(_scores(self.task, self.machine.labeled_direction(beta)))

    def weight_step(self, level: Level) -> State:
        """Find the weights of the planes."""
        self.found = self.machine.mix(self.planes, self.mu, self.beta, **self.options)
        self.mu, self.beta = self.found.mu, self.found.dual.beta
        return self._state()

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Look for a plane that is violated; label the largest outputs positive."""
        facts = {**self._facts(), "planes": len(self.planes)}
        plane = self.machine.plane(self._most_violated(self.beta))
        excess = float(self.machine.energies([plane], self.beta)[0] - self.found.energies.max())
        self.labels = self.task.best_labels(self.scores)
        if excess <= level.tol * self.found.dual.scale:
            return True, facts
        self.planes = [*self.planes, plane]
        self.mu = np.append(self.mu, 0.0)
        return False, facts


METHODS = {"iter": Alternating, "mkl": CuttingPlanes}


class MeanSVC(LinearSemiSupervisedClassifier):
    r"""Semi-supervised SVM by label means (meanS3VM).

    First the labels of the unlabelled rows are chosen such that the means m+ and m- of the
    two classes are separated by the largest margin rho, ::

        1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)) - C_unlabeled rho,    f(x) = w . x + b
        f(m+) >= rho,  f(m-) <= -rho

    with as many positive rows as the class prior says. That needs inner products of the
    labelled rows and two vectors only, whatever the number of unlabelled rows. Then an SVM
    is fitted to all rows with these labels, ::

        1/2 ||w||^2 + C sum_labelled max(0, 1 - y_i f(x_i))
            + C_unlabeled sum_unlabelled max(0, 1 - y'_j f(x_j))

    The intercept is not regularised. More than two classes are one-vs-rest problems; the
    labels are then chosen together, so that every class has its count.

    Parameters
    ----------
    C : float, default=100.0
        Cost of the labelled rows.
    C_unlabeled : float, default=0.1
        Cost of the means, and of the unlabelled rows in the last fit.
    method : {"iter", "mkl"}, default="iter"
        "iter" alternates between means and labels. "mkl" solves a convex relaxation by
        cutting planes.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    balance_tol : float or None, default=None
        For two classes: the share of positive outputs on the unlabelled rows may miss the
        prior by this share of the rarer class; beyond it the intercept is moved just far
        enough. None, as in the paper, leaves the intercept alone.
    kernel : str or callable, default="linear"
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed". Other kernels than "linear" are feature maps: the fit holds n x rank
        numbers, and prediction needs the pivot rows only.
    gamma : float, "scale" or "mean_distance", default="mean_distance"
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
    tol : float, default=1e-4
        Certified relative error of the objectives at which to stop.
    max_iter : int, default=100
        Rounds of labels, or planes; a solver may take ten thousand times as many steps.
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
    transduction_ : array of shape (n,)
        Given labels, and those that were chosen for the unlabelled rows, in the
        proportions of the class prior.
    objective_ : float
        Of the last fit; of many classes, the sum over their problems.
    n_iter_ : int
        Rounds, and the last fit.
    trace_ : Trace
        Its column "margin" is rho.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Li, Kwok and Zhou, Semi-supervised learning using label mean, ICML 2009,
    doi:10.1145/1553374.1553456.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import MeanSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> labels = np.where(np.arange(len(y)) < 30, y, -1)
    >>> model = MeanSVC(class_prior=[0.37, 0.63]).fit(scale(X), labels)
    >>> bool(model.score(scale(X), y) > 0.9)
    True
    """

    # one score for two classes, and one-vs-rest scores for more, as with this loss
    loss = SQUARED_HINGE.name
    reg = None
    fit_intercept = True
    intercept_scaling = 1.0
    warm_start = False

    def __init__(
        self,
        C: float = 100.0,
        *,
        C_unlabeled: float = 0.1,
        method: str = "iter",
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        balance_tol: float | None = None,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "mean_distance",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        tol: float = 1e-4,
        max_iter: int = 100,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.method = method
        self.class_prior = class_prior
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
        self : MeanSVC
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("C", self.C, above=0)
        check_real("C_unlabeled", self.C_unlabeled, above=0)
        check_choice("method", self.method, METHODS)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _regularisation(self) -> float:
        """Give the weight of 1/2 ||w||^2: the trade-offs are C and C_unlabeled."""
        return 1.0

    def _max_steps(self) -> int:
        return STEPS_PER_ITERATION * int(self.max_iter)

    def _solve_task(self, task: BinaryTask | MultiTask, start: Floats | None) -> Solution:
        if not _in_range(task):
            # weights that are not finite are refused, with words about the scale of X
            w = np.full(task.n_weights, np.nan)
            return Solution(w, np.nan, 0, False, np.zeros(0, dtype=np.intp))
        return super()._solve_task(task, start)

    def _outputs(self, task: BinaryTask, gram: Floats) -> tuple[Floats, int, bool]:
        """Separate the means; give outputs of all rows, rounds, and whether labels settled."""
        machine = MeanMargin(
            task.design,
            task.labeled,
            task.unlabeled,
            task.positive,
            float(self.C),
            float(self.C_unlabeled),
            gram,
        )
        if not 0 < task.n_positive < len(task.unlabeled):
            task.recorder.note("a class without unlabelled rows has no mean to separate")
            duals = machine.start(self.tol, self._max_steps())
            return _scores(task, machine.labeled_direction(duals)), 0, True
        method = METHODS[self.method](task, machine, float(self.tol), self._max_steps())
        level = Level(float(self.C_unlabeled), float(self.tol), last=True)
        rounds, settled = follow("means", [level], method, task.recorder, int(self.max_iter))
        if machine.margin(method.found) < 0.0:
            task.recorder.note(
                "the means of the unlabelled classes are not separated (negative margin): the "
                "class prior may not fit the data"
            )
        return method.scores, rounds, settled

    def _machine(self, task: BinaryTask, gram: RowGram, labels: Signs) -> State:
        """Fit the last machine, to labels of all rows."""
        design, n = task.design, task.design.n_rows
        positive, cost = np.zeros(n, dtype=bool), np.full(n, float(self.C_unlabeled))
        positive[task.labeled], positive[task.unlabeled] = task.positive, labels
        cost[task.labeled] = self.C
        problem = hinge_problem(gram, positive, cost)
        found = PairState.zero(problem)
        solve_pairs(problem, found, tol=float(self.tol), max_iter=self._max_steps())
        w = design.pull_back(found.beta, design.all_rows, np.empty(design.n_weights))
        w[-1] = found.intercept / design.bias
        state = _summary(w, _scores(task, w), found, found.scale)
        task.recorder.record("machine", state, objective=state.objective)
        task.recorder.level_done()
        return state

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        labels, rounds, settled = np.zeros(0, dtype=bool), 0, True
        if len(task.unlabeled):
            scores, rounds, settled = self._outputs(task, _labeled_gram(task))
            labels = task.best_labels(scores)
        else:
            task.recorder.note(SUPERVISED)
        state = self._machine(task, RowGram(task.design), labels)
        if self.balance_tol is not None:
            balance(task, state, self.balance_tol)
        codes, converged = labels.astype(np.intp), settled and state.converged
        return Solution(state.w, state.objective, rounds + 1, converged, codes)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        tasks = [one_against_rest(task, y) for y in range(len(task.counts))]
        codes, found = np.zeros(0, dtype=np.intp), []
        if len(task.unlabeled):
            gram = _labeled_gram(task)
            found = [self._outputs(one, gram) for one in tasks]
            scores = np.column_stack([scores[task.unlabeled] for scores, _, _ in found])
            codes = exact(-scores, task.counts).labels
        else:
            task.recorder.note(SUPERVISED)
        rows = RowGram(task.design)
        states = [self._machine(one, rows, codes == y) for y, one in enumerate(tasks)]
        return Solution(
            np.column_stack([state.w for state in states]).ravel(),
            sum(state.objective for state in states),
            sum(rounds for _, rounds, _ in found) + 1,
            all(settled for _, _, settled in found) and all(s.converged for s in states),
            codes,
        )


def _in_range(task: BinaryTask | MultiTask) -> bool:
    """Tell whether the sum of all squares of X is finite, and so every inner product."""
    design = task.design
    ones, squares = np.ones(design.n_rows), np.empty(design.n_weights)
    with np.errstate(over="ignore"):
        return bool(np.isfinite(design.column_scales(ones, design.all_rows, squares).sum()))


def _labeled_gram(task: BinaryTask | MultiTask) -> Floats:
    return task.design.gram(task.design.rows(task.labeled))


def _scores(task: BinaryTask, w: Floats) -> Floats:
    return task.design.scores(w, task.design.all_rows, np.zeros(task.design.n_rows))


def _summary(w: Floats, scores: Floats, dual: PairState, objective: float) -> State:
    """Give a solution in the form that the trace and the loop know."""
    return State(
        w,
        scores,
        objective,
        gradient_norm=dual.violation,
        gap=dual.gap,
        n_iter=dual.n_iter,
        n_active=int(np.count_nonzero(dual.beta)),
        converged=dual.converged,
    )
