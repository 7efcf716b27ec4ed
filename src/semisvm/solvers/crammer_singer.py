r"""The weight step of the Crammer-Singer margin loss, by sequential dual ascent.

Primal. Row i has costs B_iy >= 0 with sum C_i: one positive cost for a hard label, several
for soft labels. With class scores s_i = x_i W (a constant feature stands for the bias) ::

    min_W P(W) = reg/2 ||W||^2 + sum_i l_i(s_i)
    l_i(s)     = sum_y B_iy max_z [ (z != y) + s_z - s_y ]

Dual. The maximum over z is a maximum over weights in a simplex. Class y of row i has weights
a_yz >= 0 with sum_z a_yz = B_iy; let q_iz = sum_y a_yz be the total of class z. W depends
only on q, and minimising over W gives ::

    W = 1/reg sum_i x_i (outer) v_i,   v_i = B_i - q_i
    D = sum_i h_i(q_i) - reg/2 ||W||^2

where h_i(q) is the maximum of sum_y sum_{z != y} a_yz with column sums q and row sums B_i:
C_i minus what has to stay on the diagonal. Class y has to keep the part of B_y that the other
columns, of size C - q_y, cannot take, and this is sufficient, so ::

    h_i(q) = C_i - max_y (q_y + B_iy - C_i)_+     on  q >= 0, sum_z q_z = C_i

Hence m dual variables per row are enough for all classes, with soft labels or hard ones;
m variables for each of the m classes are not needed. (For a hard label h = C - q_y, the
textbook dual: Crammer and Singer, JMLR 2, 2001.)

Ascent. In the duals of one row, with A = ||x_i||^2 / reg and q' their current values, -D is ::

    A/2 ||q - q' - s/A||^2 + max_y (q_y + B_y - C)_+ + constant

At most one class can be above its cap C - B_y (two would need q_y + q_z > C), so one to
three projections onto a simplex solve it exactly. Rows are visited in random order, and W is
updated after each (Keerthi et al., KDD 2008, doi:10.1145/1401890.1401942).

Certificate. reg ||W||^2 = sum_i s_i . v_i, so the duality gap is a sum over rows ::

    P - D = sum_i g_i,   g_i = l_i(s_i) - h_i(q_i) + s_i . v_i >= 0

and P(W) - min P <= P - D. The solver stops when P - D <= tol P, so the relative error of a
returned objective is certified at any scale of data, costs and outputs. Rows with a small
share of the gap gain little: they are left out until the next certificate.

Hierarchy. Node weights are N = U paths', for U = 1/reg sum_i x_i (outer) v_i; class scores
are x U G with G = paths' paths, which is the identity if the nodes are the classes. The
problem of one row then has curvature A G. It is solved by proximal steps with a bound on G,
which do not read the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from semisvm.designs import Design, Floats, RowList
from semisvm.designs.vectors import dot
from semisvm.labels.hierarchy import Hierarchy, flat
from semisvm.solvers import _crammer_singer_kernels as kernels
from semisvm.solvers.margin_faces import climb
from semisvm.solvers.newton import State

if TYPE_CHECKING:
    from semisvm.tasks.one_score import OneScoreBlock

SEED = 0
# A row is active while its gap is above this fraction of its part of the tolerance. With at
# most 1, the rows left out cannot alone prevent the goal from being met.
SHARE = 0.7
# Passes over the active rows end in a certificate when the gap seen on the way has fallen to
# this fraction of the last certified one, or to the goal.
REDUCTION = 0.1
MAX_PASSES = 10
# With few labels a labelled row may cost a hundred times as much as another, and its duals
# have as far to go. Rows that cost more than HEAVY times the mean, fewer than one in HEAVY,
# are visited HEAVY times per pass: with 100 labels of 10,000 rows a fifth of the passes remain.
HEAVY = 10
# If dual ascent has not finished after this many passes, it is slow: from there on a Newton
# step is tried after every certificate, if the problem is small.
PATIENCE = 100
# Ascent is given up if PATIENCE more passes raise the dual by less than LEAST_RISE of the gap,
# and shrink the gap by less than LEAST_SHRINK: it would not finish in reasonable time.
LEAST_RISE = 1e-3
LEAST_SHRINK = 0.05

# Dual ascent converges linearly: a tighter tolerance is not worth the passes.
TIGHTEST_TOL = 1e-4
# A pass of dual ascent costs a fraction of a Newton step, and more of them are needed.
PASSES_PER_STEP = 100


@dataclass(frozen=True)
class MarginProblem:
    """A weight step with the margin loss; needs a single shard.

    Attributes
    ----------
    design : Design
    rows : RowList
        Rows with a cost; no other row is read.
    costs : array of shape (n_rows, m)
        Costs B_iy >= 0, by row and class.
    hierarchy : Hierarchy
    reg : float
        Positive.
    """

    design: Design
    rows: RowList
    costs: Floats
    hierarchy: Hierarchy
    reg: float

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.design.n_weights * self.hierarchy.n_nodes

    def scores(self, w: Floats) -> Floats:
        """Compute the class scores of the rows of the problem; zero elsewhere."""
        nodes = np.zeros((self.design.n_rows, self.hierarchy.n_nodes))
        N = w.reshape(self.design.n_weights, self.hierarchy.n_nodes)
        return self.hierarchy.class_scores(self.design.scores_many(N, self.rows, nodes))

    def listed_costs(self) -> Floats:
        """Return the costs, with zeros outside the row list."""
        if len(self.rows) == self.design.n_rows:
            return np.ascontiguousarray(self.costs)
        costs = np.zeros_like(self.costs)
        costs[self.rows.index] = self.costs[self.rows.index]
        return costs

    def coupling(self) -> tuple[Floats, bool, float]:
        """Return G, whether it is the identity, and its bound on vectors that sum to zero."""
        paths = self.hierarchy.paths
        G = np.einsum("ky,kz->yz", paths, paths)
        if self.hierarchy.flat or len(G) == 1:
            return G, self.hierarchy.flat, float(G[0, 0])
        centred = G - G.mean(axis=0)
        centred -= centred.mean(axis=1, keepdims=True)
        return G, False, float(np.linalg.eigvalsh(centred)[-1])


@dataclass(kw_only=True)
class MarginState(State):
    """Weights, and the duals from which they are computed; the solver changes it in place.

    The fields of `State` keep their meaning. ``n_iter`` counts passes over the active rows,
    ``n_active`` the rows of the last pass. ``gradient_norm`` is sqrt(2 reg gap), as the Newton
    solver relates the two, and is reg times a bound on the distance from the solution.

    Attributes
    ----------
    scores : array of shape (n_rows, m)
        Class scores for the weights, on the rows of the last problem.
    duals : array of shape (n_rows, m)
        v_i, by row; zero for rows without cost.
    directions : array of shape (n_weights, m)
        U = 1/reg sum_i x_i (outer) v_i. Without a hierarchy ``w`` is a view of it.
    reg : float
        The strength with which ``directions`` were computed.
    dual : float
        D, a lower bound on the minimum.
    """

    scores: Floats
    duals: Floats
    directions: Floats
    reg: float
    dual: float = -np.inf

    @classmethod
    def start(cls, problem: MarginProblem, w: Floats | None = None) -> Self:
        """Start with all duals at zero.

        Weights given without duals are used only for their scores: a solve begins at zero.
        """
        n, m = problem.costs.shape
        directions = np.zeros((problem.design.n_weights, m))
        w = np.zeros(problem.n_weights) if w is None else w.copy()
        scores = problem.scores(w)
        duals = np.zeros((n, m))
        return cls(w, scores=scores, duals=duals, directions=directions, reg=problem.reg)

    def copy(self) -> Self:
        """Return an independent copy."""
        return replace(
            self,
            w=self.w.copy(),
            scores=self.scores.copy(),
            duals=self.duals.copy(),
            directions=self.directions.copy(),
        )


def minimize_margin(
    problem: MarginProblem,
    state: MarginState,
    *,
    tol: float,
    max_iter: int = 1_000,
    on_step: Callable[[MarginState], bool] | None = None,
) -> MarginState:
    """Minimise P from the duals of a state, in place.

    Rows, costs and reg may differ from those of the last solve: the duals of each row move to
    the nearest ones that are feasible for its new costs, and the weights follow. So costs that
    only grew change nothing, the contribution of a withdrawn label is removed, and a row that
    leaves the problem ends at zero.

    Parameters
    ----------
    problem : MarginProblem
    state : MarginState
        Start; holds the solution afterwards, with scores valid on the problem's rows.
    tol : float
        Certified relative error (P - D) / P at which to stop.
    max_iter : int
        Maximum number of passes over the active rows.
    on_step : callable, optional
        Called with the state at every certificate; True ends the solve.

    Returns
    -------
    MarginState
        The given state.
    """
    costs = problem.listed_costs()
    _adopt(problem, costs, state)
    gaps = np.zeros(problem.design.n_rows)
    rng = np.random.default_rng(SEED)
    state.n_iter = state.n_active = 0
    progress = Progress()
    while True:
        _certify(problem, costs, state, gaps)
        state.converged = state.gap <= tol * state.objective
        stopped = on_step is not None and on_step(state)
        if state.converged or stopped or state.n_iter >= max_iter or progress.ended(state):
            return state
        if state.n_iter >= PATIENCE and _climb(problem, costs, state):
            _certify(problem, costs, state, gaps)
        goal = tol * state.objective
        _ascend(problem, costs, state, gaps, goal, min(MAX_PASSES, max_iter - state.n_iter), rng)


@dataclass
class Progress:
    """Whether dual ascent still makes progress; rounding may prevent it."""

    looked: int = 0
    dual: float = -np.inf
    gap: float = np.inf

    def ended(self, state: MarginState) -> bool:
        """Return whether D has not risen, nor the gap shrunk, for PATIENCE passes."""
        if state.n_iter < self.looked + PATIENCE:
            return False
        risen = state.dual > self.dual + LEAST_RISE * state.gap
        shrunk = state.gap < (1.0 - LEAST_SHRINK) * self.gap
        self.looked, self.dual = state.n_iter, state.dual
        self.gap = min(self.gap, state.gap)
        return not (risen or shrunk)


def _adopt(problem: MarginProblem, costs: Floats, state: MarginState) -> None:
    """Make the duals feasible for new costs, and update the weights."""
    if state.reg != problem.reg:
        state.directions *= state.reg / problem.reg
        state.reg = problem.reg
    change, moved = np.zeros_like(state.duals), np.zeros(len(state.duals), dtype=np.bool_)
    kernels.make_feasible(costs, state.duals, change, moved)
    if moved.any():
        rows = problem.design.rows(np.flatnonzero(moved))
        step = problem.design.pull_back_many(change, rows, np.empty_like(state.directions))
        step /= problem.reg
        state.directions += step


def _climb(problem: MarginProblem, costs: Floats, state: MarginState) -> bool:
    """Take a Newton step on the face of the duals; return whether it helped."""
    G, _, _ = problem.coupling()
    design = problem.design
    found = climb(design, problem.rows.index, costs, state.duals, state.scores, G, problem.reg)
    if found is None:
        return False
    rows, change = found
    design.add_few(change / problem.reg, design.rows(rows), state.directions)
    return True


def _certify(problem: MarginProblem, costs: Floats, state: MarginState, gaps: Floats) -> None:
    """Update weights and scores, and measure primal, dual and the gap of each row."""
    design, hierarchy, rows = problem.design, problem.hierarchy, problem.rows
    state.w = hierarchy.node_slopes(state.directions).ravel()
    S = design.scores_many(state.directions, rows, np.zeros_like(state.duals))
    state.scores = S if hierarchy.flat else hierarchy.class_scores(hierarchy.node_slopes(S))
    loss, value = kernels.measure(state.scores, costs, state.duals, rows.index, gaps)
    norm = 0.5 * problem.reg * dot(state.w, state.w)
    state.objective, state.dual = loss + norm, value - norm
    state.gap = max(state.objective - state.dual, 0.0)
    state.gradient_norm = float(np.sqrt(2.0 * problem.reg * state.gap))


def _ascend(
    problem: MarginProblem,
    costs: Floats,
    state: MarginState,
    gaps: Floats,
    goal: float,
    max_passes: int,
    rng: np.random.Generator,
) -> None:
    """Pass over the rows that make up the gap until little of it is left."""
    enough = max(REDUCTION * state.gap, goal)
    share = SHARE * goal / len(problem.rows)
    active = problem.rows.index
    coupling = problem.coupling()
    total = costs.sum(axis=1)
    heavy = total > HEAVY * total[active].mean()
    for _ in range(max_passes):
        above = active[gaps[active] > share]
        # near the limit of double precision no single row stands out
        active = above if len(above) else problem.rows.index
        visits = np.where(heavy[active], HEAVY, 1)
        order = rng.permutation(np.repeat(active, visits))
        problem.design.sweep(
            kernels, state.directions, order, costs, state.duals, problem.reg, *coupling, gaps
        )
        state.n_iter += 1
        state.n_active = len(active)
        if gaps[active].sum() <= enough:
            return


@dataclass
class HingeState(State):
    """Weights of one score, with the state for the two scores -o/2 and o/2 behind it."""

    margin: MarginState | None = None

    def copy(self) -> Self:
        """Return an independent copy."""
        margin = None if self.margin is None else self.margin.copy()
        return replace(self, w=self.w.copy(), margin=margin)


def minimize_hinge(
    block: "OneScoreBlock",
    state: State,
    reg: float,
    *,
    tol: float,
    max_iter: int = 200,
    on_step: Callable[[State], bool] | None = None,
) -> State:
    """Minimise reg/2 ||w||^2 plus the hinge of one score, for the costs of a block.

    Scores -o/2 and o/2 have the margin loss max(0, 1 - o) for the second class, and together
    half of the squared norm of o. So the problem is that of Crammer and Singer with twice the
    regularisation.

    Parameters
    ----------
    block : OneScoreBlock
        All rows, with costs; holds the scores of the solution afterwards.
    state : HingeState
        Start; holds the solution afterwards.
    reg, tol, max_iter, on_step
        As in `newton.minimize`.
    """
    assert isinstance(state, HingeState)
    rows, a, b = block.charged()
    two = flat(np.arange(2))
    problem = MarginProblem(block.design, rows, 0.5 * np.column_stack([b, a]), two, 2.0 * reg)
    if state.margin is None:
        w = np.column_stack([-0.5 * state.w, 0.5 * state.w]).ravel()
        state.margin = MarginState.start(problem, w)

    def publish(margin: State) -> bool:
        assert isinstance(margin, MarginState)
        W = margin.w.reshape(-1, 2)
        state.w = W[:, 1] - W[:, 0]
        state.objective, state.gap = margin.objective, margin.gap
        state.gradient_norm, state.converged = margin.gradient_norm, margin.converged
        state.n_iter, state.n_active = margin.n_iter, margin.n_active
        return on_step is not None and on_step(state)

    passes, tol = PASSES_PER_STEP * max_iter, max(tol, TIGHTEST_TOL)
    margin = minimize_margin(problem, state.margin, tol=tol, max_iter=passes, on_step=publish)
    block.take_scores(margin.scores[:, 1] - margin.scores[:, 0])
    return state
