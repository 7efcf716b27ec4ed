"""Compiled operations on vectors and small matrices; self-contained for numba's cache.

Several steps over the same vectors are one pass here, and threads can share a pass.

The vectors of conjugate gradients may hold m systems in turns: entry k belongs to system
k % m, positions ``start..stop`` count turns, and there is one coefficient and one sum per
system. A tile of whole turns is processed at a time, because the compiler vectorises a loop
over a slice from its beginning but not one between arbitrary bounds.
"""

import numpy as np
from numpy.typing import NDArray

from semisvm.compiling import compiled

_SUMS = {"reassoc", "contract"}
TILE = 512


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
def blend(s, a, t, b):
    """Replace a by s a + t b."""
    for j in range(a.shape[0]):
        a[j] = s * a[j] + t * b[j]


@compiled(fastmath=_SUMS)
def dots_with(step, a, b):
    """Return step . step, step . a and step . b."""
    own = 0.0
    first = 0.0
    second = 0.0
    for j in range(step.shape[0]):
        v = step[j]
        own += v * v
        first += v * a[j]
        second += v * b[j]
    return own, first, second


@compiled
def _width(m):
    """Length of a tile: whole turns of the m systems."""
    return m * max(1, TILE // m)


@compiled
def _turns(values, width):
    """Repeat one number per system over a tile."""
    out = np.empty(width)
    for k in range(width):
        out[k] = values[k % values.shape[0]]
    return out


@compiled
def _folded(total, m):
    """Add up the entries of a tile, per system."""
    out = np.zeros(m)
    for k in range(total.shape[0]):
        out[k % m] += total[k]
    return out


@compiled(fastmath=_SUMS)
def _bend(q, p, reg, total):
    for k in range(q.shape[0]):
        total[k] += (q[k] + reg * p[k]) * p[k]


@compiled(fastmath=_SUMS)
def _advance(x, r, p, q, reg, alpha, total):
    for k in range(x.shape[0]):
        x[k] += alpha[k] * p[k]
        v = r[k] - alpha[k] * (q[k] + reg * p[k])
        r[k] = v
        total[k] += v * v


@compiled(fastmath=_SUMS)
def _conjugate(p, z, beta):
    for k in range(p.shape[0]):
        p[k] = z[k] + beta[k] * p[k]


@compiled(fastmath=_SUMS)
def _dots(a, b, total):
    for k in range(a.shape[0]):
        total[k] += a[k] * b[k]


@compiled
def bend(q, p, reg, m, start, stop):
    """Return p . (q + reg p) of each system."""
    width = _width(m)
    total = np.zeros(width)
    for j in range(start * m, stop * m, width):
        end = min(j + width, stop * m)
        _bend(q[j:end], p[j:end], reg, total)
    return _folded(total, m)


@compiled
def advance(x, r, p, q, reg, alpha, first, start, stop):
    """X += alpha p; r -= alpha (q + reg p); return r . r of each system.

    In the first step x is zero, whatever it holds.
    """
    m = alpha.shape[0]
    width = _width(m)
    each = _turns(alpha, width)
    total = np.zeros(width)
    for j in range(start * m, stop * m, width):
        end = min(j + width, stop * m)
        if first:
            x[j:end] = 0.0
        _advance(x[j:end], r[j:end], p[j:end], q[j:end], reg, each, total)
    return _folded(total, m)


@compiled
def conjugate(p, z, beta, start, stop):
    """P = z + beta p."""
    m = beta.shape[0]
    width = _width(m)
    each = _turns(beta, width)
    for j in range(start * m, stop * m, width):
        end = min(j + width, stop * m)
        _conjugate(p[j:end], z[j:end], each)


@compiled
def dots(a, b, m, start, stop):
    """Return a . b of each system."""
    width = _width(m)
    total = np.zeros(width)
    for j in range(start * m, stop * m, width):
        end = min(j + width, stop * m)
        _dots(a[j:end], b[j:end], total)
    return _folded(total, m)


def ratios(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a / b of each system, and zero where b is: what is solved exactly stays there."""
    with np.errstate(all="ignore"):
        return np.divide(a, b, out=np.zeros(len(a)), where=b != 0.0)


@compiled
def all_bend_up(curvature, rz):
    """Return whether all systems curve up along their directions, except those already solved.

    False if all are solved.
    """
    some = False
    for k in range(curvature.shape[0]):
        if 0.0 < curvature[k] < np.inf:
            some = True
        elif rz[k] != 0.0:
            return False
    return some


@compiled
def scatter(p, q, scale, index, a, b, start, stop):
    """a_i = scale_k p_k and b_i = scale_k q_k for i = index_k; a single scale holds for all."""
    equal = scale.shape[0] == 1
    for k in range(start, stop):
        i = index[k]
        s = scale[0] if equal else scale[k]
        a[i] = s * p[k]
        b[i] = s * q[k]


@compiled
def gather(a, b, scale, index, p, q, start, stop):
    """p_k = scale_k a_i and q_k = scale_k b_i for i = index_k; a single scale holds for all."""
    equal = scale.shape[0] == 1
    for k in range(start, stop):
        i = index[k]
        s = scale[0] if equal else scale[k]
        p[k] = s * a[i]
        q[k] = s * b[i]


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


@compiled
def _cholesky(a):
    """Replace the lower triangle of a by its Cholesky factor; False if there is none."""
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - dot(a[i, :j], a[j, :j])) / a[j, j]
        rest = a[i, i] - dot(a[i, :i], a[i, :i])
        if not 0.0 < rest < np.inf:
            return False
        a[i, i] = np.sqrt(rest)
    return True


def list_systems(
    roots: NDArray[np.float64], usual: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """List, for each system, the rows to factorise; see `woodbury.Factors`.

    Return whether the systems are alone, the rows, where the lists end, and where factors start.
    """
    inside = roots != 0.0
    as_usual = (~inside | (roots == usual)).all(axis=1)
    alone = ~as_usual | (2 * inside.sum(axis=1) < roots.shape[1])
    listed = inside == alone[:, None]
    counts = np.concatenate([[0], listed.sum(axis=1)])
    rows = np.ascontiguousarray(np.nonzero(listed)[1])
    return alone, rows, np.cumsum(counts), np.cumsum(counts**2)


@compiled
def factorise_systems(
    roots, alone, rows, ends, lower, starts, old, old_starts, changed, skipped, gram, inverse
):
    """Fill the Cholesky factors of several systems; see `woodbury.Factors`.

    Systems that have not changed keep their old factors. Return False if one has no factor.
    """
    for k in range(alone.shape[0]):
        if skipped[k]:
            continue
        own = rows[ends[k] : ends[k + 1]]
        n = own.shape[0]
        factor = lower[starts[k] : starts[k + 1]]
        if not changed[k]:
            # a loop: an assignment of slices compiles the message of an error, for over a second
            for i in range(factor.shape[0]):
                factor[i] = old[old_starts[k] + i]
            continue
        a = factor.reshape((n, n))
        for i in range(n):
            for j in range(i + 1):
                if alone[k]:
                    a[i, j] = roots[k, own[i]] * gram[own[i], own[j]] * roots[k, own[j]]
                else:
                    a[i, j] = inverse[own[i], own[j]]
            if alone[k]:
                a[i, i] += 1.0
        if not _cholesky(a):
            return False
    return True


@compiled
def solve_systems(roots, alone, rows, ends, lower, starts, inverse, scores, gains):
    """Replace scores (n, m) of the rows by their moves; see `woodbury`.

    A move is minus the root times the solution of the system for the roots times the scores, and
    a gain the product of the latter two. Systems take turns.
    """
    n, m = scores.shape
    x = np.empty(n)
    y = np.empty(n)
    for k in range(m):
        f = k % alone.shape[0]
        own = rows[ends[f] : ends[f + 1]]
        part = np.empty(own.shape[0])
        factor = lower[starts[f] : starts[f + 1]].reshape((own.shape[0], own.shape[0]))
        for i in range(n):
            x[i] = roots[f, i] * scores[i, k]
            y[i] = 0.0
        if not alone[f]:
            for i in range(n):
                y[i] = dot(inverse[i], x)
        for i in range(own.shape[0]):
            part[i] = x[own[i]] if alone[f] else y[own[i]]
        solve_factored(factor, part)
        for i in range(own.shape[0]):
            if alone[f]:
                y[own[i]] = part[i]
            else:
                add(y, -part[i], inverse[own[i]])
        gains[k] = dot(x, y)
        for i in range(n):
            scores[i, k] = -roots[f, i] * y[i]
