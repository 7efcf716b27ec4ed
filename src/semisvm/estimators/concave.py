"""VS3VM, S3VM as a mixed-integer program, and CVS3VM.

VS3VM minimises a concave objective by a sequence of linear programs; the mixed-integer program has
the global optimum, for tens of unlabelled rows. CVS3VM is VS3VM for rows to label that are chosen
from clusters.
"""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from semisvm.designs import Index, thread_count
from semisvm.designs.validation import read_rows
from semisvm.estimators.one_norm import OneNormClassifier
from semisvm.estimators.parameters import ClassPrior, parameters
from semisvm.labels.partial import is_unlabeled, rows_to_choose
from semisvm.maps.representatives import representatives
from semisvm.methods.linear_programs import (
    BranchAndCut,
    Found,
    Majorizing,
    balance_of,
    random_starts,
    warn_if_one_sided,
)
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_count, check_real

Oracle = Callable[[Index], ArrayLike] | ArrayLike


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


@parameters
class ClusteredSVC(ConcaveSVC):
    r"""Semi-supervised SVM that chooses which rows to label (CVS3VM).

    For data without labels, where a few rows can be labelled. k-median clustering
    solves ::

        min over centres of  sum_i  min_c  ||x_i - c||_1

    the row nearest to each centre is labelled, and `ConcaveSVC` is fitted to these labels
    and all other rows. There are two ways to use it:

    - ``fit(X, oracle=ask)``, where ``ask(rows)`` returns the labels of the given rows.
      The oracle can also be an array with the labels of all rows; only those of the
      chosen rows are used.
    - ``rows = select(X)``, and later ``fit(X, y)`` with the labels of these rows in ``y``.

    Both the clusters and the 1-norm depend on the scale of the columns: standardise them.

    Parameters
    ----------
    n_labels : int or float
        Number of rows to label; a float below one is a fraction of all rows.
    n_clusters : int or None
        Number of clusters, from which the rows are taken in turn; None is one per label.
    n_init : int
        Number of runs of k-median from different first centres.
    random_state : int, RandomState or None
        Seed of the first centres, and of the random starts.
    n_starts : int
        As in `ConcaveSVC`.
    class_prior : None, "estimate", "labels", array of shape (m,) or dict
        As in `ConcaveSVC`. Rows chosen from clusters do not reflect the class shares.
    kernel : str or callable
        As in `ConcaveSVC`; the clusters are found on the rows, not on kernel features.

    Attributes
    ----------
    queried_ : int array
        Rows that the oracle was asked to label; empty if ``y`` held the labels.
    trace_ : Trace

    References
    ----------
    Fung and Mangasarian, Semi-supervised support vector machines for unlabeled data
    classification, Optimization Methods and Software 15, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import ClusteredSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = scale(X)
    >>> model = ClusteredSVC(n_labels=30, random_state=0).fit(X, oracle=lambda rows: y[rows])
    >>> len(model.queried_)
    30
    >>> bool(model.score(X, y) > 0.94)
    True
    """

    _: KW_ONLY
    n_labels: int | float = 0.1
    n_clusters: int | None = None
    n_init: int = 3
    random_state: Any = None

    def select(self, X: Any, y: ArrayLike | None = None) -> Index:
        """Choose the rows to label, starting with that of the largest cluster.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,), optional
            Labels so far; labelled rows are not chosen, and new rows are far from them.

        Returns
        -------
        rows : int array of shape (n_labels,)
        """
        check_count("n_clusters", self.n_clusters, optional=True)
        check_count("n_init", self.n_init)
        X = read_rows(X)
        n = self._budget(X.shape[0])
        return representatives(
            X,
            n,
            rows_to_choose(X, n, y, self.unlabeled),
            check_random_state(self.random_state),
            n_clusters=self.n_clusters,
            n_init=int(self.n_init),
        )

    def fit(  # type: ignore[override]
        self, X: Any, y: ArrayLike | None = None, *, oracle: Oracle | None = None
    ) -> Self:
        """Fit to given labels, or to labels that an oracle provides.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,), optional
            Labels of two or more classes; unlabelled rows hold the marker.
        oracle : callable or array-like of shape (n,), optional
            A function that returns the labels of an array of rows, or the labels of all
            rows. It is asked for ``n_labels`` labels in addition to those in ``y``. It
            may answer with the marker: the row then stays unlabelled.

        Returns
        -------
        self : estimator
        """
        rows = np.empty(0, dtype=np.intp)
        if oracle is not None:
            self._check_parameters()
            rows = self.select(X, y)
            y = self._oracle_labels(rows, oracle, _n_rows(X), y)
        elif y is None:
            # scikit-learn's checks expect the words "requires y to be passed"
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None. Pass y with "
                "the labels of the rows that select(X) returns and -1 for the other rows, or "
                "pass oracle= to be asked for labels."
            )
        super().fit(X, y)
        self.queried_ = rows
        return self

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._budget(1)
        check_count("n_clusters", self.n_clusters, optional=True)
        check_count("n_init", self.n_init)

    def _budget(self, n_rows: int) -> int:
        if not isinstance(self.n_labels, (float, np.floating)):
            return int(check_count("n_labels", self.n_labels) or 0)
        if check_real("n_labels", self.n_labels, above=0) >= 1.0:
            raise ValueError(
                f"n_labels must be a whole number, or a fraction of the rows below 1.0, got "
                f"{self.n_labels!r}."
            )
        return max(1, round(float(self.n_labels) * n_rows))

    def _oracle_labels(
        self, rows: Index, oracle: Oracle, n: int, y: ArrayLike | None
    ) -> NDArray[Any]:
        """Return the labels so far and those of the oracle; None for the other rows."""
        if callable(oracle):
            answers = np.asarray(oracle(rows))
            if answers.shape != rows.shape:
                raise ValueError(
                    f"oracle was asked for {len(rows)} labels and returned an array of shape "
                    f"{answers.shape}; it must return one label per row."
                )
        else:
            everything = np.asarray(oracle)
            if len(everything) != n:
                raise ValueError(
                    f"oracle has {len(everything)} labels for the {n} rows of X; pass one label "
                    "per row, or a function of rows."
                )
            answers = everything[rows]
        labels = np.full(n, None, dtype=object)
        if y is not None:
            before = np.asarray(y)
            known = ~is_unlabeled(before, self.unlabeled)
            labels[known] = before[known].tolist()
        labels[rows] = answers.tolist()
        return labels


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
