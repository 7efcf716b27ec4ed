r"""The 1-norm SVM with the hinge as a program: linear, or with labels to choose mixed-integer.

The linear program (`HingeProgram`) is solved again for new costs.

With rows x_k, signs t_k and costs c_k >= 0 it minimises over weights w and an intercept b ::

    mu ||w||_1 + sum_k c_k max(0, 1 - t_k (w . x_k + b)),        mean . w + b = level

where the equation is optional, and mu may be one number or one per weight. Its dual has one
variable per row and one constraint per weight, ::

    max sum_k u_k + level v,    |sum_k t_k u_k x_k + v mean| <= mu,
                                 sum_k t_k u_k + v = 0,    0 <= u_k <= c_k

and w and b are the multipliers of its constraints. New costs only change the bounds of the
u_k. The multipliers stay feasible, so the dual simplex method starts from the last basis, and
a column of cost zero has no effect. New values of mu only change the sides of the constraints:
the same holds.

`LabelProgram` finds the labels of unlabelled rows as well, by integer variables.
"""

from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from semisvm.designs.base import Floats
from semisvm.solvers.highs import LinearModel
from semisvm.solvers.programs import (
    LinearProgram,
    LinearSolution,
    MixedIntegerProgram,
    ProgramError,
    Status,
)

MAX_GAP = 1e-5
"""Relative difference of the two objectives beyond which the solution cannot be trusted."""
ROUNDING = 1e-12
"""Weights and sums of costs smaller than this, relative to the largest, count as zero."""


@dataclass(frozen=True)
class Balance:
    """The equation mean . w + b = level.

    Attributes
    ----------
    mean : array of shape (d,)
        Mean of the unlabelled rows.
    level : float
        Their required mean output.
    """

    mean: Floats
    level: float


@dataclass(frozen=True)
class HingeSolution:
    """Weights and their objective.

    Attributes
    ----------
    w : array of shape (d + 1,)
        The intercept comes last.
    norm : float
        ||w||_1 without the intercept.
    loss : float
        Sum of the hinges times their costs.
    value : float
        The objective, computed from the weights.
    bound : float
        The dual objective: up to rounding, a lower bound for all weights.
    pivots : int
        Number of steps of the simplex method.
    """

    w: Floats
    norm: float
    loss: float
    value: float
    bound: float
    pivots: int


class HingeProgram:
    """The linear program for given rows; costs are passed to `solve`.

    Parameters
    ----------
    X : {array, CSR matrix} of shape (k, d)
    signs : array of shape (k,)
        1 or -1.
    mu : float or array of shape (d,)
        Weight of the 1-norm, or of each absolute value in it; 0 leaves it out.
    balance : Balance, optional
    """

    def __init__(
        self, X: Any, signs: Floats, mu: Floats | float, balance: Balance | None = None
    ) -> None:
        self._X = sparse.csr_matrix(X, dtype=np.float64)
        self._signs = signs
        self.mu = np.broadcast_to(np.asarray(mu, dtype=np.float64), (self._X.shape[1],))
        self._balance = balance
        self._model = LinearModel(self._dual())

    def _dual(self) -> LinearProgram:
        k = self._X.shape[0]
        signs = sparse.csr_matrix(self._signs[:, None])
        columns = sparse.hstack([self._X.multiply(signs), signs], format="csr")
        cost, lower = -np.ones(k), np.zeros(k)
        if self._balance is not None:
            more = sparse.csr_matrix(np.append(self._balance.mean, 1.0))
            columns = sparse.vstack([columns, more], format="csr")
            cost = np.append(cost, -self._balance.level)
            lower = np.append(lower, -np.inf)
        sides = np.append(self.mu, 0.0)
        return LinearProgram(cost, columns.T, -sides, sides, lower, np.inf)

    def change_mu(self, mu: Floats) -> None:
        """Replace the weights of the absolute values."""
        self.mu = mu
        sides = np.append(mu, 0.0)
        self._model.change_sides(-sides, sides)

    def solve(self, costs: Floats) -> HingeSolution:
        """Solve for given costs, from the last basis.

        Among equally good intercepts the middle one is taken; a balance determines the
        intercept.

        Parameters
        ----------
        costs : array of shape (k,)
            Costs of the rows, not negative.

        Raises
        ------
        ProgramError
        """
        found = self._solve_dual(costs)
        w = -found.row_duals
        weights = w[:-1]
        weights[np.abs(weights) <= ROUNDING * np.abs(weights).max(initial=0.0)] = 0.0
        outputs = self._X @ weights
        if self._balance is None:
            w[-1] = middle_intercept(outputs, self._signs, costs)
        else:
            w[-1] = self._balance.level - float(self._balance.mean @ weights)
        below = np.maximum(1.0 - self._signs * (outputs + w[-1]), 0.0)
        norm = float(np.abs(weights).sum())
        loss = float(costs @ below)
        value, bound = float(self.mu @ np.abs(weights)) + loss, -found.objective
        # at w = 0 the objective is at most the sum of the costs, which sets the scale
        if not abs(value - bound) <= MAX_GAP * max(value, 1e-3 * float(costs.max())):
            raise ProgramError(Status.TROUBLE, "the linear program of a 1-norm SVM")
        return HingeSolution(w, norm, loss, value, bound, found.pivots)

    def bound(self, costs: Floats) -> float:
        """Return the dual objective: a lower bound for all weights.

        With mu = 0 the weights may be too large to compute an objective from them.
        """
        return -self._solve_dual(costs).objective

    def _solve_dual(self, costs: Floats) -> LinearSolution:
        free = 0 if self._balance is None else 1
        lower = np.append(np.zeros(len(costs)), np.full(free, -np.inf))
        self._model.change_bounds(lower, np.append(costs, np.full(free, np.inf)))
        return self._model.solve()


def middle_intercept(outputs: Floats, signs: Floats, costs: Floats) -> float:
    """Minimise sum_k c_k max(0, 1 - t_k (o_k + b)) over b; return the middle minimiser.

    For small b the slope is minus the costs of the positive rows. It grows by c_k where b
    passes t_k - o_k, so the minimisers lie between the breakpoints at which it changes sign.

    Parameters
    ----------
    outputs, signs, costs : arrays of shape (k,)
        Both signs must have rows of positive cost.
    """
    used = costs > 0.0
    breaks, steps = (signs - outputs)[used], costs[used]
    order = np.argsort(breaks)
    fall = float(steps[signs[used] > 0.0].sum())
    slopes = np.cumsum(steps[order]) - fall
    rounding = ROUNDING * float(steps.sum())
    first = int(np.argmax(slopes >= -rounding))
    last = int(np.argmax(slopes > rounding))
    return 0.5 * float(breaks[order[first]] + breaks[order[last]])


SLACK = 1e-6
"""Relative slack of the bounds, as a protection against rounding."""
ROUNDS = 10
WORTH_A_ROUND = 0.9
"""Another round of tightening is made if the last one left less than this fraction of the width."""


@dataclass(frozen=True)
class LabelProgram:
    r"""The semi-supervised SVM with the 1-norm as a mixed-integer program.

    With labelled rows (x_i, y_i) and unlabelled rows x_j it minimises exactly, over w and b, ::

        sum_i max(0, 1 - y_i f(x_i)) + mu ||w||_1 + nu sum_j max(0, 1 - abs(f(x_j)))

    Let the output of an unlabelled row lie between lo < 0 < hi. A binary variable z is 1 for the
    positive label, and the output is the sum of a positive and a negative part, ::

        f = p + q,    0 <= p <= hi z,    lo (1 - z) <= q <= 0,
        cost = max(0, z - p) + max(0, 1 - z + q)

    so one part and one term of the cost are zero. This is the tightest linear formulation of one
    row. It needs finite bounds, and the tighter they are, the sooner the search ends. They come
    from the data: only points with an objective of at most J matter, where J is the objective of
    a known model. So a positive row i has f_i >= 1 - J, the 1-norm is at most J / mu, and with
    D_ij the largest difference of two rows in a column ::

        f_j >= 1 - J max(1, D_ij / mu)

    Linear programs then tighten the bounds; the label of a row whose bounds have the same sign is
    decided.

    Attributes
    ----------
    labeled : array of shape (l, d)
    signs : array of shape (l,)
        1 or -1, both at least once.
    unlabeled : array of shape (u, d)
    mu, nu : float
    balance : Balance, optional
    size, unit : float
        Divisors of rows and costs; see `scaled`.
    """

    labeled: Floats
    signs: Floats
    unlabeled: Floats
    mu: float
    nu: float
    balance: Balance | None = None
    size: float = 1.0
    unit: float = 1.0

    def scaled(self, objective: float) -> Self:
        """Return the same program, scaled for a solver with absolute tolerances.

        Entries of the rows become at most 1, the weights grow accordingly, and costs are in
        units of ``objective``, that of a known model.
        """
        size = max(float(np.abs(self.labeled).max()), float(np.abs(self.unlabeled).max()))
        if not size > 0.0 or not objective > 0.0:
            return self
        balance = self.balance and replace(self.balance, mean=self.balance.mean / size)
        return replace(
            self,
            labeled=self.labeled / size,
            unlabeled=self.unlabeled / size,
            mu=self.mu / size,
            balance=balance,
            size=size,
            unit=objective,
        )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Number of columns, of labelled rows and of unlabelled rows."""
        return self.labeled.shape[1], len(self.labeled), len(self.unlabeled)

    def first_bounds(self, objective: float) -> tuple[Floats, Floats]:
        """Compute bounds on the outputs of all models with at most this objective.

        Returns
        -------
        lo, hi : arrays of shape (u,)
        """
        far = pairwise_distances(self.labeled, self.unlabeled, metric="chebyshev")
        reach = np.maximum(1.0, far / self.mu)
        lo = 1.0 - objective * reach[self.signs > 0.0].min(axis=0)
        hi = objective * reach[self.signs < 0.0].min(axis=0) - 1.0
        return loosened(lo, hi)

    def program(self, lo: Floats, hi: Floats) -> MixedIntegerProgram:
        """Build the program for given bounds on the outputs.

        The variables are w+, w-, b, the errors of the labelled rows, then p, q, the two
        terms of the cost, and z of the unlabelled rows.
        """
        d, n, u = self.sizes
        sizes = (2 * d, 1, n, u, u, 2 * u, u)
        cost = np.repeat([self.mu, 0.0, 1.0, 0.0, 0.0, self.nu, 0.0], sizes) / self.unit
        lower = np.repeat([0.0, -np.inf, 0.0, 0.0, -np.inf, 0.0, 0.0], sizes)
        upper = np.repeat([np.inf, np.inf, np.inf, np.inf, 0.0, np.inf, 1.0], sizes)
        z = slice(len(cost) - u, None)
        lower[z][lo > 0.0] = 1.0
        upper[z][hi < 0.0] = 0.0
        rows, low, high = self._rows(np.minimum(lo, 0.0), np.maximum(hi, 0.0))
        whole = np.arange(len(cost)) >= len(cost) - u
        return MixedIntegerProgram(LinearProgram(cost, rows, low, high, lower, upper), whole)

    def _rows(self, lo: Floats, hi: Floats) -> tuple[Any, Floats, Floats]:
        """Build the rows and their bounds; lo <= 0 <= hi."""
        n, u = len(self.labeled), len(self.unlabeled)
        unit, known = sparse.identity(u), sparse.identity(n)
        signed = self.signs[:, None] * self.labeled
        free, ones = self.unlabeled, np.ones((u, 1))
        blocks: list[list[Any]] = [
            # y_i f(x_i) + error >= 1
            [signed, -signed, self.signs[:, None], known, *[None] * 5],
            # f(x_j) - p - q = 0
            [free, -free, ones, None, -unit, -unit, None, None, None],
            # hi z - p >= 0,  q + lo z >= lo
            [*[None] * 4, -unit, None, None, None, sparse.diags(hi)],
            [*[None] * 5, unit, None, None, sparse.diags(lo)],
            # first term + p - z >= 0,  second term - q + z >= 1
            [*[None] * 4, unit, None, unit, None, -unit],
            [*[None] * 5, -unit, None, unit, unit],
        ]
        none, one, most = np.zeros(u), np.ones(u), np.full(u, np.inf)
        low = [np.ones(n), none, none, lo, none, one]
        high = [np.full(n, np.inf), none, most, most, most, most]
        if self.balance is not None:
            mean = self.balance.mean[None, :]
            blocks.append([mean, -mean, np.ones((1, 1)), *[None] * 6])
            low.append(np.array([self.balance.level]))
            high.append(np.array([self.balance.level]))
        return sparse.block_array(blocks, format="csc"), np.concatenate(low), np.concatenate(high)

    def point(self, w: Floats) -> Floats:
        """Return the point of the program for weights with the intercept last.

        The weights are those for the rows before scaling.
        """
        weights = self.size * w[:-1]
        f = self.unlabeled @ weights + w[-1]
        errors = np.maximum(1.0 - self.signs * (self.labeled @ weights + w[-1]), 0.0)
        parts = [np.maximum(weights, 0.0), np.maximum(-weights, 0.0), w[-1:], errors]
        z, p, q = (f > 0.0).astype(np.float64), np.maximum(f, 0.0), np.minimum(f, 0.0)
        terms = [np.maximum(z - p, 0.0), np.maximum(1.0 - z + q, 0.0)]
        return np.concatenate([*parts, p, q, *terms, z])

    def labels(self, x: Floats) -> Floats:
        """Return the labels of the unlabelled rows at a point: 1 or 0."""
        return np.round(x[len(x) - len(self.unlabeled) :])

    def tightened(
        self, lo: Floats, hi: Floats, objective: float, deadline: float
    ) -> tuple[Floats, Floats]:
        """Tighten the bounds by linear programs.

        The output of each undecided row in turn is minimised and maximised over all points
        of the relaxed program that cost at most ``objective``.

        Parameters
        ----------
        lo, hi : arrays of shape (u,)
        objective : float
            Objective of a known model.
        deadline : float
            Value of `time.perf_counter` after which to stop.
        """
        for _ in range(ROUNDS):
            width = (hi - lo)[undecided(lo, hi)].sum()
            lo, hi = self._one_round(lo, hi, objective, deadline)
            left = (hi - lo)[undecided(lo, hi)].sum()
            if left > WORTH_A_ROUND * width or perf_counter() > deadline:
                break
        return lo, hi

    def _one_round(
        self, lo: Floats, hi: Floats, objective: float, deadline: float
    ) -> tuple[Floats, Floats]:
        relaxed = self.program(lo, hi).relaxed
        most = (objective + SLACK * abs(objective)) / self.unit
        model = LinearModel(
            LinearProgram(
                np.zeros(relaxed.n_variables),
                sparse.vstack([relaxed.A, sparse.csc_matrix(relaxed.c)]),
                np.append(relaxed.row_lower, -np.inf),
                np.append(relaxed.row_upper, most),
                relaxed.lower,
                relaxed.upper,
            )
        )
        lo, hi = lo.copy(), hi.copy()
        d, n, u = self.sizes
        for j in np.flatnonzero(undecided(lo, hi)).tolist():
            if perf_counter() > deadline:
                break
            output = np.zeros(relaxed.n_variables)
            output[2 * d + 1 + n + np.array([j, u + j])] = 1.0
            least, largest = _smallest(model, output), -_smallest(model, -output)
            low, high = loosened(np.array(least), np.array(largest))
            lo[j], hi[j] = max(lo[j], low), min(hi[j], high)
        return lo, hi


def loosened(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Loosen bounds slightly, as a protection against rounding."""
    return lo - SLACK * (1.0 + np.abs(lo)), hi + SLACK * (1.0 + np.abs(hi))


def undecided(lo: Floats, hi: Floats) -> Any:
    """Return which rows can still get either label."""
    return (lo <= 0.0) & (hi >= 0.0)


def _smallest(model: LinearModel, costs: Floats) -> float:
    """Minimise over the model; return -inf, no bound, if the solver fails.

    A known model satisfies all constraints, so a program reported as infeasible is beyond the
    precision of the solver.
    """
    model.change_costs(costs)
    try:
        return model.solve().objective
    except ProgramError:
        return -np.inf
