"""The driver's view of the blocks: all rows of a fit, whatever block they are in.

The driver holds vectors over columns and scalars. It calls the same method on all blocks, by
name, and adds their results in a fixed order, so that results repeat bit for bit on the same
blocks.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from semisvm.designs import Design, Floats, RowList, Workers, make_design
from semisvm.losses import SMOOTH_LOSSES
from semisvm.tasks.many_beliefs import ManyScoreBlock
from semisvm.tasks.many_scores import Codes
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.sums import added, totals

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
        How to call blocks that are not in this process: (name, arguments, each=) -> results.
        The sum of the vectors over columns of several blocks may be in the result of the first
        of them, with None in those of the others.
    """

    _keeps_vectors = False

    def __init__(self, blocks: Sequence[Block], ask: Ask | None = None) -> None:
        self.blocks: Sequence[Block] = blocks
        self.ask = asking(blocks) if ask is None else ask
        self.elsewhere = ask is not None
        self.workers: Workers = blocks[0].workers
        self._labeled: tuple[Design, RowList] | None = None
        # vectors over weights that solvers have no use for at the moment
        self.spare: list[Floats] | None = [] if self._keeps_vectors else None

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return sum(len(block.labeled) for block in self.blocks)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label, or the sum of their masses."""
        return self.blocks[0].n_unlabeled

    @property
    def has_weights(self) -> bool:
        """Whether the unlabelled rows have masses of their own."""
        return any(block.has_weights for block in self.blocks)

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        return self.blocks[0].n_weights

    @property
    def work(self) -> int:
        """Number of entries that a pass over all rows reads."""
        return sum(block.work for block in self.blocks)

    @property
    def bias(self) -> float:
        """Value of the constant feature."""
        return float(self.blocks[0].bias)

    def single_shard(self) -> Block:
        """Return the one block with all rows, for methods that need them together."""
        if len(self.blocks) > 1 or self.elsewhere:
            raise TypeError(
                "this method needs all rows in the memory of one process, but they are in "
                f"{len(self.blocks)} blocks. Use fewer rows, or TransductiveSVC, AnnealedSVC or "
                f"NewtonSVC; their losses {SMOOTH_LOSSES} do not need them together."
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

    def labeled_codes(self) -> Codes:
        """Return the classes of the labelled rows."""
        return np.concatenate([block.codes for block in self.blocks])

    def score(self, w: Floats, labeled_only: bool = False) -> None:
        """Compute the scores of all rows, or of the labelled rows only."""
        self.ask("score", w, labeled_only)

    def set_given_costs(self) -> None:
        """Set the costs of the given labels; the unlabelled rows have none."""
        self.ask("set_given_costs")

    def set_label_costs(self, lam: float) -> None:
        """Set the costs of the given and the chosen labels, with weight ``lam`` of the latter."""
        self.ask("set_label_costs", lam)

    def set_belief_costs(self, lam: float) -> None:
        """Set the costs of the given labels and of the beliefs, with weight ``lam``."""
        self.ask("set_belief_costs", lam)

    def release(self) -> None:
        """Free what only a weight step needs: the next one is charged again."""
        self.ask("release")

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
            if part is not None:
                out += part
        return out

    def column_scales(self) -> Floats:
        """Compute the diagonal of the curvature, column by column."""
        return added(self.ask("column_scales"), 0)

    def labeled_curvature(self) -> Floats:
        """Return the curvatures of the labelled rows."""
        return np.concatenate(self.ask("labeled_curvature"))

    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step of the weights."""
        self.ask("set_direction", step)

    def along(self, times: Sequence[float]) -> list[list[float]]:
        """Compute the first two derivatives along the step, at each of several lengths."""
        return [totals(parts) for parts in zip(*self.ask("along", times), strict=True)]

    def advance(self, t: float, predicted: Floats) -> tuple[float, int] | None:
        """Move along the step, and correct the predicted gradient; return value and active rows.

        See `OneScoreBlock.advance`. None if recomputing is cheaper.
        """
        parts = self._added_onto("advance", 2, predicted, 1.0, t)
        if parts is None:
            return None
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _added_onto(
        self, name: str, place: int, vector: Floats, ratio: float, *arguments: Any
    ) -> Answers | None:
        """Call for sums over rows, and add them to ``ratio`` times a vector.

        They are in this place of the results. A block in this process adds its rows itself. If a
        block has no result, the vector stays as it is, and None is returned.
        """
        if len(self.blocks) == 1 and not self.elsewhere:
            [answer] = self.ask(name, *arguments, vector)
            return None if answer is None else [answer]
        parts = self.ask(name, *arguments)
        if any(part is None for part in parts):
            return None
        if ratio != 1.0:
            vector *= ratio
        for part in parts:
            if part[place] is not None:
                vector += part[place]
        return parts

    def move(self, t: float) -> None:
        """Move along the step."""
        self.ask("move", t)

    def losses(self) -> tuple[float, float]:
        """Return the losses of the given and of the chosen labels."""
        fit, rest = totals(self.ask("losses"))
        return fit, rest

    def follow_labels(self, ratio: float, lam: float, gradient: Floats) -> Answers | None:
        """Change a gradient with the labels, and return how the value changes.

        See the block's method. None, and the gradient as it was, if recomputing is cheaper.
        """
        return self._added_onto("follow_labels", 2, gradient, ratio, ratio, lam)

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
