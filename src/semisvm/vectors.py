"""Operations of the solvers on vectors and small matrices; self-contained for the cache.

numpy's dot product calls BLAS, which for long vectors wakes threads of its own. They spin
for a while after the call, on the cores that the row blocks of the next product need:
measured on 100,000 rows, two threads were no faster than one. So solvers use no BLAS.
"""

import numba
import numpy as np

_SUMS = {"reassoc", "contract"}


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def dot(a, b):
    """Return a . b."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def regularize(q, p, reg, start, stop):
    """Q += reg p; return p . q."""
    total = 0.0
    for j in range(start, stop):
        v = q[j] + reg * p[j]
        q[j] = v
        total += v * p[j]
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def advance(x, r, p, q, alpha, start, stop):
    """X += alpha p; r -= alpha q; return r . r."""
    total = 0.0
    for j in range(start, stop):
        x[j] += alpha * p[j]
        v = r[j] - alpha * q[j]
        r[j] = v
        total += v * v
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def conjugate(p, z, beta, start, stop):
    """P = z + beta p."""
    for j in range(start, stop):
        p[j] = z[j] + beta * p[j]


@numba.njit(nogil=True, cache=True)
def touched(rows, slope, curvature):
    """List those of the rows whose slope or curvature is not zero."""
    found = np.empty(rows.shape[0], dtype=np.intp)
    n_found = 0
    for i in rows:
        if slope[i] != 0.0 or curvature[i] != 0.0:
            found[n_found] = i
            n_found += 1
    return found[:n_found]


@numba.njit(nogil=True, cache=True)
def factorise(a):
    """Replace a symmetric positive definite matrix by its lower Cholesky factor.

    Where it is not one, for all that double precision can tell, the diagonal has a NaN.
    """
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - dot(a[i, :j], a[j, :j])) / a[j, j]
        left = a[i, i] - dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(left) if left > 0.0 else np.nan


@numba.njit(nogil=True, cache=True)
def solve_factored(factor, x):
    """Replace x by the solution of L L^T z = x."""
    k = x.shape[0]
    for i in range(k):
        x[i] = (x[i] - dot(factor[i, :i], x[:i])) / factor[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= x[i] * factor[i, j]
