"""Conjugate gradients on the curvature of a design."""

from collections.abc import Callable
from functools import partial

import numpy as np

from semisvm import vectors
from semisvm.designs import Floats
from semisvm.designs.workers import Workers

# If CG has not finished after this many steps, the problem is badly scaled: from there on the
# columns are rescaled. On unit rows of text the plain method needs about half the steps of the
# rescaled one, so it is tried first.
PLAIN_STEPS = 30

Operator = Callable[[Floats, Floats], Floats]


def solve(
    product: Operator,
    reg: float,
    rhs: Floats,
    *,
    inverse: Operator | None,
    scales: Callable[[], Floats],
    stop: float,
    max_steps: int,
    workers: Workers,
    floor: float = 0.0,
) -> tuple[Floats, Floats, int]:
    """Solve (reg I + H) x = rhs to a residual of norm ``stop``.

    Parameters
    ----------
    product : (p, out) -> H p
    reg : float
    rhs : array of shape (d,)
        Changed in place.
    inverse : (r, out) -> M^-1 r, optional
        Inverse of a preconditioner M.
    scales : () -> diagonal of H
        Called only if the method is slow.
    stop : float
        Norm of the residual at which to stop.
    max_steps : int
    workers : Workers
    floor : float, default=0.0
        For systems that need not be positive definite: a direction along which the curvature
        is below this multiple of that of M (or of reg, without M) is the last one, and is
        followed as far as M would go. Zero ends before a direction without curvature.

    Returns
    -------
    x : array of shape (d,)
    residual : array of shape (d,)
        rhs - (reg I + H) x.
    steps : int
    """

    def total(kernel: Callable[..., float], *arguments: object) -> float:
        """Sum a kernel over vectors, shared by the threads."""
        return float(sum(workers.share(partial(kernel, *arguments), len(rhs))))

    x, r, q = np.zeros_like(rhs), rhs, np.empty_like(rhs)
    z = r if inverse is None else inverse(r, np.empty_like(r))
    p = z.copy()
    rz = vectors.dot(r, z)
    unit = reg if inverse is None else 1.0
    # p . M p
    least = unit * rz
    steps = 0
    while steps < max_steps:
        product(p, q)
        curvature = total(vectors.regularize, q, p, reg)
        if floor and 0.0 < least < np.inf and curvature < floor * least:
            total(vectors.advance, x, r, p, q, rz / least)
            steps += 1
            break
        if not 0.0 < curvature < np.inf:
            # numbers are out of range, or the system is not positive definite: return what
            # has been found so far
            break
        rr = total(vectors.advance, x, r, p, q, rz / curvature)
        steps += 1
        if rr <= stop * stop:
            break
        if steps == PLAIN_STEPS:
            inverse, z, rz = _by_columns(scales() + reg), np.empty_like(r), np.inf
            # these scales bound the curvature from above
            floor = 0.0
        if inverse is None:
            before, rz = rz, rr
        else:
            inverse(r, z)
            before, rz = rz, vectors.dot(r, z)
        workers.share(partial(vectors.conjugate, p, z, rz / before), len(rhs))
        least = unit * rz + (rz / before) ** 2 * least
    return x, r, steps


def _by_columns(scale: Floats) -> Operator:
    """Return the inverse of a diagonal matrix."""
    return lambda r, out: np.divide(r, scale, out=out)
