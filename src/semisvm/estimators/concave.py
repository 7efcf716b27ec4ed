"""VS3VM and S3VM as a mixed-integer program.

VS3VM minimises a concave objective by a sequence of linear programs; the mixed-integer program has
the global optimum, for tens of unlabelled rows.
"""

from dataclasses import KW_ONLY
from typing import Any

from sklearn.utils import check_random_state

from semisvm.designs import thread_count
from semisvm.estimators.one_norm import OneNormClassifier
from semisvm.estimators.parameters import ClassPrior, parameters
from semisvm.methods.concave import (
    BranchAndCut,
    Majorizing,
    balance_of,
    random_starts,
    warn_if_one_sided,
)
from semisvm.methods.linear_programs import Found
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_count, check_real


@parameters
class SmallerErrorClassifier(OneNormClassifier):
    """Base of the programs in which an unlabelled row costs the smaller of its two errors.

    Parameters
    ----------
    mu : float
        Weight of the 1-norm; each labelled row has weight 1.
    nu : float
        Weight of each unlabelled row.
    class_prior : None, "estimate", "labels", array of shape (m,) or dict
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class; they fix the mean output. None leaves it free; "estimate" computes them
        from labelled and unlabelled rows (`semisvm.model_selection.estimate_prior`);
        "labels" takes the labelled fractions.

    Attributes
    ----------
    class_prior_ : array of shape (m,)
        The given shares, or those among the labelled rows.
    """

    mu: float = 1.0
    nu: float = 0.1
    _: KW_ONLY
    class_prior: ClassPrior = None

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares; here mean outputs do, which may be any number."""
        return False


@parameters
class ConcaveSVC(SmallerErrorClassifier):
    r"""Semi-supervised SVM as a concave program (VS3VM).

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        sum_i max(0, 1 - y_i f(x_i)) + mu ||w||_1 + nu sum_j max(0, 1 - abs(f(x_j)))

    over labelled rows i and unlabelled rows j. The last term is min(r, s), where r and s
    are the errors of the row with either label; it is concave in them. So it lies below
    its linearisation at any point, and minimising the linearised objective is a linear
    program. The method starts with both labels at half weight and solves a sequence of
    linear programs, each linearised at the last solution, until the objective no longer
    falls. As it falls with every program and there are finitely many, the method ends, at
    a point that satisfies the necessary conditions of a minimum. The programs differ only
    in the bounds of their dual variables, and each starts from the last basis.

    The objective does not prevent all unlabelled rows from falling on one side. With
    ``class_prior`` their mean output is 2 r - 1, where r is the share of the second
    class. More than two classes are solved as one-vs-rest problems.

    Parameters
    ----------
    n_starts : int
        Number of starts, of which the best end is kept: labels at half weight, then labels
        drawn at random.
    random_state : int, RandomState or None
        Seed of the random starts.
    tol : float
        The method stops when a linear program lowers the objective by less, relatively.
    max_iter : int
        Maximum number of linear programs per problem of two classes.
    callback : callable or None
        Called with each row of the trace; the fit stops when it returns True.

    Attributes
    ----------
    trace_ : Trace
        One row per program; ``changed`` counts the unlabelled rows whose side changed,
        ``pivots`` the steps of the simplex method.

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

    _: KW_ONLY
    n_starts: int = 1
    random_state: Any = 0
    tol: float = 1e-6
    max_iter: int = 200

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("nu", self.nu, above=0)
        check_count("n_starts", self.n_starts)

    def _check_tol(self) -> None:
        # 0 is allowed: there are finitely many programs, so the objective stops falling
        check_real("tol", self.tol, at_least=0)

    def _solve_program(self, task: TwoClassTask) -> Found:
        balance = balance_of(task) if self.class_prior is not None else None
        rng = check_random_state(self.random_state)
        starts = random_starts(task, self.n_starts - 1, rng)
        method = Majorizing(task, float(self.mu), float(self.nu), balance, starts)
        rounds, settled = method.follow(float(self.tol), self.max_iter)
        warn_if_one_sided(task, method.state.scores, type(self).__name__)
        return Found(method.state.w, method.state.objective, rounds, settled)


@parameters
class MixedIntegerSVC(SmallerErrorClassifier):
    r"""Semi-supervised SVM as a mixed-integer program (S3VM), solved to its global optimum.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        sum_i max(0, 1 - y_i f(x_i)) + mu ||w||_1 + nu sum_j max(0, 1 - abs(f(x_j)))

    over labelled rows i and unlabelled rows j. This is the objective of `ConcaveSVC`, but
    here branch and cut proves the optimum, with one binary variable per unlabelled row for
    its label. The search starts from the solution of `ConcaveSVC`. Bounds on the outputs,
    from the data and from linear programs, decide the labels of many rows before it.

    The time grows exponentially with the number of unlabelled rows whose labels are in
    doubt. Use it for tens of unlabelled rows, or as a yardstick for the other methods.

    More than two classes are solved as one-vs-rest problems.

    Parameters
    ----------
    time_limit : float or None
        Seconds per problem of two classes. When they are over, the best model found so far
        is used, with a warning.
    mip_gap : float
        Relative difference between the objective and its lower bound at which a model
        counts as optimal.
    max_iter : int
        Maximum number of linear programs for the start.
    n_jobs : int or None
        Number of threads of the search; None is one, -1 uses all cores.

    Attributes
    ----------
    optimality_gap_ : float
        (objective - lower bound) / objective; for more than two classes, of the sums.
    n_iter_ : int
        Number of linear programs of the starts, plus one per search.
    trace_ : Trace
        The rows of the start, then one row with ``nodes``, the size of the search tree, and
        ``in_doubt``, the number of unlabelled rows not decided before the search.

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

    _: KW_ONLY
    time_limit: float | None = 60.0
    mip_gap: float = 1e-4
    max_iter: int = 200
    n_jobs: int | None = None

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("nu", self.nu, above=0)
        check_real("mip_gap", self.mip_gap, at_least=0)
        check_count("max_iter", self.max_iter)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, above=0)

    def _solve_program(self, task: TwoClassTask) -> Found:
        method = BranchAndCut(
            float(self.mu),
            float(self.nu),
            self.max_iter,
            None if self.time_limit is None else float(self.time_limit),
            float(self.mip_gap),
            thread_count(self.n_jobs),
        )
        found, rounds, bound = method.solve(task, balanced=self.class_prior is not None)
        warn_if_one_sided(task, found.state.scores, type(self).__name__)
        return Found(found.state.w, found.state.objective, rounds, bound=bound)

    def _publish_certificate(self, found: list[Found]) -> None:
        objective = sum(part.objective for part in found)
        gap = objective - sum(part.bound for part in found)
        self.optimality_gap_ = max(gap / objective, 0.0) if objective > 0.0 else 0.0
