"""Gradient TSVM, and low density separation on top of it.

The labels are minimised away, which leaves a smooth function of the weights. Low density separation
is the same on distances along paths through the data.
"""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.evidence import TakesEvidence
from semisvm.estimators.parameters import (
    BalanceParameters,
    KernelParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.maps.paths import PathMap, fit_paths
from semisvm.methods.gradient_descent import descend, possible_outputs
from semisvm.methods.loop import LOOSE_TOL, Level, rising, settling
from semisvm.methods.solution import Solution, joined, one_vs_rest, refuse_balancing
from semisvm.methods.supervised import first_state, without_unlabeled_rows
from semisvm.methods.transductive import Assigning, finish_many
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_count, check_real

# Weights of the unlabelled rows at the first level.
FIRST, FIRST_OF_MANY = 1e-3, 0.1
RATE = 2.0
# Share of the unlabelled rows by which predictions may be further from the class shares than those
# of the supervised machine. Beyond that, one class against the rest often does harm.
FURTHER = 0.01


@parameters
class GradientDescentClassifier(BalanceParameters, WarmSolverParameters, TakesEvidence):
    """Base of the classifiers that descend on a smooth objective; they differ in the features.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None is 1e-3, which suits rows of length
        one.
    unlabeled_weight : float
        Final weight of the unlabelled rows, lambda'. With 0 this is the supervised machine.
    annealing_rate : float or None
        Factor between the weights of successive levels; None is 2.
    balance_tol : float or None
        For two classes: how far the share of positive outputs may be from the class share,
        relative to the share of the rarer class. Beyond that the mean output is moved
        between the levels, and at the end the intercept, which is chosen for new rows. None
        moves neither. With more classes or a hierarchy intercepts are never moved, and other
        values are an error.
    tol : float
        The last level stops when ||gradient||^2 / (2 reg) is this fraction of the objective.
    max_iter : int
        Maximum number of quasi-Newton steps per level.
    warm_start : bool
        Start from the weights of the last fit, at the final weight of the unlabelled rows.

    Attributes
    ----------
    transduction_ : array of shape (n,)
        The given labels, and labels of the unlabelled rows by their outputs: for two classes
        these keep the class shares up to ``balance_tol``, so near the threshold they may
        differ from predictions.
    objective_ : float
        For more than two classes, the sum over their problems.
    n_iter_ : int
        Number of levels.
    """

    reg: float | None = None
    _: KW_ONLY
    unlabeled_weight: float = 1.0
    annealing_rate: float | None = None
    max_iter: int = 500

    @property
    def keeps_counts(self) -> bool:
        """Whether labels keep the class shares; here mean outputs do, which may be any number."""
        return False

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("unlabeled_weight", self.unlabeled_weight, at_least=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _loss(self) -> Loss:
        return SQUARED_HINGE

    def _levels(self, start: Floats | None) -> list[Level]:
        lam, tol = float(self.unlabeled_weight), float(self.tol)
        return settling(lam, tol) if start is not None else rising(FIRST, lam, self._rate, tol)

    @property
    def _rate(self) -> float:
        return RATE if self.annealing_rate is None else float(self.annealing_rate)

    def _descend(self, task: TwoClassTask, start: Floats | None, **options: Any) -> Solution:
        return descend(task, start, self._levels(start), self.max_iter, **options)

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        if task.n_unlabeled == 0 or self.unlabeled_weight == 0:
            return without_unlabeled_rows(task, self.tol)
        return self._descend(task, start, balance_tol=self.balance_tol)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        if task.n_unlabeled == 0 or self.unlabeled_weight == 0:
            return without_unlabeled_rows(task, self.tol)
        rounds, missed, parts = 0, np.inf, one_vs_rest(task, SQUARED_HINGE)
        if start is None:
            assigned, missed = self._assigned(task)
            start, rounds = assigned.w, assigned.n_iter
        pairs = zip(parts, start.reshape(-1, len(parts)).T, strict=True)
        found = [self._descend(part, one, keep_mean=True) for part, one in pairs]
        solution = joined(found, possible_outputs(task, [p.rows.all.outputs() for p in parts]))
        solution.n_iter += rounds
        task.rows.all.score(solution.w)
        _compare_shares(task, missed)
        return solution

    def _assigned(self, task: ManyClassTask) -> tuple[Solution, float]:
        """Find a transductive model in which every unlabelled row has one class.

        A class against the rest, from nothing, moves to where rows are sparse, whatever the
        others do: of six classes of texts with 24 labels three ended without rows.
        Returned with it is the imbalance of the supervised model that it started from.
        """
        lam = float(self.unlabeled_weight)
        levels = rising(FIRST_OF_MANY, lam, self._rate, LOOSE_TOL)
        state = first_state(task, None, LOOSE_TOL)
        missed = task.imbalance()
        method = Assigning(task, state)
        return finish_many(method, levels, lam=lam, max_rounds=self.max_iter), missed


def _compare_shares(task: ManyClassTask, before: float) -> None:
    """Note that the predictions miss the class shares by more than supervised ones did."""
    now = task.imbalance()
    if now > before + FURTHER:
        task.recorder.note(
            f"the predictions miss the class shares by {now:.1%} of the unlabelled rows, those of "
            f"the supervised machine by {before:.1%}: it is often the more accurate one then"
        )


@parameters
class GradientTSVC(KernelParameters, GradientDescentClassifier):
    r"""Transductive SVM by gradient descent on a smooth objective (nabla-TSVM).

    Minimises over weights w and an intercept b, with outputs f(x) = w . x + b, ::

        reg/2 ||w||^2 + 1/(2l) sum_i max(0, 1 - y_i f(x_i))^2
            + unlabeled_weight/(2u) sum_j exp(-3 f(x_j)^2),    mean_j f(x_j) = 2 r - 1

    where r is the share of the second class. The last term pushes the outputs of unlabelled
    rows away from zero, to either side. Its weight starts at 1e-3 and is doubled, and each
    problem is solved from the last solution by a quasi-Newton method. The constraint on
    the mean is eliminated exactly, and the intercept is not regularised.

    The mean output does not fix the share of positive outputs. If that is far off before a
    level, the mean is moved, by at most half of the share of the rarer class. At the end
    ``balance_tol`` moves the intercept if the shares would be far off on new rows: an
    unlabelled row pushes its own output away from zero, the output of a new row has no such
    part.

    More than two classes start from a model in which every unlabelled row has one class,
    under the class counts: that of `TransductiveSVC`, solved loosely. From there each class
    against the rest is a problem of its own, with the mean output of the start. If the
    predictions end further from the class shares than those of the supervised machine, this
    one is often more accurate, and ``trace_.notes`` has a note of it.

    A row with evidence counts partly like a labelled one. With p(y) ~ q(y)^evidence_weight and
    s = |p(1) - p(-1)|, its loss is the squared hinge of the likelier label, times s, and
    exp(-3 f^2), times 1 - s. With more classes the odds of a class against the rest are those
    of p, relative to equal probabilities.

    References
    ----------
    Chapelle and Zien, Semi-supervised classification by low density separation, AISTATS
    2005. Sindhwani, Keerthi and Chapelle, Deterministic annealing for semi-supervised
    kernel machines, ICML 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import GradientTSVC
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = GradientTSVC(kernel="rbf", gamma=5.0, class_prior=[0.5, 0.5]).fit(X, labels)
    >>> bool(model.score(X, y) > 0.9)
    True
    """


@parameters
class LowDensitySeparation(GradientDescentClassifier):
    r"""Low density separation (LDS).

    Distances are measured along paths through the data, on the graph of nearest
    neighbours, with edge lengths d_e relative to their mean: ::

        D_ij = 1/rho log(1 + min over paths from i to j of sum_e (exp(rho d_e) - 1))

    So rows of one dense region are close, and rows on two sides of a gap are far apart.
    Multidimensional scaling turns the distances into features, scaled to mean length one,
    and `GradientTSVC` is fitted to the features. The distances need n x n numbers: this is
    a method for thousands of rows.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda.
    n_neighbors : int
        Number of neighbours per row in the graph; unconnected parts are joined by the
        shortest edge between them.
    rho : float
        How strongly long edges count. With 0.5 a distance is close to the length of the
        shortest path, with 10 to the longest edge that no path can avoid.
    share : float
        Fraction of the variance of the distances that the features may leave out.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features.
    kernel_map_ : PathMap
        The features; paths to a new row go through its neighbours.

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

    reg: float | None = 1e-2
    _: KW_ONLY
    n_neighbors: int = 200
    rho: float = 4.0
    share: float = 0.1

    @property
    def features_by(self) -> str:
        """Distances along paths, which take the place of a kernel."""
        return "paths"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors)
        check_real("rho", self.rho, above=0)
        if not 0.0 <= check_real("share", self.share) < 1.0:
            raise ValueError(f"share must be at least 0 and below 1, got {self.share!r}.")

    def _features(self, X: Any) -> tuple[PathMap, Any]:
        if X.shape[0] < 2:
            raise ValueError("LowDensitySeparation needs at least two rows, got n_samples=1.")
        found, features = fit_paths(
            X.astype(np.float64, copy=False),
            n_neighbors=int(self.n_neighbors),
            rho=float(self.rho),
            share=float(self.share),
            n_jobs=self.n_jobs,
        )
        self._check_same_features(found)
        return found, features
