r"""The 1-norm SVM with the hinge as a linear program that is solved again for new costs.

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
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.solvers.highs import LinearModel
from semisvm.solvers.programs import LinearProgram, LinearSolution, ProgramError, Status

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
