"""Manifold regularisation: outputs that change little along a graph of the rows."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.gradient import one_against_rest
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.newton import newton_options
from semisvm.estimators.task import BinaryTask
from semisvm.features import FeatureMap
from semisvm.features.kernels import PRECOMPUTED
from semisvm.features.local import NEIGHBORS, LocalMap
from semisvm.graphs import Roughness, fit_neighbors, neighbor_graph, normalized_laplacian
from semisvm.homotopy import Callback
from semisvm.losses import SQUARED, SQUARED_HINGE
from semisvm.validation import check_count, check_real
from semisvm.weights import State, minimize
from semisvm.weights.graph_problem import GraphProblem, GraphTerm

MAX_POWER = 50


class _LaplacianMachine(LinearSemiSupervisedClassifier):
    """What the two machines share: all but the loss."""

    fit_intercept = True
    intercept_scaling = 1.0
    warm_start = False

    def __init__(
        self,
        reg: float = 1e-7,
        *,
        manifold_weight: float = 10.0,
        n_neighbors: int = 5,
        power: int = 2,
        kernel: str | Callable[..., float] = "neighbors",
        gamma: float | str = "mean_distance",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        unlabeled: Any = -1,
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.manifold_weight = manifold_weight
        self.n_neighbors = n_neighbors
        self.power = power
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
        self : object
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        check_real("reg", self.reg, above=0)
        self._check_shared_parameters()
        check_real("manifold_weight", self.manifold_weight, at_least=0)
        check_count("n_neighbors", self.n_neighbors)
        power = check_count("power", self.power)
        if power is not None and power > MAX_POWER:
            raise ValueError(
                f"power must be at most {MAX_POWER}, got {self.power!r}: the eigenvalues of the "
                "Laplacian are between 0 and 2, and such powers are beyond double precision."
            )

    def _fit_checked(self, X: Any, y: ArrayLike, sample_weight: Any) -> None:
        try:
            super()._fit_checked(X, y, sample_weight)
        finally:
            # the graph has an entry for every row and neighbour, and no use after the fit
            self.__dict__.pop("_term", None)

    def _features(self, X: Any) -> tuple[FeatureMap | None, Any]:
        if X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__} needs two or more rows, got n_samples=1.")
        found: FeatureMap | None = None
        features = None
        if self.kernel != NEIGHBORS:
            found, features = super()._features(X)
        rows = features if self.kernel == PRECOMPUTED else X.astype(np.float64, copy=False)
        neighbors = fit_neighbors(rows, int(self.n_neighbors))
        directed = neighbor_graph(neighbors)
        if self.kernel == NEIGHBORS:
            found = LocalMap(neighbors, rows)
            features = found.features()
        laplacian = normalized_laplacian(directed)
        weight = float(self.manifold_weight) / X.shape[0]
        form = Roughness(laplacian, int(self.power), weight)
        self._term = GraphTerm.of(form, features, self.intercept_scaling)
        return found, features

    def _descend(self, task: BinaryTask) -> State:
        problem = GraphProblem(task.supervised(), self._term)
        start = State.at(np.zeros(task.n_weights), problem)
        state = minimize(problem, start, **newton_options(self, task))
        task.recorder.level_done()
        return state

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        state = self._descend(task)
        codes = (state.scores[0][task.unlabeled] > 0.0).astype(np.intp)
        return Solution(state.w, state.objective, state.n_iter, state.converged, codes)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        states = [self._descend(one_against_rest(task, y)) for y in range(len(task.counts))]
        scores = np.column_stack([state.scores[0][task.unlabeled] for state in states])
        return Solution(
            np.column_stack([state.w for state in states]).ravel(),
            sum(state.objective for state in states),
            sum(state.n_iter for state in states),
            all(state.converged for state in states),
            scores.argmax(axis=1),
        )


class LaplacianSVC(_LaplacianMachine):
    r"""Laplacian SVM: a supervised machine whose outputs are smooth on a graph of all rows.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i max(0, 1 - y_i f(x_i))^2
            + manifold_weight/(2n) f^T L^p f,     f of all n rows

    where L is the normalised Laplacian of the graph of nearest neighbours: outputs may
    change between regions, and hardly along them. The loss is the *squared*
    hinge, not the hinge of the paper: the problem is then smooth, and solved by Newton steps.

    The rows x are features of the kernel, so new rows are predicted by the weights, without
    the Laplacian. More than two classes are one-vs-rest problems on the same graph.

    Parameters
    ----------
    reg : float, default=1e-7
        Strength of the regularisation, lambda (gamma_A in the paper).
    manifold_weight : float, default=10.0
        Weight of the roughness, mu (gamma_I in the paper).
    n_neighbors : int, default=5
        Neighbours of a row in the graph.
    power : int, default=2
        p: how many times the Laplacian is applied, at most 50.
    kernel : str or callable, default="neighbors"
        "neighbors" has the outputs of the training rows themselves as weights, and a new row
        averages those of its neighbours. Others are "linear", "rbf", "poly", "sigmoid",
        "laplacian", "cosine", a function of two rows, or "precomputed", which has its
        neighbours in the space of the kernel.
    gamma : float, "scale" or "mean_distance", default="mean_distance"
        Of the kernel: 1 / (d var(X)), or 1 / (2 width^2) with the average distance of two
        rows as the width.
    degree : int, default=3
    coef0 : float, default=1.0
        Of the kernels "poly" and "sigmoid".
    n_components : int or None, default=None
        Most features of the kernel (Nystroem); None leaves it to ``kernel_tol``. Few features
        cannot follow a graph well.
    kernel_tol : float, default=1e-4
        Share of the trace of the kernel matrix that the features may leave out.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-6
        Certified relative error of the objective.
    max_iter : int, default=200
        Newton steps.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features of the kernel, or of the columns if it is linear; with
        "neighbors" there is one for every training row.
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : KernelMap, LocalMap or None
        Features of the kernel; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Shares of the classes among the labelled rows; the method does not use them.
    reg_ : float
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        Of many classes, the sum over their problems.
    n_iter_ : int
        Newton steps.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Belkin, Niyogi and Sindhwani, Manifold regularization: a geometric framework for
    learning from labeled and unlabeled examples, JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LaplacianSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = LaplacianSVC().fit(X, labels)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    loss = SQUARED_HINGE.name


class LaplacianRLSC(_LaplacianMachine):
    r"""Laplacian regularised least squares: as `LaplacianSVC`, by one linear system.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i (1 - y_i f(x_i))^2
            + manifold_weight/(2n) f^T L^p f,     f of all n rows

    where L is the normalised Laplacian of the graph of nearest neighbours: outputs may
    change between regions, and hardly along them. The loss is
    quadratic, so that one Newton step is the solution.

    The rows x are features of the kernel, so new rows are predicted by the weights, without
    the Laplacian. More than two classes are one-vs-rest problems on the same graph.

    Parameters
    ----------
    reg : float, default=1e-7
        Strength of the regularisation, lambda (gamma_A in the paper).
    manifold_weight : float, default=10.0
        Weight of the roughness, mu (gamma_I in the paper).
    n_neighbors : int, default=5
        Neighbours of a row in the graph.
    power : int, default=2
        p: how many times the Laplacian is applied, at most 50.
    kernel : str or callable, default="neighbors"
        "neighbors" has the outputs of the training rows themselves as weights, and a new row
        averages those of its neighbours. Others are "linear", "rbf", "poly", "sigmoid",
        "laplacian", "cosine", a function of two rows, or "precomputed", which has its
        neighbours in the space of the kernel.
    gamma : float, "scale" or "mean_distance", default="mean_distance"
        Of the kernel: 1 / (d var(X)), or 1 / (2 width^2) with the average distance of two
        rows as the width.
    degree : int, default=3
    coef0 : float, default=1.0
        Of the kernels "poly" and "sigmoid".
    n_components : int or None, default=None
        Most features of the kernel (Nystroem); None leaves it to ``kernel_tol``. Few features
        cannot follow a graph well.
    kernel_tol : float, default=1e-4
        Share of the trace of the kernel matrix that the features may leave out.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-6
        Certified relative error of the objective.
    max_iter : int, default=200
        Newton steps.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features of the kernel, or of the columns if it is linear; with
        "neighbors" there is one for every training row.
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : KernelMap, LocalMap or None
        Features of the kernel; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Shares of the classes among the labelled rows; the method does not use them.
    reg_ : float
    transduction_ : array of shape (n,)
        Given labels, and predictions for the unlabelled rows.
    objective_ : float
        Of many classes, the sum over their problems.
    n_iter_ : int
        Newton steps.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Belkin, Niyogi and Sindhwani, Manifold regularization: a geometric framework for
    learning from labeled and unlabeled examples, JMLR 7, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LaplacianRLSC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = LaplacianRLSC().fit(X, labels)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    loss = SQUARED.name
