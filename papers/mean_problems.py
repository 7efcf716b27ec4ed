r"""The problems of Li, Kwok and Zhou (ICML 2009) that label means approximate, solved exactly.

Both are for small data: they judge `MeanSVC`, they do not replace it. Nothing is shared with its
solvers: the convex programs are solved by Clarabel.

Problem (5): the means of the unlabelled rows of each class are known. With labels y of all rows ::

    min  1/2 ||w||^2 + C sum_labelled max(0, 1 - y_i f(x_i))
         + C_unlabeled sum_unlabelled [max(1, |f(x_j)|) - y_j f(x_j)]

such that u+ of the unlabelled outputs are positive. The bracket is the loss (6). It is convex and
needs the labels only through sum_j y_j x_j, that is, through the means. Only the balance makes the
problem hard: branch and bound over the signs of outputs, where a row without a sign is free. An
output of zero counts for either side.

Problem (7): the labels d of the unlabelled rows are chosen, so that the means are separated by
the largest margin rho ::

    min over d  1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)) - C_unlabeled rho
                f(m+(d)) >= rho,  f(m-(d)) <= -rho

A feasible point of the dual of one labelling is feasible for all, so each solution gives a lower
bound on every labelling. The labelling with the lowest bound is solved next, until no bound is
below the best value. The relaxation (11) exchanges min over d and max over the dual points. It is
solved by cutting planes with the most violated labelling of all, where the paper takes a
labelling that is found quickly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from papers.data import Floats
from papers.quadratic_programs import Cone, QuadraticProgram, solve_quadratic

TOL = 1e-6
"""Relative error of the optima. The convex programs are solved to a hundredth of it."""
MAX_LABELINGS = 200_000
# Directions with less than this share of the largest inner product are rounding errors.
RANK_TOL = 1e-12

Signs = NDArray[np.bool_]


def mean_loss(output: Floats, signs: Floats) -> Floats:
    """Compute the loss (6) of unlabelled rows: their labels enter only as a sum."""
    return np.maximum(1.0, np.abs(output)) - signs * output


@dataclass(frozen=True)
class Optimum:
    """A proven optimum.

    Attributes
    ----------
    value : float
        The objective, to a relative error of `TOL`.
    labels : bool array of shape (u,)
        Which unlabelled rows are positive.
    solved : int
        Number of convex programs that it took.
    """

    value: float
    labels: Signs
    solved: int


@dataclass(frozen=True)
class BalancedOptimum(Optimum):
    """A proven optimum of problem (5), with its model.

    Attributes
    ----------
    square : float
        ||w||^2.
    outputs : array of shape (l + u,)
        f(x) of all rows.
    """

    square: float
    outputs: Floats


@dataclass(frozen=True)
class SmallProblem:
    """Few rows, by their inner products.

    Attributes
    ----------
    gram : array of shape (l + u, l + u)
        Inner products of the labelled rows, then of the unlabelled ones.
    positive : bool array of shape (l,)
        Which labelled rows are positive; both classes must occur.
    n_positive : int
        u+, the number of positive unlabelled rows; the other class has some too.
    C, C_unlabeled : float
    """

    gram: Floats
    positive: Signs
    n_positive: int
    C: float
    C_unlabeled: float

    def __post_init__(self) -> None:
        n_unlabeled = len(self.gram) - len(self.positive)
        if not 0 < self.n_positive < n_unlabeled:
            raise ValueError(
                f"n_positive must be between 1 and {n_unlabeled - 1}, so that both classes have a "
                f"mean, but is {self.n_positive}."
            )
        if self.positive.all() or not self.positive.any():
            raise ValueError("positive must have both classes.")
        if comb(n_unlabeled, self.n_positive) > MAX_LABELINGS:
            raise ValueError(
                f"{n_unlabeled} unlabelled rows have more than {MAX_LABELINGS} labellings: "
                "give fewer rows."
            )

    @cached_property
    def rows(self) -> Floats:
        """Rows with these inner products, in as few columns as possible."""
        values, vectors = np.linalg.eigh(self.gram)
        kept = values > RANK_TOL * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])

    @property
    def labeled(self) -> Floats:
        """The labelled ones of `rows`."""
        return self.rows[: len(self.positive)]

    @property
    def unlabeled(self) -> Floats:
        """The unlabelled ones of `rows`."""
        return self.rows[len(self.positive) :]

    @property
    def y(self) -> Floats:
        """Labels of the labelled rows, -1 and 1."""
        return np.where(self.positive, 1.0, -1.0)

    @cached_property
    def labelings(self) -> Signs:
        """All labellings of the unlabelled rows with n_positive positive ones, one per line."""
        u = len(self.unlabeled)
        chosen = np.array(list(combinations(range(u), self.n_positive)))
        found = np.zeros((len(chosen), u), dtype=bool)
        found[np.arange(len(chosen))[:, None], chosen] = True
        return found

    def top(self, outputs: Floats) -> Signs:
        """Label the n_positive largest outputs positive; of equal ones the earlier rows."""
        found = np.zeros(len(outputs), dtype=bool)
        found[np.argsort(-outputs, kind="stable")[: self.n_positive]] = True
        return found

    def separation(self, labels: Signs) -> float:
        """Compute the objective of problem (7) for given labels of the unlabelled rows."""
        return Separation(self).solve(labels)[0]


@dataclass(frozen=True)
class Separation:
    """Problem (7)."""

    problem: SmallProblem

    def optimum(self) -> Optimum:
        """Find the best of all labellings."""
        labelings = self.problem.labelings
        bounds = np.full(len(labelings), -np.inf)
        value, best, lowest, solved = np.inf, 0, 0, 0
        while True:
            found, dual = self.solve(labelings[lowest])
            solved += 1
            if found < value:
                value, best = found, lowest
            bounds = np.maximum(bounds, self.lower_bounds(dual))
            # this one is settled, whatever the rounding of its bound
            bounds[lowest] = np.inf
            lowest = int(bounds.argmin())
            if not bounds[lowest] < value - TOL * abs(value):
                return Optimum(value, labelings[best], solved)

    def means(self, labels: Signs) -> tuple[Floats, Floats]:
        """Compute the means of the unlabelled rows of both classes."""
        rows = self.problem.unlabeled
        return rows[labels].mean(axis=0), rows[~labels].mean(axis=0)

    def solve(self, labels: Signs) -> tuple[float, Floats]:
        """Return the objective for given labels, and the dual point: a value per constraint.

        The variables are w, b, rho and the slacks; the dual has the labelled rows first, then
        the two means.
        """
        p, (n, r) = self.problem, self.problem.labeled.shape
        P, q = np.zeros((r + 2 + n, r + 2 + n)), np.full(r + 2 + n, p.C)
        P[range(r), range(r)] = 1.0
        q[: r + 2] = 0.0
        q[r + 1] = -p.C_unlabeled
        above, below = self.means(labels)
        G = np.block(
            [
                [-p.y[:, None] * p.labeled, -p.y[:, None], np.zeros((n, 1)), -np.eye(n)],
                [-above, -1.0, 1.0, np.zeros(n)],
                [below, 1.0, 1.0, np.zeros(n)],
            ]
        )
        h = np.append(-np.ones(n), [0.0, 0.0])
        lower = np.append(np.full(r + 2, -np.inf), np.zeros(n))
        found = solve_quadratic(QuadraticProgram(P, q, G=G, h=h, lower=lower), tol=0.01 * TOL)
        return found.objective, found.inequality_duals

    def directions(self, dual: Floats) -> Floats:
        """Compute the weights w of a dual point for every labelling, one per line."""
        p, n = self.problem, len(self.problem.positive)
        up, down = dual[n] / p.n_positive, dual[n + 1] / (len(p.unlabeled) - p.n_positive)
        base = (dual[:n] * p.y) @ p.labeled - down * p.unlabeled.sum(axis=0)
        return base + (up + down) * (p.labelings @ p.unlabeled)

    def lower_bounds(self, dual: Floats) -> Floats:
        """Compute the dual objective of every labelling: its value is not below."""
        total = dual[: len(self.problem.positive)].sum()
        return total - 0.5 * np.sum(self.directions(dual) ** 2, axis=1)

    def relaxed(self) -> float:
        """Compute the relaxation (11): the largest lower bound that one dual point proves."""
        p = self.problem
        dual = self.solve(p.labelings[0])[1]
        planes = [int(self.lower_bounds(dual).argmin())]
        while True:
            bound, dual = self._highest(p.labelings[planes])
            bounds = self.lower_bounds(dual)
            worst = int(bounds.argmin())
            if bounds[worst] >= bound - TOL * abs(bound) or worst in planes:
                return float(bounds[worst])
            planes.append(worst)

    def _highest(self, labelings: Signs) -> tuple[float, Floats]:
        """Find the dual point whose lowest bound over some labellings is highest."""
        p, (n, r) = self.problem, self.problem.labeled.shape
        # the variables are the dual point and theta, which is at least 1/2 ||w||^2
        q = np.append(-np.ones(n), [0.0, 0.0, 1.0])
        A = np.array([[*p.y, 1.0, -1.0, 0.0], [*np.zeros(n), 1.0, 1.0, 0.0]])
        cones = []
        for labels in labelings:
            above, below = self.means(labels)
            F = np.zeros((r + 1, n + 3))
            F[:r] = np.vstack([p.y[:, None] * p.labeled, above, -below, np.zeros(r)]).T
            F[r, -1] = 1.0
            # ||w||^2 <= 2 theta is ||(w, theta - 1/2)|| <= theta + 1/2
            f, c = np.append(np.zeros(r), -0.5), np.append(np.zeros(n + 2), 1.0)
            cones.append(Cone(F, f, c, 0.5))
        program = QuadraticProgram(
            np.zeros((n + 3, n + 3)),
            q,
            A=A,
            b=[0.0, p.C_unlabeled],
            lower=0.0,
            upper=np.append(np.full(n, p.C), [p.C_unlabeled, p.C_unlabeled, np.inf]),
            cones=cones,
        )
        found = solve_quadratic(program, tol=0.01 * TOL)
        return -found.objective, found.x[:-1]


@dataclass(frozen=True)
class KnownMeans:
    """Problem (5).

    Attributes
    ----------
    problem : SmallProblem
    truth : bool array of shape (u,)
        Which unlabelled rows are positive; n_positive of them.
    """

    problem: SmallProblem
    truth: Signs

    def __post_init__(self) -> None:
        if int(self.truth.sum()) != self.problem.n_positive:
            raise ValueError(
                f"truth must have n_positive = {self.problem.n_positive} positive rows, but has "
                f"{int(self.truth.sum())}."
            )

    @property
    def signs(self) -> Floats:
        """Labels of the unlabelled rows, -1 and 1."""
        return np.where(self.truth, 1.0, -1.0)

    def optimum(self) -> BalancedOptimum:
        """Solve the problem by branch and bound."""
        p, solved = self.problem, 0
        value, products, intercept, square = np.inf, np.zeros(0), 0.0, 0.0
        # sides: 1 and -1 where the sign of an output is fixed, 0 where it is free
        nodes = [np.zeros(len(self.truth))]
        while nodes:
            sides = nodes.pop()
            bound, w, outputs = self._relaxed(sides)
            solved += 1
            found, at = self.balanced(float(w @ w), p.rows @ w)
            if found < value:
                value, products, intercept, square = found, p.rows @ w, at, float(w @ w)
            if bound < value - TOL * abs(value):
                nodes.extend(self._branches(sides, outputs))
        labels = p.top(products[len(p.positive) :])
        return BalancedOptimum(value, labels, solved, square, products + intercept)

    def _relaxed(self, sides: Floats) -> tuple[float, Floats, Floats]:
        """Solve with some signs fixed, without the balance; return value, w and outputs.

        The variables are w, b, the slacks of the labelled rows, and max(1, |f|) of the others.
        """
        p, (n, r), u = self.problem, self.problem.labeled.shape, len(sides)
        size = r + 1 + n + u
        P, q = np.zeros((size, size)), np.zeros(size)
        P[range(r), range(r)] = 1.0
        q[:r] = -p.C_unlabeled * self.signs @ p.unlabeled
        q[r] = -p.C_unlabeled * self.signs.sum()
        q[r + 1 : r + 1 + n], q[r + 1 + n :] = p.C, p.C_unlabeled
        free, fixed = np.hstack([p.unlabeled, np.ones((u, 1))]), sides != 0.0
        none, unit = np.zeros((u, n)), np.eye(u)
        G = np.block(
            [
                [-p.y[:, None] * p.labeled, -p.y[:, None], -np.eye(n), np.zeros((n, u))],
                [free, none, -unit],
                [-free, none, -unit],
                [-(sides[:, None] * free)[fixed], none[fixed], 0.0 * unit[fixed]],
            ]
        )
        h = np.append(-np.ones(n), np.zeros(2 * u + int(fixed.sum())))
        lower = np.concatenate([np.full(r + 1, -np.inf), np.zeros(n), np.ones(u)])
        found = solve_quadratic(QuadraticProgram(P, q, G=G, h=h, lower=lower), tol=0.01 * TOL)
        w = found.x[:r]
        return found.objective, w, p.unlabeled @ w + found.x[r]

    def _branches(self, sides: Floats, outputs: Floats) -> Iterator[Floats]:
        """Fix the sign of the free output nearest to zero, on either side; the likely one last."""
        free = np.flatnonzero(sides == 0.0)
        if not len(free):
            return
        row = free[np.abs(outputs[free]).argmin()]
        likely = 1.0 if outputs[row] > 0.0 else -1.0
        for sign in (-likely, likely):
            child = sides.copy()
            child[row] = sign
            yield from self._completed(child)

    def _completed(self, sides: Floats) -> Iterator[Floats]:
        """Fix all other signs where one side is full; give nothing where it has too many."""
        room = {
            1.0: self.problem.n_positive - int((sides > 0).sum()),
            -1.0: len(sides) - self.problem.n_positive - int((sides < 0).sum()),
        }
        if min(room.values()) < 0:
            return
        full = [side for side, places in room.items() if places == 0]
        yield np.where(sides == 0.0, -full[0], sides) if full else sides

    def objective(self, square: float, outputs: Floats) -> float:
        """Compute the objective of a model, without regard to the balance.

        Parameters
        ----------
        square : float
            ||w||^2.
        outputs : array of shape (l + u,)
            f(x) of all rows.
        """
        p, n = self.problem, len(self.problem.positive)
        hinge = np.maximum(0.0, 1.0 - p.y * outputs[:n]).sum()
        loss = mean_loss(outputs[n:], self.signs).sum()
        return float(0.5 * square + p.C * hinge + p.C_unlabeled * loss)

    def balanced(self, square: float, products: Floats) -> tuple[float, float]:
        """Find the best intercept that keeps the balance; return the objective and it.

        Parameters
        ----------
        square : float
            ||w||^2.
        products : array of shape (l + u,)
            w . x of all rows.
        """
        p, n = self.problem, len(self.problem.positive)
        ranked = np.sort(products[n:])[::-1]
        low, high = -ranked[p.n_positive - 1], -ranked[p.n_positive]
        # piecewise linear in the intercept: the least value is at a kink, or at an end
        kinks = np.concatenate([p.y - products[:n], 1.0 - products[n:], -1.0 - products[n:]])
        at = [low, high, *kinks[(kinks > low) & (kinks < high)].tolist()]
        return min((self.objective(square, products + b), float(b)) for b in at)
