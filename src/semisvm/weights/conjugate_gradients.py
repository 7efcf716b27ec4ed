"""Conjugate gradients on the curvature of a design."""

from collections.abc import Callable

import numpy as np

from semisvm import vectors
from semisvm.designs import Floats

# CG that has not finished after so many steps is badly scaled: from there on the columns
# are rescaled. On unit rows of text the plain method needs about half the steps of the
# rescaled one, so it goes first.
PLAIN_STEPS = 30


def solve(
    product: Callable[[Floats, Floats], Floats],
    scales: Callable[[], Floats],
    reg: float,
    rhs: Floats,
    *,
    stop: float,
    max_steps: int,
) -> tuple[Floats, int]:
    """Solve (reg I + H) x = rhs to a residual of norm ``stop``.

    Parameters
    ----------
    product : (p, out) -> H p
    scales : () -> diagonal of H
        Asked for only if the plain method is slow.
    reg : float
    rhs : array of shape (d,)
    stop : float
        Norm of the residual at which to stop.
    max_steps : int

    Returns
    -------
    x : array of shape (d,)
    steps : int
    """
    x, r, q = np.zeros_like(rhs), rhs.copy(), np.empty_like(rhs)
    scale = np.ones_like(rhs)
    p = r.copy()
    rz = vectors.scaled_product(r, scale)
    steps = 0
    while steps < max_steps:
        product(p, q)
        curvature = vectors.regularize(q, p, reg)
        if not 0.0 < curvature < np.inf:
            # the numbers have run out of range: what has been found so far must do
            break
        rr = vectors.advance(x, r, p, q, rz / curvature)
        steps += 1
        if rr <= stop * stop:
            break
        if steps == PLAIN_STEPS:
            scale = scales() + reg
            beta, rz = 0.0, vectors.scaled_product(r, scale)
        else:
            before, rz = rz, vectors.scaled_product(r, scale)
            beta = rz / before
        vectors.conjugate(p, r, scale, beta)
    return x, steps
