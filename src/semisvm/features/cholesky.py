r"""Pivoted Cholesky factors of a kernel matrix, from its diagonal and a few columns.

For a positive semi-definite K of n rows, K = L L^T + R, where L has one column a pivot, R
is positive semi-definite and vanishes on the rows and columns of the pivots. The trace of
R bounds all of its entries and eigenvalues. It falls fastest if the next pivot is the row
with the largest entry on the diagonal of R. Stopped when the trace of R is a small share of
that of K, L is K's factor to that accuracy; stopped at a rank, it is Nyström's method with
well-chosen rows.

Pivots are taken in blocks, so that nearly all work is products of matrices: the rows with
the largest remaining diagonal are candidates; among them a small factorisation with
pivoting keeps those that still matter once the others are in.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from semisvm.designs import Floats

Index = NDArray[np.intp]
BLOCK = 64
# A candidate stays while its remaining diagonal is at least this share of the largest one
# at the start of its block; a row that has become less would not have been chosen.
KEPT = 0.1
# Rows without any remainder, the pivots among them, are left out of a block where they are
# at least this share: they only get zeros, but leaving them out copies the others.
DONE = 0.1
# Share of the trace by which rounding may make a diagonal entry negative.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Factor:
    """K = L L^T, up to ``residual``.

    Attributes
    ----------
    L : array of shape (n, rank)
        Lower triangular on the pivots, in their order.
    pivots : array of shape (rank,)
    residual : float
        Trace of K - L L^T as a share of that of K.
    """

    L: Floats
    pivots: Index
    residual: float


def pivoted_cholesky(
    diagonal: Floats,
    entries: Callable[[Index | None, Index], Floats],
    *,
    tol: float,
    max_rank: int,
) -> Factor:
    """Factorise a kernel matrix.

    Parameters
    ----------
    diagonal : array of shape (n,)
        Of K.
    entries : rows, columns -> array of shape (rows, columns)
        Entries of K; rows may be None for all of them.
    tol : float
        Share of the trace that may be left.
    max_rank : int

    Raises
    ------
    ValueError
        If a diagonal entry is negative: K is not positive semi-definite.
    """
    left = diagonal.copy()
    trace = float(left.sum())
    check_diagonal(left, trace)
    L, pivots = np.zeros((len(left), min(BLOCK, max_rank))), np.empty(0, dtype=np.intp)
    while len(pivots) < max_rank and left.sum() > tol * trace:
        free = np.flatnonzero(left)
        size = min(BLOCK, max_rank - len(pivots), len(free))
        block = np.argsort(-left, kind="stable")[:size]
        done, rows, at = L[:, : len(pivots)], None, block
        if len(free) <= (1.0 - DONE) * len(left):
            done, rows, at = done[free], free, np.searchsorted(free, block)
        rest = entries(rows, block)
        rest -= done @ done[at].T
        kept, small = _block_factor(rest[at], left[block].max())
        new = solve_triangular(small, rest[:, kept].T, lower=True, check_finite=False).T
        chosen, rank = block[kept], len(pivots) + len(kept)
        if rank > L.shape[1]:
            L = _wider(L, min(max(2 * L.shape[1], rank), max_rank))
        every = slice(None) if rows is None else rows
        L[every, len(pivots) : rank] = new
        pivots = np.concatenate([pivots, chosen])
        left[every] -= np.einsum("ij,ij->i", new, new)
        left[chosen] = 0.0
        check_diagonal(left, trace)
        np.maximum(left, 0.0, out=left)
    share = float(left.sum() / trace) if trace else 0.0
    return Factor(np.ascontiguousarray(L[:, : len(pivots)]), pivots, share)


def _wider(L: Floats, width: int) -> Floats:
    wide = np.zeros((len(L), width))
    wide[:, : L.shape[1]] = L
    return wide


def check_diagonal(left: Floats, trace: float) -> None:
    """Refuse what no positive semi-definite matrix can leave on its diagonal."""
    allowed = ROUNDING * max(trace, 0.0) + 1e-300
    if left.min(initial=0.0) < -allowed:
        worst = int(left.argmin())
        raise ValueError(
            f"the kernel matrix is not positive semi-definite: after the rows before it, row "
            f"{worst} has {left[worst]:.3g} left on the diagonal. Use another kernel or other "
            "parameters (sigmoid kernels often are not), or clip the negative eigenvalues."
        )


def _block_factor(A: Floats, largest: float) -> tuple[Index, Floats]:
    """Choose rows of a small matrix by pivoting; give them and their lower factor."""
    left, size = A.diagonal().copy(), len(A)
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
