r"""A preconditioner from the few rows with large weights, by the Woodbury identity.

A labelled row has weight 1/l and an unlabelled one 1/u. With few labels the curvature is a
small multiple of the identity, plus a little from very many rows, plus much from the few
labelled rows S. Conjugate gradients would find those directions one by one. Instead ::

    M = reg I + X_S^T C X_S

is inverted exactly, through a system with one unknown per row of S (G = X_S X_S^T) ::

    M^-1 r = 1/reg [ r - X_S^T C^1/2 (reg I + C^1/2 G C^1/2)^-1 C^1/2 X_S r ]
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from semisvm.designs import Design, Floats, RowList
from semisvm.vectors import solve_factored

# A factorisation takes |S|^3 / 6 multiplications, which should not exceed this many passes
# over the data.
PASSES_PER_FACTORISATION = 4


@dataclass
class HeavyRows:
    """Rows of a design with their inner products.

    The curvatures of most systems stay the same from one step to the next, unless a row changes
    sides: only the others are factorised again.

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
    _last: "Inverse | None" = field(default=None, repr=False)

    def inverse(self, curvature: Floats, reg: float) -> "Inverse | None":
        """Return M^-1 for curvatures (k, m) of the rows: m systems, one per column.

        A single column of curvatures serves all columns of weights. None if a factorisation
        fails. The result of the last call is no longer valid.
        """
        roots = np.ascontiguousarray(np.sqrt(curvature.T))
        last, self._last = self._last, None
        if last is None or last.reg != reg or last.roots.shape != roots.shape:
            factors, changed = [NO_FACTOR] * len(roots), np.arange(len(roots))
        else:
            factors, changed = last.factors, np.flatnonzero(np.any(roots != last.roots, axis=1))
        for k in changed:
            factor = _factored(self.gram, roots[k], reg)
            if factor is None:
                return None
            factors[k] = factor
        self._last = Inverse(self.design, self.rows, roots, factors, reg)
        return self._last


class Factor(NamedTuple):
    """The lower Cholesky factor of reg I + C^1/2 G C^1/2 for some of the rows.

    Attributes
    ----------
    rows : array of positions, or a slice for all of them
    lower : array of shape (k, k)
    """

    rows: Any
    lower: Floats


NO_FACTOR = Factor(slice(None), np.empty((0, 0)))


def _factored(gram: Floats, roots: Floats, reg: float) -> Factor | None:
    """Factorise the system of the rows with curvature, or return None where that fails.

    The others do not take part in it.
    """
    rows: Any = np.flatnonzero(roots)
    if len(rows) < len(roots):
        roots, a = roots[rows], gram.take(rows, axis=0).take(rows, axis=1)
    else:
        rows, a = slice(None), gram.copy()
    a *= roots
    a *= roots[:, np.newaxis]
    a.ravel()[:: len(a) + 1] += reg
    try:
        lower = np.linalg.cholesky(a).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return None
    return Factor(rows, lower) if np.isfinite(lower.diagonal()).all() else None


@dataclass(frozen=True)
class Inverse:
    """M^-1 as a function of flat weight vectors."""

    design: Design
    rows: RowList
    roots: Floats
    factors: list[Factor]
    reg: float

    def __call__(self, r: Floats, out: Floats) -> Floats:
        """Write M^-1 r to ``out``."""
        m = len(r) // self.design.n_weights
        scores = self.design.few_scores(r.reshape(-1, m), self.rows)
        moves = np.ascontiguousarray(scores.T)
        moves *= self.roots
        for k, move in enumerate(moves):
            rows, lower = self.factors[k % len(self.factors)]
            part = move[rows]
            solve_factored(lower, part)
            move[rows] = part
        # the roots of the other rows are zero
        moves *= self.roots
        np.divide(r, self.reg, out=out)
        moves /= -self.reg
        self.design.add_few(np.ascontiguousarray(moves.T), self.rows, out.reshape(-1, m))
        return out


def are_few(n_rows: int, total_work: int) -> bool:
    """Tell whether so many rows are worth a factorisation.

    Parameters
    ----------
    n_rows : int
    total_work : int
        Number of entries that a pass over all rows of the problem reads.
    """
    return 0 < n_rows**3 <= 6 * PASSES_PER_FACTORISATION * total_work


def heavy_rows(
    design: Design, rows: RowList, weight: Floats, reg: float, total_work: int
) -> HeavyRows | None:
    """Prepare the rows if they are few and heavy enough to slow conjugate gradients.

    Parameters
    ----------
    design : Design
    rows : RowList
    weight : array of shape (k,)
        Their largest curvatures.
    reg : float
    total_work : int
        See `are_few`.
    """
    if not are_few(len(rows), total_work):
        return None
    gram = design.gram(rows)
    if np.mean(weight * gram.diagonal()) <= reg:
        return None
    return HeavyRows(design, rows, gram)
