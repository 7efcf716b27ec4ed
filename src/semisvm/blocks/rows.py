"""The driver's view of the blocks: all rows of a fit, whatever block they are in.

The driver holds vectors over columns and scalars. It calls the same method on all blocks, by
name, and adds their answers in a fixed order, so that results repeat bit for bit on the same
blocks.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.blocks.many_beliefs import ManyScoreBlock
from semisvm.blocks.many_scores import Codes
from semisvm.blocks.one_score import OneScoreBlock
from semisvm.blocks.selection import Cut, largest
from semisvm.blocks.sums import added, totals
from semisvm.designs import Design, Floats, Index, RowList, Workers, make_design
from semisvm.label_steps.transportation import Counts, balance_gathered

# Maximum number of outputs gathered from remote blocks in the search for a threshold.
MAX_GATHERED = 10_000

Block = TypeVar("Block", bound=OneScoreBlock | ManyScoreBlock)
Answers = Sequence[Any]
Ask = Callable[..., Answers]


def asking(blocks: Sequence[Any]) -> Ask:
    """Return the function that calls blocks of this process, one by one, each with threads."""
    if len(blocks) == 1:
        return _asking_one(blocks[0])

    def ask(name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] | None = None) -> Answers:
        """Call a method of every block, optionally with further arguments per block."""
        own = [()] * len(blocks) if each is None else each
        return [
            getattr(block, name)(*arguments, *more) for block, more in zip(blocks, own, strict=True)
        ]

    return ask


def _asking_one(block: Any) -> Ask:
    def ask(name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] | None = None) -> Answers:
        more = () if each is None else each[0]
        return [getattr(block, name)(*arguments, *more)]

    return ask


class Rows(Generic[Block]):
    """Base of the rows with one and with many scores.

    Parameters
    ----------
    blocks : sequence of blocks
        In the order of their rows.
    ask : callable, optional
        How to call blocks that are not in this process: (name, arguments, each=) -> answers.
    """

    def __init__(self, blocks: Sequence[Block], ask: Ask | None = None) -> None:
        self.blocks: Sequence[Block] = blocks
        self.ask = asking(blocks) if ask is None else ask
        self.elsewhere = ask is not None
        self.workers: Workers = blocks[0].design.workers
        self._labeled: tuple[Design, RowList] | None = None

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return sum(len(block.labeled) for block in self.blocks)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label."""
        return self.blocks[0].n_unlabeled

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.blocks[0].n_weights

    @property
    def work(self) -> int:
        """Number of entries that a pass over all rows reads."""
        return sum(block.design.all_rows.work for block in self.blocks)

    @property
    def bias(self) -> float:
        """Value of the constant feature."""
        return float(self.blocks[0].design.bias)

    def in_one_place(self) -> Block:
        """Return the one block with all rows, for methods that need them together."""
        if len(self.blocks) > 1 or self.elsewhere:
            raise TypeError(
                "this method needs all rows in the memory of one process, but they are in "
                f"{len(self.blocks)} blocks. Use TransductiveSVC, AnnealedSVC or NewtonSVC with "
                "a smooth loss ('squared_hinge', 'squared' or 'log'), or fewer rows."
            )
        return self.blocks[0]

    def labeled_rows(self) -> tuple[Design, RowList]:
        """Return the labelled rows as a list of rows of a design that the driver holds."""
        if self._labeled is None and len(self.blocks) == 1 and not self.elsewhere:
            block = self.blocks[0]
            self._labeled = block.design, block.design.rows(block.labeled)
        elif self._labeled is None:
            parts = self.ask("labeled_rows")
            few = make_design(_stacked(parts), self.bias, self.workers, renumber=False)
            self._labeled = few, few.all_rows
        return self._labeled

    def labeled_weight(self) -> Floats:
        """Return the weights of the labelled rows."""
        return np.concatenate([block.weight for block in self.blocks])

    def score(self, w: Floats, labeled_only: bool = False) -> None:
        """Compute the scores of all rows, or of the labelled rows only."""
        self.ask("score", w, labeled_only)

    def charge_given(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        self.ask("charge_given")

    def charge_labels(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self.ask("charge_labels", lam)

    def charge_beliefs(self, lam: float) -> None:
        """Set the costs of the given labels and of the beliefs, with weight ``lam``."""
        self.ask("charge_beliefs", lam)

    def linearize(self) -> tuple[float, Floats, int]:
        """Compute value, gradient (without the regulariser) and the number of active rows."""
        parts = self.ask("linearize")
        value, n_active = sum(part[0] for part in parts), sum(part[2] for part in parts)
        return value, added([part[1] for part in parts], 0), n_active

    def curvature(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the curvature at the last linearization."""
        if len(self.blocks) == 1 and not self.elsewhere:
            return self.blocks[0].curvature(p, out)
        out[...] = 0.0
        for part in self.ask("curvature", p):
            out += part
        return out

    def column_scales(self) -> Floats:
        """Compute the diagonal of the curvature, column by column."""
        return added(self.ask("column_scales"), 0)

    def labeled_curvature(self) -> Floats:
        """Return the curvatures of the labelled rows."""
        return np.concatenate(self.ask("labeled_curvature"))

    def look(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        self.ask("look", step)

    def along(self, times: Sequence[float]) -> list[list[float]]:
        """Compute the first two derivatives along the step, at each of several lengths."""
        return [totals(parts) for parts in zip(*self.ask("along", times), strict=True)]

    def advance(self, t: float) -> tuple[float, int, list[Floats | None]] | None:
        """Move along the step; see `OneScoreBlock.advance`. None if recomputing is cheaper."""
        parts = self.ask("advance", t)
        if any(part is None for part in parts):
            return None
        value, n_active = sum(part[0] for part in parts), sum(part[1] for part in parts)
        return value, n_active, [part[2] for part in parts]

    def move(self, t: float) -> None:
        """Move along the step."""
        self.ask("move", t)

    def losses(self) -> tuple[float, float]:
        """Return the losses of the given and of the chosen labels."""
        fit, rest = totals(self.ask("losses"))
        return fit, rest

    def follow_labels(self, ratio: float, lam: float) -> Answers | None:
        """Return how value and gradient change with the labels; see the block's method."""
        parts = self.ask("follow_labels", ratio, lam)
        return None if any(part is None for part in parts) else parts

    def predictions(self) -> Codes:
        """Predict the classes of the unlabelled rows, as codes."""
        return np.concatenate(self.ask("predictions"))

    def entropy(self) -> float:
        """Return the mean entropy of the beliefs."""
        return sum(self.ask("entropy")) / self.n_unlabeled

    def restore_beliefs(self, lam: float) -> None:
        """Recover the beliefs from the costs."""
        self.ask("restore_beliefs", lam)

    def divergence(self, lam: float) -> float:
        """Return the mean divergence of the beliefs from those in the costs."""
        return sum(self.ask("divergence", lam)) / self.n_unlabeled


def _stacked(parts: Sequence[Any]) -> Any:
    """Stack the rows of several blocks."""
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


class OneScoreRows(Rows[OneScoreBlock]):
    """The rows of a two-class problem."""

    def shift(self, amount: float) -> None:
        """Add a constant to all scores."""
        self.ask("shift", amount)

    def largest(self, k: int, within: tuple[float, float] = (-np.inf, np.inf)) -> Cut:
        """Find the threshold that leaves exactly k outputs above it, ties by row number."""
        most = MAX_GATHERED if self.elsewhere else np.inf
        return largest(self.ask, self.n_unlabeled, k, most, within)

    def output_at(self, k: int) -> float:
        """Return the k-th largest output, for k from 1 to the number of unlabelled rows."""
        if k < self.n_unlabeled:
            return self.largest(k).threshold
        return float(min(low for low, _ in self.ask("output_range")))

    def label_largest(self, k: int) -> int:
        """Label the k largest outputs positive; return the number that were not before."""
        n_positive, lowest, highest = zip(*self.ask("crossing"), strict=True)
        if sum(n_positive) != k:
            return self.cut(self.largest(k))
        low, high = min(lowest), max(highest)
        # only labels between the two can be wrong, and usually they are few
        return self.cut(self.largest(k, (low, high))) if low <= high else 0

    def cut(self, at: Cut) -> int:
        """Label by a threshold; return the number of rows that were not positive before."""
        return sum(self.ask("cut", at.threshold, each=[(n,) for n in at.tied]))

    def losses_of_cut(self, at: Cut) -> tuple[float, float]:
        """Return the same losses as if the labels were chosen by a threshold."""
        parts = self.ask("losses_of_cut", at.threshold, each=[(n,) for n in at.tied])
        fit, rest = totals(parts)
        return fit, rest

    def n_positive_outputs(self) -> int:
        """Count the unlabelled rows with a positive score."""
        return sum(found[0] for found in self.ask("count_above", (0.0,)))

    def switch_pairs(self, max_pairs: int) -> int:
        """Switch the labels of at most ``max_pairs`` pairs that lower the loss; count them.

        Equal scores are never switched, so ties cannot cycle.
        """
        parts = self.ask("extremes", max_pairs)
        (low, down, where_down), (high, up, where_up) = (
            _merged([part[side] for part in parts], sign, max_pairs)
            for side, sign in ((0, 1.0), (1, -1.0))
        )
        k = min(len(low), len(high))
        n = int(np.count_nonzero(low[:k] < high[:k]))
        if n:
            self.ask(
                "switch",
                each=[
                    (down[:n][where_down[:n] == b], up[:n][where_up[:n] == b])
                    for b in range(len(parts))
                ],
            )
        return n

    def mark_labels(self) -> None:
        """Take the chosen labels for those of the last gradient."""
        self.ask("mark_labels")

    def soften(
        self, price: float, temperature: float, lam: float, keep: bool = False
    ) -> tuple[float, float, float]:
        """Set the beliefs at a price; return their mean and its first two derivatives."""
        parts = self.ask("soften", price, temperature, lam, keep)
        mean, slope, bend = totals(parts)
        return mean, slope, bend

    def gap_range(self, lam: float) -> tuple[float, float]:
        """Return the smallest and the largest gap between the losses of the labels."""
        parts = self.ask("gap_range", lam)
        return min(part[0] for part in parts), max(part[1] for part in parts)

    def gap_deviation(self, lam: float) -> float:
        """Return the standard deviation of the gaps."""
        parts = self.ask("gap_spread", lam)
        if len(parts) == 1:
            return float(parts[0][2])
        n, mean, deviation = np.array(parts, dtype=np.float64).T
        centre = np.sum(n * mean) / n.sum()
        return float(np.sqrt(np.sum(n * (deviation**2 + (mean - centre) ** 2)) / n.sum()))

    def soft_losses(
        self, price: float, temperature: float, lam: float
    ) -> tuple[float, float, float]:
        """Compute the parts of the free energy; see the block's method."""
        fit, negative, rest = totals(self.ask("soft_losses", price, temperature, lam))
        return fit, negative, rest

    def follow_beliefs(self, lam: float) -> list[Floats | None] | None:
        """Return how the gradient changes with the beliefs; None if recomputing is cheaper."""
        parts = self.ask("follow_beliefs", lam)
        return [part[1] for part in parts] if all(part[0] for part in parts) else None

    def respond(self, temperature: float, lam: float, charged: bool) -> tuple[float, Floats]:
        """Turn the curvature into that of the reduced Hessian; see the block's method."""
        parts = self.ask("respond", temperature, lam, charged)
        return sum(part[0] for part in parts), added([part[1] for part in parts], self.n_weights)

    def beliefs(self) -> Floats:
        """Return the beliefs in the positive label, in the order of the unlabelled rows."""
        return np.concatenate(self.ask("beliefs"))

    def outputs(self) -> Floats:
        """Return the scores of the unlabelled rows."""
        return np.concatenate(self.ask("outputs"))

    def labels(self) -> NDArray[np.bool_]:
        """Return the chosen labels of the unlabelled rows."""
        return np.concatenate(self.ask("chosen_labels"))


def _merged(
    parts: Sequence[tuple[Floats, Index]], sign: float, k: int
) -> tuple[Floats, Index, Index]:
    """Merge the candidates of all blocks: scores, positions and blocks of the best k."""
    scores = np.concatenate([part[0] for part in parts])
    positions = np.concatenate([part[1] for part in parts])
    where = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    order = np.argsort(sign * scores, kind="stable")[:k]
    return scores[order], positions[order], where[order]


class ManyScoreRows(Rows[ManyScoreBlock]):
    """The rows of a problem with one score per class."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.blocks[0].n_classes

    def table(self, used: Index) -> "Table":
        """Prepare a label step among some classes."""
        return Table(self.ask, self.ask("open_table", used))

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

    def predicted_counts(self) -> Codes:
        """Count the unlabelled rows by the class of their largest score."""
        found: Codes = np.sum(self.ask("predicted_counts"), axis=0)
        return found

    def adopt_beliefs(self) -> None:
        """Set the beliefs of classes that are not in the table to zero."""
        self.ask("adopt_beliefs")

    def respond(self, temperature: float, lam: float) -> Floats | None:
        """Prepare products with the reduced Hessian; return the sum of the rows' C_j."""
        parts = self.ask("respond", temperature, lam)
        return None if parts[0] is None else np.sum(parts, axis=0)

    def answer(self, p: Floats) -> Floats:
        """Sum over rows how beliefs answer a step at fixed prices; see the block's method."""
        found: Floats = np.sum(self.ask("answer", p), axis=0)
        return found

    def answered(self, prices: Floats, out: Floats) -> Floats:
        """Multiply the last step by the reduced Hessian, with moves of the prices."""
        if len(self.blocks) == 1 and not self.elsewhere:
            return self.blocks[0].answered(prices, out)
        parts = self.ask("answered", prices)
        out[...] = parts[0]
        for part in parts[1:]:
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
    """

    def __init__(self, ask: Ask, sizes: Sequence[int]) -> None:
        self._ask = ask
        self._sizes = sizes
        self.n_rows = sum(sizes)

    def sample(self, step: int) -> tuple[Floats, Counts]:
        """Return the costs and labels of every ``step``-th row."""
        begins = np.cumsum([0, *self._sizes[:-1]])
        parts = self._ask("sample", step, each=[(int(-first % step),) for first in begins])
        costs, labels = zip(*parts, strict=True)
        return np.concatenate(costs), np.concatenate(labels)

    def assign(self, prices: Floats) -> Counts:
        """Assign each row its cheapest class at the prices; count the rows per class."""
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
