r"""A preconditioner from the few rows that weigh much.

With few labels, a labelled row weighs 1/l and an unlabelled one 1/u: the curvature is a
small multiple of the identity, plus a little from very many rows, plus much from the few
rows S that are labelled. Conjugate gradients would find those directions one by one.
Instead ::

    M = reg I + X_S^T C X_S

is inverted exactly, through a system with one unknown a row of S (G = X_S X_S^T) ::

    M^-1 r = 1/reg [ r - X_S^T C^1/2 (reg I + C^1/2 G C^1/2)^-1 C^1/2 X_S r ]
"""

from dataclasses import dataclass

import numpy as np

from semisvm.designs import Design, Floats, Index, RowList
from semisvm.vectors import factorise, solve_factored

# A factorisation takes |S|^3 / 6 multiplications, which should not exceed so many passes
# over the data.
PASSES_PER_FACTORISATION = 4


@dataclass(frozen=True)
class StiffRows:
    """Rows of a design with their inner products.

    Attributes
    ----------
    design : Design
    rows : RowList
    gram : array of shape (k, k)
        Inner products of the rows, with the constant feature.
    """

    design: Design
    rows: RowList
    gram: Floats

    def inverse(self, curvature: Floats, reg: float) -> "Inverse | None":
        """Give M^-1 for curvatures (k, m) of the rows: m systems, one for each column.

        None where the numbers do not allow it.
        """
        roots = np.sqrt(curvature.T)
        factors = np.empty((len(roots), *self.gram.shape))
        for factor, root in zip(factors, roots, strict=True):
            factor[...] = root[:, None] * self.gram * root
            factor[np.diag_indices_from(factor)] += reg
            factorise(factor)
        if not np.isfinite(np.diagonal(factors, axis1=1, axis2=2)).all():
            return None
        return Inverse(self, np.ascontiguousarray(roots), factors, reg)


@dataclass(frozen=True)
class Inverse:
    """M^-1 as a function of flat weight vectors."""

    stiff: StiffRows
    roots: Floats
    factors: Floats
    reg: float

    def __call__(self, r: Floats, out: Floats) -> Floats:
        """Write M^-1 r to ``out``."""
        stiff, m = self.stiff, len(self.roots)
        scores = stiff.design.few_scores(r.reshape(-1, m), stiff.rows)
        moves = np.ascontiguousarray(scores.T)
        moves *= self.roots
        for factor, move in zip(self.factors, moves, strict=True):
            solve_factored(factor, move)
        moves *= self.roots
        np.divide(r, self.reg, out=out)
        moves /= -self.reg
        stiff.design.add_few(np.ascontiguousarray(moves.T), stiff.rows, out.reshape(-1, m))
        return out


def stiff_rows(design: Design, index: Index, weight: Floats, reg: float) -> StiffRows | None:
    """Prepare rows that weigh enough to slow conjugate gradients, if they are few.

    Parameters
    ----------
    design : Design
    index : array of shape (k,)
        Rows, ascending.
    weight : array of shape (k,)
        Their largest curvatures.
    reg : float
    """
    if not 0 < len(index) ** 3 <= 6 * PASSES_PER_FACTORISATION * design.all_rows.work:
        return None
    rows = design.rows(index)
    gram = design.gram(rows)
    if np.mean(weight * gram.diagonal()) <= reg:
        return None
    return StiffRows(design, rows, gram)
