"""What the tasks of two and of many classes share."""

from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from typing import Any

from semisvm.blocks import ManyScoreRows, OneScoreRows
from semisvm.designs import Floats
from semisvm.solvers import State
from semisvm.solvers.woodbury import HeavyRows, heavy_rows


class RowsTask(ABC):
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

    @abstractmethod
    def from_weights(self, w: Floats) -> State:
        """Return a state with these weights, and score all rows."""

    def returned(self, kept: dict[str, Any]) -> State:
        """Return the state of which `State.to_dict` told, and score all rows."""
        numbers = {name: value for name, value in kept.items() if name != "w"}
        return replace(self.from_weights(kept["w"].copy()), **numbers)

    def at(self, state: State) -> State:
        """Score all rows with the weights of a state, and return the state."""
        self.rows.score(state.w)
        state.gradient = None
        return state
