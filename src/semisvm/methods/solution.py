"""What a method returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats


@dataclass
class Solution:
    """The result of a method.

    Attributes
    ----------
    w : array of shape (n_weights,)
        Flat, in the order of the design; one column per node of the class hierarchy.
    objective : float
    n_iter : int
    converged : bool
    codes : int array of shape (u,)
        Classes chosen for the unlabelled rows.
    beliefs : array of shape (u, m), optional
        Probabilities of the classes, for methods that have them.
    """

    w: Floats
    objective: float
    n_iter: int
    converged: bool
    codes: NDArray[np.intp]
    beliefs: Floats | None = None


def joined(
    parts: Sequence[Solution], outputs: Sequence[Floats], codes: NDArray[np.intp] | None = None
) -> Solution:
    """Join the solutions of the one-vs-rest problems.

    Parameters
    ----------
    parts : sequence of Solution
        One per class.
    outputs : sequence of arrays of shape (u,)
        Outputs of the unlabelled rows, one array per class.
    codes : int array of shape (u,), optional
        Classes of the unlabelled rows; by default those of the largest outputs.
    """
    best = np.column_stack(outputs).argmax(axis=1) if codes is None else codes
    return Solution(
        np.column_stack([part.w for part in parts]).ravel(),
        sum(part.objective for part in parts),
        sum(part.n_iter for part in parts),
        all(part.converged for part in parts),
        best,
    )


class Columns(Protocol):
    """What translates weight vectors: a design, or rows that are elsewhere."""

    @property
    def n_weights(self) -> int:
        """Length of a weight vector."""
        ...

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Return coefficients and the intercept."""
        ...


def decoded(design: Columns, w: Floats) -> tuple[Floats, Floats]:
    """Return coefficients (k, d) and intercepts (k,) of flat weights with k columns."""
    columns = w.reshape(design.n_weights, -1).T
    pairs = [design.decode(np.ascontiguousarray(column)) for column in columns]
    return np.array([coef for coef, _ in pairs]), np.array([b for _, b in pairs])
