r"""The weight step of labelled rows, with outputs that are smooth on a graph of all rows.

The problem is ::

    min_w reg/2 ||w||^2 + loss of the labelled rows + weight/2 f^T L^p f,     f = X w

where f are the outputs of all rows, including the intercept. Without it, a constant could be
traded at no cost against the functions that are smooth for L, which are not constant. The
Laplacian L is sparse, so a product with the curvature is two passes over the rows and p over
the edges. If there are few weights, X^T L^p X is small and the system of a Newton step is
factorised; conjugate gradients then only polish.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.vectors import add, dot
from semisvm.maps.graph_laplacian import Roughness
from semisvm.solvers import Linearization
from semisvm.solvers.conjugate_gradients import Preconditioner, factorised
from semisvm.solvers.woodbury import LabeledPreconditioner
from semisvm.tasks.one_score import OneScoreBlock

FEW_COLUMNS = 4_000
"""Up to this many columns the matrix of their products is held: 130 MB, factorised in seconds."""
SMALL_BESIDE_ROWS = 4
"""It must also have at most this many times the entries of the rows, which may be sparse."""
COLUMNS_AT_A_TIME = 128


@dataclass(frozen=True)
class GraphTerm:
    """The roughness as a function of the outputs, and of the weights if there are few.

    Attributes
    ----------
    roughness : Roughness
    matrix : array of shape (d + 1, d + 1), or None
        X^T M X for the matrix M of the roughness, with the constant feature last and in the
        user's order of columns.
    """

    roughness: Roughness
    matrix: Floats | None

    @classmethod
    def of(cls, roughness: Roughness, X: Any, bias: float) -> "GraphTerm":
        """Build the term for rows X, (n, d), in which the model is linear."""
        n, d = X.shape
        if d > FEW_COLUMNS or d * d > SMALL_BESIDE_ROWS * X.size:
            return cls(roughness, None)
        matrix = np.empty((d + 1, d + 1))
        for low in range(0, d, COLUMNS_AT_A_TIME):
            part = X[:, low : low + COLUMNS_AT_A_TIME]
            part = part if isinstance(part, np.ndarray) else part.toarray()
            matrix[:d, low : low + part.shape[1]] = X.T @ roughness.slopes(part)
        constant = roughness.slopes(np.full(n, bias))
        matrix[:d, d] = matrix[d, :d] = X.T @ constant
        matrix[d, d] = bias * float(constant.sum())
        return cls(roughness, 0.5 * (matrix + matrix.T))


class GraphProblem:
    """A problem for the Newton solver; its scores are two vectors over all rows.

    They are the outputs f and M f. Both are linear in the weights, so the line search reads
    neither rows nor edges.

    Parameters
    ----------
    block : OneScoreBlock
        All rows, in a single shard; the labelled ones have costs.
    reg : float
    labeled_preconditioner : LabeledPreconditioner, optional
    term : GraphTerm
    """

    n_systems = 1

    def __init__(
        self,
        block: OneScoreBlock,
        reg: float,
        labeled_preconditioner: LabeledPreconditioner | None,
        term: GraphTerm,
    ) -> None:
        self.design = block.design
        self.reg = reg
        self.labeled_preconditioner = labeled_preconditioner
        self.term = term
        self.loss = block.loss
        self.rows, self.a, self.b = block.charged()
        self.n_weights = block.n_weights
        self.workers = block.design.workers
        self.spare: list[Floats] | None = None
        self.quadratic = block.loss.quadratic
        self.scores = np.zeros((2, self.design.n_rows))
        self._step = np.zeros((2, self.design.n_rows))
        self._curvature = np.empty(0)

    def _scores(self, w: Floats) -> Floats:
        """Compute the outputs of all rows, and the slopes of the roughness."""
        out = np.empty((2, self.design.n_rows))
        self.design.scores(w, self.design.all_rows, out[0])
        out[1] = self.term.roughness.slopes(out[0])
        return out

    def linearize(self, w: Floats) -> Linearization:
        """Compute value, gradient and curvature of the losses and of the roughness."""
        assert self.loss.evaluate is not None
        (f, smooth), rows = self.scores, self.rows.index
        slope, curvature, active = np.empty(len(f)), np.empty(len(f)), np.empty_like(rows)
        value, n_active = self.loss.evaluate(f, self.a, self.b, rows, slope, curvature, active)
        self._curvature = curvature[rows]
        gradient = self._pull_back(slope[rows], smooth, np.empty(self.n_weights))
        add(gradient, self.reg, w)
        return Linearization(value + 0.5 * dot(f, smooth), gradient, n_active)

    def _pull_back(self, given: Floats, smooth: Floats, out: Floats) -> Floats:
        total = smooth.copy()
        total[self.rows.index] += given
        return self.design.pull_back(total, self.design.all_rows, out)

    def curve(self) -> None:
        """Do nothing: the curvature is ready for products."""

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the curvature."""
        q, smooth = self._scores(p)
        return self._pull_back(self._curvature * q[self.rows.index], smooth, out)

    def scales(self) -> Floats:
        """Compute the diagonal of the curvature as if L were the identity, its own diagonal."""
        each = np.full(self.design.n_rows, self.term.roughness.weight)
        each[self.rows.index] += self._curvature
        return self.design.column_scales(each, self.design.all_rows, np.empty(self.n_weights))

    @cached_property
    def _labeled(self) -> Floats:
        return self.design.few_rows(self.rows)

    def inverse(self) -> Preconditioner | None:
        """Return the inverse of the curvature if weights are few, else of its labelled part."""
        if self.term.matrix is None:
            labeled_preconditioner = self.labeled_preconditioner
            return (
                None
                if labeled_preconditioner is None
                else labeled_preconditioner.inverse(self._curvature[:, None], self.reg)
            )
        H = (self._labeled.T * self._curvature) @ self._labeled
        n_columns = self.design.n_columns
        order = self.design.encode(np.arange(float(n_columns)), 0.0).astype(np.intp)
        order[-1] = n_columns
        H += self.term.matrix[np.ix_(order, order)]
        return factorised(H[np.newaxis], self.reg)

    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step."""
        self._step = self._scores(step)

    def along(self, times: Sequence[float]) -> Sequence[Sequence[float]]:
        """Compute the first two derivatives along the step, at several lengths."""
        assert self.loss.along is not None
        (step, bent), (f, smooth) = self._step, self.scores
        slope, bend = dot(step, smooth), dot(step, bent)
        found = []
        for t in times:
            first, second = self.loss.along(f, step, self.a, self.b, self.rows.index, t)
            found.append((first + slope + t * bend, second + bend))
        return found

    def advance(self, w: Floats, t: float, predicted: Floats) -> Linearization:
        """Move along the step, and linearize there."""
        add(self.scores.reshape(-1), t, self._step.reshape(-1))
        return self.linearize(w)
