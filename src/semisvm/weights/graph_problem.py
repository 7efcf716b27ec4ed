r"""The weight step of labelled rows, with outputs that are smooth on a graph of all rows.

The problem is ::

    min_w reg/2 ||w||^2 + loss of the labelled rows + weight/2 f^T L^p f,     f = X w

where f are the outputs of all rows, the intercept among them: were it left out, a constant
and the functions that L takes for smooth, which are not constant, could be played against
each other at no cost. The Laplacian L is sparse, so a product with the curvature is two
passes over the rows and p over the edges. Where weights are few, X^T L^p X is small and the
system of a Newton step is factorised; conjugate gradients then only polish.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from semisvm.designs import Design, Floats
from semisvm.designs.workers import Workers
from semisvm.graphs import Roughness
from semisvm.vectors import add, dot
from semisvm.weights.conjugate_gradients import Operator
from semisvm.weights.problems import BinaryProblem, Linearization, moved_afresh

FEW_COLUMNS = 4_000
"""Up to so many columns a matrix of their products is held: 130 MB, factorised in seconds."""
SMALL_BESIDE_ROWS = 4
"""And only if it has at most so many times the entries of the rows, which may be sparse."""
COLUMNS_AT_A_TIME = 128


@dataclass(frozen=True)
class GraphTerm:
    """The roughness as a function of outputs, and of weights where these are few.

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
        """Make the term of rows X, (n, d), on which the machine is linear."""
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


@dataclass(frozen=True)
class GraphProblem:
    """A problem for the Newton solver; its scores are two vectors over all rows.

    They are the outputs f and M f. Both are linear in the weights, so that the line search
    reads neither rows nor edges.

    Attributes
    ----------
    fit : BinaryProblem
        Of the labelled rows.
    term : GraphTerm
    """

    fit: BinaryProblem
    term: GraphTerm

    @property
    def design(self) -> Design:
        """The rows."""
        return self.fit.design

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        return self.fit.reg

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.fit.n_weights

    @property
    def workers(self) -> Workers:
        """Threads of the fit."""
        return self.fit.workers

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is the same everywhere."""
        return self.fit.quadratic

    def scores(self, w: Floats) -> Floats:
        """Give the outputs of all rows, and the slopes of the roughness."""
        out = np.empty((2, self.design.n_rows))
        self.design.scores(w, self.design.all_rows, out[0])
        out[1] = self.term.roughness.slopes(out[0])
        return out

    def linearize(self, w: Floats, scores: Floats) -> Linearization:
        """Give value, gradient and curvature of the losses and of the roughness."""
        fit, design, (f, smooth) = self.fit, self.design, scores
        rows = fit.rows.index
        slope, curvature, active = np.empty(len(f)), np.empty(len(f)), np.empty_like(rows)
        value, n_active = fit.loss.evaluate(
            f, fit.positive, fit.negative, rows, slope, curvature, active
        )
        curvature = curvature[rows]

        def pull_back(given: Floats, smooth: Floats, out: Floats) -> Floats:
            total = smooth.copy()
            total[rows] += given
            return design.pull_back(total, design.all_rows, out)

        def product(p: Floats, out: Floats) -> Floats:
            q, smooth = self.scores(p)
            return pull_back(curvature * q[rows], smooth, out)

        gradient = pull_back(slope[rows], smooth, np.empty(self.n_weights))
        add(gradient, self.reg, w)
        return Linearization(
            value + 0.5 * dot(f, smooth),
            gradient,
            exact=True,
            product=product,
            scales=partial(self._scales, curvature),
            inverse=partial(self._inverse, curvature),
            n_active=n_active,
        )

    def move(
        self, w: Floats, scores: Floats, step_scores: Floats, t: float, predicted: Floats
    ) -> Linearization:
        """Add t times the scores of a step, and linearize there."""
        return moved_afresh(self, w, scores, step_scores, t)

    @cached_property
    def _labeled(self) -> Floats:
        return self.design.few_rows(self.fit.rows)

    def _scales(self, curvature: Floats) -> Floats:
        """Give the diagonal of the curvature as if L were the identity, its own diagonal."""
        each = np.full(self.design.n_rows, self.term.roughness.weight)
        each[self.fit.rows.index] += curvature
        return self.design.column_scales(each, self.design.all_rows, np.empty(self.n_weights))

    def _inverse(self, curvature: Floats) -> Operator | None:
        if self.term.matrix is None:
            stiff = self.fit.stiff
            return None if stiff is None else stiff.inverse(curvature[:, None], self.reg)
        H = (self._labeled.T * curvature) @ self._labeled
        order = self.design.encode(np.arange(self.n_weights - 1.0), 0.0).astype(np.intp)
        order[-1] = self.n_weights - 1
        H += self.term.matrix[np.ix_(order, order)]
        H[np.diag_indices_from(H)] += self.reg
        return _factored(H)

    def along(self, scores: Floats, step_scores: Floats, t: float) -> tuple[float, float]:
        """Give the first two derivatives at ``scores + t step_scores``."""
        first, second = self.fit.along(scores[0], step_scores[0], t)
        step, bent = step_scores
        bend = dot(step, bent)
        return first + dot(step, scores[1]) + t * bend, second + bend


def _factored(H: Floats) -> Operator | None:
    """Give the inverse of a matrix; None where rounding has made it indefinite."""
    try:
        factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None

    def inverse(r: Floats, out: Floats) -> Floats:
        out[...] = cho_solve(factor, r, check_finite=False)
        return out

    return inverse
