"""Low density separation: distances along the data, then the gradient TSVM."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.transductive import BALANCE_TOL
from semisvm.features.paths import PathMap, fit_paths
from semisvm.homotopy import Callback
from semisvm.validation import check_count, check_real


class LowDensitySeparation(GradientTSVC):
    r"""Low density separation (LDS).

    Distances are measured along the data: on the graph of nearest neighbours, with edge
    lengths d_e relative to their mean, ::

        D_ij = 1/rho log(1 + min over paths from i to j of sum_e (exp(rho d_e) - 1))

    so that rows of one dense region are close and rows on two sides of a gap are far.
    Multidimensional scaling makes features of them, scaled to mean length one, and
    `GradientTSVC` is fitted to the features. The graph needs n x n numbers: this is a
    method for thousands of rows.

    Parameters
    ----------
    reg : float or None, default=1e-2
        Strength of the regularisation, lambda.
    n_neighbors : int, default=200
        Neighbours of a row in the graph; parts without a connection are joined by their
        shortest edge.
    rho : float, default=4.0
        0.5 is close to the length of the shortest path, 10 to the longest edge that no
        path avoids.
    share : float, default=0.1
        Share of the variance of the distances that the features may leave out.
    unlabeled_weight : float, default=1.0
        Final weight of the unlabelled rows, lambda'.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        As in `GradientTSVC`.
    annealing_rate : float or None, default=None
        Factor from one weight to the next; None is 2.
    balance_tol : float or None, default=0.1
        As in `GradientTSVC`.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-5
    max_iter : int, default=500
    warm_start : bool, default=False
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features.
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : PathMap
        The features; a new row is reached through its neighbours.
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
    Chapelle and Zien, Semi-supervised classification by low density separation, AISTATS
    2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LowDensitySeparation
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = LowDensitySeparation(n_neighbors=10, class_prior=[0.5, 0.5]).fit(X, labels)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    kernel = "paths"

    def __init__(
        self,
        reg: float | None = 1e-2,
        *,
        n_neighbors: int = 200,
        rho: float = 4.0,
        share: float = 0.1,
        unlabeled_weight: float = 1.0,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        annealing_rate: float | None = None,
        balance_tol: float | None = BALANCE_TOL,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 500,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.n_neighbors = n_neighbors
        self.rho = rho
        self.share = share
        self.unlabeled_weight = unlabeled_weight
        self.class_prior = class_prior
        self.annealing_rate = annealing_rate
        self.balance_tol = balance_tol
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors)
        check_real("rho", self.rho, above=0)
        if not 0.0 <= check_real("share", self.share) < 1.0:
            raise ValueError(f"share must be at least 0 and below 1, got {self.share!r}.")

    def _features(self, X: Any) -> tuple[PathMap, Any]:
        if X.shape[0] < 2:
            raise ValueError("LowDensitySeparation needs two or more rows, got n_samples=1.")
        found, features = fit_paths(
            X.astype(np.float64, copy=False),
            n_neighbors=int(self.n_neighbors),
            rho=float(self.rho),
            share=float(self.share),
        )
        self._check_same_features(found)
        return found, features
