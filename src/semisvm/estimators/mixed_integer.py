"""S3VM as a mixed-integer program: the global optimum, for tens of unlabelled rows."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from semisvm.designs import Floats, thread_count
from semisvm.estimators.concave import Majorizing, balance_of, warn_if_one_sided
from semisvm.estimators.one_norm import Found, OneNormClassifier
from semisvm.estimators.task import BinaryTask
from semisvm.homotopy import Callback
from semisvm.programs import solve_mixed_integer
from semisvm.validation import check_count, check_real
from semisvm.weights.hinge_program import Balance
from semisvm.weights.label_program import LabelProgram, undecided

TIGHTENING_SHARE = 0.25
"""Most of the time that may go into bounds of the outputs; the rest is for the search."""
START_TOL = 1e-6


class MixedIntegerSVC(OneNormClassifier):
    r"""Semi-supervised SVM as a mixed-integer program (S3VM), solved to its global optimum.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        sum_i max(0, 1 - y_i f(x_i)) + mu ||w||_1 + nu sum_j max(0, 1 - abs(f(x_j)))

    over labelled rows i and unlabelled rows j, as `ConcaveSVC` does, but proves the
    optimum by branch and cut, with one whole number for the label of each unlabelled row.
    The search begins with the solution of `ConcaveSVC`. The outputs are bounded by the
    data and by linear programs, which decide the labels of many rows before the search.

    The time grows exponentially with the unlabelled rows whose labels are in doubt. This
    is a method for tens of unlabelled rows, or a yardstick for the others.

    More than two classes are one-vs-rest problems.

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
    time_limit : float or None, default=60.0
        Seconds for one problem of two classes. When they are over, the best model that
        was found is taken, with a warning.
    mip_gap : float, default=1e-4
        Difference between the objective and its lower bound, relative to the objective,
        at which a model counts as optimal.
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
    max_iter : int, default=200
        Most linear programs of the start.
    n_jobs : int, default=None
        Threads of the search; None is one, -1 all.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    n_nonzero_ : int array of shape (1,) or (m,)
        Weights that are not zero.
    optimality_gap_ : float
        (objective - lower bound) / objective; of many classes, of the sums.
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
        Linear programs of the starts, and one for each search.
    trace_ : Trace
        Of the start, and then one row with the ``nodes`` of the search, and ``in_doubt``,
        the unlabelled rows whose labels were not decided before it.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Bennett and Demiriz, Semi-supervised support vector machines, NIPS 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import ConcaveSVC, MixedIntegerSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = scale(X)[y > 0][::2], y[y > 0][::2]
    >>> labels = np.where(np.arange(len(y)) % 5 == 0, y, -1)  # 10 labels, 40 without
    >>> best = MixedIntegerSVC().fit(X, labels)
    >>> best.optimality_gap_ <= 1e-4
    True
    >>> bool(best.objective_ <= ConcaveSVC().fit(X, labels).objective_ * (1 + 1e-9))
    True
    """

    def __init__(
        self,
        mu: float = 1.0,
        nu: float = 0.1,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        time_limit: float | None = 60.0,
        mip_gap: float = 1e-4,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        max_iter: int = 200,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.mu = mu
        self.nu = nu
        self.class_prior = class_prior
        self.time_limit = time_limit
        self.mip_gap = mip_gap
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
        self.unlabeled = unlabeled
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("nu", self.nu, above=0)
        check_real("mip_gap", self.mip_gap, at_least=0)
        check_count("max_iter", self.max_iter)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, above=0)

    def _solve_program(self, task: BinaryTask) -> Found:
        begun = perf_counter()
        balance = balance_of(task) if self.class_prior is not None else None
        method = Majorizing(task, float(self.mu), float(self.nu), balance)
        rounds, _ = method.follow(START_TOL, self.max_iter)
        # no objective is negative; without unlabelled rows the start is the optimum
        bound = 0.0 if len(task.unlabeled) else method.state.objective
        if len(task.unlabeled) and not task.recorder.stopped:
            bound = max(bound, self._search(method, balance, begun))
            rounds += 1
        warn_if_one_sided(task, method.state.scores, type(self).__name__)
        return Found(method.state.w, method.state.objective, rounds, bound=bound)

    def _search(self, method: Majorizing, balance: Balance | None, begun: float) -> float:
        """Let branch and cut choose the labels; give the lower bound that it proved."""
        task, start = method.task, method.state
        program = LabelProgram(
            dense(task.design.matrix(task.labeled)),
            method.signs,
            dense(task.design.matrix(task.unlabeled)),
            method.mu,
            method.nu,
            balance,
        ).scaled(start.objective)
        seconds = np.inf if self.time_limit is None else float(self.time_limit)
        bounds = program.first_bounds(start.objective)
        deadline = begun + TIGHTENING_SHARE * seconds
        bounds = program.tightened(*bounds, start.objective, deadline)
        found = solve_mixed_integer(
            program.program(*bounds),
            start=program.point(start.w),
            time_limit=max(seconds - (perf_counter() - begun), 0.0),
            mip_gap=float(self.mip_gap),
            threads=thread_count(self.n_jobs),
        )
        method.take(program.labels(found.x))
        bound = program.unit * found.bound
        in_doubt = int(np.count_nonzero(undecided(*bounds)))
        task.recorder.record(
            "search",
            method.state,
            objective=method.state.objective,
            nodes=found.nodes,
            bound=bound,
            in_doubt=in_doubt,
        )
        task.recorder.level_done()
        return bound

    def _publish_certificate(self, found: list[Found]) -> None:
        objective = sum(part.objective for part in found)
        gap = objective - sum(part.bound for part in found)
        self.optimality_gap_ = max(gap / objective, 0.0) if objective > 0.0 else 0.0


def dense(X: Any) -> Floats:
    """Give a matrix as an array of float64."""
    thin: bool = sparse.issparse(X)
    return np.asarray(X.toarray() if thin else X, dtype=np.float64)
