"""Maxent classifiers: their scores are log-probabilities, and unlabelled rows constrain them.

Two constrain the probabilities of the model on the unlabelled rows (expectation constraint, with or
without entropy regularisation), one soft labels near them (posterior regularisation).
"""

import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from semisvm.designs import Floats
from semisvm.estimators.base import Specification
from semisvm.estimators.evidence import TakesEvidence
from semisvm.estimators.parameters import (
    ClassPriorParameters,
    InterceptParameters,
    KernelParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.estimators.scoring import user_level
from semisvm.estimators.transductive import FIRST_WEIGHT_OF_MANY
from semisvm.losses import LOG, Loss
from semisvm.methods.loop import Level, decades, follow, rising, settling
from semisvm.methods.maxent import AugmentedLagrangian, Projecting, first_state
from semisvm.methods.solution import Solution
from semisvm.methods.supervised import without_unlabeled_rows
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.validation import check_real


@parameters
class MaxentClassifier(
    ClassPriorParameters,
    KernelParameters,
    InterceptParameters,
    WarmSolverParameters,
    TakesEvidence,
):
    """Base of the classifiers with constraints on the probabilities of all classes.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None is 1e-4, which suits rows of length
        one.
    fit_intercept : bool
        Whether to fit an intercept; without it the other weights must produce the class
        shares.

    Attributes
    ----------
    node_coef_, node_intercept_ : arrays of shape (m, d) and (m,)
        One weight vector per class, for two classes too.
    """

    reg: float | None = None

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares; here mean probabilities do, of any value."""
        return False

    def _loss(self) -> Loss:
        return LOG

    def _specification(self) -> Specification:
        return replace(super()._specification(), one_score=False)


@parameters
class _ShareConstrained(MaxentClassifier):
    """Base of the two classifiers with constraints on the model's own probabilities.

    Parameters
    ----------
    constraint_tol : float
        Largest allowed difference between the mean of p_j(y) and its share r(y).

    Attributes
    ----------
    label_distribution_ : array of shape (n, m)
        The given labels as 0 and 1, and the probabilities of the unlabelled rows; where there is
        evidence, p_j(y) q_j(y)^evidence_weight, scaled to sum one.
    multipliers_ : array of shape (m,)
        Multipliers of the constraints; they sum to zero.
    transduction_ : array of shape (n,)
        The given labels, and the most probable class of each unlabelled row.
    objective_ : float
        Objective without the constraint.
    """

    _: KW_ONLY
    constraint_tol: float = 1e-4
    constraint_weight: float | None = None
    max_iter: int = 100

    @abstractmethod
    def _levels(self, warm: bool) -> Sequence[Level]:
        """Return the schedule of the weight of the entropy."""

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("constraint_tol", self.constraint_tol, above=0)
        if self.constraint_weight is not None:
            check_real("constraint_weight", self.constraint_weight, at_least=0)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        if task.n_unlabeled == 0:
            self.multipliers_ = np.zeros(len(task.counts))
            return without_unlabeled_rows(task, self.tol)
        # the weights of an earlier fit belong to its multipliers
        multipliers = np.zeros(len(task.counts)) if start is None else self.multipliers_
        state = first_state(task, start, self.tol)
        weight = None if self.constraint_weight is None else float(self.constraint_weight)
        tol = float(self.constraint_tol)
        method = AugmentedLagrangian(task, state, multipliers, tol, weight)
        levels = self._levels(start is not None)
        rounds, _ = follow("multipliers", levels, method, task.recorder, self.max_iter)
        if np.isfinite(method.state.w).all():
            # otherwise the fit fails, and the multipliers of an earlier fit stay
            self.multipliers_ = method.multipliers
        missed = not method.fixed and method.residual > method.residual_tol
        if missed and not task.recorder.stopped:
            self._warn(task, method.residual)
        p = method.given_evidence
        codes, state = p.argmax(axis=1), method.state
        return Solution(state.w, state.objective, rounds, state.converged, codes, p)

    def _warn(self, task: ManyClassTask, residual: float) -> None:
        message = (
            f"{type(self).__name__} misses the class shares by {residual:.2g}, more than "
            f"constraint_tol ({self.constraint_tol:g}). A smaller reg, a larger "
            "intercept_scaling or a larger max_iter may reach them."
        )
        task.recorder.note(message)
        warnings.warn(message, ConvergenceWarning, stacklevel=user_level())


@parameters
class ExpectationConstrainedClassifier(_ShareConstrained):
    r"""Maxent classifier with an expectation constraint on the unlabelled rows.

    Minimises, over l labelled and u unlabelled rows, ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i)
        s.t.  1/u sum_j p_j(y) = r(y)    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y and the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model. The unlabelled rows enter only
    through the constraint. Evidence q_j about them, a distribution over the classes, adds ::

        -1/u sum_j log sum_y p_j(y) q_j(y)^evidence_weight

    up to a constant: its likelihood. A row that can have one class only is a labelled one then.
    The class shares r(y) hold for the means of the probabilities,
    not for the number of rows predicted in a class. The constraint is enforced by an
    augmented Lagrangian, whose subproblems L-BFGS solves.

    Parameters
    ----------
    constraint_weight : float or None
        None enforces the constraint. A number adds
        constraint_weight/2 sum_y [1/u sum_j p_j(y) - r(y)]^2 to the objective instead, so
        that the shares are wanted, but may be missed: expectation regularisation.
    tol : float
        A minimisation stops when ||gradient||^2 / (2 reg) is this fraction of the
        objective. For the supervised start this certifies the relative error.
    max_iter : int
        Maximum number of rounds (minimisation, update of the multipliers).
    warm_start : bool
        Start from the weights and multipliers of the last fit.
    verbose : int
        Print one line per level: the start, the loose and the tight rounds.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds.
    trace_ : Trace
        Its ``residual`` is the largest difference to a required share; its
        ``newton_steps`` are those of L-BFGS.

    Notes
    -----
    The constraint is on the mean probability. With few labels the rows may hardly differ:
    every row then has about the probability r(y) of a rare class y, the shares hold, and
    no row is predicted in that class. `predict_proba` still ranks the rows well. If the
    counts must hold for predictions, take the r(y) u rows with the highest probability, or
    use a method that fixes the number of labels, such as `TransductiveSVC`. Without an
    intercept the constraint distorts the weights of common features, and the ranking
    suffers.

    References
    ----------
    Mann and McCallum, Generalized expectation criteria for semi-supervised learning with
    weakly labeled data, JMLR 11, 2010.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012, equation 12.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import ExpectationConstrainedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = ExpectationConstrainedClassifier(reg=0.1, class_prior=[0.37, 0.63])
    >>> p = model.fit(scale(X), partly).predict_proba(scale(X)[partly == -1])
    >>> p.mean(axis=0).round(2).tolist()
    [0.37, 0.63]
    """

    def _levels(self, warm: bool) -> Sequence[Level]:
        return settling(0.0, self.tol)


@parameters
class EntropyRegularizedClassifier(_ShareConstrained):
    r"""Maxent classifier with entropy regularisation and an expectation constraint.

    Minimises, over l labelled and u unlabelled rows, ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + unlabeled_weight/u sum_j H(p_j)
        s.t.  1/u sum_j p_j(y) = r(y)    for every class y

    with the maxent loss xi(s, y) = log sum_z exp(s_z) - s_y, the probabilities
    p_j(y) = exp(s_jy) / sum_z exp(s_jz) of the model and their entropy
    H(p) = -sum_y p(y) log p(y). The entropy pushes the boundary away from the unlabelled
    rows, and the constraint keeps them from all falling into one class. The entropy is not
    convex in W, so its weight is raised level by level from the supervised solution, each
    level starting from the last. At each level the constraint is enforced by an augmented
    Lagrangian, whose subproblems L-BFGS solves. The result is a local minimum. Evidence about
    unlabelled rows adds its likelihood, as in `ExpectationConstrainedClassifier`.

    Parameters
    ----------
    unlabeled_weight : float
        Final weight of the entropy. With 0 only the constraint is left, as in
        `ExpectationConstrainedClassifier`; with ``constraint_weight=0`` as well, this is the
        supervised machine.
    annealing_rate : float or None
        Factor between the weights of the entropy at successive levels, from 1e-4 on. None
        is 3 and 10/3 alternately.
    constraint_weight : float or None
        None enforces the constraint. A number adds
        constraint_weight/2 sum_y [1/u sum_j p_j(y) - r(y)]^2 to the objective instead, so
        that the shares are wanted, but may be missed; 0 ignores them.
    tol : float
        A minimisation stops when ||gradient||^2 / (2 reg) is this fraction of the
        objective; early levels use 1e-3. For the supervised start this certifies the
        relative error. The function is flat near its minimum: at 1e-5 two fits of the same
        problem, with sparse and dense rows for example, may differ by 0.01 in a score and
        1e-4 in a probability; at 1e-9 by 1e-3 and 1e-5.
    max_iter : int
        Maximum number of rounds (minimisation, update of the multipliers) per level.
    warm_start : bool
        Start from the weights and multipliers of the last fit, at the final level.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds over all levels.
    trace_ : Trace
        Its ``value`` is the weight of the entropy, its ``residual`` the largest
        difference to a required share; its ``newton_steps`` are those of L-BFGS.

    References
    ----------
    Grandvalet and Bengio, Semi-supervised learning by entropy minimization, NIPS 2004.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012, equation 11.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import EntropyRegularizedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = EntropyRegularizedClassifier(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    unlabeled_weight: float = 1.0
    _: KW_ONLY
    annealing_rate: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, at_least=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)

    def _levels(self, warm: bool) -> Sequence[Level]:
        lam = float(self.unlabeled_weight)
        if warm or lam == 0.0:
            return settling(lam, self.tol)
        if self.annealing_rate is None:
            return decades(FIRST_WEIGHT_OF_MANY, lam, self.tol)
        return rising(FIRST_WEIGHT_OF_MANY, lam, float(self.annealing_rate), self.tol)


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
    the larger ``kl_weight``, the closer. Evidence e_j about rows, a distribution over the classes,
    adds the factor e_j(y)^evidence_weight to q_j(y), as of a prior, and
    -kl_weight/u sum_jy q_j(y) evidence_weight log e_j(y) to the objective.

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
