"""Deterministic annealing: soft labels that harden as the temperature falls."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

from semisvm.designs import Floats
from semisvm.estimators.evidence import EvidenceClassifier
from semisvm.estimators.parameters import (
    BalanceParameters,
    InterceptParameters,
    KernelParameters,
    LossParameters,
    WarmSolverParameters,
    parameters,
)
from semisvm.methods.annealing import anneal, cool
from semisvm.methods.free_energy import Path
from semisvm.methods.loop import falling, on_sample
from semisvm.methods.sample_sizes import sample_sizes
from semisvm.methods.solution import Solution, refuse_balancing
from semisvm.methods.supervised import without_unlabeled_rows
from semisvm.methods.transductive import beliefs_of
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_real

# Rows with equal scores at the threshold have equal beliefs at every temperature, so the
# entropy may never vanish; below this fraction of the first temperature nothing changes.
COLDEST = 1e-8
# First temperatures with given class shares, of two and of many classes, and with estimated
# ones. From 10 the path depends most on the shares and on clusters; where the shares are wrong,
# or clusters are not classes, it leads astray. With many classes it ended in higher minima.
HOT, HOT_OF_MANY, COOL = 10.0, 0.7, 0.3


@parameters
class AnnealedSVC(
    LossParameters,
    BalanceParameters,
    KernelParameters,
    InterceptParameters,
    WarmSolverParameters,
    EvidenceClassifier,
):
    r"""Semi-supervised SVM by deterministic annealing (DA).

    Minimises over weights w and beliefs p_j that row j is of the second class ::

        reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i)
            + unlabeled_weight/(2u) sum_j [ p_j l(o_j) + (1 - p_j) l(-o_j) ]
            + T/(2u) sum_j [ p_j log p_j + (1 - p_j) log(1 - p_j) ],    mean(p) = r

    with l(z) = max(0, 1 - z)^2, while the temperature T falls. At a high temperature the
    problem is nearly convex. Its solution is followed down to T = 0, where the beliefs
    are hard labels and the objective is that of `TransductiveSVC`.

    With more than two classes there is one score per class, the one-vs-rest or maxent
    loss of `TransductiveSVC`, and beliefs over all classes whose column sums are the class
    counts (entropic transportation).

    The final model is the point on the path with the lowest transductive objective under
    the class shares, among the points whose outputs keep the shares up to a fifth of the rarer
    of two classes, or of all unlabelled rows if there are more classes; where no point does, it
    is the one that misses them least. It is refined by label switching, with labels that keep
    the class counts, whatever the outputs. Annealing can lose a small class for good. So for
    two classes with a squared loss, where the rarer class is below 25%, the supervised start is
    refined in the same way, and is used if its objective is lower; ``trace_`` has a note then.
    The objective without the class shares prefers models that put every row on one side,
    so it is not used for this choice. ``refine=False`` skips all of this: the result is the
    minimum at the last temperature, as the method was published.

    With 50,000 unlabelled rows or more, the path begins on a sample of them, which grows where
    other rows are fitted much worse: the user guide has a section about paths on samples.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None takes the default of the loss, which
        suits rows of length one: 1e-4 for "log" and "crammer_singer", otherwise 1e-3.
    unlabeled_weight : float or None
        Weight of the unlabelled rows, lambda'. None is 1 with given class shares, and 0.3
        with estimated ones: these may be off, and then do less harm. With 0 this is the
        supervised machine.
    temperature : float or None
        First temperature, in units of ``unlabeled_weight``. At a high one the start is
        forgotten: the path is decided by the class shares and by where rows are many. At a
        low one the supervised start counts. None is 10 with given class shares (0.7 with
        more than two classes), and 0.3 with estimated ones.
    last_temperature : float or None
        Last temperature, in units of ``unlabeled_weight``, at most the first one; if both are
        equal, the temperature is fixed. None goes on until the labels are hard.
    refine : bool
        Whether the best point of the path is refined by label switching. False returns the
        point of the last temperature, which is then solved to ``tol``. Its intercept may still
        be moved: see ``balance_tol``.
    annealing_rate : float
        Factor by which the temperature is divided from one level to the next; with more than
        two classes its square root where much is decided at once.
    entropy_tol : float
        A temperature is done when the mean divergence between successive beliefs is below
        this value, or the gradient is (or is predicted to be) small; with more than two
        classes also when a step gains little. Annealing ends when the mean entropy of the
        beliefs is below this value.
    tol : float
        Certified relative error of the objective in the last weight step. Earlier weight
        steps are solved to 1e-4.
    max_iter : int
        Maximum number of rounds (weight step, label step) per temperature.
    warm_start : bool
        Start from the weights of the last fit, at ``last_temperature``; if that is None, at
        T = 0, where labels are hard and switched.

    Attributes
    ----------
    label_distribution_ : array of shape (n, m)
        The given labels as 0 and 1, and the beliefs of the final model at the last
        temperature, which are close to 0 and 1 too unless ``last_temperature`` is high.
    objective_ : float
        Transductive objective of the final weights and labels.
    trace_ : Trace
        At a temperature ``free_energy``, what is minimised there, never rises. ``objective``
        is that of the best hard labels with the class counts, by which points of the path are
        compared, and may rise.

    References
    ----------
    Sindhwani and Keerthi, Large scale semi-supervised linear SVMs, SIGIR 2006,
    doi:10.1145/1148170.1148253.

    Keerthi, Sundararajan and Shevade, Extension of TSVM to multi-class and hierarchical
    text classification problems with general losses, COLING 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import AnnealedSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = AnnealedSVC(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    _only_passes = True

    reg: float | None = None
    unlabeled_weight: float | None = None
    _: KW_ONLY
    temperature: float | None = None
    last_temperature: float | None = None
    refine: bool = True
    annealing_rate: float = 1.5
    entropy_tol: float = 1e-6

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        if self.unlabeled_weight is not None:
            check_real("unlabeled_weight", self.unlabeled_weight, at_least=0)
        if self.temperature is not None:
            check_real("temperature", self.temperature, above=0)
        if self.last_temperature is not None:
            check_real("last_temperature", self.last_temperature, above=0)
        check_real("annealing_rate", self.annealing_rate, above=1)
        check_real("entropy_tol", self.entropy_tol, above=0)
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _why_no_checkpoint(self) -> str | None:
        return self._why_no_checkpoint_of_loss()

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        if task.n_unlabeled == 0 or self._weight_of_unlabeled() == 0.0:
            return self._supervised(task)
        sizes = sample_sizes(task) if start is None else ()
        task = task.sampled(sizes[0] if sizes else None)
        return anneal(
            task,
            self._start(task, start, self._weight_of_unlabeled())[0],
            path=self._path(start, HOT, sizes),
            lam=self._weight_of_unlabeled(),
            tol=self.tol,
            entropy_tol=self.entropy_tol,
            max_rounds=self.max_iter,
            balance_tol=self.balance_tol,
            sizes=sizes,
        )

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        if task.n_unlabeled == 0 or self._weight_of_unlabeled() == 0.0:
            return self._supervised(task)
        sizes = sample_sizes(task) if start is None else ()
        task = task.sampled(sizes[0] if sizes else None)
        return cool(
            task,
            self._start(task, start, self._weight_of_unlabeled())[0],
            path=self._path(start, HOT_OF_MANY, sizes),
            lam=self._weight_of_unlabeled(),
            tol=self.tol,
            entropy_tol=self.entropy_tol,
            max_rounds=self.max_iter,
            sizes=sizes,
        )

    def _supervised(self, task: Task) -> Solution:
        """Return the supervised solution, whose beliefs are its predictions."""
        solution = without_unlabeled_rows(task, self.tol)
        m = 2 if isinstance(task, TwoClassTask) else len(task.counts)
        solution.beliefs = beliefs_of(solution.codes, m)
        return solution

    def _path(self, start: Floats | None, hot: float, sizes: Sequence[int]) -> Path:
        """Return the temperatures; a warm start begins at the last one, or with hard labels.

        ``hot`` is the first one by default, if the class shares are given.
        """
        weight, last = self._weight_of_unlabeled(), self._last_temperature(hot)
        if start is not None:
            return Path([], last, self.refine, self.tol)
        hottest = self._first_temperature(hot) * weight
        # two levels for every usual step, see `Softening.stride`
        rate = float(self.annealing_rate) ** 0.5
        levels = falling(hottest, COLDEST * hottest if last is None else last, rate, self.tol)
        return Path(on_sample(levels, sizes), last, self.refine, self.tol)

    def _last_temperature(self, hot: float) -> float | None:
        """Return the parameter ``last_temperature`` in units of the objective."""
        if self.last_temperature is None:
            return None
        last, first = float(self.last_temperature), self._first_temperature(hot)
        if last > first:
            raise ValueError(
                f"last_temperature must be at most the first temperature, which is {first:g} here, "
                f"got {last:g}. Set temperature={last:g} too for a fixed one."
            )
        return last * self._weight_of_unlabeled()

    def _first_temperature(self, hot: float) -> float:
        """Return the parameter ``temperature``, or what its None stands for."""
        if self.temperature is not None:
            return float(self.temperature)
        return COOL if self.shares_are_estimated else hot

    def _when_estimated(self) -> dict[str, Any]:
        return super()._when_estimated() | {"temperature": self._first_temperature(HOT)}
