r"""Pivoted Cholesky factors of a kernel matrix, from its diagonal and a few columns.

For a positive semi-definite K with n rows, K = L L^T + R, where L has one column per pivot
and R is positive semi-definite and vanishes on the rows and columns of the pivots. The trace
of R bounds all of its entries and eigenvalues. It falls fastest if the next pivot is the row
with the largest entry on the diagonal of R. Stopped when the trace of R is a small fraction
of that of K, L is a factor of K to that accuracy; stopped at a given rank, this is Nyström's
method with well-chosen rows.

Pivots are taken in blocks, so that nearly all work is matrix products. The rows with the
largest remaining diagonal are candidates; a small factorisation with pivoting keeps those
that still matter after the others. The new columns are computed row by row, so threads share
the rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from semisvm.designs import Floats, Workers
from semisvm.designs.validation import SCALE
from semisvm.designs.workers import Bounds

Index = NDArray[np.intp]
Entries = Callable[[Index, Index], Floats]
# Pivots of a block: at first the smallest number, later this fraction of the pivots so far, up to
# the largest. Every block reads the whole factor, so that small ones are limited by the memory;
# large ones may go further than needed.
BLOCK, LARGEST_BLOCK = 64, 256
GROWTH = 0.125
# Entries of the factor, 1 GiB, for which memory is reserved at once.
AT_ONCE = 1 << 27
# Rows that a thread takes at a time. It is the same for any number of threads, so the factor
# is too, bit for bit. BLAS calls use one thread: with two they took 5.4, 2.7 and 1.8 times the
# processor time for 1,500, 5,000 and 20,000 rows (ranks 1,500, 2,000 and 1,000; busy cores),
# and on idle cores 3.0 s instead of 2.9 s for the 20,000.
PART = 512
# A candidate stays while its remaining diagonal is at least this fraction of the largest one
# at the start of its block.
KEPT = 0.1
# Rows without any remainder, such as copies of pivots, are put away if they are at least this
# fraction: they would only get zeros, but moving rows takes time.
DONE = 0.1
# Fraction of the trace by which rounding may make a diagonal entry negative.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Factor:
    """K = L L^T, up to ``residual``.

    Attributes
    ----------
    L : array of shape (n, rank)
        Lower triangular on the pivots, in their order, with zeros above.
    pivots : array of shape (rank,)
    residual : float
        Trace of K - L L^T, as a fraction of that of K.
    """

    L: Floats
    pivots: Index
    residual: float


def pivoted_cholesky(
    diagonal: Floats,
    entries: Entries,
    *,
    tol: float,
    max_rank: int,
    workers: Workers,
) -> Factor:
    """Factorise a kernel matrix.

    Parameters
    ----------
    diagonal : array of shape (n,)
        Diagonal of K.
    entries : rows, columns -> array of shape (rows, columns)
        Entries of K; called from several threads.
    tol : float
        Fraction of the trace that may be left.
    max_rank : int
    workers : Workers

    Raises
    ------
    ValueError
        If a diagonal entry is not finite, or is negative: K is not positive semi-definite.
    """
    left = diagonal.copy()
    with np.errstate(over="ignore", invalid="ignore"):
        trace = float(left.sum())
    check_diagonal(left, trace)
    growing = _Growing(left, entries, max_rank)
    while growing.rank < max_rank and left.sum() > tol * trace:
        growing.extend(workers)
        check_diagonal(left, trace)
        np.maximum(left, 0.0, out=left)
        growing.put_away()
    share = float(left.sum() / trace) if trace else 0.0
    return Factor(growing.in_order(), growing.order[: growing.rank].copy(), share)


class _Growing:
    """A factor to which blocks of columns are added.

    Its rows are in an order of their own: the pivots, then the rows that have a remainder, then
    the others, which only get zeros. So a block reads and writes consecutive rows.

    Attributes
    ----------
    order : array of shape (n,)
        Which row is at each position.
    rank : int
        Number of pivots.
    end : int
        Position after the last row that has a remainder.
    """

    def __init__(self, left: Floats, entries: Entries, max_rank: int) -> None:
        self.order: Index = np.arange(len(left))
        self.rank, self.end = 0, len(left)
        self._left, self._entries, self._max_rank = left, entries, max_rank
        # pages of zeros that are never written take no memory
        self._L = np.zeros((len(left), min(max(BLOCK, AT_ONCE // len(left)), max_rank)))

    def extend(self, workers: Workers) -> None:
        """Add a block of pivots."""
        at, free = self.rank, self.order[self.rank : self.end]
        wanted = min(max(BLOCK, int(GROWTH * at)), LARGEST_BLOCK)
        size = min(wanted, self._max_rank - at, len(free))
        # the largest remainders, equal ones in the order of the rows
        block = np.lexsort((free, -self._left[free]))[:size]
        rows, known = free[block], self._L[at + block, :at]
        kept, small = _block_factor(self._entries(rows, rows) - known @ known.T, self._left[rows])
        self.rank += len(kept)
        self._lead(at, at + block[kept])
        self._reserve()
        extension = _Extension(
            self._L, self._left, self._entries, self.order, rows[kept], known[kept], small
        )
        workers.run(extension, _parts(self.rank, self.end))
        self._L[at : self.rank, at : self.rank] = small
        self._left[rows[kept]] = 0.0

    def _lead(self, at: int, chosen: Index) -> None:
        """Bring the rows at the chosen positions to those from ``at`` on, in their order."""
        places = np.arange(at, at + len(chosen))
        outside, holes = np.setdiff1d(places, chosen), np.setdiff1d(chosen, places)
        self._move(np.append(chosen, outside), np.append(places, holes))

    def _move(self, sources: Index, places: Index) -> None:
        self.order[places] = self.order[sources]
        self._L[places] = self._L[sources]

    def put_away(self) -> None:
        """Bring rows without a remainder to the end, if there are enough of them."""
        here = np.arange(self.rank, self.end)
        needed = self._left[self.order[here]] > 0.0
        end = self.rank + int(np.count_nonzero(needed))
        if self.end - end <= DONE * len(here):
            return
        early, late = here[~needed & (here < end)], here[needed & (here >= end)]
        self._move(np.append(early, late), np.append(late, early))
        self.end = end

    def _reserve(self) -> None:
        width = self._L.shape[1]
        if self.rank > width:
            wide = np.zeros((len(self._L), min(max(2 * width, self.rank), self._max_rank)))
            wide[:, :width] = self._L
            self._L = wide

    def in_order(self) -> Floats:
        """Return the factor with its rows in the order of the matrix."""
        L = np.empty((len(self._L), self.rank))
        L[self.order] = self._L[:, : self.rank]
        return L


@dataclass(frozen=True)
class _Extension:
    """Compute the new columns of L, for some rows at a time.

    Attributes
    ----------
    L : array of shape (n, at least rank)
    left : array of shape (n,)
        Remaining diagonal, in the order of the matrix.
    entries : as above
    order : array of shape (n,)
        Which row is at each position of L.
    chosen : array of shape (k,)
        The new pivots.
    known : array of shape (k, columns so far)
        Their rows of L.
    small : array of shape (k, k)
        Lower factor of their remainder.
    """

    L: Floats
    left: Floats
    entries: Entries
    order: Index
    chosen: Index
    known: Floats
    small: Floats

    def __call__(self, _: int, start: int, stop: int) -> None:
        """Fill the new columns at some positions, and update the remaining diagonal."""
        rows, (width, at) = self.order[start:stop], self.known.shape
        rest = self.entries(rows, self.chosen)
        rest -= self.L[start:stop, :at] @ self.known.T
        new = solve_triangular(self.small, rest.T, lower=True, check_finite=False).T
        self.L[start:stop, at : at + width] = new
        self.left[rows] -= np.einsum("ij,ij->i", new, new)


def _parts(start: int, stop: int) -> Bounds:
    return tuple((low, min(low + PART, stop)) for low in range(start, stop, PART))


def check_diagonal(left: Floats, trace: float) -> None:
    """Raise if the remaining diagonal is impossible for a positive semi-definite matrix."""
    if not np.isfinite(left).all():
        worst = int(np.argmin(np.isfinite(left)))
        raise ValueError(
            f"the kernel matrix has values that are not finite, first in row {worst}. Use other "
            f"kernel parameters. {SCALE}"
        )
    allowed = ROUNDING * max(trace, 0.0) + 1e-300
    if left.min(initial=0.0) < -allowed:
        worst = int(left.argmin())
        raise ValueError(
            f"the kernel matrix is not positive semi-definite: row {worst} has "
            f"{left[worst]:.3g} left on the diagonal. Use another kernel or other parameters "
            "(sigmoid kernels often fail), or clip the negative eigenvalues."
        )


def _block_factor(A: Floats, diagonal: Floats) -> tuple[Index, Floats]:
    """Choose rows of a small matrix by pivoting; return them and their lower factor.

    The diagonal comes from the caller and its largest entry is not zero. That row is always
    chosen, so every block makes progress, whatever rounding does to A.
    """
    np.fill_diagonal(A, diagonal)
    left, size, largest = diagonal.copy(), len(A), diagonal.max()
    L = np.zeros((size, size))
    kept: list[int] = []
    for k in range(size):
        at = int(left.argmax())
        if left[at] < KEPT * largest or left[at] <= 0.0:
            break
        column = A[:, at] - L[:, :k] @ L[at, :k]
        L[:, k] = column / np.sqrt(left[at])
        left -= L[:, k] ** 2
        left[at] = -np.inf
        kept.append(at)
    order = np.array(kept, dtype=np.intp)
    return order, np.tril(L[order][:, : len(order)])
