"""Some blocks of rows where they are: on a worker of a cluster, or in this process.

A shard is created with its rows, returns facts about them, makes blocks of them once the labels
are given, and then runs operations on the blocks. Results are small: vectors over columns are
added up over the blocks before they travel. Chunks in this process are one shard, whose blocks its
threads share (`Local`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from semisvm.designs import Design, Floats, Index, Workers, make_design
from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.fingerprints import fingerprint_of_rows
from semisvm.designs.validation import is_sparse, mean_square_length, project, read_rows, take_rows
from semisvm.distributed.sources import Source
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.weights import UNIT_WEIGHT, has_weights
from semisvm.losses import LOSSES
from semisvm.tasks.driver import Block, Codes
from semisvm.tasks.many_beliefs import ManyScoreBlock
from semisvm.tasks.one_score import OneScoreBlock
from semisvm.tasks.operations import Call, Operation, operations_of, stacked


@dataclass(frozen=True)
class Facts:
    """What the driver has of a chunk of rows.

    Attributes
    ----------
    n_rows, n_columns : int
    nbytes : int
        Bytes of the rows in memory, or of a copy there.
    type : str
        Type of the values.
    is_sparse : bool
    square : float
        Sum of the squares of all values.
    largest : float
        Largest absolute value.
    """

    n_rows: int
    n_columns: int
    nbytes: int
    type: str
    is_sparse: bool
    square: float
    largest: float


@dataclass(frozen=True)
class GivenLabels:
    """The labelled rows of a chunk.

    Attributes
    ----------
    rows : array of row indices in the chunk, ascending
    codes : int array of shape (l,)
    weight : array of shape (l,)
        They sum to one over all chunks.
    mass : array of shape (u,) or (1,)
        For how many rows each of the other rows counts; see `RowWeights`.
    evidence : array of shape (u,) or (u, m), optional
        What evidence adds to the costs of their labels; see `Block`.
    """

    rows: Index
    codes: Codes
    weight: Floats
    mass: Floats = field(default_factory=lambda: UNIT_WEIGHT)
    evidence: Floats | None = None

    @property
    def has_weights(self) -> bool:
        """Whether rows without label have masses of their own."""
        return has_weights(self.mass)


@dataclass(frozen=True)
class Form:
    """What kind of blocks to make: the same for all chunks.

    Attributes
    ----------
    one_score : bool
    loss : str
    bias : float
        Value of the constant feature.
    n_unlabeled : int
        In all chunks, or the sum of their masses.
    hierarchy : Hierarchy
    """

    one_score: bool
    loss: str
    bias: float
    n_unlabeled: int
    hierarchy: Hierarchy


class Shard:
    """Chunks of rows, and later their blocks.

    Parameters
    ----------
    chunks : sequence of {array-like, sparse matrix, data frame, RowsOnDisk}
    n_threads : int
    """

    def __init__(self, chunks: Sequence[Any], n_threads: int = 1) -> None:
        self.workers = Workers(n_threads)
        self.rows = [read_rows(chunk, in_passes=True) for chunk in chunks]
        self.blocks: list[Block] = []
        # per block, the columns of the user that its own columns are, if they differ
        self._columns: list[Index | None] = []

    def facts(self) -> list[Facts]:
        """Return what is known about the chunks."""
        return [_facts(rows) for rows in self.rows]

    def fingerprints(self) -> list[str]:
        """Return the fingerprints of the chunks."""
        return [fingerprint_of_rows(rows) for rows in self.rows]

    def take(self, wanted: Sequence[Index]) -> list[Any]:
        """Return some rows of each chunk, as matrices."""
        return [take_rows(rows, index) for rows, index in zip(self.rows, wanted, strict=True)]

    def project(self, line: Floats) -> list[Floats]:
        """Return the products of the rows of each chunk with a vector."""
        return [project(rows, line) for rows in self.rows]

    def map_rows(self, feature_map: Any) -> None:
        """Replace the rows by their features."""
        self.rows = [_features(rows, feature_map) for rows in self.rows]

    def make_blocks(self, form: Form, given: Sequence[GivenLabels]) -> list[int]:
        """Make a block of each chunk; return how many entries a pass over each of them reads."""
        self.blocks, self._columns = [], []
        for rows, labels in zip(self.rows, given, strict=True):
            design = make_design(rows, form.bias, self.workers, renumber=False)
            self.blocks.append(block_of(design, form, labels))
            order = getattr(design, "_order", None)
            self._columns.append(None if order is None else np.append(order, rows.shape[1]))
        return [block.work for block in self.blocks]

    @property
    def rows_read(self) -> int:
        """Number of rows that all products so far have read."""
        return sum(block.design.rows_read for block in self.blocks)

    def run(self, calls: Sequence[Call]) -> list[list[Any]]:
        """Run operations in order; return a list of results per operation.

        It has one result per block, or a single one if they can be combined.
        """
        return [self._run(*call) for call in calls]

    def _run(
        self, name: str, arguments: tuple[Any, ...], each: Sequence[tuple[Any, ...]] | None
    ) -> list[Any]:
        declared = operations_of(type(self.blocks[0]))[name]
        own = [arguments] * len(self.blocks) if each is None else each
        found = []
        for block, columns, sent in zip(self.blocks, self._columns, own, strict=True):
            if columns is not None and declared.takes_vector:
                sent = (_narrow(sent[0], columns), *sent[1:])
            result = getattr(block, name)(*sent)
            found.append(result if columns is None else _widened(declared, result, columns))
        # results over rows travel apart: the rows of other shards may lie between them
        return found if declared.combine is None else [declared.combined(found)]

    def close(self) -> None:
        """End the threads and forget all rows."""
        self.workers.close()
        self.rows, self.blocks = [], []


def _facts(rows: Any) -> Facts:
    n, d = rows.shape
    sparse_rows = rows.is_sparse if isinstance(rows, RowsOnDisk) else is_sparse(rows)
    if isinstance(rows, RowsOnDisk) or not sparse_rows:
        nbytes = int(rows.nbytes)
    else:
        nbytes = int(rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes)
    return Facts(n, d, nbytes, rows.dtype.str, sparse_rows, *_sizes_of_values(rows))


def _sizes_of_values(rows: Any) -> tuple[float, float]:
    """Return the sum of the squares and the largest absolute value."""
    if isinstance(rows, RowsOnDisk):
        return mean_square_length(rows) * rows.shape[0], rows.check()
    values = rows.data if is_sparse(rows) else rows
    if not values.size:
        return 0.0, 0.0
    largest = max(abs(float(values.max())), abs(float(values.min())))
    return mean_square_length(rows) * rows.shape[0] if largest else 0.0, largest


def _features(rows: Any, feature_map: Any) -> Floats:
    if not isinstance(rows, RowsOnDisk):
        return np.ascontiguousarray(feature_map.transform(rows))
    parts = [feature_map.transform(part) for part in rows.parts()]
    return np.concatenate(parts) if parts else np.empty((0, feature_map.rank))


def block_of(design: Design, form: Form, labels: GivenLabels) -> Block:
    """Make a block of a design, all rows of which are in it."""
    free = np.ones(design.n_rows, dtype=np.bool_)
    free[labels.rows] = False
    rows, loss = (design, labels.rows, np.flatnonzero(free)), LOSSES[form.loss]
    if form.one_score:
        assert loss.two is not None
        positive, besides = labels.codes == 1, (labels.mass, labels.evidence)
        return OneScoreBlock(*rows, positive, labels.weight, form.n_unlabeled, loss.two, *besides)
    assert loss.many is not None
    given, besides = (labels.codes, labels.weight), (labels.mass, labels.evidence)
    return ManyScoreBlock(*rows, *given, form.n_unlabeled, loss.many, form.hierarchy, *besides)


def _narrow(vector: Floats, columns: Index) -> Floats:
    """Return the part of a vector over the user's columns that a block has columns for."""
    wide = vector.reshape(int(columns[-1]) + 1, -1)
    return np.ascontiguousarray(wide[columns]).ravel()


def _widened(declared: Operation, result: Any, columns: Index) -> Any:
    """Return a result with its vectors, or its matrix, in the order of the user's columns."""

    def wide(vector: Floats) -> Floats:
        found = np.zeros((int(columns[-1]) + 1, len(vector) // len(columns)))
        found[columns] = vector.reshape(len(columns), -1)
        return found.ravel()

    if declared.join is stacked:
        return _of_columns(result, columns)
    return declared.on_vectors(wide, result)


def _of_columns(matrix: Any, columns: Index) -> Any:
    """Return rows with the user's columns."""
    n = int(columns[-1])
    if is_sparse(matrix):
        parts = (matrix.data, columns[matrix.indices], matrix.indptr)
        found = sparse.csr_matrix(parts, shape=(matrix.shape[0], n))
        found.sort_indices()
        return found
    wide = np.zeros((len(matrix), n))
    wide[:, columns[:-1]] = matrix
    return wide


class Local:
    """The one shard of a fit without a cluster.

    Parameters
    ----------
    source : Source
    n_threads : int
    """

    def __init__(self, source: Source, n_threads: int) -> None:
        self._shard = Shard(source.compute(), n_threads)
        self.chunks = [list(range(source.n_chunks))]

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False
    ) -> list[Any]:
        """Call a method of the shard."""
        return [getattr(self._shard, method)(*arguments[0])]

    def run(self, call: Call) -> list[Any]:
        """Call the blocks."""
        [found] = self._shard.run([call])
        return found

    def rows_read(self) -> int:
        """Return the number of rows read so far."""
        return self._shard.rows_read

    def close(self) -> None:
        """Free the rows."""
        self._shard.close()
