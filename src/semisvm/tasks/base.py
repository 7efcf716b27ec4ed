"""What the tasks of two and of many classes share."""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.designs import Design, Floats
from semisvm.designs.vectors import add, dot
from semisvm.solvers import Linearization, State, minimize
from semisvm.solvers.woodbury import LabeledPreconditioner, Span, are_few, heavy_rows
from semisvm.tasks.many_scores_driver import ManyScoreRows
from semisvm.tasks.one_score_driver import OneScoreRows
from semisvm.tasks.problems import RowsProblem

# Where rows are inside the margin or not, what is factorised has at most half of them: with twice
# as many rows it takes as long.
IN_OR_OUT = 8


class RowsTask(ABC):
    """A problem over rows in blocks, with a strength of the regularisation."""

    rows: OneScoreRows | ManyScoreRows
    reg: float

    @property
    @abstractmethod
    def smooth(self) -> bool:
        """Whether Newton's method solves the weight step."""

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.rows.n_weights

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.rows.n_unlabeled

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns of weights."""

    @property
    @abstractmethod
    def zero_or_one(self) -> bool:
        """Whether a labelled row has curvature 0 or its weight, in every column of weights."""

    @abstractmethod
    def problem_of(
        self, rows: Any, labeled_preconditioner: LabeledPreconditioner | None
    ) -> RowsProblem:
        """Return the weight step of a smooth loss, for the current costs of some rows."""

    def problem(self) -> RowsProblem:
        """Return the weight step of a smooth loss, for the current costs of the rows."""
        return self.problem_of(self.rows, self.labeled_preconditioner)

    @abstractmethod
    def labeled_alone(self, design: Design) -> OneScoreRows | ManyScoreRows:
        """Return the labelled rows as rows of another design, which holds them in order."""

    @abstractmethod
    def start(self, w: Floats, tol: float, **options: Any) -> State:
        """Fit the labelled rows from ``w``; only their scores are valid afterwards."""

    def first(self, tol: float) -> State:
        """Fit the labelled rows from zero; no scores are valid afterwards.

        If they are few, this takes neither a pass over the data nor a vector over the columns.
        """
        labeled_preconditioner = self.labeled_preconditioner if self.smooth else None
        span = None if labeled_preconditioner is None else Span.of(labeled_preconditioner)
        if labeled_preconditioner is None or span is None:
            return self.start(np.zeros(self.n_weights), tol)
        rows = self.labeled_alone(span.design)
        state = State(np.zeros(rows.n_weights))
        rows.all.score(state.w)
        rows.all.set_given_costs()
        same = labeled_preconditioner.in_coordinates(span.design, self.reg)
        minimize(self.problem_of(rows, same), state, tol=tol)
        return replace(state, w=span.weights(state.w), gradient=None)

    @cached_property
    def labeled_preconditioner(self) -> LabeledPreconditioner | None:
        """The labelled rows, if they are so few that each has a large weight."""
        # no preconditioner has to be larger than the system
        fewer = self.rows.n_labeled < self.n_weights // self.n_columns
        if are_few(self.rows.n_labeled, self.rows.work) or not (self.zero_or_one and fewer):
            return self._labeled_preconditioner(1)
        found = self._labeled_preconditioner(IN_OR_OUT)
        return found if found is not None and found.whole(self.reg).known else None

    @cached_property
    def heavy_together(self) -> LabeledPreconditioner | None:
        """The same if one factorisation serves all columns of weights: there may be more rows."""
        return self.labeled_preconditioner or self._labeled_preconditioner(self.n_columns)

    def _labeled_preconditioner(self, times: int) -> LabeledPreconditioner | None:
        rows, work = self.rows, times * self.rows.work
        # the driver gets the labelled rows only if they are few
        if not are_few(rows.n_labeled, work):
            return None
        return heavy_rows(*rows.labeled_rows(), rows.labeled_weight(), self.reg, work)

    def relabeled(self, state: State, ratio: float, lam: float) -> Linearization | None:
        """Update the linearization of a weight step after the labels of a few rows changed.

        Parameters
        ----------
        state : State
            With the objective, the gradient and the number of active rows for the labels
            and the weight before. The gradient is changed in place.
        ratio : float
            Weight of the unlabelled rows, divided by the weight before.
        lam : float
            Weight of the unlabelled rows.

        Returns
        -------
        here : Linearization, or None if computing it from scratch is cheaper
        """
        gradient = state.gradient
        if gradient is None or not self.smooth:
            return None
        if ratio != 1.0:
            gradient *= ratio
        found = self.rows.all.follow_labels(ratio, lam, gradient)
        if found is None:
            state.gradient = None
            return None
        if ratio != 1.0:
            add(gradient, (1.0 - ratio) * self.reg, state.w)
        fit, change, _, more = found
        value = ratio * (state.objective - 0.5 * self.reg * dot(state.w, state.w))
        value += (1.0 - ratio) * fit + change
        return Linearization(value, gradient, state.n_active + more, exact=False)

    @abstractmethod
    def from_weights(self, w: Floats) -> State:
        """Return a state with these weights, and score all rows."""

    def returned(self, kept: dict[str, Any]) -> State:
        """Return the state that `State.to_dict` described, and score all rows."""
        numbers = {name: value for name, value in kept.items() if name != "w"}
        return replace(self.from_weights(kept["w"].copy()), **numbers)

    def at(self, state: State) -> State:
        """Score all rows with the weights of a state, and return the state."""
        self.rows.all.score(state.w)
        state.gradient = None
        return state
