r"""A two-class problem with unlabelled rows, as the methods see it.

The objective of the linear family, with l labelled and u unlabelled rows, is ::

    J(w, y') = reg/2 ||w||^2 + 1/(2l) sum_i l(y_i o_i) + lam/(2u) sum_j l(y'_j o_j)

where a fixed number of the y'_j is positive. Evidence adds e_j(y'_j) to the loss l(y'_j o_j) of an
unlabelled row: nothing for its likelier label, infinity for one that it cannot have. Rows with
weights count as often as these give, in the sums and in that number: see `RowWeights`. Methods
without labels fix a mean output instead, by the class share before it is rounded to a number of
rows. Only the blocks hold vectors over rows, and which rows are labelled; methods see weights and
numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.designs import Design, Floats, Index
from semisvm.designs.vectors import dot
from semisvm.label_steps.beliefs import balancing_price
from semisvm.labels.weights import UNIT_WEIGHT, number_of
from semisvm.losses import Loss, Signs, TwoClassLoss
from semisvm.solvers import Linearization, State, minimize
from semisvm.solvers.conjugate_gradients import solve
from semisvm.solvers.crammer_singer import HingeState, minimize_hinge
from semisvm.solvers.trace import Recorder
from semisvm.solvers.woodbury import LabeledPreconditioner
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.one_score_driver import Cut, OneScoreRows
from semisvm.tasks.weight_steps import RowsProblem, RowsTask, SoftLabels

# Error of the mean belief: far below one row; a smaller error costs one more pass of exponentials.
BELIEF_TOL = 1e-10
# The average push of a row on its own output need not be known better. If the regulariser alone
# keeps it below this part of the margin, it is not worth a system of equations.
PUSH_TOL, PUSH_STEPS = 1e-2, 50
SMALL_PUSH = 1e-3


@dataclass(frozen=True)
class TwoClassTask(RowsTask):
    """Data and fixed parameters of one fit.

    Attributes
    ----------
    rows : OneScoreRows
    n_positive : int or float
        Number of unlabelled rows to label positive, by mass.
    loss : TwoClassLoss
    reg : float
        Strength of the regularisation of the one score.
    recorder : Recorder
    share : float, optional
        Share of the second class, of which ``n_positive`` is rounded.
    whole : TwoClassTask, optional
        The task of all rows, if this one has a sample of them.
    """

    rows: OneScoreRows
    n_positive: float
    loss: TwoClassLoss
    reg: float
    recorder: Recorder
    share: float | None = None
    whole: "TwoClassTask | None" = None

    @classmethod
    def of(
        cls,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        positive: Signs,
        weight: Floats,
        *,
        n_positive: float,
        loss: Loss,
        reg: float,
        recorder: Recorder,
        mass: Floats = UNIT_WEIGHT,
        share: float | None = None,
        evidence: Floats | None = None,
    ) -> "TwoClassTask":
        """Put the rows of one design in one block.

        Parameters
        ----------
        design : Design
        labeled, unlabeled : arrays of row indices, ascending
        positive : bool array of shape (l,)
            Whether each labelled row has the second class.
        weight : array of shape (l,)
            Weights of the labelled rows, summing to one.
        n_positive, loss, reg, recorder
            ``reg`` is the user's.
        mass : array of shape (u,) or (1,)
            For how many rows each unlabelled row counts.
        share : float, optional
        evidence : array of shape (u,), optional
            What evidence adds to the cost of a positive label, minus that of a negative one.
        """
        assert loss.two is not None
        u = number_of(mass, len(unlabeled))
        given = (design, labeled, unlabeled, positive, weight, u, loss.two, mass, evidence)
        block = OneScoreBlock(*given)
        rows = OneScoreRows([block])
        return cls(rows, n_positive, loss.two, reg * loss.reg_of_two, recorder, share)

    @property
    def smooth(self) -> bool:
        """Whether Newton's method solves the weight step."""
        return self.loss.smooth

    @property
    def zero_or_one(self) -> bool:
        """Whether a labelled row has curvature 0 or its weight."""
        return self.loss.zero_or_one

    @property
    def n_columns(self) -> int:
        """Number of columns of weights."""
        return 1

    def _of_sample(self, rows: OneScoreRows) -> "TwoClassTask":
        n, total = rows.n_unlabeled, self.rows.n_unlabeled_of_all
        negative, positive = rows.all.forced() if rows.has_evidence else (0.0, 0.0)
        if 0 < self.n_positive < total and n > 1:
            # a class that has rows keeps one
            negative, positive = max(negative, 1.0), max(positive, 1.0)
        wanted = min(max(self.n_positive / total * n, positive), n - negative)
        whole = isinstance(self.n_positive, int)
        return replace(self, rows=rows, n_positive=round(wanted) if whole else wanted)

    @property
    def positive_share(self) -> float:
        """Required share r of positive labels among the unlabelled rows."""
        return self.n_positive / self.n_unlabeled

    @property
    def mean_output(self) -> float:
        """Mean output 2 r - 1 at the class share r, which need not be a number of rows."""
        share = self.positive_share if self.share is None else self.share
        return 2.0 * share - 1.0

    @property
    def rarer_share(self) -> float:
        """Required share of the rarer class among the unlabelled rows."""
        return min(self.positive_share, 1.0 - self.positive_share)

    # Weight step ---------------------------------------------------------------------------

    def problem_of(
        self, rows: OneScoreRows, labeled_preconditioner: LabeledPreconditioner | None
    ) -> RowsProblem:
        """Return the weight step of a smooth loss, for the current costs of some rows."""
        return RowsProblem(rows, self.reg, labeled_preconditioner, quadratic=self.loss.quadratic)

    def labeled_alone(self, design: Design) -> OneScoreRows:
        """Return the labelled rows as rows of another design, which holds them in order."""
        every, none = np.arange(design.n_rows), np.arange(0)
        given = (self.rows.labeled_codes() == 1, self.rows.labeled_weight(), 0, self.loss)
        return OneScoreRows([OneScoreBlock(design, every, none, *given)])

    def solve(
        self, state: State, tol: float, start: Linearization | None = None, **options: Any
    ) -> State:
        """Fit the weights to the current costs of the rows, starting from a state."""
        if self.loss.smooth:
            return minimize(self.problem(), state, tol=tol, start=start, **options)
        return minimize_hinge(self.rows.single_shard(), state, self.reg, tol=tol, **options)

    def start(self, w: Floats, tol: float, **options: Any) -> State:
        """Fit the labelled rows from ``w``; only their scores are valid afterwards."""
        state = State(w.copy()) if self.loss.smooth else HingeState(w.copy())
        self.rows.all.score_labeled(state.w)
        self.rows.all.set_given_costs()
        return self.solve(state, tol, **options)

    def from_weights(self, w: Floats) -> State:
        """Return a state with these weights, and score all rows."""
        self.rows.all.score(w)
        return State(w) if self.loss.smooth else HingeState(w)

    def class_scores(self, w: Floats, rows: Index) -> Floats:
        """Score some rows, shape (r,); needs a single shard."""
        design = self.rows.single_shard().design
        scores = design.scores(w, design.rows(rows), np.zeros(design.n_rows))
        return np.asarray(scores[rows])

    # Hard labels ---------------------------------------------------------------------------

    def label_best(self) -> int:
        """Label the prescribed number of rows positive, at least cost; count the switched pairs."""
        return self.rows.label_largest(self.n_positive)

    def objective(self, w: Floats, lam: float) -> float:
        """Compute J at the chosen labels."""
        return self._objective(w, lam, *self.rows.all.losses())

    def balanced_objective(self, w: Floats, lam: float) -> float:
        """Compute the smallest J over labels with the required count."""
        return self.best_labels(w, lam)[0]

    def best_labels(self, w: Floats, lam: float) -> tuple[float, Cut]:
        """Return the smallest J over labels with the required count, and these labels."""
        best = self.rows.best_cut(self.n_positive)
        return self._objective(w, lam, *self.rows.losses_of_cut(best)), best

    def _objective(self, w: Floats, lam: float, fit: float, rest: float) -> float:
        return 0.5 * self.reg * dot(w, w) + fit + 0.5 * lam * rest / self.n_unlabeled

    # Soft labels ---------------------------------------------------------------------------

    @cached_property
    def open_share(self) -> float:
        """Required share of positive labels among the rows that may have both.

        It is not strictly between 0 and 1 if the labels of all rows are decided by their number.
        """
        if not self.rows.has_evidence:
            return self.positive_share
        negative, positive = self.rows.all.forced()
        n_open = self.n_unlabeled - negative - positive
        return (self.n_positive - positive) / n_open if n_open > 0.0 else 0.0

    def soften(self, soft: SoftLabels, *, keep: bool = False) -> None:
        """Minimise J minus the entropy, at a temperature, over beliefs of the unlabelled rows.

        The blocks hold the beliefs, ``soft`` their price. With ``keep`` the blocks also keep
        the beliefs before.
        """
        if keep:
            self.rows.all.keep_beliefs()
        soft.price = balancing_price(
            lambda price: self.rows.all.soften(price, soft.temperature, soft.lam),
            lambda: self.rows.all.gap_range(soft.lam),
            soft.temperature,
            self.positive_share,
            soft.price,
            BELIEF_TOL,
            self.open_share,
        )

    def free_energy(self, w: Floats, soft: SoftLabels) -> float:
        """Compute J minus the entropy, at the soft labels that minimise it."""
        assert soft.price is not None
        fit, negative, rest = self.rows.all.soft_losses(soft.price, soft.temperature, soft.lam)
        objective = self._objective(w, soft.lam, fit, negative)
        return objective + 0.5 * rest / self.n_unlabeled

    # Balance -------------------------------------------------------------------------------

    def excess(self) -> float:
        """Return by how many rows the positive outputs exceed the required number."""
        return self.rows.all.count_positive() - self.n_positive

    def imbalance(self) -> float:
        """Return the excess or lack of positive outputs, relative to the rarer class."""
        return self._relative(self.excess())

    def is_balanced(self, tol: float) -> bool:
        """Return whether the outputs keep the class shares up to ``tol``, or up to one row."""
        excess = self.excess()
        return abs(excess) <= 1 or self._relative(excess) <= tol

    def _relative(self, excess: float) -> float:
        rarer = min(self.n_positive, self.n_unlabeled - self.n_positive)
        return abs(excess) / max(rarer, 1)

    def balancing_shift(self, tol: float) -> float:
        """Return the smallest change of the intercept that makes the outputs balanced."""
        if self.is_balanced(tol):
            return 0.0
        u, excess = self.n_unlabeled, self.excess()
        slack = max(1, int(tol * min(self.n_positive, u - self.n_positive)))
        wanted = self.n_positive + int(np.sign(excess)) * slack
        last, next_one = self.rows.edges(wanted)
        return -0.5 * (last + next_one)

    def leave_out(self, lam: float) -> None:
        r"""Turn the outputs of the unlabelled rows into what they would be without the row.

        An unlabelled row pushes its own output to the side of its label; the output of a new row
        has no such part. With s_j the slope of the cost of row j at its label, and H_-j the second
        derivatives of J without the row, its output without the row is, to first order, ::

            o_j + s_j k_j,        k_j = x_j^T H_-j^-1 x_j

        and exactly so if no two rows share a column. The average of the k_j of the rows with a
        slope serves for all of them, as in generalised cross-validation. One system of equations
        estimates it. Half of the rows are probes, and the others have twice their curvature, so
        that no probe meets its own. With random signs z_j of the probes and g = sum_j z_j x_j,
        the expectation of g^T H^-1 g is the sum of their k_j. Halves and signs follow from the
        content of a row: neither the order of the rows nor their blocks matter. Of rows with
        equal content, or of a row that counts for several, one is left out.

        A loss that is not smooth has no second derivatives: outputs stay as they are.
        """
        if not self.loss.smooth:
            return
        self.rows.all.set_label_costs(lam)
        pushed, n = self._probe()
        if n > 0.0:
            # H is at least reg I
            most = dot(pushed, pushed) / (self.reg * n)
            small = most * lam / self.n_unlabeled < SMALL_PUSH
            self.rows.all.leave_out(most if small else self._quadratic_form(pushed) / n)
        self.rows.all.release()

    def _probe(self) -> tuple[Floats, float]:
        """Return the sum g of the probes, and for how many rows they count."""
        random = np.random.default_rng(0).standard_normal(self.n_weights)
        pushed, signs = self.rows.all.probe(random, self.rows.all.copies(random))
        return pushed, float(dot(signs, signs))

    def _quadratic_form(self, g: Floats) -> float:
        """Estimate g^T H^-1 g, from below."""
        problem = self.problem()
        solved, _, _ = solve(
            problem.product,
            problem.reg,
            g.copy(),
            inverse=problem.inverse(),
            scales=problem.scales,
            stop=PUSH_TOL * float(np.sqrt(dot(g, g))),
            max_steps=PUSH_STEPS,
            workers=problem.workers,
        )
        return max(float(dot(g, solved)), 0.0)

    def balance(self, state: State, shift: float) -> None:
        """Move the intercept by a shift that makes the outputs of new rows balanced.

        The outputs must be those of `leave_out`. Afterwards they are those of the weights.
        """
        if shift:
            before = self.rows.all.count_positive() / self.n_unlabeled
            self.rows.all.shift(shift)
            after = self.rows.all.count_positive() / self.n_unlabeled
            state.w[-1] += shift / self.rows.bias
            self.recorder.note(
                f"intercept moved by {shift:.3g} to keep the class shares: "
                f"{self.recorder.positive} now has an estimated {after:.1%} of the predictions "
                f"for new rows, before {before:.1%}; its share is {self.positive_share:.1%}"
            )
        self.rows.all.score(state.w)
