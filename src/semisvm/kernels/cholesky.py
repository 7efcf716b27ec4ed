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
from semisvm.designs.workers import Bounds
from semisvm.rows import SCALE

Index = NDArray[np.intp]
Rows = Index | slice
BLOCK = 64
# Rows that a thread takes at a time. It is the same for any number of threads, so the factor
# is too, bit for bit. BLAS calls use one thread: with two they took 5.4, 2.7 and 1.8 times the
# processor time for 1,500, 5,000 and 20,000 rows (ranks 1,500, 2,000 and 1,000; busy cores),
# and on idle cores 3.0 s instead of 2.9 s for the 20,000.
PART = 512
# A candidate stays while its remaining diagonal is at least this fraction of the largest one
# at the start of its block.
KEPT = 0.1
# Rows without any remainder, such as pivots, are left out of a block if they are at least this
# fraction: they would only get zeros, but leaving them out copies the others.
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
    entries: Callable[[Rows, Index], Floats],
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
    L, pivots = np.zeros((len(left), min(BLOCK, max_rank))), np.empty(0, dtype=np.intp)
    while len(pivots) < max_rank and left.sum() > tol * trace:
        free = np.flatnonzero(left)
        size = min(BLOCK, max_rank - len(pivots), len(free))
        block = np.argsort(-left, kind="stable")[:size]
        known = L[block, : len(pivots)]
        kept, small = _block_factor(entries(block, block) - known @ known.T, left[block])
        chosen, rank = block[kept], len(pivots) + len(kept)
        if rank > L.shape[1]:
            L = _wider(L, min(max(2 * L.shape[1], rank), max_rank))
        every = len(free) > (1.0 - DONE) * len(left)
        extend = _Extension(L, left, entries, chosen, known[kept], small, None if every else free)
        workers.run(extend, _parts(len(left) if every else len(free)))
        # on the pivots L is lower triangular up to rounding
        L[pivots, len(pivots) : rank] = 0.0
        L[chosen, len(pivots) : rank] = small
        pivots = np.concatenate([pivots, chosen])
        left[pivots] = 0.0
        check_diagonal(left, trace)
        np.maximum(left, 0.0, out=left)
    share = float(left.sum() / trace) if trace else 0.0
    return Factor(np.ascontiguousarray(L[:, : len(pivots)]), pivots, share)


@dataclass(frozen=True)
class _Extension:
    """Compute the new columns of L, for some rows at a time.

    Attributes
    ----------
    L : array of shape (n, at least rank)
    left : array of shape (n,)
        Remaining diagonal.
    entries : as above
    chosen : array of shape (k,)
        The new pivots.
    known : array of shape (k, columns so far)
        Their rows of L.
    small : array of shape (k, k)
        Lower factor of their remainder.
    free : array, optional
        The rows to extend, if not all.
    """

    L: Floats
    left: Floats
    entries: Callable[[Rows, Index], Floats]
    chosen: Index
    known: Floats
    small: Floats
    free: Index | None

    def __call__(self, _: int, start: int, stop: int) -> None:
        """Fill the new columns of the rows, and update the remaining diagonal."""
        rows: Rows = slice(start, stop) if self.free is None else self.free[start:stop]
        at, width = self.known.shape[1], len(self.chosen)
        rest = self.entries(rows, self.chosen)
        rest -= self.L[rows, :at] @ self.known.T
        new = solve_triangular(self.small, rest.T, lower=True, check_finite=False).T
        self.L[rows, at : at + width] = new
        self.left[rows] -= np.einsum("ij,ij->i", new, new)


def _parts(k: int) -> Bounds:
    return tuple((low, min(low + PART, k)) for low in range(0, k, PART))


def _wider(L: Floats, width: int) -> Floats:
    wide = np.zeros((len(L), width))
    wide[:, : L.shape[1]] = L
    return wide


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
