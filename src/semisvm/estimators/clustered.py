"""CVS3VM: clusters say which rows to have labelled, then the concave machine is fitted."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Index
from semisvm.estimators.concave import ConcaveSVC
from semisvm.homotopy import Callback
from semisvm.partial_labels import is_unlabeled
from semisvm.selection import KMedianSelection
from semisvm.validation import check_count, check_real

Oracle = Callable[[Index], ArrayLike] | ArrayLike


class ClusteredSVC(ConcaveSVC):
    r"""Semi-supervised SVM that chooses which rows to have labelled (CVS3VM).

    For data without labels, and somebody who can label a few rows. k-median finds
    clusters, ::

        min over centres of  sum_i  min_c  ||x_i - c||_1

    the row nearest to each centre is labelled, and `ConcaveSVC` is fitted to these labels
    and all other rows. There are two ways to use it:

    - ``fit(X, oracle=ask)`` where ``ask(rows)`` gives the labels of rows, or is an array
      with the labels of all rows, of which those of the chosen rows are used;
    - ``rows = select(X)``, and later ``fit(X, y)`` with the labels of these rows in ``y``.

    Columns count by their scale, for the clusters and for the 1-norm: standardise them.

    Parameters
    ----------
    mu : float, default=1.0
        Weight of the 1-norm, against 1 for each labelled row.
    nu : float, default=0.1
        Weight of each unlabelled row.
    n_labels : int or float, default=0.1
        How many rows to have labelled, or their share of all rows, as a float below one.
    n_clusters : int or None, default=None
        Clusters from which the rows are taken in turns; None is as many as rows.
    n_init : int, default=3
        Descents of k-median from different first centres.
    random_state : int, RandomState or None, default=None
        Of the first centres.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        As in `ConcaveSVC`. The fractions of rows from clusters are not those of the data.
    kernel : str or callable, default="linear"
        As in `ConcaveSVC`; clusters are those of the rows, not of their features.
    gamma : float, "scale" or "mean_distance", default="scale"
    degree : int, default=3
    coef0 : float, default=1.0
    n_components : int or None, default=None
    kernel_tol : float, default=1e-4
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-6
    max_iter : int, default=200
        Most linear programs for one problem of two classes.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    queried_ : int array
        Rows whose labels the oracle was asked for; none if ``y`` had the labels.
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    n_nonzero_ : int array of shape (1,) or (m,)
    kernel_map_ : KernelMap or None
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
    reg_ : float
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
    n_iter_ : int
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

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

    def __init__(
        self,
        mu: float = 1.0,
        nu: float = 0.1,
        *,
        n_labels: int | float = 0.1,
        n_clusters: int | None = None,
        n_init: int = 3,
        random_state: Any = None,
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
        super().__init__(
            mu,
            nu,
            class_prior=class_prior,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            n_components=n_components,
            kernel_tol=kernel_tol,
            unlabeled=unlabeled,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
            callback=callback,
        )
        self.n_labels = n_labels
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def select(self, X: Any, y: ArrayLike | None = None) -> Index:
        """Choose the rows to have labelled, that of the largest cluster first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,), optional
            Labels so far; such rows are not chosen, and the others are taken far from them.

        Returns
        -------
        rows : int array of shape (n_labels,)
        """
        selection = KMedianSelection(
            n_clusters=self.n_clusters,
            n_init=self.n_init,
            unlabeled=self.unlabeled,
            random_state=self.random_state,
        )
        return selection.select(X, self._budget(_n_rows(X)), y)

    def fit(self, X: Any, y: ArrayLike | None = None, *, oracle: Oracle | None = None) -> Self:
        """Fit to labels that are given, or asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,), optional
            Labels of two or more classes, and the marker for unlabelled rows.
        oracle : callable or array-like of shape (n,), optional
            A function that gives the labels of an array of rows, or the labels of all
            rows. It is asked for ``n_labels`` labels besides those in ``y``. The marker
            is an answer too: the row stays unlabelled.

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
            # the words "requires y to be passed" are scikit-learn's for this mistake
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None. Pass the "
                "labels of the rows that select(X) gives, with -1 for the other rows, or "
                "somebody to ask, oracle=."
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
                f"n_labels must be a whole number, or a share of the rows below 1.0, got "
                f"{self.n_labels!r}."
            )
        return max(1, round(float(self.n_labels) * n_rows))

    def _told(self, rows: Index, oracle: Oracle, n: int, y: ArrayLike | None) -> NDArray[Any]:
        """Give the labels so far and those of the oracle; None for the other rows."""
        if callable(oracle):
            answers = np.asarray(oracle(rows))
            if answers.shape != rows.shape:
                raise ValueError(
                    f"oracle was asked for {len(rows)} labels and gave an array of shape "
                    f"{answers.shape}; it must give one label a row."
                )
        else:
            everything = np.asarray(oracle)
            if len(everything) != n:
                raise ValueError(
                    f"oracle has {len(everything)} labels for the {n} rows of X; it must have one "
                    "for each, or be a function of rows."
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
