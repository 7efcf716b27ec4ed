"""VS3VM: a concave objective, minimised by a sequence of linear programs."""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from semisvm.designs import Floats
from semisvm.estimators.one_norm import Found, OneNormClassifier, outputs, signs_of
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Callback, Level, follow
from semisvm.validation import check_count, check_real
from semisvm.weights import State
from semisvm.weights.hinge_program import Balance, HingeProgram

TIE = 1e-9
"""Outputs below this are on neither side; a margin is one."""
EXPECTED = 3.0
"""Rows of a class that are missed when none of so many expected ones is found."""


class Majorizing:
    """The two steps: a linear program above the objective, and where it is to touch next.

    An unlabelled row costs min(r, s) with r = max(0, 1 - f) and s = max(0, 1 + f) at its
    output f. That is concave in r and s, so any share p of a supergradient gives
    p r + (1 - p) s >= min(r, s), with equality at the outputs it was made for. The least
    point of the sum therefore cannot be worse than the point before.
    """

    def __init__(self, task: BinaryTask, mu: float, nu: float, balance: Balance | None) -> None:
        self.task = task
        self.mu = mu
        self.nu = nu
        free = task.design.matrix(task.unlabeled)
        rows = [sparse.csr_matrix(part) for part in (task.design.matrix(task.labeled), free, free)]
        self.signs = signs_of(task)
        ones = np.ones(len(task.unlabeled))
        signs = np.concatenate([self.signs, ones, -ones])
        self.program = HingeProgram(sparse.vstack(rows, format="csr"), signs, mu, balance)
        self.share = 0.5 * ones
        self.state = self.found = State(np.empty(0), np.empty(0))
        self.value = np.inf

    def follow(self, tol: float, max_iter: int) -> tuple[int, bool]:
        """Solve programs until nothing is gained; give their number, and whether it ended so."""
        level = Level(self.nu, tol, last=True)
        return follow("concave", [level], self, self.task.recorder, max_iter)

    def take(self, labels: Floats) -> None:
        """Fit to labels of the unlabelled rows, 1 or 0, and keep the weights if they are better."""
        self.share = labels
        found = self.solve()
        if found.objective < self.state.objective:
            self.state = found

    def enter(self, level: Level) -> None:
        """There is one level."""

    def weight_step(self, level: Level) -> State:
        """Solve the linear program of the current supergradient."""
        self.found = self.solve()
        return self.found

    def solve(self) -> State:
        """Solve a linear program and compute the concave objective at its solution."""
        shares = [self.nu * self.share, self.nu * (1.0 - self.share)]
        found = self.program.solve(np.concatenate([np.ones(len(self.signs)), *shares]))
        scores = outputs(self.task, found.w)
        self.value = found.value
        return State(
            found.w,
            scores,
            self.objective(found.norm, scores),
            gradient_norm=np.nan,
            gap=found.value - found.bound,
            n_iter=found.pivots,
            n_active=len(scores),
        )

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Take the supergradient at the new outputs; settled when the program gained nothing."""
        before = self.state.objective
        done = bool(np.isfinite(before)) and before - self.value <= level.tol * before
        if self.found.objective < before:
            self.state = self.found
        share = supergradient(self.state.scores[self.task.unlabeled])
        changed = int(np.count_nonzero(share != self.share))
        self.share = share
        facts = {"changed": changed, "pivots": self.found.n_iter}
        return done or changed == 0, {"objective": self.state.objective, **facts}

    def objective(self, norm: float, scores: Floats) -> float:
        """Give the concave objective, from the outputs alone."""
        labeled = np.maximum(1.0 - self.signs * scores[self.task.labeled], 0.0)
        free = np.maximum(1.0 - np.abs(scores[self.task.unlabeled]), 0.0)
        return self.mu * norm + float(labeled.sum()) + self.nu * float(free.sum())


def supergradient(outputs: Floats) -> Floats:
    """Give the share of r in the supergradient of min(r, s): 1, 0, or 0.5 on a tie."""
    return 0.5 * (1.0 + np.sign(np.where(np.abs(outputs) <= TIE, 0.0, outputs)))


def balance_of(task: BinaryTask) -> Balance | None:
    """Give the equation that makes 2 r - 1 the mean output, r being the share of positives."""
    if len(task.unlabeled) == 0:
        return None
    share = np.full(len(task.unlabeled), 1.0 / len(task.unlabeled))
    mean = np.asarray(task.design.matrix(task.unlabeled).T @ share, dtype=np.float64).ravel()
    return Balance(mean, 2.0 * task.positive_share - 1.0)


def warn_if_one_sided(task: BinaryTask, scores: Floats, name: str) -> None:
    """Tell the user if no unlabelled row is on one side where several should be."""
    free = scores[task.unlabeled]
    n_above = int(np.count_nonzero(free > 0.0))
    missed = task.n_positive if n_above == 0 else len(free) - task.n_positive
    if n_above not in (0, len(free)) or missed < EXPECTED:
        return
    side = "negative" if n_above == 0 else "positive"
    message = (
        f"{name}: the outputs of all {len(free)} unlabelled rows are {side}, where about "
        f"{missed} were expected on the other side. The objective knows no balance: give "
        "class_prior=, lower nu, or lower mu."
    )
    task.recorder.note(message)
    warnings.warn(message, UserWarning, stacklevel=2)


class ConcaveSVC(OneNormClassifier):
    r"""Semi-supervised SVM as a concave program (VS3VM).

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        sum_i max(0, 1 - y_i f(x_i)) + mu ||w||_1 + nu sum_j max(0, 1 - abs(f(x_j)))

    over labelled rows i and unlabelled rows j. The last term is min(r, s) of the errors
    r, s that the row makes with either label; it is concave in them. So it lies below its
    linearisation at any point, whose minimum is a linear program. The method starts with
    both labels at half weight, and solves one linear program after the other, each
    touching the objective at the last solution, until nothing is gained. The objective
    falls with every program, and there are finitely many, so it ends, at a point that
    meets the necessary conditions of a minimum. The programs differ in the bounds of their
    dual variables, and each goes on from the last basis.

    Nothing in the objective stops all unlabelled rows from falling on one side. With
    ``class_prior`` their mean output is 2 r - 1, where r is the share of the second
    class. More than two classes are one-vs-rest problems.

    Parameters
    ----------
    mu : float, default=1.0
        Weight of the 1-norm, against 1 for each labelled row.
    nu : float, default=0.1
        Weight of each unlabelled row.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or by
        class, which then fix the mean output; "estimate" asks labelled and unlabelled rows
        for them (`semisvm.model_selection.estimate_prior`). None leaves it free.
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
    tol : float, default=1e-6
        What a linear program must gain to go on, relative to the objective.
    max_iter : int, default=200
        Most linear programs for one problem of two classes.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

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
        The given shares, or the fractions of the labelled rows.
    reg_ : float
        mu.
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        Of many classes, the sum over their problems.
    n_iter_ : int
        Linear programs.
    trace_ : Trace
        One row a program; ``changed`` counts the unlabelled rows whose side changed,
        ``pivots`` the steps of the simplex method.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Fung and Mangasarian, Semi-supervised support vector machines for unlabeled data
    classification, Optimization Methods and Software 15, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import ConcaveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> labels = np.where(np.arange(len(y)) % 20 == 0, y, -1)  # 29 labels
    >>> model = ConcaveSVC(mu=1.0, nu=0.1, class_prior="estimate").fit(scale(X), labels)
    >>> bool(model.score(scale(X), y) > 0.94)
    True
    >>> bool(np.all(np.diff(model.trace_["objective"]) <= 0))
    True
    """

    def __init__(
        self,
        mu: float = 1.0,
        nu: float = 0.1,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        tol: float = 1e-6,
        max_iter: int = 200,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.mu = mu
        self.nu = nu
        self.class_prior = class_prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("nu", self.nu, above=0)
        check_real("tol", self.tol, at_least=0)
        check_count("max_iter", self.max_iter)

    def _solve_program(self, task: BinaryTask) -> Found:
        balance = balance_of(task) if self.class_prior is not None else None
        method = Majorizing(task, float(self.mu), float(self.nu), balance)
        rounds, settled = method.follow(float(self.tol), self.max_iter)
        warn_if_one_sided(task, method.state.scores, type(self).__name__)
        return Found(method.state.w, method.state.objective, rounds, settled)
