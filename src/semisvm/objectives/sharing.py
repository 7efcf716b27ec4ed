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
        return self._heavy(1)

    @cached_property
    def heavy_together(self) -> HeavyRows | None:
        """The same if one factorisation serves all columns of weights: there may be more rows."""
        n_columns = self.n_weights // self.rows.labeled_rows()[0].n_weights
        return self.heavy or self._heavy(n_columns)

    def _heavy(self, n_columns: int) -> HeavyRows | None:
        rows, work = self.rows, n_columns * self.rows.work
        return heavy_rows(*rows.labeled_rows(), rows.labeled_weight(), self.reg, work)

    def at(self, state: State) -> State:
        """Score all rows with the weights of a state, and return the state."""
        self.rows.score(state.w)
        state.gradient = None
        return state
