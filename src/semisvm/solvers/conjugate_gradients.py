"""Conjugate gradients on the curvature of a design."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky

from semisvm.designs import Floats, vectors
from semisvm.designs.workers import Workers

# If CG has not finished after this many steps, the problem is badly scaled: from there on the
# columns are rescaled. On unit rows of text the plain method needs about half the steps of the
# rescaled one, so it is tried first.
PLAIN_STEPS = 30
# If half as many steps as there are weights do not do either, and there are no more weights than
# this, the matrix is computed and factorised: rows whose columns differ by orders of magnitude.
MOST_FACTORISED = 1_000
# To what part of the residual it then pays to go on. Every step gains many digits, until rounding
# ends that: after so many steps in a row that did not halve the residual.
TIGHT = 1e-6
MAX_IDLE_STEPS = 20

ROUNDING = float(np.finfo(np.float64).eps)

Operator = Callable[[Floats, Floats], Floats]


class Preconditioner(ABC):
    """The inverse of a matrix M that is like the one to solve with, up to a factor.

    Attributes
    ----------
    unit : float
        z, what it makes of a residual r, is this multiple of M^-1 r.
    """

    def __init__(self, unit: float) -> None:
        self.unit = unit

    @abstractmethod
    def weigh(self, r: Floats, squares: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Return r . z of each system, and z or the part of it that has all its entries.

        Parameters
        ----------
        r : array of shape (d,)
        squares : array of shape (systems,)
            r . r of each system.
        out : array of shape (d,)
            Memory for z.
        """

    @abstractmethod
    def complete(self, p: Floats) -> None:
        """Add to p what the last `weigh` has left out of z."""


class Regularizer(Preconditioner):
    """M = reg I."""

    def weigh(self, r: Floats, squares: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Return r . r and r."""
        return squares, r

    def complete(self, p: Floats) -> None:
        """Do nothing."""


class Scales(Preconditioner):
    """A diagonal M, which couples no systems."""

    def __init__(self, scales: Floats) -> None:
        super().__init__(1.0)
        self.scales = scales

    def weigh(self, r: Floats, squares: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Divide by the diagonal."""
        z = np.divide(r, self.scales, out=out)
        m = len(squares)
        return vectors.dots(r, z, m, 0, len(r) // m), z

    def complete(self, p: Floats) -> None:
        """Do nothing."""


class Factorised(Preconditioner):
    """M = H + reg I itself, by Cholesky factors of its rescaled matrices, one per system.

    Rescaled to a diagonal of ones, a matrix has eigenvalues up to n; a multiple of the identity
    that is as small as rounding makes it positive definite.

    Parameters
    ----------
    matrices : array of shape (systems, n, n)
        H of each system; changed in place.
    reg : float
    """

    def __init__(self, matrices: Floats, reg: float) -> None:
        super().__init__(1.0)
        n = matrices.shape[1]
        diagonals = np.einsum("kii->ki", matrices)
        diagonals += reg
        self.roots = 1.0 / np.sqrt(np.maximum(diagonals, reg))
        matrices *= self.roots[:, :, np.newaxis]
        matrices *= self.roots[:, np.newaxis, :]
        diagonals += 10.0 * n * ROUNDING
        # transposed, a symmetric matrix is in the order of the library, and is not copied
        options: Any = {"lower": True, "overwrite_a": True, "check_finite": False}
        self.factors = [cholesky(matrix.T, **options) for matrix in matrices]

    def weigh(self, r: Floats, squares: Floats, out: Floats) -> tuple[Floats, Floats]:
        """Solve by the factors."""
        systems = len(squares)
        parts, found = r.reshape(-1, systems), out.reshape(-1, systems)
        for k, (root, lower) in enumerate(zip(self.roots, self.factors, strict=True)):
            found[:, k] = root * cho_solve((lower, True), root * parts[:, k], check_finite=False)
        return vectors.dots(r, out, systems, 0, len(r) // systems), out

    def complete(self, p: Floats) -> None:
        """Do nothing."""


def factorised(matrices: Floats, reg: float) -> Factorised | None:
    """Return the preconditioner, or None if a matrix is not positive definite."""
    try:
        return Factorised(matrices, reg)
    except LinAlgError:
        return None


def _matrices(product: Operator, n: int, systems: int) -> Floats:
    """Compute H by products with unit vectors, one of every system at a time."""
    matrices = np.empty((systems, n, n))
    unit, column = np.zeros(n * systems), np.empty(n * systems)
    for j in range(n):
        ones = slice(j * systems, (j + 1) * systems)
        unit[ones] = 1.0
        matrices[:, :, j] = product(unit, column).reshape(n, systems).T
        unit[ones] = 0.0
    return matrices


def is_slow(steps: int, n: int) -> bool:
    """Return whether so many steps were too many for n weights, of which the matrix is small."""
    return steps >= max(n // 2, 2 * PLAIN_STEPS) and n <= MOST_FACTORISED


def solve(
    product: Operator,
    reg: float,
    rhs: Floats,
    *,
    inverse: Preconditioner | None,
    scales: Callable[[], Floats],
    stop: float,
    max_steps: int,
    workers: Workers,
    systems: int = 1,
    floor: float = 0.0,
    direct: bool = False,
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
    inverse : Preconditioner, optional
        It couples no systems either.
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
    direct : bool, default=False
        Whether to factorise the matrix at once: a system like this one was slow.
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
    n = len(rhs) // systems

    def share(kernel: Callable[..., Any], *arguments: object) -> list[Any]:
        """Run a kernel over vectors, shared by the threads."""
        if workers.n_threads == 1:
            return [kernel(*arguments, 0, n)]
        return workers.share(partial(kernel, *arguments), n, systems)

    def total(kernel: Callable[..., Floats], *arguments: object) -> Floats:
        parts = share(kernel, *arguments)
        return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)

    spare = [] if spare is None else spare
    x, q, p = (spare.pop() if spare else np.empty_like(rhs) for _ in range(3))
    r = rhs
    # z is needed only between two products, and shares the memory of q
    inverse = Regularizer(reg) if inverse is None else inverse
    exact = inverse if isinstance(inverse, Factorised) else None
    if exact is None and direct and n <= MOST_FACTORISED:
        exact = factorised(_matrices(product, n, systems), reg)
    if exact is not None:
        inverse, floor = exact, 0.0
    smallest, idle = np.inf, 0
    rz, z = inverse.weigh(r, total(vectors.dots, r, r, systems), q)
    p[...] = z
    inverse.complete(p)
    # p . M p
    least = inverse.unit * rz
    steps = 0
    while steps < max_steps:
        product(p, q)
        curvature = total(vectors.bend, q, p, reg, systems)
        if floor and np.any((curvature < floor * least) & (least < np.inf)):
            total(vectors.advance, x, r, p, q, reg, vectors.ratios(rz, least), steps == 0)
            steps += 1
            break
        if not vectors.all_bend_up(curvature, rz):
            # numbers are out of range, or a system is not positive definite: return what
            # has been found so far
            break
        alpha = vectors.ratios(rz, curvature)
        squares = total(vectors.advance, x, r, p, q, reg, alpha, steps == 0)
        steps += 1
        left = float(squares.sum())
        if left <= stop * stop:
            break
        if exact is not None:
            idle = 0 if left < 0.25 * smallest else idle + 1
            smallest = min(smallest, left)
            if idle == MAX_IDLE_STEPS:
                break
        elif is_slow(steps, n) and not is_slow(steps - 1, n):
            exact = factorised(_matrices(product, n, systems), reg)
            if exact is not None:
                inverse, rz = exact, np.full(systems, np.inf)
                stop = min(stop, TIGHT * float(np.sqrt(left)))
        elif steps == PLAIN_STEPS:
            inverse, rz = Scales(scales() + reg), np.full(systems, np.inf)
            # these scales bound the curvature from above
            floor = 0.0
        before = rz
        rz, z = inverse.weigh(r, squares, q)
        turn = vectors.ratios(rz, before)
        share(vectors.conjugate, p, z, turn)
        inverse.complete(p)
        if floor:
            least = inverse.unit * rz + turn**2 * least
    spare += [q, p]
    if not steps:
        x.fill(0.0)
    return x, r, steps
