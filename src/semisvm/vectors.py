"""Vector operations of the solvers, each one pass; self-contained for the cache.

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
def regularize(q, p, reg):
    """Q += reg p; return p . q."""
    total = 0.0
    for j in range(p.shape[0]):
        v = q[j] + reg * p[j]
        q[j] = v
        total += v * p[j]
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def advance(x, r, p, q, alpha):
    """X += alpha p; r -= alpha q; return r . r."""
    total = 0.0
    for j in range(p.shape[0]):
        x[j] += alpha * p[j]
        v = r[j] - alpha * q[j]
        r[j] = v
        total += v * v
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def scaled_product(r, scale):
    """Return r . (r / scale)."""
    total = 0.0
    for j in range(r.shape[0]):
        total += r[j] * r[j] / scale[j]
    return total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def conjugate(p, r, scale, beta):
    """P = r / scale + beta p."""
    for j in range(p.shape[0]):
        p[j] = r[j] / scale[j] + beta * p[j]


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
