"""What the tasks of two and of many classes share."""

from functools import cached_property

from semisvm.blocks import ManyScoreRows, OneScoreRows
from semisvm.solvers import State
from semisvm.solvers.woodbury import HeavyRows, heavy_rows


class RowsTask:
    """A problem over rows in blocks, with a strength of the regularisation."""

    rows: OneScoreRows | ManyScoreRows
    reg: float

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.rows.n_weights

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.rows.n_unlabeled

    @cached_property
    def heavy(self) -> HeavyRows | None:
        """The labelled rows, if they are so few that each has a large weight."""
        rows = self.rows
        return heavy_rows(*rows.labeled_rows(), rows.labeled_weight(), self.reg, rows.work)

    def at(self, state: State) -> State:
        """Score all rows with the weights of a state, and return the state."""
        self.rows.score(state.w)
        state.gradient = None
        return state
