r"""Support vector machines with a free intercept, by pairwise ascent in the dual (SMO).

Dual. For a positive semi-definite G, with bounds that contain zero, ::

    max_beta D(beta) = t . beta - 1/2 beta' G beta - a . beta,    sum beta = 0,
                       lower <= beta <= upper

Primal. The multiplier of the sum is the intercept b. With g = G beta + a - t, row k has the
output f_k = g_k + t_k + b and the loss ::

    l_k(f) = max over lower_k <= beta <= upper_k of beta (t_k - f)

    [0, C],  t = 1:   C max(0, 1 - f)        the hinge of a positive row
    [-C, 0], t = -1:  C max(0, 1 + f)        the hinge of a negative row
    [-C, C], t = 0:   C |f|                  a row that should have output zero

A push ``a`` stands for a given part of the weight vector that does not depend on beta; it is
zero in an ordinary SVM.

Ascent. One coordinate rises and another falls by as much, so that the sum stays zero. The
first is the one with the largest violation, the second the one with which the pair gains most
(Fan, Chen and Lin, Working set selection using second order information, JMLR 6, 2005). This
is done within a working set: the coordinates between their bounds, and those with the largest
violations. Its part of G is small and stays in the cache; then the other gradients are updated.
G is a matrix (`WholeGram`), or the inner products of the rows of a design (`RowGram`).

Certificate. Since sum beta = 0, the duality gap is a sum over rows, ::

    P - D = sum_k [ max(lower_k r_k, upper_k r_k) - beta_k r_k ],    r_k = -(g_k + b)

with no negative term, and P - min P <= P - D. The solver stops when the gap is at most
``tol`` times the sum of 1/2 beta' G beta and the losses.
"""

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from semisvm.compiling import compiled
from semisvm.designs import Design, Floats, Index
from semisvm.designs.vectors import dot

ROOM = 4_096
"""Maximum number of rows at once: their products take 128 MB."""


class Gram(Protocol):
    """A positive semi-definite matrix."""

    @property
    def room(self) -> int:
        """Maximum number of rows at once."""
        ...

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return a part of the matrix, and where these rows and columns are in it."""
        ...

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        ...


class WholeGram:
    """A small matrix, held as a whole."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = np.ascontiguousarray(matrix)

    @property
    def room(self) -> int:
        """Maximum number of rows at once."""
        return len(self._matrix)

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return the matrix, and where these rows and columns are in it."""
        return self._matrix, rows

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        out += np.einsum("k,kn->n", change, self._matrix[rows])


class RowGram:
    """Inner products of all rows of a design, of which at most those of ``ROOM`` rows are held.

    Working sets have many rows in common, also those of different classes, so the products
    of the rows seen last are kept. A product with a vector goes through the weights,
    ``X (X^T v)``: two passes over the data.
    """

    room = ROOM

    def __init__(self, design: Design) -> None:
        self._design = design
        # where each row is among the kept ones, and their products; -1 for other rows
        self._at = np.full(design.n_rows, -1, dtype=np.intp)
        self._kept: Index = np.empty(0, dtype=np.intp)
        self._products: Floats = np.empty((0, 0))

    def among(self, rows: Index) -> tuple[Floats, Index]:
        """Return the products that are kept, and where these rows and columns are in them."""
        missing = rows[self._at[rows] < 0]
        if len(self._kept) + len(missing) > self.room:
            self._at[self._kept] = -1
            self._kept, self._products, missing = self._kept[:0], np.empty((0, 0)), rows
        if len(missing):
            self._keep(missing)
        return self._products, self._at[rows]

    def _keep(self, rows: Index) -> None:
        """Compute the products of some rows with the kept rows and with each other."""
        n, k = len(self._kept), len(rows)
        self._kept = np.concatenate([self._kept, rows])
        self._at[rows] = np.arange(n, n + k)
        self._reserve(n, n + k)
        design = self._design
        found = design.products(design.rows(rows), design.rows(self._kept))
        self._products[n : n + k, : n + k] = found
        self._products[:n, n : n + k] = found[:, :n].T

    def _reserve(self, n: int, size: int) -> None:
        """Make room for the products of more rows, for twice as many where that fits."""
        if size > len(self._products):
            most = min(self.room, self._design.n_rows)
            larger = np.empty((max(size, min(2 * size, most)),) * 2)
            larger[:n, :n] = self._products[:n, :n]
            self._products = larger

    def add(self, rows: Index, change: Floats, out: Floats) -> None:
        """Add to ``out`` the product with a vector: ``change`` on the rows, zero elsewhere."""
        design, spread = self._design, np.zeros(self._design.n_rows)
        spread[rows] = change
        w = design.pull_back(spread, design.rows(rows), np.empty(design.n_weights))
        out += design.scores(w, design.all_rows, spread)


# Pairs to move between two looks at the largest violation. Rounding may keep it from falling: the
# ascent ends after so many looks in a row at which it has not shrunk.
MOVES = 10_000
SHRINKING = 0.95
MAX_IDLE = 30
EPSILON = float(np.finfo(np.float64).eps)
# Largest violation by a pair, in units of outputs, at which the gap is first computed; it is
# lowered until the gap is small, or to the limit of double precision.
FIRST_VIOLATION = 1e-3
LAST_VIOLATION = 1e-13
TIGHTEN = 0.1
# Within a working set the ascent continues until the violation is this fraction of the first.
INSIDE = 0.1
# Fraction of the largest diagonal entry below which the curvature of a pair counts as zero.
FLAT = 1e-12
# Part of the diagonal that is added to the inner products of free rows, of which some may be equal.
RIDGE = 1e-9
# Size of a working set; more if more coordinates are between their bounds.
FEW = 256


@dataclass(frozen=True)
class PairProblem:
    """A dual with bounds and a sum of zero.

    Attributes
    ----------
    gram : Gram
        G.
    target : array of shape (n,)
        t: 1 and -1 for rows of the two classes.
    lower, upper : arrays of shape (n,)
        With lower <= 0 <= upper; some lower bounds below zero, some upper bounds above.
    push : array of shape (n,)
        a: outputs of the given part of the weights.
    """

    gram: Gram
    target: Floats
    lower: Floats
    upper: Floats
    push: Floats

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.target)


def hinge_problem(gram: Gram, positive: NDArray[np.bool_], cost: Floats) -> PairProblem:
    """Return the dual of an SVM: rows of two classes with one cost per row."""
    target = np.where(positive, 1.0, -1.0)
    lower, upper = np.where(positive, 0.0, -cost), np.where(positive, cost, 0.0)
    return PairProblem(gram, target, lower, upper, np.zeros(len(target)))


@dataclass
class PairState:
    """Duals and derived quantities; the solver changes it in place.

    Attributes
    ----------
    beta : array of shape (n,)
    gradient : array of shape (n,)
        g = G beta + a - t.
    intercept : float
    loss : float
        Sum of the losses l_k.
    curvature : float
        beta' G beta.
    gap : float
        P - D, a bound on the error of the primal objective.
    violation : float
        Largest violation by a pair of coordinates.
    n_iter : int
        Number of pairs moved.
    converged : bool
    """

    beta: Floats
    gradient: Floats
    intercept: float = 0.0
    loss: float = np.inf
    curvature: float = np.inf
    gap: float = np.inf
    violation: float = np.inf
    n_iter: int = 0
    converged: bool = False

    @classmethod
    def zero(cls, problem: PairProblem) -> Self:
        """Start with all duals at zero, which needs no column."""
        return cls(np.zeros(problem.size), problem.push - problem.target)

    @classmethod
    def at(cls, problem: PairProblem, beta: Floats) -> Self:
        """Start with given duals (copied), within the bounds and with sum zero."""
        state = cls.zero(problem)
        state.beta[:] = beta
        problem.gram.add(np.arange(problem.size), beta, state.gradient)
        return state

    @property
    def scale(self) -> float:
        """The value to which the gap is relative."""
        return 0.5 * self.curvature + self.loss


def solve_pairs(problem: PairProblem, state: PairState, *, tol: float, max_iter: int) -> PairState:
    """Maximise the dual from a state, in place.

    Parameters
    ----------
    problem : PairProblem
    state : PairState
        Start: duals within the bounds with sum zero, and their gradient.
    tol : float
        Gap at which to stop, relative to ``state.scale``.
    max_iter : int
        Maximum number of pairs to move.
    """
    state.n_iter = 0
    violation = FIRST_VIOLATION
    while True:
        finished = _ascend(problem, state, violation, max_iter)
        certify(problem, state)
        state.converged = state.gap <= tol * state.scale
        if state.converged or not finished or violation <= LAST_VIOLATION:
            return state
        violation *= TIGHTEN


def _ascend(problem: PairProblem, state: PairState, violation: float, max_iter: int) -> bool:
    """Move pairs until none violates; return False if that takes too many, or leads nowhere."""
    smallest, idle, noise = np.inf, 0, 0.0
    while True:
        highest, lowest = _wishes(problem, state)
        if not highest - lowest > violation:
            return True
        idle = 0 if highest - lowest < SHRINKING * smallest else idle + 1
        smallest = min(smallest, highest - lowest) if idle == 0 else smallest
        # once violations are rounding errors, one look is enough
        stuck = idle > 0 if highest - lowest <= noise else idle == MAX_IDLE
        if state.n_iter >= max_iter or stuck:
            return False
        rows = _working_set(problem, state, 0.5 * (highest + lowest))
        beta, gradient = state.beta[rows], state.gradient[rows]
        products, at = problem.gram.among(rows)
        # a gradient is a sum of products: its error is at least that of the largest of them
        noise = EPSILON * float(np.max(products[at, at] * np.abs(beta)))
        state.n_iter += _move_pairs(
            products,
            at,
            problem.lower[rows],
            problem.upper[rows],
            beta,
            gradient,
            max(violation, INSIDE * (highest - lowest)),
            min(max_iter - state.n_iter, MOVES),
        )
        problem.gram.add(rows, beta - state.beta[rows], state.gradient)
        state.beta[rows] = beta


@compiled
def _move(gradient, step, rising, falling, beta, lower, upper):
    """Update the gradient for a step; return the coordinate that gains most by rising.

    Also return the largest and the smallest of -gradient among the coordinates that can rise
    and fall. One pass does both, since steps are short and many.
    """
    best, highest, lowest = -1, -np.inf, np.inf
    for k in range(gradient.shape[0]):
        g = gradient[k] + step * (rising[k] - falling[k])
        gradient[k] = g
        if beta[k] < upper[k] and -g > highest:
            highest = -g
            best = k
        if beta[k] > lower[k] and -g < lowest:
            lowest = -g
    return best, highest, lowest


@compiled
def _partner(column, i, highest, diagonal, floor, beta, gradient, lower):
    """Find the coordinate that gains most by falling while i rises."""
    best, most = -1, 0.0
    for k in range(beta.shape[0]):
        gap = highest + gradient[k]
        if gap > 0.0 and beta[k] > lower[k]:
            curvature = max(diagonal[i] + diagonal[k] - 2.0 * column[k], floor)
            # compare before the division, which is expensive
            if gap * gap > most * curvature:
                most = gap * gap / curvature
                best = k
    return best


@compiled
def _row(G, at, i, rows, known):
    """Return the products of coordinate i with all others, gathered when first needed."""
    row = rows[i]
    if not known[i]:
        known[i] = True
        whole = G[at[i]]
        for k in range(at.shape[0]):
            row[k] = whole[at[k]]
    return row


@compiled
def _move_pairs(G, at, lower, upper, beta, gradient, violation, max_steps):
    """Move pairs of coordinates until none violates by more; return the number of steps.

    Coordinate k is row and column ``at[k]`` of G. Few of its rows are needed.
    """
    n = at.shape[0]
    rows, known, diagonal = np.empty((n, n)), np.zeros(n, dtype=np.bool_), np.empty(n)
    for k in range(n):
        diagonal[k] = G[at[k], at[k]]
    floor = 1e-300
    for k in range(diagonal.shape[0]):
        floor = max(floor, diagonal[k])
    floor *= FLAT
    i, highest, lowest = _move(gradient, 0.0, diagonal, diagonal, beta, lower, upper)
    steps = 0
    while highest - lowest > violation and steps < max_steps:
        rising = _row(G, at, i, rows, known)
        j = _partner(rising, i, highest, diagonal, floor, beta, gradient, lower)
        falling = _row(G, at, j, rows, known)
        curvature = max(diagonal[i] + diagonal[j] - 2.0 * rising[j], floor)
        room_above, room_below = upper[i] - beta[i], beta[j] - lower[j]
        step = min((gradient[j] - gradient[i]) / curvature, room_above, room_below)
        # bounds are reached exactly
        beta[i] = upper[i] if step == room_above else beta[i] + step
        beta[j] = lower[j] if step == room_below else beta[j] - step
        i, highest, lowest = _move(gradient, step, rising, falling, beta, lower, upper)
        steps += 1
    return steps


def _wishes(problem: PairProblem, state: PairState) -> tuple[float, float]:
    """Return the largest -gradient that can rise and the smallest that can fall.

    If the first is not above the second, the duals are optimal, with any intercept between
    the two.
    """
    wish = -state.gradient
    highest = wish[state.beta < problem.upper].max()
    lowest = wish[state.beta > problem.lower].min()
    return float(highest), float(lowest)


def _working_set(problem: PairProblem, state: PairState, intercept: float) -> Index:
    """List the coordinates between their bounds, then those with the largest violations."""
    if problem.size <= FEW:
        return np.arange(problem.size)
    rest = -state.gradient - intercept
    above, below = state.beta > problem.lower, state.beta < problem.upper
    rise, fall = np.where(below, rest, -np.inf), np.where(above, -rest, -np.inf)
    first = above & below
    size = min(max(FEW, 2 * int(np.count_nonzero(first))), problem.gram.room)
    # the pair with the largest violation is always included, so every working set progresses
    first[[rise.argmax(), fall.argmax()]] = True
    return np.sort(np.lexsort((-np.maximum(rise, fall), ~first))[:size])


def certify(problem: PairProblem, state: PairState) -> None:
    """Measure intercept, losses and the duality gap at the gradient of a state."""
    highest, lowest = _wishes(problem, state)
    state.violation = max(highest - lowest, 0.0)
    state.intercept = 0.5 * (highest + lowest)
    rest = -state.gradient - state.intercept
    losses = np.maximum(problem.lower * rest, problem.upper * rest)
    state.loss = float(losses.sum())
    state.gap = max(state.loss - dot(state.beta, rest), 0.0)
    products = state.gradient + problem.target - problem.push
    state.curvature = max(dot(state.beta, products), 0.0)


def leverages(problem: PairProblem, state: PairState, rows: Index) -> Floats:
    r"""Compute by how much the outputs of some rows fall without the row, per unit of its dual.

    A row is free if its dual is between its bounds; its output is then its target. Let row j leave
    a hinge SVM, and let no other row begin or cease to be free. The weights then change by
    dw = -beta_j x_j + sum_i d_i x_i, over the free rows i, where the duals still sum to zero and
    the free rows keep their outputs: ::

        sum_i d_i = beta_j,        dw . x_i + db = 0

    So with a_i = d_i / beta_j, sum_i a_i = 1, dw = -beta_j (x_j - sum_i a_i x_i) is orthogonal to
    the differences of free rows: sum_i a_i x_i is the point nearest to x_j of their affine hull.
    The output of row j becomes ::

        f(x_j) + dw . x_j + db = f(x_j) - beta_j k_j

    with k_j the squared distance of x_j from that hull, without x_j if it is free itself: the span
    rule of Vapnik and Chapelle (Bounds on error expectation for support vector machines, 2000).

    Parameters
    ----------
    problem : PairProblem
        Of more than ``gram.room`` rows at once, the last free ones are left out.
    state : PairState
    rows : array of indices

    Returns
    -------
    k : array of shape (len(rows),)
        Infinite where no other row is free.
    """
    between = (state.beta > problem.lower) & (state.beta < problem.upper)
    listed, others = rows[between[rows]], rows[~between[rows]]
    rest = np.setdiff1d(np.flatnonzero(between), listed, assume_unique=True)
    free = np.concatenate([listed, rest[: max(problem.gram.room - len(rows), 0)]])
    k = np.full(len(rows), np.inf)
    if not len(free):
        return k
    products, at = problem.gram.among(np.concatenate([free, others]))
    inside, outside = at[: len(free)], at[len(free) :]
    G = products[np.ix_(inside, inside)]
    # a singular matrix of zeros has some ridge too
    G[np.diag_indices_from(G)] += RIDGE * max(float(np.trace(G)) / len(G), RIDGE)
    factor = cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    one = cho_solve(factor, np.ones(len(free)), check_finite=False)
    near = products[np.ix_(inside, outside)]
    a = cho_solve(factor, near, check_finite=False)
    beyond = (1.0 - a.sum(axis=0)) ** 2 / one.sum()
    distance = products[outside, outside] - np.einsum("fr,fr->r", near, a) + beyond
    k[~between[rows]] = np.maximum(distance, 0.0)
    if len(free) > 1 and len(listed):
        # the Schur complement of each of these rows is one over the diagonal of the inverse
        units = np.eye(len(free), len(listed))
        inverse = np.diagonal(cho_solve(factor, units, check_finite=False)).copy()
        inverse -= one[: len(listed)] ** 2 / one.sum()
        k[between[rows]] = 1.0 / np.maximum(inverse, np.finfo(float).tiny)
    return k
