"""What blocks of both kinds share, and the driver's view of all blocks of a fit.

The driver holds vectors over columns and scalars, blocks hold vectors over rows. `Rows.all` has the
operations of all blocks together. For a single block of this process it is that block, so that a
call costs no more than a call of a method.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, Self, TypeVar, TypeVarTuple, cast

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Design, Floats, Index, RowList, Workers, make_design
from semisvm.designs.vectors import add
from semisvm.labels.weights import has_weights, of_rows, whole_number
from semisvm.losses import SMOOTH_LOSSES
from semisvm.tasks.operations import (
    EVERYTHING,
    AllBlocks,
    Call,
    Run,
    operation,
    operations_of,
    run_on,
    stacked,
)
from semisvm.tasks.samples import places_of, spans_of, within

Codes = NDArray[np.intp]
# Fraction of all work beyond which a gradient is recomputed: scattered rows are read more
# slowly than all rows in order.
MAX_CHANGED = 0.3
P = ParamSpec("P")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


class Block(ABC):
    """Some rows of a problem: what does not depend on how many scores a row has.

    Parameters
    ----------
    design : Design
        The rows.
    labeled, unlabeled : arrays of row indices, ascending
    weight : array of shape (l,)
        Weights of the labelled rows, which sum to one over all blocks.
    n_unlabeled : int
        Number of unlabelled rows in all blocks, or the sum of their masses.
    mass : array of shape (u,) or (1,)
        For how many rows each unlabelled row counts; see `RowWeights`.
    evidence : array of shape (u,) or (u, m), optional
        What evidence adds to the costs of labels; with one score, to that of the positive minus
        that of the negative label. Infinity forbids a label.
    """

    STATE: ClassVar[dict[str, tuple[str, ...]]]
    """Parts of the state, and the attributes that hold them; see `operations`."""
    labels: NDArray[Any]
    """Chosen labels of the unlabelled rows."""
    _solved: NDArray[Any]
    """The labels of the last gradient."""

    def __init__(
        self,
        design: Design,
        labeled: Index,
        unlabeled: Index,
        weight: Floats,
        n_unlabeled: int,
        mass: Floats,
        evidence: Floats | None = None,
    ) -> None:
        self.design = design
        self.labeled = design.row_numbers(labeled)
        self.unlabeled = design.row_numbers(unlabeled)
        self.weight = weight
        self.n_unlabeled = n_unlabeled
        self.mass = mass
        self.evidence = evidence
        # what a sample is taken of
        self._whole = (design, self.unlabeled, mass, evidence)
        self._clear()

    @abstractmethod
    def _clear(self) -> None:
        """Begin with a state in which nothing is known but the rows."""

    # A sample ------------------------------------------------------------------------------

    @operation(sets=EVERYTHING, weights="unknown", combine=sum)
    def take_rows(self, spans: Index | None) -> float:
        """Go on with some of the unlabelled rows, and with all labelled ones; state is lost.

        Rows keep their numbers, and vectors over rows their length: nothing is copied.

        Parameters
        ----------
        spans : array of shape (k, 2), optional
            From which unlabelled row to before which one, ascending; None for all rows.

        Returns
        -------
        mass : float
            For how many rows they count.
        """
        design, unlabeled, mass, evidence = self._whole
        if spans is not None:
            places = places_of(spans)
            unlabeled, mass = unlabeled[places], np.asarray(of_rows(mass, places))
            evidence = None if evidence is None else evidence[places]
            design = design.only(np.sort(np.concatenate([self.labeled, unlabeled])))
        self.design, self.unlabeled, self.mass, self.evidence = design, unlabeled, mass, evidence
        self._clear()
        return float(mass.sum()) if self.has_weights else len(unlabeled)

    @operation(reads="sample", changes="sample")
    def set_number(self, n_unlabeled: int, factor: float) -> None:
        """Set for how many rows the unlabelled rows of all blocks count, and scale their masses."""
        self.n_unlabeled = n_unlabeled
        if factor != 1.0:
            self.mass = factor * self.mass

    @abstractmethod
    def sample_curvature(self, spans: Index, factor: float) -> None:
        """Have a sample of the unlabelled rows stand for all of them in the curvature.

        Parameters
        ----------
        spans : array of shape (k, 2)
            From which unlabelled row to before which one, ascending.
        factor : float
            For how many rows each row of the sample stands.
        """

    @property
    def is_sample(self) -> bool:
        """Whether rows are missing."""
        return self.design is not self._whole[0]

    def _add_step(self, scores: Floats, t: float, step: Floats) -> None:
        """Move scores along a step, those of all rows or of a sample."""
        if self.is_sample:
            index = self.design.all_rows.index
            scores[index] += t * step[index]
        else:
            add(scores.reshape(-1), t, step.reshape(-1))

    @property
    @abstractmethod
    def codes(self) -> Codes:
        """Classes of the labelled rows."""

    @property
    @abstractmethod
    def n_weights(self) -> int:
        """Length of the weight vector."""

    @property
    def has_weights(self) -> bool:
        """Whether the unlabelled rows have masses of their own."""
        return has_weights(self.mass)

    @property
    def has_evidence(self) -> bool:
        """Whether labels have costs besides their losses."""
        return self.evidence is not None

    @property
    def workers(self) -> Workers:
        """Threads of the block."""
        return self.design.workers

    @property
    def work(self) -> int:
        """Number of entries that a pass over the rows reads, of which a sample may be taken."""
        return self._whole[0].all_rows.work

    @property
    def bias(self) -> float:
        """Value of the constant feature."""
        return self.design.bias

    @abstractmethod
    def advance(
        self, t: float, onto: Floats | None = None
    ) -> tuple[float, int, Floats | None] | None:
        """Move along the step; return the value, and what the curvature does not predict.

        Parameters
        ----------
        t : float
        onto : array of shape (n_weights,), optional
            Vector to which the gradient below is added, and which is returned in its place.

        Returns
        -------
        value : float
        n_active : int
        gradient : array of shape (n_weights,), or None for zero
            To be added to the prediction of the curvature.

        None if so many rows changed that recomputing is cheaper.
        """

    @abstractmethod
    def follow_labels(
        self, ratio: float, lam: float, onto: Floats | None = None
    ) -> tuple[float, float, Floats | None, int] | None:
        """Return how value and gradient change with the chosen labels and their weight.

        Parameters
        ----------
        ratio : float
            Weight of the unlabelled rows, divided by the weight before.
        lam : float
            Weight of the unlabelled rows.
        onto : array of shape (n_weights,), optional
            Vector to which the gradient below is added, and which is returned in its place.

        Returns
        -------
        fit : float
            Value of the labelled rows; 0 if the ratio is 1, where it is not needed.
        change : float
            Change of the value by the labels.
        gradient : array of shape (n_weights,), or None for zero
            To be added to ``ratio`` times the gradient before.
        n_active : int
            Change of the number of rows with curvature.

        None if so many labels changed that recomputing is cheaper.
        """

    def _to_follow(self, ratio: float) -> tuple[Index, Index, Index, RowList] | None:
        """Return what `follow_labels` is about, or None if recomputing is cheaper.

        Returns
        -------
        given : array of row indices
            The labelled rows, if the weight has changed: their part does not scale with it.
        switched : int array
            Positions of the unlabelled rows whose label is not that of the last gradient.
        index : array of row indices
            Both, the labelled rows first.
        rows : RowList
            The same, ascending.
        """
        switched = np.flatnonzero(self.labels != self._solved)
        given = self.labeled if ratio != 1.0 else self.labeled[:0]
        index = np.concatenate([given, self.unlabeled[switched]])
        rows = self.design.rows(np.sort(index))
        if rows.work > MAX_CHANGED * self.design.all_rows.work:
            return None
        return given, switched, index, rows

    @operation(join=stacked)
    def labeled_rows(self) -> Any:
        """Return the labelled rows as a matrix: they are few, and the driver needs them."""
        return self.design.matrix(self.labeled)


B = TypeVar("B", bound=Block)


class Rows(Generic[B]):
    """Base of the rows with one and with many scores.

    Parameters
    ----------
    blocks : sequence of blocks
        In the order of their rows; of remote ones, what the driver has of them.
    run : Run, optional
        How to call remote blocks; without it they are in this process.
    """

    kind: type[B]
    _keeps_vectors = False

    def __init__(self, blocks: Sequence[B], run: Run | None = None) -> None:
        self.blocks: Sequence[B] = blocks
        if run is None and len(blocks) > 1:
            run = partial(run_on, blocks)
        self.remote = run is not None
        self._run = run
        # the operations of a block are those of all blocks: no attribute but them is there
        self.all: B = blocks[0] if run is None else cast(B, AllBlocks(self.kind, run))
        self.workers: Workers = blocks[0].workers
        self._labeled: tuple[Design, RowList] | None = None
        # the size of the sample, and whether it is that of the other rows
        self.sample_at_hand: tuple[int | None, bool] = None, False
        # brings unlabelled rows, by position, and all labelled ones into this process, if few
        self.gather: Callable[[Index], B | None] | None = None
        self._here: dict[tuple[int, bool], Self] = {}
        # vectors over weights that solvers have no use for at the moment
        self.spare: list[Floats] | None = [] if self._keeps_vectors else None

    def each(
        self, method: Callable[Concatenate[B, P], R], /, *args: P.args, **options: P.kwargs
    ) -> list[R]:
        """Run an operation on all blocks; return one result per block."""
        if self._run is None:
            return [getattr(self.all, method.__name__)(*args, **options)]
        declared = operations_of(self.kind)[method.__name__]
        return list(self._run(Call(declared.name, tuple(declared.bound(args, options)))))

    def with_each(self, method: Callable[[B, *Ts], R], arguments: Sequence[tuple[*Ts]], /) -> R:
        """Run an operation on all blocks, with arguments of their own; combine the results."""
        if self._run is None:
            [own] = arguments
            found: R = getattr(self.all, method.__name__)(*own)
            return found
        declared = operations_of(self.kind)[method.__name__]
        combined: R = declared.combined(self._run(Call(declared.name, (), arguments)))
        return combined

    def take_sample(self, size: int | None, *, others: bool = False) -> Self:
        """Go on with a sample of the unlabelled rows of all blocks, or with all rows again.

        Nothing else of the state of the blocks is left; it stays if this is the sample at hand.
        ``others`` are a sample without any of its rows. Samples of remote rows that are small are
        brought here, and the blocks stay as they are.
        """
        if (size, others) == self.sample_at_hand:
            return self
        sizes, total = self._of_all
        if size is not None and not 0 < size <= sum(sizes):
            raise ValueError(f"a sample of {size} rows of {sum(sizes)}")
        here = None if size is None else self.brought(size, others=others)
        if here is not None:
            return here
        self.sample_at_hand = size, others
        spans: list[Index | None] = [None] * len(sizes)
        if size is not None:
            spans = list(within(spans_of(sum(sizes), size, others=others), sizes))
        mass = self.with_each(self.kind.take_rows, [(own,) for own in spans])
        n, factor = (total, 1.0) if size is None else whole_number(mass)
        self.all.set_number(n, factor)
        if not isinstance(cast(Any, self.blocks[0]), Block):
            lengths = [
                length if own is None else len(places_of(own))
                for own, length in zip(spans, sizes, strict=True)
            ]
            self.blocks = [
                replace(cast(Any, block), unlabeled=range(length), n_unlabeled=n)
                for block, length in zip(self.blocks, lengths, strict=True)
            ]
        return self

    def brought(self, size: int, *, others: bool = False) -> Self | None:
        """Return a sample of remote rows in this process; None if that cannot be."""
        if self.gather is None:
            return None
        found = self._here.get((size, others))
        if found is None:
            block = self.gather(places_of(spans_of(sum(self._of_all[0]), size, others=others)))
            if block is None:
                return None
            found = type(self)([block])
            found.sample_at_hand = size, others
            # the smallest one serves for products with the curvature
            least = min((known for known, _ in self._here), default=size)
            keep = {(least, False), (size, False)}
            self._here = {key: rows for key, rows in self._here.items() if key in keep}
            self._here[size, others] = found
        return found

    def sample_curvature(self, size: int) -> None:
        """Have a sample of the unlabelled rows at hand stand for all in the next products."""
        lengths = [len(block.unlabeled) for block in self.blocks]
        n = sum(lengths)
        if size >= n:
            return
        spans = within(spans_of(n, size), lengths)
        self.with_each(self.kind.sample_curvature, [(own, n / size) for own in spans])

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return sum(len(block.labeled) for block in self.blocks)

    @property
    def n_unlabeled(self) -> int:
        """Number of rows without a label, or the sum of their masses."""
        return self.blocks[0].n_unlabeled

    @property
    def sampled(self) -> int | None:
        """Size of the sample at hand; None for all rows."""
        return self.sample_at_hand[0]

    @property
    def n_unlabeled_of_all(self) -> int:
        """The same without a sample."""
        return self._of_all[1]

    @property
    def n_free_rows(self) -> int:
        """Number of rows without a label, whatever their mass, of which a sample may be taken."""
        return sum(self._of_all[0])

    @cached_property
    def _of_all(self) -> tuple[list[int], int]:
        """Rows without a label per block, and for how many all of them count, without a sample."""
        return [len(block.unlabeled) for block in self.blocks], self.n_unlabeled

    @property
    def has_weights(self) -> bool:
        """Whether the unlabelled rows have masses of their own."""
        return any(block.has_weights for block in self.blocks)

    @property
    def has_evidence(self) -> bool:
        """Whether labels have costs besides their losses."""
        return any(block.has_evidence for block in self.blocks)

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

    def single_shard(self) -> B:
        """Return the one block with all rows, for methods that need them together."""
        if self.remote:
            raise TypeError(
                "this method needs all rows in the memory of one process, but they are in "
                f"{len(self.blocks)} blocks. Use fewer rows, or TransductiveSVC, AnnealedSVC or "
                f"NewtonSVC; their losses {SMOOTH_LOSSES} do not need them together."
            )
        return self.blocks[0]

    def labeled_rows(self) -> tuple[Design, RowList]:
        """Return the labelled rows as a list of rows of a design that the driver holds."""
        if self._labeled is None and not self.remote:
            block = self.blocks[0]
            self._labeled = block.design, block.design.rows(block.labeled)
        elif self._labeled is None:
            few = make_design(self.all.labeled_rows(), self.bias, self.workers, renumber=False)
            self._labeled = few, few.all_rows
        return self._labeled

    def labeled_weight(self) -> Floats:
        """Return the weights of the labelled rows."""
        return np.concatenate([block.weight for block in self.blocks])

    def labeled_codes(self) -> Codes:
        """Return the classes of the labelled rows."""
        return np.concatenate([block.codes for block in self.blocks])
