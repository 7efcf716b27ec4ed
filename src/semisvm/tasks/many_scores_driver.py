"""The driver's view of rows with one score per class: label steps and soft labels."""

from collections.abc import Sequence

import numpy as np

from semisvm.designs import Floats, Index
from semisvm.label_steps.transportation import Counts, Labels, balance_gathered
from semisvm.tasks.driver import Ask, Rows
from semisvm.tasks.many_beliefs import ManyScoreBlock
from semisvm.tasks.many_scores import Codes
from semisvm.tasks.sums import totals


class ManyScoreRows(Rows[ManyScoreBlock]):
    """The rows of a problem with one score per class."""

    # they are long, and little memory compared with the scores of all rows
    _keeps_vectors = True

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.blocks[0].n_classes

    def table(self, used: Index) -> "Table":
        """Prepare a label step among some classes."""
        return Table(self.ask, self.ask("open_table", used), self.has_weights)

    def table_cost(self) -> tuple[float, float]:
        """Return the cost of the labels in the table, and of the chosen labels."""
        new, old = totals(self.ask("table_cost"))
        return new, old

    def cheapest_moves(self, prices: Floats, classes: Index) -> Floats:
        """Return, for each of some classes, the least cost of moving a row there at the prices."""
        found: Floats = np.min(self.ask("cheapest_moves", prices, classes), axis=0)
        return found

    def adopt_table(self) -> int:
        """Choose the labels in the table; count those that change."""
        return sum(self.ask("adopt_table"))

    def fit(self) -> float:
        """Sum the weighted losses of the given labels."""
        return float(sum(self.ask("fit")))

    def predicted_counts(self) -> Counts:
        """Count the unlabelled rows by the class of their largest score, by mass."""
        found: Counts = np.sum(self.ask("predicted_counts"), axis=0)
        return found

    def adopt_beliefs(self) -> None:
        """Set the beliefs of classes that are not in the table to zero."""
        self.ask("adopt_beliefs")

    def respond(self, temperature: float, lam: float) -> Floats | None:
        """Prepare products with the reduced Hessian; return the sum of the rows' C_j."""
        parts = self.ask("respond", temperature, lam)
        return None if parts[0] is None else np.sum(parts, axis=0)

    def answer(self, p: Floats) -> Floats:
        """Sum over rows how beliefs respond to a step at fixed prices; see the block's method."""
        found: Floats = np.sum(self.ask("answer", p), axis=0)
        return found

    def answered(self, prices: Floats, out: Floats) -> Floats:
        """Multiply the last step by the reduced Hessian, with moves of the prices."""
        if len(self.blocks) == 1 and not self.elsewhere:
            return self.blocks[0].answered(prices, out)
        out[...] = 0.0
        for part in self.ask("answered", prices):
            if part is not None:
                out += part
        return out

    def beliefs(self) -> Floats:
        """Return the beliefs of the unlabelled rows, (u, m)."""
        return np.concatenate(self.ask("beliefs"))

    def labels(self) -> Codes:
        """Return the chosen labels of the unlabelled rows."""
        return np.concatenate(self.ask("chosen_labels"))


class Table:
    """The costs of labels over all blocks, in the form the exact and entropic steps need.

    Parameters
    ----------
    ask : callable
        How to call the blocks.
    sizes : sequence of int
        Number of rows per block.
    has_weights : bool
        Whether rows have masses of their own.
    """

    def __init__(self, ask: Ask, sizes: Sequence[int], has_weights: bool = False) -> None:
        self._ask = ask
        self.has_weights = has_weights
        self._sizes = sizes
        self.n_rows = sum(sizes)

    def sample(self, step: int) -> tuple[Floats, Labels, Floats]:
        """Return the costs, labels and masses of every ``step``-th row."""
        if len(self._sizes) == 1:
            [only] = self._ask("sample", step, 0)
            return tuple(only)
        begins = np.cumsum([0, *self._sizes[:-1]])
        parts = self._ask("sample", step, each=[(int(-first % step),) for first in begins])
        costs, labels = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        mass = np.concatenate([np.broadcast_to(mass, len(own)) for _, own, mass in parts])
        return costs, labels, mass

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; sum the masses per class."""
        found: Counts = np.sum(self._ask("assign", prices), axis=0)
        return found

    def balance(self, prices: Floats, excess: Counts, reach: float) -> bool:
        """Move rows along shortest paths until no class has an excess.

        A single block moves its own rows. With several, the rows within reach are gathered.
        """
        if len(self._sizes) == 1:
            [(done, prices[:], excess[:])] = self._ask("balance", prices, excess, reach)
            return bool(done)
        parts = self._ask("near", prices, reach)
        done, labels = balance_gathered(parts, prices, excess, reach)
        each = [(part[0], new) for part, new in zip(parts, labels, strict=True)]
        self._ask("relabel", each=each)
        return done
