"""A supervised SVM with a kernel derived from clusters of all rows."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.estimators.parameters import Kernel, KernelParameters, SolverParameters, parameters
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.maps.ensembles import fit_clusters
from semisvm.maps.feature_maps import FeatureMap
from semisvm.maps.kernels import PRECOMPUTED
from semisvm.methods.solution import Solution
from semisvm.methods.supervised import solve_labeled
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_count


@parameters
class ClusterKernelSVC(KernelParameters, SolverParameters, LinearSemiSupervisedClassifier):
    r"""SVM with the bagged cluster kernel.

    k-means is run ``n_runs`` times on labelled and unlabelled rows together. With c_p(x)
    the cluster of a row in run p, the kernel is ::

        k(x, z) = k_base(x, z) / n_runs * sum_p [c_p(x) = c_p(z)]

    and a supervised SVM with this kernel is fitted to the labelled rows. It minimises,
    over outputs f, ::

        reg/2 ||f||^2 + 1/(2l) sum_i max(0, 1 - y_i f(x_i))^2

    So rows that are often in the same cluster get similar outputs. In each run a row belongs
    to the cluster with the smallest squared distance from its centre, less the variance of
    that centre: otherwise clusters of few rows would lose the new rows that belong to them.

    Parameters
    ----------
    reg : float
        Strength of the regularisation, lambda.
    n_clusters : int
        Number of clusters per run.
    n_runs : int
        Number of runs of k-means.
    kernel : str or callable
        The base kernel: "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", or a
        function of two rows.
    max_iter : int
        Maximum number of Newton steps.
    random_state : int, RandomState or None
        Seed of k-means; None gives a different result in every fit.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features.
    kernel_map_ : ClusterMap
        The features, with the centres of all runs.
    n_iter_ : int
        Number of Newton steps.

    References
    ----------
    Weston, Leslie, Ie, Zhou, Elisseeff and Noble, Semi-supervised protein classification
    using cluster kernels, Bioinformatics 21, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from semisvm import ClusterKernelSVC
    >>> X, y = make_blobs(200, centers=4, random_state=1)
    >>> labels = np.where(np.arange(200) < 12, y, -1)
    >>> bool(ClusterKernelSVC().fit(X, labels).score(X, y) > 0.9)
    True
    """

    reg: float = 1e-3
    _: KW_ONLY
    n_clusters: int = 10
    n_runs: int = 50
    random_state: int | np.random.RandomState | None = 0
    kernel: Kernel = "rbf"
    gamma: float | str = "mean_distance"
    tol: float = 1e-10
    max_iter: int = 200

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            Weights of the labelled rows: one of weight two counts like two labels. The
            clusters count every row once, whatever its weight.
        """
        return super().fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_count("n_clusters", self.n_clusters)
        check_count("n_runs", self.n_runs)
        check_count("n_components", self.n_components, optional=True)
        if self.kernel == PRECOMPUTED:
            raise ValueError(
                "kernel='precomputed' has no rows to cluster; pass the rows, and a kernel by name."
            )

    def _features(self, X: Any) -> tuple[FeatureMap, Any]:
        return fit_clusters(
            X.astype(np.float64, copy=False),
            self.kernel,
            n_clusters=int(self.n_clusters),
            n_runs=int(self.n_runs),
            random_state=self.random_state,
            n_components=self.n_components,
            tol=self.kernel_tol,
            n_jobs=self.n_jobs,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
        )

    def _loss(self) -> Loss:
        return SQUARED_HINGE

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, tol=self.tol, max_iter=self.max_iter)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, tol=self.tol, max_iter=self.max_iter)
