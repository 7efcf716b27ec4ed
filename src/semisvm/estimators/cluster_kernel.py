"""A supervised SVM with a kernel derived from clusters of all rows."""

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Specification
from semisvm.estimators.parameters import Kernel, KernelParameters, SolverParameters, parameters
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.maps.cluster_kernel import fit_clusters
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

    So rows that are often in the same cluster get similar outputs. In each run a new row
    belongs to the cluster with the nearest centre.

    Parameters
    ----------
    reg : float, default=1e-3
        Strength of the regularisation, lambda.
    n_clusters : int, default=10
        Number of clusters per run.
    n_runs : int, default=50
        Number of runs of k-means.
    kernel : str or callable, default="rbf"
        The base kernel: "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", or a
        function of two rows.
    gamma : float, "scale" or "mean_distance", default="mean_distance"
        Coefficient of the kernel: "scale" is 1 / (d var(X)), "mean_distance" is
        1 / (2 width^2), where width is the average distance between two rows.
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1.0
        Constant term of the kernels "poly" and "sigmoid".
    n_components : int or None, default=None
        Maximum number of kernel features (Nystroem); None leaves it to ``kernel_tol``.
    kernel_tol : float, default=1e-4
        Fraction of the trace of the kernel matrix that the features may leave out.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    tol : float, default=1e-10
        Certified relative error of the objective.
    max_iter : int, default=200
        Maximum number of Newton steps.
    random_state : int, RandomState or None, default=0
        Seed of k-means; None gives a different result in every fit.
    n_jobs : int, default=None
        Number of threads; None is one, -1 uses all cores.
    verbose : int, default=0
        Print one line per level.
    callback : callable, default=None
        Called with each row of the trace; the fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features.
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : ClusterMap
        The features, with the centres of all runs.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Shares of the classes among the labelled rows; not used by the method.
    reg_ : float
        Strength of the regularisation that was used.
    transduction_ : array of shape (n,)
        The given labels, and predictions for the unlabelled rows.
    objective_ : float
    n_iter_ : int
        Number of Newton steps.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

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

        Returns
        -------
        self : ClusterKernelSVC
        """
        return self._fit(X, y, sample_weight)

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

    def _specification(self) -> Specification:
        return Specification(SQUARED_HINGE, float(self.reg))

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, tol=self.tol, max_iter=self.max_iter)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        return solve_labeled(task, tol=self.tol, max_iter=self.max_iter)
