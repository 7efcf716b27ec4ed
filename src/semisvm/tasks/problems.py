"""The weight steps of rows in blocks, with labels that are held fixed or that respond."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import add, dot
from semisvm.solvers import Linearization
from semisvm.solvers.conjugate_gradients import Preconditioner
from semisvm.solvers.woodbury import LabeledPreconditioner
from semisvm.tasks.many_scores_driver import ManyScoreRows
from semisvm.tasks.one_score_driver import OneScoreRows

# Relative size below which the curvature of prices is taken for rounding.
FLAT = 1e-12


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
    """Base of the weight steps whose labels respond."""

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
