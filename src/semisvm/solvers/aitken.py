"""Aitken extrapolation of an alternation that converges slowly.

Near the temperatures at which labels begin to be decided, weight and label steps approach their
fixed point slowly: each move of the weights is rho times the one before, in the same direction.
The remaining distance is then rho / (1 - rho) times the last move (Aitken), and a method may
try to go there at once, if that lowers its objective.
"""

from semisvm.designs import Floats
from semisvm.vectors import dot

# Below LEAST an alternation is fast enough. Above MOST it is about to leave one valley for
# another, and the choice must not depend on how far a step went. (Without the upper bound one
# of 16 draws of 20 newsgroups ended 2% higher.)
LEAST, MOST = 0.4, 0.9
# Smallest cosine between two moves that have the same direction.
ALIGNED = 0.97


class Extrapolation:
    """The last move of the weights, from which the remaining distance is estimated.

    Attributes
    ----------
    last_move : array of shape (n_weights,), optional
    """

    def __init__(self) -> None:
        self.last_move: Floats | None = None

    def forget(self) -> None:
        """Start again: the next move is unrelated to the last one."""
        self.last_move = None

    def ahead(self, move: Floats) -> float:
        """Return the remaining distance as a multiple of this move, or 0 if unknown."""
        last, self.last_move = self.last_move, move
        if last is None:
            return 0.0
        before, now, both = dot(last, last), dot(move, move), dot(last, move)
        if not LEAST * before < both < MOST * before or both * both < ALIGNED**2 * before * now:
            return 0.0
        self.last_move = None
        rho = both / before
        return rho / (1.0 - rho)
