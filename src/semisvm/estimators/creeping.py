"""Where an alternation creeps, skip ahead.

Near the temperatures at which labels begin to decide, weight and label steps approach their
fixed point slowly, each move of the weights a factor rho times the one before and in the same
direction. What is left is then rho / (1 - rho) times the last move (Aitken), and a method may
try to go there at once, if that lowers what it minimises.
"""

from semisvm.designs import Floats
from semisvm.vectors import dot

# Faster than this an alternation does not creep. Slower, or growing, it is about to leave one
# valley for another: which one must not depend on how far a step went. (Without the upper
# bound one of 16 draws of 20 newsgroups ended 2% higher.)
LEAST, MOST = 0.4, 0.9
# Cosine between two moves from which on they have one direction.
ALIGNED = 0.97


class Creeping:
    """The last move of the weights, and how far the next ones would go."""

    def __init__(self) -> None:
        self._last: Floats | None = None

    def forget(self) -> None:
        """Begin anew: the next move has nothing to do with the last one."""
        self._last = None

    def ahead(self, move: Floats) -> float:
        """Give how many times this move is left to go, or 0 if that cannot be told."""
        last, self._last = self._last, move
        if last is None:
            return 0.0
        before, now, both = dot(last, last), dot(move, move), dot(last, move)
        if not LEAST * before < both < MOST * before or both * both < ALIGNED**2 * before * now:
            return 0.0
        self._last = None
        rho = both / before
        return rho / (1.0 - rho)
