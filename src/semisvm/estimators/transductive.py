"""Transductive SVM: hard labels that follow the weights while unlabelled rows gain weight."""

from dataclasses import KW_ONLY

import numpy as np

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
from semisvm.methods.loop import decades, growing, rising, settling
from semisvm.methods.sample_sizes import sample_sizes
from semisvm.methods.solution import Solution, refuse_balancing
from semisvm.methods.supervised import without_unlabeled_rows
from semisvm.methods.transductive import LABEL_STEPS, Switching, assigning, finish_many, finish_two
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_choice, check_count, check_real

FIRST_WEIGHT_OF_TWO = 1e-5
FIRST_WEIGHT_OF_MANY = 1e-4


@parameters
class TransductiveSVC(
    LossParameters,
    BalanceParameters,
    KernelParameters,
    InterceptParameters,
    WarmSolverParameters,
    EvidenceClassifier,
):
    r"""Transductive SVM (TSVM).

    Minimises over weights w and labels y' of the unlabelled rows ::

        reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i) + unlabeled_weight/(2u) sum_j l(y'_j o_j)

    with l(z) = max(0, 1 - z)^2, where the class shares fix the number of positive y'. The
    fit labels the unlabelled rows with the supervised solution and raises their weight
    level by level. At each level it retrains, and switches the labels of pairs of rows
    where that lowers the objective, until no such pair is left.

    With more than two classes there is one score per class, and the objective is ::

        reg/2 ||W||^2 + 1/l sum_i xi(s_i, y_i) + unlabeled_weight/u sum_j xi(s_j, y'_j)

    with the one-vs-rest loss xi(s, y) = 1/2 [l(s_y) + sum_{z != y} l(-s_z)], or the maxent
    loss log sum_z exp(s_z) - s_y. The label step is then a transportation problem, which
    is solved exactly.

    With 50,000 unlabelled rows or more, levels before the last one take a sample of them, which
    grows as far as it must: the user guide has a section about paths on samples.

    Parameters
    ----------
    reg : float or None
        Strength of the regularisation, lambda. None takes the default of the loss, which
        suits rows of length one: 1e-4 for "log" and "crammer_singer", otherwise 1e-3.
    unlabeled_weight : float or None
        Final weight of the unlabelled rows, lambda'. None is 1 with given class shares, and
        0.3 with estimated ones: these may be off, and then do less harm. With 0 this is the
        supervised machine.
    annealing_rate : float or None
        Factor between the weights of successive levels. None is 1.5, from 1e-5 on, for
        two classes, and 3 and 10/3 alternately, from 1e-4 on, for more.
    label_step : {"exact", "switching", "simplex"}
        For more than two classes: optimal labels; labels by pairwise switching; or optimal
        labels by the transportation simplex method, which is slower. The last two start
        from greedy labels. For two classes all are the same.
    max_switches : int or None
        Maximum number of pairs of labels to switch before retraining. None switches all
        that improve, or takes the labels of ``label_step``; 1 is the single switch of
        Joachims, which is slow.
    tol : float
        Certified relative error of the objective in the last weight step. Early levels
        are solved to 1e-3.
    warm_start : bool
        Start from the weights of the last fit, at the final level.

    Attributes
    ----------
    objective_ : float
        Objective of the final weights and labels.

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
    >>> from semisvm import TransductiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = np.full(len(y), -1)
    >>> partly[::60] = y[::60]  # ten labels
    >>> model = TransductiveSVC(reg=0.1).fit(scale(X), partly)
    >>> model.score(scale(X), y) > 0.9
    True
    """

    _only_passes = True

    reg: float | None = None
    unlabeled_weight: float | None = None
    _: KW_ONLY
    annealing_rate: float | None = None
    label_step: str = "exact"
    max_switches: int | None = None

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        if self.unlabeled_weight is not None:
            check_real("unlabeled_weight", self.unlabeled_weight, at_least=0)
        if self.annealing_rate is not None:
            check_real("annealing_rate", self.annealing_rate, above=1)
        check_choice("label_step", self.label_step, LABEL_STEPS)
        check_count("max_switches", self.max_switches, optional=True)
        if self.label_step == "simplex" and self.max_switches is not None:
            raise ValueError(
                "max_switches limits switching, but label_step='simplex' moves rows in loops. Use "
                "label_step='switching', or max_switches=None."
            )
        if self.balance_tol is not None:
            check_real("balance_tol", self.balance_tol, at_least=0)

    def _check_label_step(self, task: Task) -> None:
        """Refuse steps that exchange rows one for one if rows have weights of their own."""
        if task.rows.has_weights and (self.max_switches is not None or self.label_step != "exact"):
            raise ValueError(
                "sample_weight differs among the unlabelled rows, and only label_step='exact' with "
                "max_switches=None can keep class shares by weight: the other label steps exchange "
                "rows one for one. Use these, or give all unlabelled rows the same weight."
            )

    def _check_forbidden(self, task: ManyClassTask) -> None:
        """Refuse steps that start from labels that a row may not have."""
        if self.max_switches is None and self.label_step == "exact":
            return
        costs = task.rows.single_shard().evidence
        if costs is not None and not np.isfinite(costs).all():
            raise ValueError(
                "evidence forbids classes, and with more than two classes only label_step='exact' "
                "with max_switches=None can keep rows away from them. Use these."
            )

    def _why_no_checkpoint(self) -> str | None:
        if self.max_switches is not None or self.label_step != "exact":
            return (
                "labels that are switched pair by pair do not follow from the weights, so the fit "
                "cannot go on from a checkpoint. Use label_step='exact' and max_switches=None."
            )
        return self._why_no_checkpoint_of_loss()

    def _solve_binary(self, task: TwoClassTask, start: Floats | None) -> Solution:
        lam = self._weight_of_unlabeled()
        if task.n_unlabeled == 0 or lam == 0.0:
            return without_unlabeled_rows(task, self.tol)
        self._check_label_step(task)
        rate = 1.5 if self.annealing_rate is None else float(self.annealing_rate)
        sizes = self._sample_sizes(task, start)
        task = task.sampled(sizes[0] if sizes else None)
        levels = settling(lam, self.tol, sizes)
        state, whole = self._start(task, start, lam)
        if start is None and whole:
            levels = rising(FIRST_WEIGHT_OF_TWO, lam, rate, self.tol, sizes)
        return finish_two(
            Switching(task, state, self.max_switches, sizes),
            levels,
            lam=lam,
            max_rounds=self.max_iter,
            balance_tol=self.balance_tol,
            growth=growing(lam, self.tol, sizes, sizes[0] + 1 if sizes else None),
        )

    def _sample_sizes(self, task: Task, start: Floats | None) -> tuple[int, ...]:
        """Return the sizes of the samples of the path, if there is one."""
        if start is not None or self.max_switches is not None or self.label_step != "exact":
            return ()
        return sample_sizes(task)

    def _solve_multi(self, task: ManyClassTask, start: Floats | None) -> Solution:
        refuse_balancing(self.balance_tol)
        lam = self._weight_of_unlabeled()
        if task.n_unlabeled == 0 or lam == 0.0:
            return without_unlabeled_rows(task, self.tol)
        self._check_label_step(task)
        self._check_forbidden(task)
        sizes = self._sample_sizes(task, start)
        task = task.sampled(sizes[0] if sizes else None)
        levels = settling(lam, self.tol, sizes)
        state, whole = self._start(task, start, lam)
        if start is None and whole and self.annealing_rate is not None:
            rate = float(self.annealing_rate)
            levels = rising(FIRST_WEIGHT_OF_MANY, lam, rate, self.tol, sizes)
        elif start is None and whole:
            levels = decades(FIRST_WEIGHT_OF_MANY, lam, self.tol, sizes)
        method = assigning(task, state, self.label_step, self.max_switches, sizes)
        growth = growing(lam, self.tol, sizes, sizes[0] + 1 if sizes else None)
        return finish_many(method, levels, lam=lam, max_rounds=self.max_iter, growth=growth)
