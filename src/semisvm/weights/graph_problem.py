r"""The weight step of labelled rows, with outputs that are smooth on a graph of all rows.

The problem is ::

    min_w reg/2 ||w||^2 + loss of the labelled rows + weight/2 g^T L^p g,     g = X w

where g are the outputs of all rows without the intercept, which a graph has no say in. The
Laplacian L is sparse, so a product with the curvature is two passes over the rows and p over
the edges. Where weights are few, X^T L^p X is small and the system of a Newton step is
factorised; conjugate gradients then only polish. No matrix of n x n numbers is ever made.
"""

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from semisvm.designs import Design, Floats
from semisvm.designs.workers import Workers
from semisvm.graphs import Roughness
from semisvm.vectors import dot
from semisvm.weights.conjugate_gradients import Operator
from semisvm.weights.problems import BinaryProblem, Linearization

FEW_COLUMNS = 4_000
"""Up to so many columns a matrix of their products is held: 130 MB, factorised in seconds."""
COLUMNS_AT_A_TIME = 128


@dataclass(frozen=True)
class GraphTerm:
    """The roughness as a function of outputs, and of weights where these are few.

    Attributes
    ----------
    roughness : Roughness
    matrix : array of shape (d, d), or None
        X^T M X for the matrix M of the roughness, in the user's order of columns.
    """

    roughness: Roughness
    matrix: Floats | None

    @classmethod
    def of(cls, roughness: Roughness, X: Any) -> "GraphTerm":
        """Make the term of rows X, (n, d), on which the machine is linear."""
        d = X.shape[1]
        if d > FEW_COLUMNS:
            return cls(roughness, None)
        matrix = np.empty((d, d))
        for low in range(0, d, COLUMNS_AT_A_TIME):
            part = X[:, low : low + COLUMNS_AT_A_TIME]
            part = part if isinstance(part, np.ndarray) else part.toarray()
            matrix[:, low : low + part.shape[1]] = X.T @ roughness.slopes(part)
        return cls(roughness, 0.5 * (matrix + matrix.T))


@dataclass(frozen=True)
class GraphProblem:
    """A problem for the Newton solver; its scores are three vectors over all rows.

    They are the outputs, the outputs g without the intercept, and M g. All are linear in
    the weights, so that the line search reads neither rows nor edges.

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
        """Give outputs, outputs without the intercept, and the slopes of the roughness."""
        out = np.empty((3, self.design.n_rows))
        self.design.scores(w, self.design.all_rows, out[0])
        np.subtract(out[0], self.design.bias * w[-1], out=out[1])
        out[2] = self.term.roughness.slopes(out[1])
        return out

    def _pull_back(self, given: Floats, smooth: Floats, out: Floats) -> Floats:
        """Give X^T (given + smooth), of which the intercept feels the first only."""
        rows = self.fit.rows.index
        total = smooth.copy()
        total[rows] += given[rows]
        self.design.pull_back(total, self.design.all_rows, out)
        out[-1] = self.design.bias * float(given[rows].sum())
        return out

    def linearize(self, scores: Floats) -> Linearization:
        """Give value, gradient and curvature of the losses and of the roughness."""
        fit, (outputs, g, slopes) = self.fit, scores
        slope, curvature = np.empty(len(g)), np.empty(len(g))
        value = fit.loss.evaluate(
            outputs, fit.positive, fit.negative, fit.rows.index, slope, curvature
        )
        curvature = curvature[fit.rows.index]

        def product(p: Floats, out: Floats) -> Floats:
            q, _, smooth = self.scores(p)
            q[fit.rows.index] *= curvature
            return self._pull_back(q, smooth, out)

        return Linearization(
            value + 0.5 * dot(g, slopes),
            self._pull_back(slope, slopes, np.empty(self.n_weights)),
            product,
            scales=partial(self._scales, curvature),
            inverse=partial(self._inverse, curvature),
            n_active=int(np.count_nonzero(curvature)),
        )

    @cached_property
    def _labeled(self) -> Floats:
        return self.design.few_rows(self.fit.rows)

    def _scales(self, curvature: Floats) -> Floats:
        """Give the diagonal of the curvature as if L were the identity, its own diagonal."""
        each = np.full(self.design.n_rows, self.term.roughness.weight)
        smooth = self.design.column_scales(each, self.design.all_rows, np.empty(self.n_weights))
        smooth[-1] = 0.0
        each[self.fit.rows.index] = curvature
        return smooth + self.design.column_scales(each, self.fit.rows, np.empty(self.n_weights))

    def _inverse(self, curvature: Floats) -> Operator | None:
        if self.term.matrix is None:
            stiff = self.fit.stiff
            return None if stiff is None else stiff.inverse(curvature[:, None], self.reg)
        H = (self._labeled.T * curvature) @ self._labeled
        order = self.design.encode(np.arange(self.n_weights - 1.0), 0.0)[:-1].astype(np.intp)
        H[:-1, :-1] += self.term.matrix[np.ix_(order, order)]
        H[np.diag_indices_from(H)] += self.reg
        return _factored(H)

    def along(self, scores: Floats, step_scores: Floats, t: float) -> tuple[float, float]:
        """Give the first two derivatives at ``scores + t step_scores``."""
        first, second = self.fit.along(scores[0], step_scores[0], t)
        bend = dot(step_scores[1], step_scores[2])
        return first + dot(step_scores[1], scores[2]) + t * bend, second + bend


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
