"""Compiled kernels over C-contiguous dense rows; self-contained for numba's cache.

``lengths`` holds how many leading entries of each row may be nonzero; the others are not
read. None stands for all of them, and compiles to kernels without lengths.

The compiler may only reassociate the dot product (SIMD lanes): NaN and inf keep their
meaning, and a compiled kernel gives the same bits on every call.
"""

import numpy as np

from semisvm.compiling import compiled

_SUMS = {"reassoc", "contract"}


@compiled
def count_leading(X, out):
    """out_i = 1 + the last column in which row i is nonzero, or 0."""
    for i in range(X.shape[0]):
        k = X.shape[1]
        while k > 0 and X[i, k - 1] == 0.0:
            k -= 1
        out[i] = k


@compiled(fastmath=_SUMS)
def scores(X, lengths, w, bias, rows, start, stop, out):
    """out_i = x_i . w for the listed rows."""
    offset = bias * w[X.shape[1]]
    for k in range(start, stop):
        i = rows[k]
        s = 0.0
        for j in range(X.shape[1] if lengths is None else lengths[i]):
            s += X[i, j] * w[j]
        out[i] = s + offset


@compiled(fastmath=_SUMS)
def pull_back(X, lengths, v, bias, rows, start, stop, out):
    """Out += sum of v_i x_i over the listed rows."""
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        vi = v[i]
        total += vi
        for j in range(X.shape[1] if lengths is None else lengths[i]):
            out[j] += vi * X[i, j]
    out[X.shape[1]] += bias * total


@compiled(fastmath=_SUMS)
def curvature(X, lengths, p, c, bias, rows, start, stop, out):
    """Out += sum of c_i (x_i . p) x_i over the listed rows, each row read once."""
    offset = bias * p[X.shape[1]]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        d = X.shape[1] if lengths is None else lengths[i]
        s = 0.0
        for j in range(d):
            s += X[i, j] * p[j]
        q = c[i] * (s + offset)
        total += q
        for j in range(d):
            out[j] += q * X[i, j]
    out[X.shape[1]] += bias * total


@compiled(fastmath=_SUMS)
def column_scales(X, lengths, c, bias, rows, start, stop, out):
    """Out += sum of c_i x_i**2 over the listed rows: the diagonal of the curvature."""
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        ci = c[i]
        total += ci
        for j in range(X.shape[1] if lengths is None else lengths[i]):
            x = np.float64(X[i, j])
            out[j] += ci * x * x
    out[X.shape[1]] += bias * bias * total
