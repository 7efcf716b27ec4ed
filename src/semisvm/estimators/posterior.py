"""Posterior regularisation: soft labels that keep the class counts and stay near the model."""

from typing import Any, Self

from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.estimators.maxent import MaxentClassifier
from semisvm.estimators.parameters import parameters
from semisvm.methods.loop import follow, settling
from semisvm.methods.maxent import Projecting, first_state
from semisvm.methods.solution import Solution
from semisvm.methods.supervised import without_unlabeled_rows
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.validation import check_real


@parameters
class PosteriorRegularizedClassifier(MaxentClassifier):
    r"""Maxent classifier with posterior regularisation: soft labels keep the class shares.

    Minimises over weights W and soft labels q of the u unlabelled rows ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + kl_weight/u sum_j KL(q_j || p_j)
        s.t.  1/u sum_j q_j(y) = r(y)    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y, the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model, and
    KL(q || p) = sum_y q(y) log(q(y) / p(y)). The q nearest to p is p with one factor per
    class, q_j(y) ~ p_j(y) exp(nu_y). So q is eliminated, and Newton's method minimises what is
    left, a smooth function of the weights. The objective never rises. It is not convex, so
    the result is a local minimum. The class shares r(y) hold exactly for q and approximately for p:
    the larger ``kl_weight``, the closer.

    Parameters
    ----------
    reg : float or None, default=None
        Strength of the regularisation, lambda. None is 1e-4, which suits rows of length
        one.
    kl_weight : float, default=1.0
        Weight of the mean divergence. The weight C of the sum over the unlabelled rows, as
        in equation 13 of the second reference, is ``kl_weight = C u`` here. Its C = 0.1 is
        800 for 8,000 rows, which is close to the expectation constraint itself.
    class_prior : None, "estimate", "labels", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None, or "estimate", estimates them from labelled and unlabelled rows
        (`semisvm.model_selection.estimate_prior`); "labels" takes the labelled fractions.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows,
        or "precomputed". Kernels other than "linear" become feature maps: the fit stores
        n x rank numbers, and prediction needs only the pivot rows.
    gamma : float, "scale" or "mean_distance", default="scale"
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
    fit_intercept : bool, default=True
        Whether to fit an intercept; without it the other weights must produce the class
        shares.
    intercept_scaling : float, default=1.0
        Value of the constant feature; larger values regularise the intercept less.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    tol : float, default=1e-5
        The fit ends when the squared norm of the gradient is at most 2 ``reg tol`` times the
        objective, as if the objective were convex.
    max_iter : int, default=1000
        Maximum number of rounds (Newton step, soft labels) per level: first loose, then to
        ``tol``.
    warm_start : bool, default=False
        Start from the weights of the last fit.
    n_jobs : int, default=None
        Number of threads; None is one, -1 uses all cores.
    verbose : int, default=0
        Print one line per level: the start, the loose and the tight rounds.
    callback : callable, default=None
        Called with each row of the trace; the fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector per class, for two classes too.
    kernel_map_ : KernelMap or None
        Features of the kernel, with one weight each in ``coef_``; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Class shares that were used.
    class_prior_std_ : array of shape (m,)
        Their standard errors; zero for given shares.
    reg_ : float
        Strength of the regularisation that was used.
    transduction_ : array of shape (n,)
        The given labels, and the most probable class of each unlabelled row under q.
        `predict` uses p instead.
    label_distribution_ : array of shape (n, m)
        The given labels as 0 and 1, and q, whose means over the unlabelled rows are the
        class shares.
    objective_ : float
        Objective of the final weights and q.
    n_iter_ : int
        Number of rounds (Newton step, soft labels).
    trace_ : Trace
        Its ``residual`` is the largest difference between a mean of p_j(y) and its share
        r(y); its ``label_residual`` is the same for q.
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    Notes
    -----
    As ``kl_weight`` grows, the solution approaches that of
    `ExpectationConstrainedClassifier`, whose notes on rare classes apply here too.

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

    kl_weight: float = 1.0

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            A row of weight two counts like two rows, labelled or not, and one of weight zero like
            none. Labelled and unlabelled rows are weighed among themselves.

        Returns
        -------
        self : PosteriorRegularizedClassifier
        """
        return self._fit(X, y, sample_weight)

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares: soft ones do, of one row or more."""
        return True

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("kl_weight", self.kl_weight, above=0)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        if task.n_unlabeled == 0:
            return without_unlabeled_rows(task, self.tol)
        weight = float(self.kl_weight)
        method = Projecting(task, first_state(task, start, self.tol), weight)
        levels = settling(weight, self.tol)
        rounds, settled = follow("projecting", levels, method, task.recorder, self.max_iter)
        state, q = method.state, method.q
        converged = settled and state.converged
        return Solution(state.w, method.objective(), rounds, converged, q.argmax(axis=1), q)
