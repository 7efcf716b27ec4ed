"""X in parts: opened on the cluster of the current client, or in this process.

Results over its rows are lazy Dask arrays, with the chunks of X.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import config, delayed
from dask.system import CPU_COUNT
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import Floats, Index, Workers, make_design
from semisvm.designs.disk import MOST_LOADED
from semisvm.distributed.connecting import ANSWER_SECONDS, ClusterError
from semisvm.distributed.shard import Form, GivenLabels, Local, block_of
from semisvm.distributed.sources import source_of
from semisvm.distributed.wire import Wire
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.weights import UNIT_WEIGHT, has_weights, of_rows, whole_number
from semisvm.losses import Loss
from semisvm.tasks.many_beliefs import ManyScoreRows
from semisvm.tasks.one_score_driver import OneScoreRows

MOST_GATHERED = 256 << 20
"""Bytes of a sample of the rows that is brought into this process, where calls take no rounds."""
OVER_ROWS = ("transduction_", "label_distribution_")
HEAVY = ("trace_", *OVER_ROWS)


@dataclass(frozen=True)
class RemoteBlock:
    """What the driver has of a remote block.

    Attributes
    ----------
    labeled : array of row indices in the block
    codes : int array of shape (l,)
        Their classes.
    weight : array of shape (l,)
    unlabeled : range
        As long as the block has unlabelled rows.
    n_unlabeled : int
        In all blocks.
    n_weights, n_classes, work : int
    bias : float
    workers : Workers
        Threads of the driver.
    has_weights : bool
        Whether rows without label have masses of their own.
    has_evidence : bool
        Whether labels have costs besides their losses.
    """

    labeled: Index
    codes: Index
    weight: Floats
    unlabeled: range
    n_unlabeled: int
    n_weights: int
    n_classes: int
    work: int
    bias: float
    workers: Workers
    has_weights: bool = False
    has_evidence: bool = False


class DistributedRows:
    """A matrix whose rows are in shards, on workers or in this process.

    Parameters
    ----------
    shards : Cluster or Local

    Attributes
    ----------
    shape : tuple (n, d)
    dtype : dtype
    sizes : int array of shape (n_chunks,)
        Rows per chunk.
    """

    def __init__(self, shards: Any) -> None:
        self.shards = shards
        self.bias = 0.0
        # rows of samples that were brought into this process, as often as they were read
        self._read_here = [0]
        self._read_facts()

    def _read_facts(self) -> None:
        self.facts = self._by_chunk(self.shards.call("facts", self._none()))
        widths = {fact.n_columns for fact in self.facts}
        if len(widths) > 1:
            raise ValueError(f"the parts of X have different numbers of columns: {sorted(widths)}.")
        self.sizes = np.array([fact.n_rows for fact in self.facts], dtype=np.int64)
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)])
        self.shape = (int(self.begins[-1]), widths.pop())
        self.dtype = np.result_type(*(np.dtype(fact.type) for fact in self.facts))
        self.nbytes = sum(fact.nbytes for fact in self.facts)

    def _none(self) -> list[tuple[()]]:
        return [()] * len(self.shards.chunks)

    def _by_chunk(self, parts: Sequence[Sequence[Any]]) -> list[Any]:
        """Return what shards reported of their chunks, in the order of the chunks."""
        found: dict[int, Any] = {}
        for chunks, part in zip(self.shards.chunks, parts, strict=True):
            found.update(zip(chunks, part, strict=True))
        return [found[k] for k in range(len(found))]

    def _by_shard(self, values: Sequence[Any]) -> list[list[Any]]:
        return [[values[k] for k in chunks] for chunks in self.shards.chunks]

    def _divided_rows(self, index: Index) -> list[Index]:
        """Return row numbers, ascending, by chunk and counted from its first row."""
        cuts = np.searchsorted(index, self.begins)
        return [
            index[a:b] - first
            for a, b, first in zip(cuts[:-1], cuts[1:], self.begins[:-1], strict=True)
        ]

    def mean_square_length(self) -> float:
        """Return the mean squared length of the rows; one for rows of zeros."""
        return float(sum(fact.square for fact in self.facts)) / max(self.shape[0], 1) or 1.0

    def check(self) -> float:
        """Return the largest absolute value; that all are finite was checked by the shards."""
        return max(fact.largest for fact in self.facts)

    def fingerprint(self) -> str:
        """Return the fingerprint of all rows; it is computed where they are."""
        parts = self._by_chunk(self.shards.call("fingerprints", self._none()))
        return hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def can_load(self, rows: Index) -> bool:
        """Return whether so many rows may be brought into the memory of this process."""
        each = self.nbytes / max(self.shape[0], 1)
        return len(rows) * each <= MOST_LOADED

    def take(self, rows: Index) -> Any:
        """Return the listed rows, ascending, in the memory of this process."""
        wanted = self._by_shard(self._divided_rows(rows))
        parts = self._by_chunk(self.shards.call("take", [(one,) for one in wanted]))
        return sparse.vstack(parts, format="csr") if self.is_sparse else np.concatenate(parts)

    def project(self, line: Floats) -> Floats:
        """Return the product of each row with a vector: a number per row, as the labels are."""
        parts = self.shards.call("project", [(line,)] * len(self.shards.chunks))
        return np.concatenate(self._by_chunk(parts))

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(self.facts[0].is_sparse)

    def map_rows(self, feature_map: Any) -> None:
        """Replace the rows by their features."""
        self.shards.call("map_rows", [(feature_map,)] * len(self.shards.chunks), lasting=True)
        self._read_facts()

    def rows(
        self,
        form: Form,
        labeled: Index,
        codes: NDArray[np.intp],
        weight: Floats,
        workers: Workers,
        mass: Floats = UNIT_WEIGHT,
        evidence: Floats | None = None,
    ) -> OneScoreRows | ManyScoreRows:
        """Make blocks of the chunks; return the driver's view of them.

        Parameters
        ----------
        form : Form
        labeled : array of row indices, ascending
        codes : int array of shape (l,)
            Classes of the labelled rows.
        weight : array of shape (l,)
            Their weights, summing to one.
        workers : Workers
            Threads of the driver.
        mass : array of shape (u,) or (1,)
            For how many rows each of the other rows counts.
        evidence : array of shape (u,) or (u, m), optional
            What evidence adds to the costs of their labels; see `Block`.
        """
        self.bias = form.bias
        rows = self._divided_rows(labeled)
        ends = np.cumsum([len(part) for part in rows])[:-1]
        sizes = self.sizes - np.array([len(part) for part in rows])
        free = np.cumsum(sizes)[:-1]
        masses: list[Any] = [mass] * len(rows)
        if has_weights(mass):
            masses = np.split(mass, free)
        known: list[Any] = [None] * len(rows) if evidence is None else np.split(evidence, free)
        parts = (rows, np.split(codes, ends), np.split(weight, ends), masses, known)
        given = [GivenLabels(*part) for part in zip(*parts, strict=True)]
        calls = [(form, own) for own in self._by_shard(given)]
        works = self._by_chunk(self.shards.call("make_blocks", calls, lasting=True))
        n_nodes = 1 if form.one_score else form.hierarchy.n_nodes
        n_weights, m = (self.shape[1] + 1) * n_nodes, form.hierarchy.paths.shape[1]
        blocks: Any = [
            RemoteBlock(
                one.rows,
                one.codes,
                one.weight,
                range(n_free),
                form.n_unlabeled,
                n_weights,
                m,
                work,
                form.bias,
                workers,
                one.has_weights,
                one.evidence is not None,
            )
            for one, n_free, work in zip(given, sizes.tolist(), works, strict=True)
        ]
        kind = OneScoreRows if form.one_score else ManyScoreRows
        if isinstance(self.shards, Local):
            return kind(blocks, self.shards.run)
        found = kind(blocks, Wire(self.shards, kind.kind))
        given_rows = GivenLabels(labeled, codes, weight, mass, evidence)
        found.gather = partial(self._gathered, form, given_rows, workers)
        return found

    def _gathered(self, form: Form, given: GivenLabels, workers: Workers, places: Index) -> Any:
        """Return a block of this process with the labelled rows and some of the others, if few.

        Parameters
        ----------
        form : Form
        given : GivenLabels
            The labelled rows of all chunks.
        workers : Workers
        places : array of positions, ascending, among the rows without label
        """
        # how many labelled rows come before
        free = places + np.searchsorted(given.rows - np.arange(len(given.rows)), places, "right")
        index = np.sort(np.concatenate([given.rows, free]))
        if len(index) * self.nbytes > MOST_GATHERED * max(self.shape[0], 1):
            return None
        design = make_design(self.take(index), form.bias, workers, renumber=False)
        design.count_in(self._read_here)
        mass = np.asarray(of_rows(given.mass, places))
        n = len(places)
        if has_weights(mass):
            n, factor = whole_number(float(mass.sum()))
            mass = factor * mass
        evidence = None if given.evidence is None else given.evidence[places]
        rows = np.searchsorted(index, given.rows)
        own = GivenLabels(rows, given.codes, given.weight, mass, evidence)
        return block_of(design, replace(form, n_unlabeled=n), own)

    def counters(self) -> dict[str, Callable[[], float]]:
        """Return counters of how often rows were read, and of the rounds and bytes of calls."""
        shards, n, here = self.shards, max(self.shape[0], 1), self._read_here

        def passes() -> float:
            return float(shards.rows_read() + here[0]) / n

        found: dict[str, Callable[[], float]] = {"passes": passes}
        if not isinstance(shards, Local):
            found |= {"rounds": lambda: shards.rounds, "bytes": lambda: shards.bytes}
        return found

    # What a fit needs of a design -----------------------------------------------------------

    def as_design(self, bias: float, workers: Workers) -> "DistributedRows":
        """Return the rows as a design with a constant feature; threads are those of the driver."""
        self.bias, self._workers = bias, workers
        return self

    def blocks(
        self,
        one_score: bool,
        loss: Loss,
        hierarchy: Hierarchy,
        n_unlabeled: int,
        labeled: Index,
        codes: NDArray[np.intp],
        weight: Floats,
        mass: Floats,
        evidence: Floats | None,
    ) -> Any:
        """Make the blocks of a task; see `rows`."""
        form = Form(one_score, loss.name, self.bias, n_unlabeled, hierarchy)
        return self.rows(form, labeled, codes, weight, self._workers, mass, evidence)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def n_weights(self) -> int:
        """Length of a weight vector."""
        return self.shape[1] + 1

    @property
    def n_shards(self) -> int:
        """Number of shards: it changes the last bits, as do the threads of one process."""
        return len(self.shards.chunks)

    def decode(self, w: Floats) -> tuple[Floats, float]:
        """Return coefficients and the intercept."""
        return w[:-1].copy(), float(w[-1] * self.bias)

    def encode(self, coef: Floats, intercept: float) -> Floats:
        """Return the weight vector for coefficients; inverse of `decode`."""
        return np.append(coef, intercept / self.bias if self.bias else 0.0)


def current_client() -> Any:
    """Return the client of a cluster that the user has connected to; None if there is none."""
    try:
        from distributed import Client
    except ImportError:
        return None
    try:
        client = Client.current(allow_global=True)
    except ValueError:
        return None
    if client.asynchronous:
        raise TypeError("fit waits for its result: use a Client that is not asynchronous.")
    return client


@contextmanager
def opened(X: Any, n_jobs: int | None, threads: int) -> Iterator[DistributedRows]:
    """Open X for one fit; what the fit holds of it is freed at the end.

    Parameters
    ----------
    X : Dask array, Dask dataframe or sequence of RowsOnDisk
    n_jobs : int, optional
        What the user gave; None is all threads of a worker, or all that Dask uses here.
    threads : int
        The same as a number.
    """
    source, client = source_of(X), current_client()
    if client is None:
        all_of_them = int(config.get("num_workers", None) or CPU_COUNT)
        shards: Any = Local(source, all_of_them if n_jobs is None else threads)
    else:
        from semisvm.distributed.cluster import Cluster

        shards = Cluster(client, source, None if n_jobs is None else threads)
    try:
        yield DistributedRows(shards)
    finally:
        shards.close()


def over_chunks(estimator: Any, method: str, X: Any, dtype: Any, n_outputs: int | None) -> da.Array:
    """Return the results of a method of a fitted estimator on all chunks of X, lazily.

    Parameters
    ----------
    estimator : estimator
    method : str
        Takes rows, and returns an array with one entry, or row of ``n_outputs``, per row.
    X : Dask array, Dask dataframe or sequence of RowsOnDisk
    dtype : dtype
    n_outputs : int or None
        None for a vector.
    """
    source = source_of(X)
    model = delayed(_light(estimator), pure=False)
    more = () if n_outputs is None else (n_outputs,)
    parts = [
        da.from_delayed(delayed(_called)(model, method, part), (size, *more), dtype=dtype)
        for part, size in zip(source.parts(), source.sizes(), strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)


def _light(estimator: Any) -> Any:
    """Return a copy without what is not needed to predict."""
    found = copy(estimator)
    found.__dict__ = {k: v for k, v in vars(estimator).items() if k not in HEAVY}
    if "callback" in found.__dict__:
        found.callback = None
    return found


def _called(estimator: Any, method: str, rows: Any) -> Any:
    return getattr(estimator, method)(rows)


def in_chunks(vector: NDArray[Any], sizes: Any) -> da.Array:
    """Return an array over rows of this process as a Dask array with chunks of such sizes."""
    ends = np.cumsum(np.asarray(sizes, dtype=np.intp))[:-1]
    return da.concatenate([da.from_array(part, chunks=-1) for part in np.split(vector, ends)])


def publish_chunks(estimator: Any, X: Any, sizes: Any, n_features: int) -> None:
    """Turn the results over rows of a fit to X in parts into Dask arrays, and name its columns."""
    for name in OVER_ROWS:
        if hasattr(estimator, name):
            setattr(estimator, name, in_chunks(getattr(estimator, name), sizes))
    estimator.n_features_in_ = n_features
    estimator.__dict__.pop("feature_names_in_", None)
    names = list(getattr(X, "columns", ()))
    if names and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)


def computed(y: Any) -> Any:
    """Return a vector over rows in this process, whatever it was."""
    if type(y).__module__.split(".")[0] != "dask":
        return y
    client = current_client()
    if client is None:
        [found] = dask.compute(y, scheduler="threads")
    else:
        seconds = float(dask.config.get("semisvm.answer-seconds", ANSWER_SECONDS))
        try:
            found = client.compute(y).result(timeout=seconds)
        except TimeoutError as error:
            raise ClusterError(f"y was not computed within {seconds:g} s.") from error
    return found.to_numpy() if hasattr(found, "to_numpy") else found


def accuracy(predicted: da.Array, y: Any, sample_weight: Any = None) -> float:
    """Return the fraction of rows that are predicted correctly."""
    if sample_weight is None and isinstance(y, da.Array) and y.chunks == predicted.chunks:
        return float((predicted == y).mean().compute())
    right = np.asarray(predicted.compute()) == np.asarray(computed(y))
    return float(np.average(right, weights=computed(sample_weight)))
