r"""The margin between the means of the unlabelled rows of two classes.

Let m+ and m- be the means of the unlabelled rows that are labelled positive and negative.
Li, Kwok and Zhou (ICML 2009) maximise the margin rho by which they are separated, ::

    min  1/2 ||w||^2 + C sum_i max(0, 1 - y_i f(x_i)) - C_unlabeled rho,    f(x) = w . x + b
    f(m+) >= rho,  f(m-) <= -rho

rho is the smaller of f(m+) and -f(m-). With the midpoint m = (m+ + m-)/2 of the means it is
w . (m+ - m-)/2 - |f(m)|, so the problem is ::

    min  1/2 ||w||^2 - v . w + C sum_i max(0, 1 - y_i f(x_i)) + C_unlabeled |f(m)|
    v = C_unlabeled (m+ - m-)/2

a support vector machine on the labelled rows and one more row, the midpoint, that should
have output zero. Its weights are pushed by v: w = v + sum_i beta_i x_i + beta_m m. It is
the dual of `solvers.smo` with l + 1 coordinates; only inner products with v and m are
needed. Its objective is that of `solvers.smo` minus 1/2 ||v||^2.

A choice of labels is a *plane*. For several planes with weights mu in the simplex, the
relaxation ::

    max over beta of  min over t of  y . beta - F_t(beta),    F_t = 1/2 ||w_t||^2

is min over mu of the same dual with G, the push and ||v||^2 averaged by mu (multiple
kernel learning). It is convex in mu with gradient -F, and Newton steps within the simplex lower
it; the remaining gap is max F_t - mu . F.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from semisvm.designs import Design, Floats, Index
from semisvm.designs.vectors import dot
from semisvm.labels.weights import UNIT_WEIGHT
from semisvm.solvers.smo import PairProblem, PairState, WholeGram, hinge_problem, solve_pairs

Signs = NDArray[np.bool_]

# The dual is solved to this fraction of the tolerance of the relaxation.
INNER = 0.1
# Maximum number of changes of the weights of the planes; two planes need one.
MAX_MOVES = 100
# The gap need not fall at once. Rounding may keep it from falling: the moves end after so many in a
# row after which it has not shrunk.
SHRINKING = 0.9
MAX_IDLE = 5
# Fraction of the first gain at which a step of these weights is long enough, and the accuracy of
# its length.
NEAR = 0.1
SHARE_TOL = 1e-9
# Fraction of the largest diagonal entry that is added to the diagonal of a singular matrix.
RIDGE = 1e-10


@dataclass(frozen=True)
class Plane:
    """A choice of labels: its two vectors and their inner products.

    Attributes
    ----------
    middle : array of shape (n_weights,)
        m.
    push : array of shape (n_weights,)
        v.
    products : array of shape (l + 1,)
        m . x_i for the labelled rows, then m . m.
    pushes : array of shape (l + 1,)
        v . x_i for the labelled rows, then v . m.
    square : float
        v . v.
    """

    middle: Floats
    push: Floats
    products: Floats
    pushes: Floats
    square: float


@dataclass
class Mixture:
    """Planes with their weights, and the dual solution for them.

    Attributes
    ----------
    planes : sequence of Plane
    mu : array of shape (k,)
        Weights of the planes, not negative, with sum one.
    dual : PairState
    energies : array of shape (k,)
        F_t = 1/2 ||w_t||^2.
    """

    planes: Sequence[Plane]
    mu: Floats
    dual: PairState
    energies: Floats

    @property
    def objective(self) -> float:
        """The primal objective at the weights mu."""
        squares = np.array([plane.square for plane in self.planes])
        return self.dual.scale - 0.5 * dot(self.mu, squares)

    @property
    def gap(self) -> float:
        """Upper bound on the distance of the objective from the minimum over all mu."""
        return self.dual.gap + float(self.energies.max()) - dot(self.mu, self.energies)


@dataclass(frozen=True)
class MeanMargin:
    """The labelled rows, and the unlabelled rows, of which only means are needed.

    Attributes
    ----------
    design : Design
    labeled, unlabeled : arrays of row indices
    positive : bool array of shape (l,)
        Whether each labelled row has the second class.
    C, C_unlabeled : float
    gram : array of shape (l, l)
        Inner products of the labelled rows.
    times : array of shape (l,) or (1,)
        For how many rows each labelled row counts.
    mass : array of shape (u,) or (1,)
        The same of the unlabelled rows.
    """

    design: Design
    labeled: Index
    unlabeled: Index
    positive: Signs
    C: float
    C_unlabeled: float
    gram: Floats
    times: Floats = field(default_factory=lambda: UNIT_WEIGHT)
    mass: Floats = field(default_factory=lambda: UNIT_WEIGHT)

    def supervised(self) -> PairProblem:
        """Return the SVM of the labelled rows alone."""
        cost = np.broadcast_to(self.C * self.times, len(self.positive)).copy()
        return hinge_problem(WholeGram(self.gram), self.positive, cost)

    def plane(self, labels: Signs) -> Plane:
        """Compute the plane for labels of the unlabelled rows; both classes must occur."""
        share = self._shares(labels)
        middle = self._combine(share)
        push = self._combine(self.C_unlabeled * np.where(labels, share, -share))
        return Plane(
            middle,
            push,
            np.append(self._outputs(middle), dot(middle, middle)),
            np.append(self._outputs(push), dot(push, middle)),
            dot(push, push),
        )

    def _shares(self, labels: Signs) -> Floats:
        """Compute the coefficients of the unlabelled rows in the midpoint of the means."""
        each = np.broadcast_to(self.mass, len(labels))
        above, below = each[labels].sum(), each[~labels].sum()
        return np.asarray(each * np.where(labels, 0.5 / above, 0.5 / below))

    def _combine(self, coefficients: Floats) -> Floats:
        design, spread = self.design, np.zeros(self.design.n_rows)
        spread[self.unlabeled] = coefficients
        return design.pull_back(spread, design.rows(self.unlabeled), np.empty(design.n_weights))

    def _outputs(self, w: Floats) -> Floats:
        design, rows = self.design, self.design.rows(self.labeled)
        return design.scores(w, rows, np.zeros(design.n_rows))[self.labeled]

    def problem(self, planes: Sequence[Plane], mu: Floats) -> PairProblem:
        """Return the dual for planes with weights."""
        alone, size = self.supervised(), len(self.labeled)
        G = np.empty((size + 1, size + 1))
        G[:size, :size] = self.gram
        G[size] = G[:, size] = _average(mu, [plane.products for plane in planes])
        return PairProblem(
            WholeGram(G),
            np.append(alone.target, 0.0),
            np.append(alone.lower, -self.C_unlabeled),
            np.append(alone.upper, self.C_unlabeled),
            _average(mu, [plane.pushes for plane in planes]),
        )

    def start(self, tol: float, max_iter: int) -> Floats:
        """Compute the duals of the labelled rows alone, with zero for the midpoint."""
        problem = self.supervised()
        state = solve_pairs(problem, PairState.zero(problem), tol=tol, max_iter=max_iter)
        return np.append(state.beta, 0.0)

    def solve(
        self, planes: Sequence[Plane], mu: Floats, beta: Floats, *, tol: float, max_iter: int
    ) -> Mixture:
        """Find the best duals for given weights of the planes, starting from given duals."""
        problem = self.problem(planes, mu)
        state = PairState.at(problem, beta)
        solve_pairs(problem, state, tol=tol, max_iter=max_iter)
        return Mixture(planes, mu, state, self.energies(planes, state.beta))

    def mix(
        self, planes: Sequence[Plane], mu: Floats, beta: Floats, *, tol: float, max_iter: int
    ) -> Mixture:
        """Find the best weights of the planes, and their duals."""

        def at(weights: Floats, start: Floats) -> Mixture:
            return self.solve(planes, weights, start, tol=INNER * tol, max_iter=max_iter)

        here = at(mu, beta)
        smallest, idle = np.inf, 0
        for _ in range(MAX_MOVES):
            idle = 0 if here.gap < SHRINKING * smallest else idle + 1
            smallest = min(smallest, here.gap)
            # planes cannot be weighed by duals that are not found
            if here.gap <= tol * here.dual.scale or not here.dual.converged or idle == MAX_IDLE:
                break
            here = _moved(at, here, self._newton(here))
        return here

    def _newton(self, here: Mixture) -> Floats:
        """Compute the Newton step of the weights of the planes, within the simplex.

        The duals between their bounds, I, follow the weights: G_II dbeta + db = -sum_t h_t dmu_t
        with h_t the gradient of F_t and sum dbeta = 0. So the Hessian is H_st = -h_s . dbeta/dmu_t.
        """
        problem, beta = self.problem(here.planes, here.mu), here.dual.beta
        free = np.flatnonzero((beta > problem.lower) & (beta < problem.upper))
        slopes = np.array([self._slope(plane, beta)[free] for plane in here.planes]).T
        H = np.zeros((len(here.mu), len(here.mu)))
        if len(free) > 1:
            G = problem.gram.among(free)[0][np.ix_(free, free)]
            G[np.diag_indices_from(G)] += RIDGE * max(float(G.diagonal().max()), 1e-300)
            moved = np.linalg.solve(G, np.column_stack([slopes, np.ones(len(free))]))
            moved, flat = moved[:, :-1], moved[:, -1:]
            H = slopes.T @ (moved - flat * (moved.sum(axis=0) / flat.sum()))
        step = PairProblem(
            WholeGram(0.5 * (H + H.T)),
            here.energies,
            -here.mu,
            1.0 - here.mu,
            np.zeros(len(H)),
        )
        return solve_pairs(step, PairState.zero(step), tol=INNER, max_iter=10_000).beta

    def _slope(self, plane: Plane, beta: Floats) -> Floats:
        """Compute the gradient of F_t in the duals."""
        own, middle = beta[:-1], float(beta[-1])
        return plane.pushes + np.append(
            self.gram @ own + middle * plane.products[:-1], dot(beta, plane.products)
        )

    def energies(self, planes: Sequence[Plane], beta: Floats) -> Floats:
        """Compute F_t = 1/2 ||w_t||^2 for each plane."""
        own, middle = beta[:-1], float(beta[-1])
        inside = dot(own, self.gram @ own)
        return np.array(
            [
                0.5 * (inside + 2.0 * middle * dot(own, plane.products[:-1]))
                + 0.5 * middle**2 * plane.products[-1]
                + dot(beta, plane.pushes)
                + 0.5 * plane.square
                for plane in planes
            ]
        )

    def direction(self, labels: Signs, beta: Floats) -> Floats:
        """Compute the weights w_t of a plane, without intercept, from its labels."""
        design, spread = self.design, np.zeros(self.design.n_rows)
        spread[self.labeled] = beta[:-1]
        pulls = np.where(labels, self.C_unlabeled, -self.C_unlabeled) + float(beta[-1])
        spread[self.unlabeled] = self._shares(labels) * pulls
        return design.pull_back(spread, design.all_rows, np.empty(design.n_weights))

    def pull(self, labels: Signs, beta: Floats) -> float:
        """Return c, where labelling one more row positive and one less moves w_t by c (x - z).

        The weights are base + c sum of the positive rows, for labels with the same numbers.
        """
        above = int(np.count_nonzero(labels))
        up, down = self.C_unlabeled + float(beta[-1]), self.C_unlabeled - float(beta[-1])
        return 0.5 * (up / above + down / (len(labels) - above))

    def labeled_direction(self, beta: Floats) -> Floats:
        """Compute the part of the weights from the labelled rows, sum beta_i x_i."""
        design, spread = self.design, np.zeros(self.design.n_rows)
        spread[self.labeled] = beta[: len(self.labeled)]
        return design.pull_back(spread, design.rows(self.labeled), np.empty(design.n_weights))

    def weights(self, found: Mixture) -> Floats:
        """Compute the weights of the model, with its intercept."""
        w = self.labeled_direction(found.dual.beta)
        for share, plane in zip(found.mu.tolist(), found.planes, strict=True):
            w += share * (float(found.dual.beta[-1]) * plane.middle + plane.push)
        w[-1] = found.dual.intercept / self.design.bias
        return w

    def margin(self, found: Mixture) -> float:
        """Compute rho, the margin by which the means are separated, averaged over planes."""
        beta, own = found.dual.beta, found.mu
        along = _average(own, [plane.pushes for plane in found.planes])
        square = dot(own, np.array([plane.square for plane in found.planes]))
        at_middle = float(found.dual.gradient[-1]) + found.dual.intercept
        return (dot(beta, along) + square) / self.C_unlabeled - abs(at_middle)


def _average(mu: Floats, vectors: Sequence[Floats]) -> Floats:
    return np.sum([share * v for share, v in zip(mu, vectors, strict=True)], axis=0)


def _moved(at: Callable[[Floats, Floats], Mixture], here: Mixture, step: Floats) -> Mixture:
    """Move the weights of the planes by a step, or by the part of it that helps most."""
    found: dict[float, Mixture] = {}
    first = dot(step, here.energies)

    def gain(share: float) -> float:
        """Return by how much the objective falls along the step; it falls slower and slower."""
        weights = np.maximum(here.mu + share * step, 0.0)
        found[share] = at(weights / weights.sum(), here.dual.beta)
        still = dot(step, found[share].energies)
        # zero ends the search
        return still if abs(still) > NEAR * first else 0.0

    if gain(1.0) >= 0.0 or first <= 0.0:
        return found[1.0]
    share = brentq(lambda share: gain(share) if share else first, 0.0, 1.0, xtol=SHARE_TOL)
    # rounding may leave no part of the step that helps
    return found.get(float(share), here)
