"""Posterior regularisation: soft labels that keep the class counts and stay near the model."""

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
    kl_weight : float
        Weight of the mean divergence. The weight C of the sum over the unlabelled rows, as
        in equation 13 of the second reference, is ``kl_weight = C u`` here. Its C = 0.1 is
        800 for 8,000 rows, which is close to the expectation constraint itself.
    tol : float
        The fit ends when the squared norm of the gradient is at most 2 ``reg tol`` times the
        objective, as if the objective were convex.
    max_iter : int
        Maximum number of rounds (Newton step, soft labels) per level: first loose, then to
        ``tol``.
    verbose : int
        Print one line per level: the start, the loose and the tight rounds.

    Attributes
    ----------
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
