"""Compiled kernels over C-contiguous dense rows; self-contained, like their CSR siblings.

The dot product may be reassociated by the compiler (SIMD lanes), nothing else may: NaN
and inf keep their meaning, and a compiled kernel gives the same bits on every call.
"""

import numba
import numpy as np

_SUMS = {"reassoc", "contract"}


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def scores(X, w, bias, rows, start, stop, out):
    """out_i = x_i . w for the listed rows."""
    d = X.shape[1]
    offset = bias * w[d]
    for k in range(start, stop):
        i = rows[k]
        s = 0.0
        for j in range(d):
            s += X[i, j] * w[j]
        out[i] = s + offset


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def pull_back(X, v, bias, rows, start, stop, out):
    """Out += sum of v_i x_i over the listed rows."""
    d = X.shape[1]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        vi = v[i]
        total += vi
        for j in range(d):
            out[j] += vi * X[i, j]
    out[d] += bias * total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def curvature(X, p, c, bias, rows, start, stop, out):
    """Out += sum of c_i (x_i . p) x_i over the listed rows, each row read once."""
    d = X.shape[1]
    offset = bias * p[d]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        s = 0.0
        for j in range(d):
            s += X[i, j] * p[j]
        q = c[i] * (s + offset)
        total += q
        for j in range(d):
            out[j] += q * X[i, j]
    out[d] += bias * total


@numba.njit(nogil=True, cache=True, fastmath=_SUMS)
def column_scales(X, c, bias, rows, start, stop, out):
    """Out += sum of c_i x_i**2 over the listed rows: the diagonal of the curvature."""
    d = X.shape[1]
    total = 0.0
    for k in range(start, stop):
        i = rows[k]
        ci = c[i]
        total += ci
        for j in range(d):
            x = np.float64(X[i, j])
            out[j] += ci * x * x
    out[d] += bias * bias * total


@numba.njit(nogil=True, cache=True)
def scores_many(X, W, bias, rows, start, stop, offset, out):
    """out_i = x_i W for the listed rows: all columns of W in one pass over the row.

    Rows of ``out`` are rows of the data, or, with an offset >= 0, positions less the offset.
    """
    d, n_columns = X.shape[1], W.shape[1]
    for k in range(start, stop):
        i = rows[k]
        at = i if offset < 0 else k - offset
        for y in range(n_columns):
            out[at, y] = bias * W[d, y]
        for j in range(d):
            x = np.float64(X[i, j])
            for y in range(n_columns):
                out[at, y] += x * W[j, y]


@numba.njit(nogil=True, cache=True)
def pull_back_many(X, V, bias, rows, start, stop, offset, out):
    """Out += sum of x_i (outer) v_i over the listed rows; V is indexed like above."""
    d, n_columns = X.shape[1], V.shape[1]
    for k in range(start, stop):
        i = rows[k]
        at = i if offset < 0 else k - offset
        for y in range(n_columns):
            out[d, y] += bias * V[at, y]
        for j in range(d):
            x = np.float64(X[i, j])
            for y in range(n_columns):
                out[j, y] += x * V[at, y]
