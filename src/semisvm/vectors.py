"""Compiled operations on vectors and small matrices; self-contained for numba's cache.

Several steps over the same vectors are one pass here, and threads can share a pass.
"""

import numpy as np

from semisvm.compiling import compiled

_SUMS = {"reassoc", "contract"}


@compiled(fastmath=_SUMS)
def dot(a, b):
    """Return a . b."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@compiled(fastmath=_SUMS)
def add(a, t, b):
    """Add t b to a."""
    for j in range(a.shape[0]):
        a[j] += t * b[j]


@compiled(fastmath=_SUMS)
def regularize(q, p, reg, start, stop):
    """Q += reg p; return p . q."""
    total = 0.0
    for j in range(start, stop):
        v = q[j] + reg * p[j]
        q[j] = v
        total += v * p[j]
    return total


@compiled(fastmath=_SUMS)
def advance(x, r, p, q, alpha, start, stop):
    """X += alpha p; r -= alpha q; return r . r."""
    total = 0.0
    for j in range(start, stop):
        x[j] += alpha * p[j]
        v = r[j] - alpha * q[j]
        r[j] = v
        total += v * v
    return total


@compiled(fastmath=_SUMS)
def conjugate(p, z, beta, start, stop):
    """P = z + beta p."""
    for j in range(start, stop):
        p[j] = z[j] + beta * p[j]


@compiled
def scatter(p, q, scale, index, a, b, start, stop):
    """a_i = scale p_k and b_i = scale q_k for i = index_k."""
    for k in range(start, stop):
        i = index[k]
        a[i] = scale * p[k]
        b[i] = scale * q[k]


@compiled
def gather(a, b, scale, index, p, q, start, stop):
    """p_k = scale a_i and q_k = scale b_i for i = index_k."""
    for k in range(start, stop):
        i = index[k]
        p[k] = scale * a[i]
        q[k] = scale * b[i]


@compiled
def factorise(a):
    """Replace a symmetric positive definite matrix by its lower Cholesky factor.

    Returns False where it is not one, for all that double precision can tell.
    """
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - dot(a[i, :j], a[j, :j])) / a[j, j]
        left = a[i, i] - dot(a[i, :i], a[i, :i])
        # a NaN is not above zero, infinity is not below itself
        if not 0.0 < left < np.inf:
            return False
        a[i, i] = np.sqrt(left)
    return True


@compiled
def solve_factored(factor, x):
    """Replace x by the solution of L L^T z = x."""
    k = x.shape[0]
    for i in range(k):
        x[i] = (x[i] - dot(factor[i, :i], x[:i])) / factor[i, i]
    for i in range(k - 1, -1, -1):
        x[i] /= factor[i, i]
        for j in range(i):
            x[j] -= x[i] * factor[i, j]
