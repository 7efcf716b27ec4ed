"""A preconditioner from the few rows with large weights, by the Woodbury identity.

A labelled row has weight 1/l and an unlabelled one 1/u. With few labels the curvature is a
small multiple of the identity, plus a little from very many rows, plus much from the few
labelled rows S. Conjugate gradients would find those directions one by one. Instead ::

    M = reg (I + X_S^T D X_S),      D = C / reg

is inverted exactly, through a system with one unknown per row of S (G = X_S X_S^T) ::

    reg M^-1 r = r - X_S^T D^1/2 A^-1 D^1/2 X_S r,      A = I + D^1/2 G D^1/2

With a squared hinge a row has its full curvature inside the margin and none outside. So A^-1 is
computed once, as if all rows were inside; for the rows R outside it becomes ::

    A^-1 - A^-1_{.R} (A^-1_{RR})^-1 A^-1_{R.}

and what has to be factorised has the size of R, or of the other rows if these are fewer.

`Span` is for a fit of the labelled rows alone, whose weights are w = X_S^T a: with few rows there
is no need for vectors over all columns. With the Cholesky factor of the inner products, ::

    X_S X_S^T = L L^T,      w = X_S^T L^-T v,      X_S w = L v,      ||w|| = ||v||

so it is the same problem with the small matrix L in place of the rows.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, solve_triangular

from semisvm.designs import Design, Floats, Index, RowList, make_design
from semisvm.designs.vectors import factorise_systems, list_systems, solve_systems
from semisvm.solvers.conjugate_gradients import Preconditioner

# A factorisation takes |S|^3 / 6 multiplications, which should not exceed this many passes
# over the data.
PASSES_PER_FACTORISATION = 4
# The inverse for all rows loses so many digits that its correction needs some left: it is used up
# to this bound on the largest eigenvalue of A, whose smallest is at least one.
LARGEST_EIGENVALUE = 1e6
# LAPACK factorises systems of more rows than this.
SMALL_SYSTEM = 64


@dataclass
class LabeledPreconditioner:
    """Rows of a design with their inner products.

    Attributes
    ----------
    design : Design
    rows : RowList
    gram : array of shape (k, k)
        Inner products of the rows, with the constant feature.
    weight : array of shape (k,)
        Curvatures of the rows inside the margin.
    """

    design: Design
    rows: RowList
    gram: Floats
    weight: Floats
    _whole: "Whole | None" = field(default=None, repr=False)
    _last: "Factors | None" = field(default=None, repr=False)

    def inverse(self, curvature: Floats, reg: float) -> "Inverse | None":
        """Return M^-1 for curvatures (k, m) of the rows: m systems, one per column.

        A single column of curvatures serves all columns of weights. None if a factorisation
        fails.
        """
        whole = self.whole(reg)
        roots = np.ascontiguousarray(np.sqrt(curvature.T / reg))
        if self._last is None or not np.array_equal(roots, self._last.roots):
            self._last = Factors.of(self.gram, roots, whole, self._last)
        return None if self._last is None else Inverse(self.design, self.rows, whole, self._last)

    def whole(self, reg: float) -> "Whole":
        """Return the inverse for rows that are all inside the margin."""
        if self._whole is None or self._whole.reg != reg:
            self._whole, self._last = Whole.of(self.gram, self.weight, reg), None
        return self._whole

    def in_coordinates(self, design: Design, reg: float) -> "LabeledPreconditioner":
        """Return the same rows as the rows of another design, with the same inner products."""
        return LabeledPreconditioner(
            design, design.all_rows, self.gram, self.weight, self.whole(reg)
        )


class Whole(NamedTuple):
    """A^-1 if all rows have their full curvature; without rows where it cannot be computed.

    Attributes
    ----------
    reg : float
    roots : array of shape (k,)
        Diagonal of D^1/2.
    inverse : array of shape (k, k)
    """

    reg: float
    roots: Floats
    inverse: Floats

    @property
    def known(self) -> bool:
        """Whether it could be computed."""
        return len(self.inverse) > 0

    @classmethod
    def of(cls, gram: Floats, weight: Floats, reg: float) -> Self:
        """Invert A for these curvatures."""
        roots = np.sqrt(weight / reg)
        bound = 1.0 + float(roots**2 @ gram.diagonal())
        lower = _cholesky(gram, roots) if bound <= LARGEST_EIGENVALUE else None
        if lower is None:
            return cls(reg, np.full_like(roots, np.nan), np.empty((0, 0)))
        inverse = cho_solve((lower, True), np.eye(len(roots)), check_finite=False)
        return cls(reg, roots, np.ascontiguousarray(inverse))


def _cholesky(gram: Floats, roots: Floats) -> Floats | None:
    """Factorise A, or return None where that fails."""
    a = gram * roots
    a *= roots[:, np.newaxis]
    a.ravel()[:: len(a) + 1] += 1.0
    try:
        lower = np.linalg.cholesky(a).astype(np.float64, copy=False)
    except LinAlgError:
        return None
    return lower if np.isfinite(lower.diagonal()).all() else None


class Factors(NamedTuple):
    """What corrects A^-1 for the rows outside the margin, or replaces it, for several systems.

    Attributes
    ----------
    roots : array of shape (m, k)
        Diagonals of D^1/2.
    alone : array of shape (m,)
        Whether A of the listed rows is factorised, rather than A^-1 of all rows for the listed
        ones, which are outside.
    rows, ends : arrays of positions
        Lists of rows, and where the list of each system ends, after a zero.
    lower, starts : arrays
        Cholesky factors, row by row, and where those of the systems start, and an end.
    """

    roots: Floats
    alone: NDArray[np.bool_]
    rows: Index
    ends: Index
    lower: Floats
    starts: Index

    @classmethod
    def of(cls, gram: Floats, roots: Floats, whole: Whole, last: Self | None) -> Self | None:
        """Factorise the rows inside or those outside, or return None where that fails.

        The curvatures of most systems stay the same from one step to the next, unless a row
        changes sides: only the others are factorised again.
        """
        alone, rows, ends, starts = list_systems(roots, whole.roots)
        found = cls(roots, alone, rows, ends, np.empty(starts[-1]), starts)
        if last is None or last.roots.shape != roots.shape:
            last, changed = found, np.ones(len(roots), dtype=bool)
        else:
            changed = np.any(roots != last.roots, axis=1)
        by_lapack = changed & alone & (np.diff(ends) > SMALL_SYSTEM)
        known = (last.lower, last.starts, changed, by_lapack)
        if not factorise_systems(*found, *known, gram, whole.inverse):
            return None
        for k in np.flatnonzero(by_lapack):
            own = rows[ends[k] : ends[k + 1]]
            lower = _cholesky(gram.take(own, axis=0).take(own, axis=1), roots[k, own])
            if lower is None:
                return None
            found.lower[starts[k] : starts[k + 1]] = lower.ravel()
        return found


class Inverse(Preconditioner):
    """M^-1 for flat weight vectors."""

    def __init__(self, design: Design, rows: RowList, whole: Whole, factors: Factors) -> None:
        super().__init__(whole.reg)
        self.design = design
        self.rows = rows
        self.whole = whole
        self.factors = factors
        self._moves = np.empty((0, 0))

    def weigh(self, r: Floats, squares: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Return r . z of each system, and r: `complete` adds what is missing from z."""
        m = len(r) // self.design.n_weights
        self._moves = self.design.few_scores(r.reshape(-1, m), self.rows)
        gains = np.empty(m)
        solve_systems(*self.factors, self.whole.inverse, self._moves, gains)
        # the solver checks for values out of range
        with np.errstate(over="ignore", invalid="ignore"):
            return squares - (gains if len(squares) == m else gains.sum()), r

    def complete(self, p: Floats) -> None:
        """Add z - r to p, for the last r that was weighed."""
        m = self._moves.shape[1]
        self.design.add_few(self._moves, self.rows, p.reshape(-1, m))


def are_few(n_rows: int, total_work: int) -> bool:
    """Return whether so many rows are worth a factorisation.

    Parameters
    ----------
    n_rows : int
    total_work : int
        Number of entries that a pass over all rows of the problem reads.
    """
    return 0 < n_rows**3 <= 6 * PASSES_PER_FACTORISATION * total_work


def preconditioner_of(
    design: Design, rows: RowList, weight: Floats, reg: float, total_work: int
) -> LabeledPreconditioner | None:
    """Prepare the rows if they are few, with costs large enough to slow conjugate gradients.

    Parameters
    ----------
    design : Design
    rows : RowList
    weight : array of shape (k,)
        Their largest curvatures.
    reg : float
    total_work : int
        See `are_few`.
    """
    if not are_few(len(rows), total_work):
        return None
    gram = design.gram(rows)
    if np.mean(weight * gram.diagonal()) <= reg:
        return None
    return LabeledPreconditioner(design, rows, gram, weight)


# A row whose distance from the span of those before it is a smaller fraction of its length than
# this makes the coordinates inexact: nearly all digits would be lost at 1e-8.
APART = 1e-4


@dataclass(frozen=True)
class Span:
    """Coordinates of a few rows.

    Attributes
    ----------
    labeled_preconditioner : LabeledPreconditioner
        The rows.
    design : Design
        Their coordinates; the constant feature is one of those they had before.
    """

    labeled_preconditioner: LabeledPreconditioner
    design: Design

    @classmethod
    def of(cls, labeled_preconditioner: LabeledPreconditioner) -> "Span | None":
        """Factorise the inner products; None if rows depend on each other."""
        gram = labeled_preconditioner.gram
        try:
            lower = np.linalg.cholesky(gram).astype(np.float64, copy=False)
        except LinAlgError:
            return None
        if not np.all(lower.diagonal() ** 2 > APART**2 * gram.diagonal()):
            return None
        return cls(
            labeled_preconditioner, make_design(lower, 0.0, labeled_preconditioner.design.workers)
        )

    def weights(self, v: Floats) -> Floats:
        """Return the weight vector for coordinates v, with one column after the other in turns."""
        labeled_preconditioner, V = (
            self.labeled_preconditioner,
            v.reshape(self.design.n_weights, -1),
        )
        # the last coordinate is that of the constant feature, which is zero here
        lower = self.design.matrix(self.design.all_rows.index)
        a = solve_triangular(lower, V[:-1], trans=1, lower=True, check_finite=False)
        out = np.zeros((labeled_preconditioner.design.n_weights, V.shape[1]))
        return labeled_preconditioner.design.add_few(
            np.ascontiguousarray(a), labeled_preconditioner.rows, out
        ).reshape(-1)
