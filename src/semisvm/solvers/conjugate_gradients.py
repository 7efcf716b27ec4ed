"""Conjugate gradients on the curvature of a design."""

from collections.abc import Callable
from functools import partial
from typing import Any

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
    systems: int = 1,
    floor: float = 0.0,
    spare: list[Floats] | None = None,
) -> tuple[Floats, Floats, int]:
    """Solve (reg I + H) x = rhs to a residual of norm ``stop``.

    If H couples no two of several systems, each gets step lengths of its own, and products
    are computed for all of them at once. One step length for all would take more steps: the
    spectra differ.

    Parameters
    ----------
    product : (p, out) -> H p
    reg : float
    rhs : array of shape (d,)
        Changed in place.
    inverse : (r, out) -> M^-1 r, optional
        Inverse of a preconditioner M, which couples no systems either.
    scales : () -> diagonal of H
        Called only if the method is slow.
    stop : float
        Norm of the residual, over all systems, at which to stop.
    max_steps : int
    workers : Workers
    systems : int, default=1
        Number of independent systems; entry k of a vector belongs to system k % systems.
    floor : float, default=0.0
        For systems that need not be positive definite: a direction along which the curvature
        is below this multiple of that of M (or of reg, without M) is the last one, and is
        followed as far as M would go. Zero ends before a direction without curvature.
    spare : list of arrays of shape (d,), optional
        Vectors to use, and to give back, instead of new ones: new memory takes longer to get
        than to fill.

    Returns
    -------
    x : array of shape (d,)
    residual : array of shape (d,)
        rhs - (reg I + H) x.
    steps : int
    """

    def share(kernel: Callable[..., Any], *arguments: object) -> list[Any]:
        """Run a kernel over vectors, shared by the threads."""
        return workers.share(partial(kernel, *arguments), len(rhs) // systems, systems)

    def total(kernel: Callable[..., Floats], *arguments: object) -> Floats:
        parts = share(kernel, *arguments)
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)

    spare = [] if spare is None else spare
    x, q, p = (spare.pop() if spare else np.empty_like(rhs) for _ in range(3))
    r = rhs
    if inverse is None:
        p[...] = r
    else:
        inverse(r, p)
    # z is needed only between two products, and shares the memory of q
    z = r if inverse is None else q
    rz = total(vectors.dots, r, p, systems)
    unit = reg if inverse is None else 1.0
    # p . M p
    least = unit * rz
    steps = 0
    while steps < max_steps:
        product(p, q)
        curvature = total(vectors.bend, q, p, reg, systems)
        if floor and np.any((curvature < floor * least) & (least < np.inf)):
            total(vectors.advance, x, r, p, q, reg, _ratio(rz, least), steps == 0)
            steps += 1
            break
        if not _usable(curvature, rz):
            # numbers are out of range, or a system is not positive definite: return what
            # has been found so far
            break
        rr = total(vectors.advance, x, r, p, q, reg, _ratio(rz, curvature), steps == 0)
        steps += 1
        if rr.sum() <= stop * stop:
            break
        if steps == PLAIN_STEPS:
            inverse, z, rz = _by_columns(scales() + reg), q, np.full(systems, np.inf)
            # these scales bound the curvature from above
            floor = 0.0
        if inverse is None:
            before, rz = rz, rr
        else:
            inverse(r, z)
            before, rz = rz, total(vectors.dots, r, z, systems)
        turn = _ratio(rz, before)
        share(vectors.conjugate, p, z, turn)
        if floor:
            least = unit * rz + turn**2 * least
    spare += [q, p]
    if not steps:
        x.fill(0.0)
    return x, r, steps


def _usable(curvature: Floats, rz: Floats) -> bool:
    """Tell whether all systems curve up along their directions, except those already solved."""
    if curvature.min() > 0.0 and curvature.max() < np.inf:
        return True
    bent = ~((curvature > 0.0) & (curvature < np.inf))
    return not (bent.all() or rz[bent].any())


def _ratio(a: Floats, b: Floats) -> Floats:
    """Divide; systems that are solved exactly stay where they are."""
    return a / b if b.all() else np.divide(a, b, out=np.zeros_like(a), where=b != 0.0)


def _by_columns(scale: Floats) -> Operator:
    """Return the inverse of a diagonal matrix."""
    return lambda r, out: np.divide(r, scale, out=out)
