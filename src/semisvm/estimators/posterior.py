"""Posterior regularisation: soft labels that keep the class counts, near the model."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.base import Solution
from semisvm.estimators.maxent import MaxentClassifier, first_state, share_residual
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.transductive import supervised_solution
from semisvm.homotopy import Callback, Level, follow, settling
from semisvm.labels import LabelStep, entropic, mean_entropy_of
from semisvm.multi_losses import probabilities
from semisvm.validation import check_real
from semisvm.weights import State

# Rounding leaves no more of an objective next to the entropy of its soft labels.
SMALLEST_SHARE = 1e-10


class Projecting:
    """The two steps: fit the model to soft labels q, and project it on the class counts."""

    def __init__(self, task: MultiTask, state: State, weight: float) -> None:
        self.task = task
        self.state = state
        self.weight = weight
        self.step = self._project(None)
        self._lowest = np.inf

    @property
    def q(self) -> Floats:
        """Soft labels (u, m)."""
        assert self.step.beliefs is not None
        return self.step.beliefs

    def _project(self, prices: Floats | None) -> LabelStep:
        """Find the q with the class counts nearest to p: sum q log q - sum q log p."""
        costs = self.task.label_costs(self.state.scores)
        return entropic(costs, self.task.counts, 1.0, prices)

    def objective(self) -> float:
        """Give the objective of weights and soft labels."""
        entropy = self.weight * mean_entropy_of(self.q)
        return self.task.objective(self.state, self.weight, self.step.cost) - entropy

    def enter(self, level: Level) -> None:
        """Compute the scores afresh before the level that gives the answer."""
        self._lowest = np.inf
        if level.last:
            self.task.score_all(self.state)

    def weight_step(self, level: Level) -> State:
        """Fit all rows, the unlabelled ones to their soft labels."""
        # what is minimised here has the entropy of q in it, which is most of it where the
        # divergence weighs much: the tolerance is relative to the objective without
        objective = self.objective()
        share = objective / (objective + self.weight * mean_entropy_of(self.q))
        tol = level.tol * max(share, SMALLEST_SHARE)
        costs = self.task.soft_costs(self.q, self.weight)
        return self.task.solve(costs, self.state, tol)

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Project; settled when the weights were a solution for these soft labels."""
        settled = self.state.n_iter == 0
        if not settled:
            self.step = self._project(self.step.prices)
        counts = self.task.counts
        p = probabilities(self.state.scores[self.task.unlabeled])
        objective = self.objective()
        # the objective falls unless rounding keeps the weight step from its solution
        stalled = not self.state.converged and objective >= self._lowest
        self._lowest = min(objective, self._lowest)
        facts = {
            "objective": objective,
            "residual": share_residual(p, counts),
            "label_residual": share_residual(self.q, counts),
            "imbalance": self.task.imbalance(self.state.scores),
        }
        return settled or stalled, facts


class PosteriorRegularizedClassifier(MaxentClassifier):
    r"""Maxent near to soft labels that keep the class counts (posterior regularisation).

    Minimises over weights W and soft labels q of the u unlabelled rows ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + kl_weight/u sum_j KL(q_j || p_j)
        s.t.  sum_j q_j(y) = n(y)    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y, the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model, and
    KL(q || p) = sum_y q(y) log(q(y) / p(y)). Two convex steps alternate: the nearest q to p
    is p with one factor a class, q_j(y) ~ p_j(y) exp(nu_y), and the weights are fitted to
    the labelled rows and to q. The objective never rises; it is not convex in both, so
    the result is a local minimum. The counts hold for q, and for p nearly: the larger
    ``kl_weight``, the nearer.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda; None is 1e-4, for rows of length one.
    kl_weight : float, default=1.0
        Weight of the mean divergence. A weight C of the sum over the unlabelled rows, as
        in equation 13 of the second reference, is ``kl_weight = C u`` here; its C = 0.1 is
        800 for 8,000 rows, next to the expectation constraint itself. The number of
        rounds grows in proportion to a large weight.
    class_prior : None, "estimate", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None takes the fractions of the labelled rows; "estimate" also asks the
        unlabelled rows (`semisvm.model_selection.estimate_prior`).
    kernel : str or callable, default="linear"
        "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows, or
        "precomputed". Other kernels than "linear" are feature maps: the fit holds n x rank
        numbers, and prediction needs the pivot rows only.
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
    fit_intercept : bool, default=True
        Without an intercept the weights of the features must make up for the shares.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=1e-5
        Certified relative error of the last weight step. The alternation ends when the
        weights keep it with soft labels made from themselves.
    max_iter : int, default=1000
        Rounds of weight and label step, first loosely, then to ``tol``.
    warm_start : bool, default=False
        Go on from the weights of the last fit.
    n_jobs : int, default=None
        Threads; None is one, -1 all.
    verbose : int, default=0
        Print a line for the start, the loose and the tight rounds.
    callback : callable, default=None
        Called with every row of the trace; a fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector a class, for two classes too.
    kernel_map_ : KernelMap or None
        Features of the kernel, of which ``coef_`` has one weight each; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
    reg_ : float
        The regularisation that was used.
    transduction_ : array of shape (n,)
        Given labels, and the most probable class by q of the unlabelled rows. `predict`
        goes by p instead.
    label_distribution_ : array of shape (n, m)
        Given labels as 0 and 1, and q; its sums over the unlabelled rows are the counts.
    objective_ : float
        Of the published weights and q.
    n_iter_ : int
        Rounds of weight and label step.
    trace_ : Trace
        Its ``residual`` is the largest difference of a mean of p_j(y) to its share
        n(y)/u, its ``label_residual`` that of q.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    Notes
    -----
    As ``kl_weight`` grows the solution nears that of `ExpectationConstrainedClassifier`,
    whose notes on rare classes hold here too.

    References
    ----------
    Ganchev, Graca, Gillenwater and Taskar, Posterior regularization for structured latent
    variable models, JMLR 11, 2010.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012, equation 13.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import PosteriorRegularizedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = PosteriorRegularizedClassifier(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    def __init__(
        self,
        reg: float | None = None,
        kl_weight: float = 1.0,
        *,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        kernel: str | Callable[..., float] = "linear",
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        kernel_tol: float = 1e-4,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        unlabeled: Any = -1,
        tol: float = 1e-5,
        max_iter: int = 1000,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.reg = reg
        self.kl_weight = kl_weight
        self.class_prior = class_prior
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.kernel_tol = kernel_tol
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.unlabeled = unlabeled
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
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
        self : PosteriorRegularizedClassifier
        """
        return self._fit(X, y)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("kl_weight", self.kl_weight, above=0)

    def _solve_multi(self, task: MultiTask, start: Floats | None) -> Solution:
        if len(task.unlabeled) == 0:
            return supervised_solution(task, self.tol)
        weight = float(self.kl_weight)
        method = Projecting(task, first_state(task, start, self.tol), weight)
        levels = settling(weight, self.tol)
        rounds, settled = follow("projecting", levels, method, task.recorder, self.max_iter)
        state, q = method.state, method.q
        converged = settled and state.converged
        return Solution(state.w, method.objective(), rounds, converged, q.argmax(axis=1), q)
