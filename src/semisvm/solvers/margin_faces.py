r"""Newton steps on a face of the dual of the margin loss.

Dual ascent visits one row after another. It is slow if rows are nearly parallel, because of a
large constant column, a small reg or a scale far from one: tens of thousands of passes for
twenty rows. But once it has found which duals are at a bound, the rest is quadratic. In the
notation of `solvers.crammer_singer`, a step dq of the duals that keeps the sums of the rows
changes -D by ::

    -<s - k, dq> + 1/(2 reg) <dq, K dq G>,    K = X X',   k_iz = 1 where q_iz is above its cap

on the face, where duals at zero and duals at their cap, where k jumps, are fixed. Its minimum
is a linear system with one unknown per free dual, minus one per row. A step that leaves the
face is either projected, or cut at the edge and followed by a step on that edge, whichever
raises D more. All of this uses only the scores of the rows with free duals; the data are read
for K, and to update the weights.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from semisvm.designs import Design, Floats, Index
from semisvm.solvers import _crammer_singer_kernels as kernels

# Systems up to this size are solved in milliseconds.
MAX_FREE = 300
# A step that ends at an edge fixes a dual; the maximum number of such steps.
MAX_FACES = 20
# Distance from a bound, relative to the cost of the row, below which a dual is at the bound.
AT_BOUND = 1e-12
# Linearly dependent rows make the system singular; the edges of the face decide what it leaves
# open.
RIDGE = 1e-13


@dataclass(frozen=True)
class Face:
    """The rows with free duals, and the quadratic function on them.

    Attributes
    ----------
    costs, q, scores : arrays of shape (r, m)
        B, the duals, and s.
    K : array of shape (r, r)
    G : array of shape (m, m)
    reg : float
    """

    costs: Floats
    q: Floats
    scores: Floats
    K: Floats
    G: Floats
    reg: float

    @cached_property
    def total(self) -> Floats:
        """C as a column."""
        return self.costs.sum(axis=1, keepdims=True)

    def newton(self) -> Floats | None:
        """Compute the step (r, m) to the maximum of D on the face; None if there is none."""
        free = free_duals(self.q, self.costs)
        first = free.argmax(axis=1)
        free[np.arange(len(first)), first] = False
        row, z = np.nonzero(free)
        if len(row) == 0:
            return None
        z0, G = first[row], self.G
        H = G[np.ix_(z, z)] - G[np.ix_(z, z0)] - G[np.ix_(z0, z)] + G[np.ix_(z0, z0)]
        H *= self.K[np.ix_(row, row)] / self.reg
        H[np.diag_indices_from(H)] += RIDGE * H.diagonal().max()
        slopes = self.scores - (self.q + self.costs > self.total)
        try:
            t = cho_solve(cho_factor(H), slopes[row, z] - slopes[row, z0])
        except (LinAlgError, ValueError):
            return None
        step = np.zeros_like(self.q)
        step[row, z] = t
        np.add.at(step, (row, z0), -t)
        return step if np.isfinite(step).all() else None

    def cut(self, step: Floats) -> tuple[Floats, float]:
        """Move along a step to the edge, exactly; return the duals and the fraction taken."""
        caps = self.total - self.costs
        edges = np.where(step < 0.0, np.where(self.q > caps, caps, 0.0), np.inf)
        edges = np.where((step > 0.0) & (self.q < caps), caps, edges)
        parts = np.full(step.shape, np.inf)
        moving = np.isfinite(edges) & (step != 0.0)
        parts[moving] = (edges - self.q)[moving] / step[moving]
        part = min(float(parts.min()), 1.0)
        return np.where(parts <= part, edges, self.q + part * step), part

    def projected(self, step: Floats) -> Floats:
        """Take the whole step, and project onto the nearest feasible duals."""
        q = np.empty_like(self.q)
        kernels.project_rows(self.q + step, self.total[:, 0], q)
        return q

    def gain(self, q: Floats) -> float:
        """Compute how much D rises at other duals."""
        moved = q - self.q
        quadratic = np.sum(moved * self.scores) - 0.5 * np.sum(moved * self._answer(moved))
        return float(quadratic) + self._excess(self.q) - self._excess(q)

    def at(self, q: Floats) -> "Face":
        """Return the face at other duals."""
        return replace(self, q=q, scores=self.scores - self._answer(q - self.q))

    def _answer(self, moved: Floats) -> Floats:
        """Compute how far scores fall when duals move."""
        return self.K @ moved @ self.G / self.reg

    def _excess(self, q: Floats) -> float:
        return float(np.maximum((q + self.costs - self.total).max(axis=1), 0.0).sum())


def free_duals(q: Floats, costs: Floats) -> NDArray[np.bool_]:
    """Return which duals are neither zero nor at their cap."""
    total = costs.sum(axis=1, keepdims=True)
    near = AT_BOUND * total
    return (q > near) & (np.abs(q + costs - total) > near)


def climb(
    design: Design, rows: Index, costs: Floats, duals: Floats, scores: Floats, G: Floats, reg: float
) -> tuple[Index, Floats] | None:
    """Take Newton steps from face to face of the duals while they raise D.

    Parameters
    ----------
    design : Design
    rows : array of row indices
    costs, duals, scores : arrays of shape (n_rows, m)
        The duals are changed in place.
    G : array of shape (m, m)
    reg : float

    Returns
    -------
    rows, change : arrays of shape (r,) and (r, m)
        Rows whose duals changed, and the change; None if nothing changed.
    """
    q = np.maximum(costs[rows] - duals[rows], 0.0)
    n_free = np.count_nonzero(free_duals(q, costs[rows]), axis=1)
    keep = n_free > 1
    if not 0 < n_free[keep].sum() <= MAX_FREE:
        return None
    rows, q = rows[keep], q[keep]
    K = design.gram(design.rows(rows))
    end = _last_face(Face(costs[rows], q, scores[rows], K, G, reg))
    change = q - end.q
    if not change.any():
        return None
    duals[rows] += change
    return rows, change


def _last_face(face: Face) -> Face:
    for _ in range(MAX_FACES):
        step = face.newton()
        if step is None:
            break
        far, (near, part) = face.projected(step), face.cut(step)
        gains = face.gain(far), face.gain(near)
        if max(gains) <= 0.0:
            break
        if gains[0] > gains[1]:
            # many duals reached their bounds at once: the ascent continues from there
            return face.at(far)
        face = face.at(near)
        if part == 1.0:
            break
    return face
