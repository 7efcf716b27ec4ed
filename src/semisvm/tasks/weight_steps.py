"""The weight steps of rows in blocks, with labels that are held fixed or that respond.

And `RowsTask`, what the tasks of two and of many classes share: the preconditioner by the labelled
rows, the first fit to these alone, and the linearization that follows a few changed labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from semisvm.designs import Design, Floats
from semisvm.designs.vectors import add, dot
from semisvm.solvers import Linearization, State, minimize
from semisvm.solvers.conjugate_gradients import Preconditioner
from semisvm.solvers.woodbury import LabeledPreconditioner, Span, are_few, preconditioner_of
from semisvm.tasks.many_beliefs import ManyScoreRows
from semisvm.tasks.one_score_driver import OneScoreRows

# Relative size below which the curvature of prices is taken for rounding.
FLAT = 1e-12
# Where rows are inside the margin or not, what is factorised has at most half of them: with twice
# as many rows it takes as long.
IN_OR_OUT = 8


class RowsProblem:
    """The weight step for the current costs of rows in blocks.

    Parameters
    ----------
    rows : OneScoreRows or ManyScoreRows
    reg : float
    labeled_preconditioner : LabeledPreconditioner, optional
        Labelled rows, if they are few and have large weights.
    quadratic : bool
        Whether the curvature is constant.
    n_systems : int
        Number of classes, if the curvature does not couple them.
    """

    def __init__(
        self,
        rows: OneScoreRows | ManyScoreRows,
        reg: float,
        labeled_preconditioner: LabeledPreconditioner | None = None,
        *,
        quadratic: bool = False,
        n_systems: int = 1,
    ) -> None:
        self.rows = rows
        self.reg = reg
        self.labeled_preconditioner = labeled_preconditioner
        self.quadratic = quadratic
        self.n_systems = n_systems
        self.workers = rows.workers
        self.n_weights = rows.n_weights
        self.spare = rows.spare

    def linearize(self, w: Floats) -> Linearization:
        """Compute value, gradient and curvature, the latter only over the active rows."""
        value, gradient, n_active = self.rows.all.linearize()
        add(gradient, self.reg, w)
        return Linearization(value, gradient, n_active)

    def curve(self) -> None:
        """Do nothing: the rows prepare the curvature themselves."""

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the curvature."""
        return self.rows.all.curvature(p, out)

    def scales(self) -> Floats:
        """Compute the diagonal of the curvature, or a bound on it."""
        return self.rows.all.column_scales()

    def inverse(self) -> Preconditioner | None:
        """Return the inverse of the curvature of the labelled rows, if these are few."""
        if self.labeled_preconditioner is None:
            return None
        return self.labeled_preconditioner.inverse(self.rows.all.labeled_curvature(), self.reg)

    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step."""
        self.rows.all.set_direction(step)

    def along(self, times: Sequence[float]) -> Sequence[Sequence[float]]:
        """Compute the first two derivatives of the loss along the step, at several lengths."""
        return self.rows.all.along(times)

    def advance(self, w: Floats, t: float, predicted: Floats) -> Linearization:
        """Move along the step and linearize there, from the rows that change sides."""
        found = self.rows.all.advance(t, predicted)
        if found is None:
            return self.linearize(w)
        value, n_active, _ = found
        return Linearization(value, predicted, n_active, exact=False)


@dataclass
class SoftLabels:
    """The parameters of soft labels; blocks hold the labels.

    Attributes
    ----------
    lam : float
        Weight of the unlabelled rows.
    temperature : float
    price : float or array of shape (m,), optional
        Price of a positive label, or of each of many classes, which fixes their numbers.
    value : float
        With many classes, the sum over rows of the expected cost minus T times the entropy.
    sums : array of shape (m,), optional
        With many classes, sums of the labels over rows; by default the class counts.
    """

    lam: float
    temperature: float
    price: Any = None
    value: float = np.nan
    sums: Floats | None = None


class ReducedHessian:
    """The curvature of rows whose soft labels respond; see `tasks.one_score`.

    The rows compute its diagonal part. The rest is one outer product, because the price of a
    label depends on all rows.
    """

    def __init__(self, rows: OneScoreRows) -> None:
        self.rows = rows
        self._together: Floats | None = None
        self._strength = 0.0

    def reduce(self, soft: SoftLabels, *, charged: bool) -> None:
        """Let the labels respond to the coming step."""
        total, together = self.rows.all.respond(soft.temperature, soft.lam, charged)
        self._together = together if total > 0.0 else None
        if self._together is not None:
            self._strength = 0.5 / (self.rows.n_unlabeled * soft.temperature) / total

    def forget(self) -> None:
        """Hold the labels fixed."""
        self._together = None

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the reduced Hessian."""
        self.rows.all.curvature(p, out)
        if self._together is not None:
            add(out, self._strength * dot(self._together, p), self._together)
        return out


class ManyReducedHessian:
    """The same for many classes; see `tasks.many_beliefs`.

    Here the prices respond through a system with one unknown per class.
    """

    def __init__(self, rows: ManyScoreRows) -> None:
        self.rows = rows
        self._inverse: Floats | None = None

    def reduce(self, soft: SoftLabels, *, charged: bool = True) -> None:
        """Let the labels respond to the coming step."""
        total = self.rows.all.respond(soft.temperature, soft.lam)
        self._inverse = None if total is None else _inverse(total)

    def forget(self) -> None:
        """Hold the labels fixed."""
        self._inverse = None

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the reduced Hessian."""
        if self._inverse is None:
            return self.rows.all.curvature(p, out)
        prices = self._inverse @ self.rows.all.respond_to_step(p)
        return self.rows.all.reduced_curvature(prices, out)


def _inverse(total: Floats) -> Floats:
    """Invert where there is curvature: prices are free up to a constant, or of decided classes."""
    found: Floats = np.linalg.pinv(total, FLAT, hermitian=True).astype(np.float64, copy=False)
    return found


class RespondingProblem(RowsProblem):
    """Base of the weight steps whose labels respond.

    Attributes
    ----------
    curvature_rows : int or None
        Number of unlabelled rows that products with the curvature take; None for all.
    """

    curvature_rows: int | None = None

    def __init__(
        self,
        rows: OneScoreRows | ManyScoreRows,
        reg: float,
        labeled_preconditioner: LabeledPreconditioner | None,
    ) -> None:
        super().__init__(rows, reg, labeled_preconditioner)
        self.hessian: ReducedHessian | ManyReducedHessian = (
            ReducedHessian(rows) if isinstance(rows, OneScoreRows) else ManyReducedHessian(rows)
        )

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the reduced Hessian."""
        return self.hessian.product(p, out)

    def hold(self, w: Floats) -> Linearization:
        """Linearize with the labels held fixed."""
        self.hessian.forget()
        return RowsProblem.linearize(self, w)

    def move(self, t: float) -> None:
        """Move along the step."""
        self.rows.all.move(t)


class RowsTask(ABC):
    """A problem over rows in blocks, with a strength of the regularisation."""

    rows: OneScoreRows | ManyScoreRows
    reg: float
    whole: Any

    @property
    def sample_size(self) -> int | None:
        """Number of unlabelled rows that the task has a sample of; None if it has all of them."""
        return self.rows.sampled

    def sampled(self, size: int | None, *, others: bool = False) -> Self:
        """Return the task of a sample of the unlabelled rows, or of all of them.

        The labelled rows and the class shares are the same, so its objective is an estimate of
        that of the whole task. Tasks of other samples, and the whole one, are not to be used until
        they are returned by this method again: all have the same blocks. ``others`` are a sample
        that has none of the rows of the first one.
        """
        whole = self if self.whole is None else self.whole
        if size is not None and self is not whole and (size, others) == self.rows.sample_at_hand:
            return self
        rows = whole.rows.take_sample(size, others=others)
        if size is None:
            return whole
        found = replace(whole._of_sample(rows), whole=whole)
        # they depend on the labelled rows alone
        for name in ("labeled_preconditioner", "shared_preconditioner"):
            vars(found)[name] = getattr(whole, name)
        return found

    @abstractmethod
    def _of_sample(self, rows: Any) -> Any:
        """Return the task of a sample of the rows, with as many rows of each class as suit it."""

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
    def shared_preconditioner(self) -> LabeledPreconditioner | None:
        """The same if one factorisation serves all columns of weights: there may be more rows."""
        return self.labeled_preconditioner or self._labeled_preconditioner(self.n_columns)

    def _labeled_preconditioner(self, times: int) -> LabeledPreconditioner | None:
        rows, work = self.rows, times * self.rows.work
        # the driver gets the labelled rows only if they are few
        if not are_few(rows.n_labeled, work):
            return None
        return preconditioner_of(*rows.labeled_rows(), rows.labeled_weight(), self.reg, work)

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
