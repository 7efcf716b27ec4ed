"""Manifold regularisation: outputs that change little along a graph of the rows."""

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.estimators.parameters import Kernel, KernelParameters, SolverParameters, parameters
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.partial import PartialLabels
from semisvm.losses import SQUARED, SQUARED_HINGE, Loss
from semisvm.maps.feature_maps import FeatureMap
from semisvm.maps.graph_laplacian import NEIGHBORS, LocalMap, Roughness, normalized_laplacian
from semisvm.maps.kernels import PRECOMPUTED
from semisvm.maps.neighbors import fit_neighbors, neighbor_graph
from semisvm.methods.solution import Solution, joined, one_vs_rest
from semisvm.methods.supervised import recording
from semisvm.solvers import State, minimize
from semisvm.tasks.graph import GraphProblem, GraphTerm
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_count, check_real

MAX_POWER = 50


@parameters
class _LaplacianMachine(KernelParameters, SolverParameters, LinearSemiSupervisedClassifier):
    """Base of the two Laplacian machines, which differ only in the loss.

    Parameters
    ----------
    reg : float
        Strength of the regularisation, lambda (gamma_A in the paper).
    manifold_weight : float
        Weight of the roughness, mu (gamma_I in the paper).
    n_neighbors : int
        Number of neighbours per row in the graph.
    power : int
        Power p of the Laplacian, at most 50.
    kernel : str or callable
        With "neighbors" the weights are the outputs of the training rows themselves; a row
        that is far from all of them gets an average of the labelled rows. Others are "linear",
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed", for which neighbours are found in the feature space of the kernel.
    n_components : int or None
        With "neighbors" the number of latent directions along which neighbours are found, the
        leading singular vectors of all rows; None finds them among the rows as they are. With
        other kernels the maximum number of features; None leaves it to ``kernel_tol``.
    max_iter : int
        Maximum number of Newton steps.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the kernel features, or of the columns if the kernel is linear; with
        "neighbors", the outputs of the n training rows, minus the intercept, and then n
        weights for new rows.
    kernel_map_ : KernelMap, LocalMap or None
        Features of the kernel; None if linear.
    objective_ : float
        For more than two classes, the sum over their problems.
    n_iter_ : int
        Number of Newton steps.
    """

    reg: float = 1e-7
    _: KW_ONLY
    manifold_weight: float = 10.0
    n_neighbors: int = 5
    power: int = 2
    kernel: Kernel = "neighbors"
    gamma: float | str = "mean_distance"
    tol: float = 1e-6
    max_iter: int = 200

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            Weights of the labelled rows: one of weight two counts like two labels. The graph
            has every row once, whatever its weight.
        """
        return super().fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        check_real("reg", self.reg, above=0)
        self._check_shared_parameters()
        check_real("manifold_weight", self.manifold_weight, at_least=0)
        check_count("n_neighbors", self.n_neighbors)
        check_count("n_components", self.n_components, optional=True)
        power = check_count("power", self.power)
        if power is not None and power > MAX_POWER:
            raise ValueError(
                f"power must be at most {MAX_POWER}, got {self.power!r}: the eigenvalues of the "
                "Laplacian are between 0 and 2, and higher powers exceed double precision."
            )

    def _features(self, X: Any) -> tuple[FeatureMap | None, Any]:
        if X.shape[0] < 2:
            raise ValueError(f"{type(self).__name__} needs at least two rows, got n_samples=1.")
        if self.kernel != NEIGHBORS:
            return super()._features(X)
        rows = X.astype(np.float64, copy=False)
        found = LocalMap.fit(rows, int(self.n_neighbors), self.n_jobs, self.n_components)
        return found, found.features()

    def _besides_rows(self, X: Any, found: FeatureMap | None, features: Any) -> dict[str, Any]:
        """Build the graph of the rows, as a term of the objective."""
        if isinstance(found, LocalMap):
            laplacian = found.laplacian()
        else:
            rows = features if self.kernel == PRECOMPUTED else X.astype(np.float64, copy=False)
            neighbors = fit_neighbors(rows, int(self.n_neighbors))
            laplacian = normalized_laplacian(neighbor_graph(neighbors, self.n_jobs))
        weight = float(self.manifold_weight) / X.shape[0]
        form = Roughness(laplacian, int(self.power), weight)
        return {"term": GraphTerm.of(form, features, self._specification().bias)}

    def _solve_task(
        self, task: TwoClassTask | ManyClassTask, start: Floats | None, **besides: Any
    ) -> Solution:
        two = isinstance(task, TwoClassTask)
        tasks = [task] if isinstance(task, TwoClassTask) else one_vs_rest(task, self._loss())
        solve = partial(solve_on_graph, tol=self.tol, max_iter=self.max_iter)
        parts = [solve(part, besides["term"]) for part in tasks]
        return parts[0] if two else joined(parts, [part.rows.all.outputs() for part in tasks])

    def _publish_map(self, found: FeatureMap | None, labels: PartialLabels) -> None:
        if isinstance(found, LocalMap):
            found = replace(found, labeled=labels.labeled)
        super()._publish_map(found, labels)

    def _publish_weights(self, coef: Floats, intercept: Floats, hierarchy: Hierarchy) -> None:
        found = self.kernel_map_
        if isinstance(found, LocalMap):
            mu, reg = float(self.manifold_weight), float(self.reg)
            share = mu / (mu + coef.shape[1] * reg)
            coef, intercept = found.extended(coef, intercept, power=int(self.power), share=share)
        super()._publish_weights(coef, intercept, hierarchy)


@parameters
class LaplacianSVC(_LaplacianMachine):
    r"""Laplacian SVM: a supervised SVM whose outputs are smooth on a graph of all rows.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i max(0, 1 - y_i f(x_i))^2
            + manifold_weight/(2n) f^T L^p f,     f of all n rows

    where L is the normalised Laplacian of the graph of nearest neighbours. Outputs may
    change between regions but hardly within them. The loss is the *squared* hinge, not
    the hinge of the paper; so the problem is smooth and Newton steps solve it.

    With ``kernel="neighbors"`` the weights are the outputs of the training rows, and a new
    row is scored by the equation that an unlabelled row of the fit satisfies: nearly as if it
    had been one. With another kernel, the rows x are its features, and new rows are predicted
    from the weights, without the graph. More than two classes are solved as one-vs-rest
    problems on the same graph.

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

    def _loss(self) -> Loss:
        return SQUARED_HINGE


@parameters
class LaplacianRLSC(_LaplacianMachine):
    r"""Laplacian regularised least squares: like `LaplacianSVC`, but one linear system.

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i (1 - y_i f(x_i))^2
            + manifold_weight/(2n) f^T L^p f,     f of all n rows

    where L is the normalised Laplacian of the graph of nearest neighbours. Outputs may
    change between regions but hardly within them. The loss is quadratic, so one Newton
    step solves the problem.

    With ``kernel="neighbors"`` the weights are the outputs of the training rows, and a new
    row is scored by the equation that an unlabelled row of the fit satisfies: nearly as if it
    had been one. With another kernel, the rows x are its features, and new rows are predicted
    from the weights, without the graph. More than two classes are solved as one-vs-rest
    problems on the same graph.

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

    def _loss(self) -> Loss:
        return SQUARED


def solve_on_graph(task: TwoClassTask, term: GraphTerm, *, tol: float, max_iter: int) -> Solution:
    """Fit two classes with outputs smooth on a graph; the block holds the outputs afterwards."""
    block = task.rows.single_shard()
    block.set_given_costs()
    problem = GraphProblem(block, task.reg, task.labeled_preconditioner, term)
    state = State(np.zeros(task.n_weights))
    minimize(problem, state, tol=tol, max_iter=max_iter, on_step=recording(task))
    task.recorder.level_done()
    block.take_scores(problem.scores[0])
    codes = task.rows.all.predictions()
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)
