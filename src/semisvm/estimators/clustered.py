"""CVS3VM: clusters determine which rows to label, then `ConcaveSVC` is fitted."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from semisvm.designs.base import Index
from semisvm.designs.validation import read_rows
from semisvm.estimators.concave import ConcaveSVC
from semisvm.estimators.parameters import parameters
from semisvm.labels.partial import is_unlabeled, rows_to_choose
from semisvm.maps.representatives import representatives
from semisvm.validation import check_count, check_real

Oracle = Callable[[Index], ArrayLike] | ArrayLike


@parameters
class ClusteredSVC(ConcaveSVC):
    r"""Semi-supervised SVM that chooses which rows to label (CVS3VM).

    For data without labels, where somebody can label a few rows. k-median clustering
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

    def fit(self, X: Any, y: ArrayLike | None = None, *, oracle: Oracle | None = None) -> Self:
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
            y = self._told(rows, oracle, _n_rows(X), y)
        elif y is None:
            # scikit-learn's checks expect the words "requires y to be passed"
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None. Pass y with "
                "the labels of the rows that select(X) returns and -1 for the other rows, or "
                "pass oracle= to be asked for labels."
            )
        self._fit(X, y)
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

    def _told(self, rows: Index, oracle: Oracle, n: int, y: ArrayLike | None) -> NDArray[Any]:
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
        told = np.full(n, None, dtype=object)
        if y is not None:
            before = np.asarray(y)
            known = ~is_unlabeled(before, self.unlabeled)
            told[known] = before[known].tolist()
        told[rows] = answers.tolist()
        return told


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
