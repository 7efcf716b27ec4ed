r"""A few rows in coordinates of the space that they span.

A fit of the labelled rows alone has weights w = X_S^T a: with few rows there is no need for vectors
over all columns. With the Cholesky factor of the inner products, ::

    X_S X_S^T = L L^T,      w = X_S^T L^-T v,      X_S w = L v,      ||w|| = ||v||

so it is the same problem with the small matrix L in place of the rows.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular

from semisvm.designs import Design, Floats, make_design
from semisvm.solvers.woodbury import HeavyRows

# A row whose distance from the span of those before it is a smaller fraction of its length than
# this makes the coordinates inexact: nearly all digits would be lost at 1e-8.
APART = 1e-4


@dataclass(frozen=True)
class Span:
    """Coordinates of a few rows.

    Attributes
    ----------
    heavy : HeavyRows
        The rows.
    design : Design
        Their coordinates; the constant feature is one of those they had before.
    """

    heavy: HeavyRows
    design: Design

    @classmethod
    def of(cls, heavy: HeavyRows) -> "Span | None":
        """Factorise the inner products; None if rows depend on each other."""
        gram = heavy.gram
        try:
            lower = np.linalg.cholesky(gram).astype(np.float64, copy=False)
        except LinAlgError:
            return None
        if not np.all(lower.diagonal() ** 2 > APART**2 * gram.diagonal()):
            return None
        return cls(heavy, make_design(lower, 0.0, heavy.design.workers))

    def weights(self, v: Floats) -> Floats:
        """Return the weight vector for coordinates v, with one column after the other in turns."""
        heavy, V = self.heavy, v.reshape(self.design.n_weights, -1)
        # the last coordinate is that of the constant feature, which is zero here
        lower = self.design.matrix(self.design.all_rows.index)
        a = solve_triangular(lower, V[:-1], trans=1, lower=True, check_finite=False)
        out = np.zeros((heavy.design.n_weights, V.shape[1]))
        return heavy.design.add_few(np.ascontiguousarray(a), heavy.rows, out).reshape(-1)
