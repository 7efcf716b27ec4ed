"""Shards on the workers of a Dask cluster: their places, calls to them, making lost ones anew.

A shard is a Dask actor: an object in the memory of one worker, which Dask neither moves nor
writes to the disk, and frees when the last future of it is released: at the end of a fit, or
when its process dies. Calls go directly from the driver to the workers, over the connections
that Dask opens itself, and every wait has a limit. They are packed before they travel, so that
their size is known and arrays come out writable.
"""

import asyncio
import pickle
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from time import monotonic, sleep
from typing import Any

import dask
from distributed import CancelledError, Client, Future, KilledWorker, wait
from distributed.actor import ProxyRPC
from distributed.protocol import to_serialize
from distributed.protocol.pickle import dumps

from semisvm._version import __version__
from semisvm.designs.workers import one_blas_thread
from semisvm.distributed.connecting import ANSWER_SECONDS, WORKER_SECONDS, ClusterError
from semisvm.distributed.shard import Shard
from semisvm.distributed.sources import Source
from semisvm.tasks.operations import Call

CALL = "call"


class RemoteShard(Shard):
    """A shard that is called by messages, over connections that belong to the cluster."""

    def __init__(self, chunks: Sequence[Any], n_threads: int = 1) -> None:
        super().__init__([_unpacked(chunk) for chunk in chunks], n_threads)

    def call(self, message: bytes) -> bytes:
        """Call a method; message and result, with the number of rows read so far, are packed."""
        method, arguments = pickle.loads(message)
        with one_blas_thread:
            result = getattr(self, method)(*arguments)
        return pickle.dumps((result, self.rows_read))

    def version(self) -> str:
        """Return the version of the package on the worker."""
        return __version__

    def __del__(self) -> None:
        self.close()


def _unpacked(chunk: Any) -> Any:
    """Return rows; a folder travels packed, since the scheduler may not be able to open it."""
    return pickle.loads(chunk) if isinstance(chunk, bytes) else chunk


MOST_LOSSES = 3
"""How often in a row a shard may be lost with its worker."""
POLL_SECONDS = 0.5
WATCH_SECONDS = 1.0
"""After so long without a reply the scheduler is queried for the worker."""
TOO_LARGE = (
    "a part of X was lost several times in a row with the worker that held it. Workers that reach "
    "their memory limit are killed: give them more memory, use more workers, or smaller chunks."
)
OTHER_PACKAGES = (
    "the workers cannot run this fit ({}). Install the same version of semisvm, and of what it "
    "needs, on all workers."
)
SOURCE_GONE = (
    "a part of X could not be loaded ({}): its source is gone, or the workers cannot read it. Load "
    "the data again."
)


@dataclass
class Placed:
    """A shard and where it is."""

    chunks: list[int]
    address: str = ""
    future: Any = None
    losses: int = 0
    rows_read: int = 0
    read_before: int = 0
    avoid: set[str] = field(default_factory=set)

    def release(self) -> None:
        """Have Dask free the shard."""
        if self.future is not None:
            self.future.release()
            self.future = None


class Lost(Exception):  # noqa: N818
    """A shard is no longer where it was."""


class Cluster:
    """The shards of one fit.

    Parameters
    ----------
    client : distributed.Client
    source : Source
    n_threads : int, optional
        Threads per shard; by default those of its worker.

    Attributes
    ----------
    chunks : list of lists of int
        Per shard, the numbers of its chunks.
    rounds, bytes : int
        Rounds of calls so far, and bytes sent and received by them.
    """

    def __init__(self, client: Client, source: Source, n_threads: int | None = None) -> None:
        self.client = client
        self.rounds = 0
        self.bytes = 0
        self._source = source
        self._n_threads = n_threads
        self._direct = True
        self._answer_seconds = float(dask.config.get("semisvm.answer-seconds", ANSWER_SECONDS))
        self._worker_seconds = float(dask.config.get("semisvm.worker-seconds", WORKER_SECONDS))
        # calls that made the shards what they are, with the arguments of each shard
        self._lasting: list[tuple[str, Sequence[tuple[Any, ...]]]] = []
        self._shards = self._placed()
        self.chunks = [shard.chunks for shard in self._shards]
        try:
            self._load()
            self._check_versions()
        except BaseException:
            self.close()
            raise

    # Where the shards are ------------------------------------------------------------------

    def _workers(self) -> dict[str, int]:
        """Return the workers and their numbers of threads."""
        if self.client.status != "running":
            raise ClusterError(
                f"the scheduler of the cluster is gone (the client is {self.client.status!r}). "
                "Start the cluster again, and fit again."
            )
        try:
            found: dict[str, int] = self._sync(
                self.client.scheduler.ncores, callback_timeout=self._worker_seconds
            )
        except (TimeoutError, OSError, RuntimeError) as error:
            raise ClusterError(
                "the scheduler of the cluster does not answer. Start the cluster again, and fit "
                "again."
            ) from error
        return found

    def _some_workers(self, avoid: set[str]) -> dict[str, int]:
        """Return the workers that may take a shard; wait for the first one if there is none."""
        end = monotonic() + self._worker_seconds
        while True:
            found = {a: n for a, n in self._workers().items() if a not in avoid}
            if found:
                return found
            if monotonic() > end:
                raise ClusterError(
                    f"the cluster has no worker left to take the rows, after a wait of "
                    f"{self._worker_seconds:g} s. Start more workers, and fit again."
                )
            sleep(POLL_SECONDS)

    def _placed(self) -> list[Placed]:
        """Decide which chunks make a shard.

        Chunks that the user keeps in memory stay where they are. The others are divided into
        consecutive runs, one per worker: that does not depend on where Dask computes them, so
        neither do the last bits of sums over shards.
        """
        workers = sorted(self._some_workers(set()))
        held = self._source.places(self.client)
        free = [k for k, home in enumerate(held) if home not in workers]
        by_home: dict[str, list[int]] = {}
        for k, home in enumerate(held):
            if home in workers:
                by_home.setdefault(str(home), []).append(k)
        kept = [Placed(chunks, home) for home, chunks in by_home.items()]
        return [*kept, *(Placed(run) for run in _runs(free, len(workers)))]

    def _load(self) -> None:
        """Have all chunks computed, wherever Dask likes, and make shards of them."""
        chunks = [k for shard in self._shards for k in shard.chunks]
        futures = dict(zip(chunks, self._source.futures(self.client, chunks), strict=True))
        self._wait_for(futures.values())
        self._settle(futures)
        for shard in self._shards:
            self._submit(shard, [futures[k] for k in shard.chunks])
        del futures
        for number, shard in enumerate(self._shards):
            if not self._is_loaded(shard):
                self._rebuild(number, ())

    def _settle(self, futures: dict[int, Any]) -> None:
        """Choose a worker for each run of chunks: the one that has most of them, if it is free."""
        workers = set(self._some_workers(set()))
        taken = {shard.address for shard in self._shards}
        places = self._source.found_at(self.client, futures)
        for shard in self._shards:
            if not shard.address:
                free = sorted(workers - taken) or sorted(workers)
                theirs = [places.get(k, "") for k in shard.chunks]
                shard.address = max(free, key=theirs.count)
                taken.add(shard.address)

    def _wait_for(self, futures: Iterable[Any]) -> None:
        """Wait until chunks are computed; the limit of time is for a single one."""
        pending, end = [f for f in futures if isinstance(f, Future)], 0.0
        n_done = -1
        while True:
            with suppress(TimeoutError, CancelledError):
                wait(pending, timeout=POLL_SECONDS)
            self._some_workers(set())
            statuses = [future.status for future in pending]
            for future, status in zip(pending, statuses, strict=True):
                if status == "error":
                    raise self._why_not_loaded(future.exception())
                if status not in ("pending", "finished"):
                    raise ClusterError(SOURCE_GONE.format(status))
            if "pending" not in statuses:
                return
            if statuses.count("finished") > n_done:
                n_done, end = statuses.count("finished"), monotonic() + self._answer_seconds
            if monotonic() > end:
                raise ClusterError(
                    f"no part of X was computed within {self._answer_seconds:g} s. If that is how "
                    "long a part takes, raise 'semisvm.answer-seconds' in Dask's configuration."
                )

    def _check_versions(self) -> None:
        nothing = [()] * len(self._shards)
        found = self._round({k: ("version", own) for k, own in enumerate(nothing)})
        if all(isinstance(one, Lost) for one in found):
            # workers that are there, but cannot be reached from here, are reached by the scheduler
            self._direct = not self._workers().keys() >= {one.address for one in self._shards}
        others = set(self.call("version", nothing)) - {__version__}
        if others:
            reason = f"semisvm is {__version__} here and {', '.join(sorted(others))} there"
            raise ClusterError(OTHER_PACKAGES.format(reason))

    def _submit(self, shard: Placed, chunks: Sequence[Any]) -> None:
        n_threads = self._n_threads or self._workers().get(shard.address, 1)
        shard.future = self.client.submit(
            RemoteShard,
            chunks,
            n_threads,
            actor=True,
            pure=False,
            workers=[shard.address],
            allow_other_workers=False,
        )

    def _is_loaded(self, shard: Placed) -> bool:
        """Wait until a shard is there; False if its worker is gone, or takes too long."""
        end = monotonic() + self._answer_seconds
        while monotonic() < end:
            with suppress(TimeoutError, CancelledError):
                wait([shard.future], timeout=POLL_SECONDS)
            status, workers = shard.future.status, self._workers()
            if status == "finished":
                return True
            if shard.address not in workers:
                return False
            if status == "error":
                raise self._why_not_loaded(shard.future.exception())
            if status != "pending":
                raise ClusterError(SOURCE_GONE.format(status))
        return False

    def _why_not_loaded(self, error: BaseException) -> BaseException:
        """Return the error of rows that cannot be used, or that cannot be had."""
        if isinstance(error, (ValueError, TypeError, MemoryError)):
            return error
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, ImportError):
            return ClusterError(OTHER_PACKAGES.format(reason))
        text = TOO_LARGE if isinstance(error, KilledWorker) else SOURCE_GONE.format(reason)
        found = ClusterError(text)
        found.__cause__ = error
        return found

    def _rebuild(self, number: int, calls: Sequence[Call]) -> None:
        """Make a shard anew on another worker, in the state to which operations bring it."""
        shard = self._shards[number]
        while True:
            shard.losses += 1
            if shard.losses > MOST_LOSSES:
                raise ClusterError(TOO_LARGE)
            shard.avoid.add(shard.address)
            shard.release()
            self._drop(shard.address)
            shard.read_before, shard.rows_read = shard.read_before + shard.rows_read, 0
            workers = self._some_workers(shard.avoid)
            shard.address = min(workers, key=lambda address: (self._load_of(address), address))
            chunks = self._source.futures(self.client, shard.chunks)
            self._wait_for(chunks)
            self._submit(shard, chunks)
            if not self._is_loaded(shard):
                continue
            try:
                for method, arguments in self._lasting:
                    self._only(number, method, arguments[number])
                if calls:
                    self._only(number, "run", (calls,))
            except Lost:
                continue
            return

    def _drop(self, address: str) -> None:
        """Have the scheduler give up a worker that does not reply, or it waits for its work."""
        if address in self._workers():
            with suppress(TimeoutError, OSError, RuntimeError):
                self._sync(
                    self.client.scheduler.unregister,
                    address=address,
                    stimulus_id=f"semisvm-{address}-does-not-answer",
                    callback_timeout=self._worker_seconds,
                )

    def _load_of(self, address: str) -> int:
        return sum(len(shard.chunks) for shard in self._shards if shard.address == address)

    # How they are reached ------------------------------------------------------------------

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False
    ) -> list[Any]:
        """Call a method of every shard, with its own arguments.

        A ``lasting`` call is repeated if a shard is made anew.
        """
        found = self._call_all(method, arguments, lambda _: ())
        if lasting:
            self._lasting.append((method, arguments))
        return found

    def run(
        self, calls: Sequence[Sequence[Call]], before: Callable[[int], Sequence[Call]]
    ) -> list[Any]:
        """Run operations on each shard, in one round."""
        self.rounds += 1
        return self._call_all("run", [(one,) for one in calls], before)

    def _call_all(
        self,
        method: str,
        arguments: Sequence[tuple[Any, ...]],
        before: Callable[[int], Sequence[Call]],
    ) -> list[Any]:
        found = self._round({k: (method, own) for k, own in enumerate(arguments)})
        for number, result in enumerate(found):
            while isinstance(result, Lost):
                self._rebuild(number, before(number))
                [result] = self._round({number: (method, arguments[number])})
            if isinstance(result, BaseException):
                raise result
            self._shards[number].losses = 0
            found[number] = result
        return found

    def _only(self, number: int, method: str, arguments: tuple[Any, ...]) -> Any:
        [result] = self._round({number: (method, arguments)})
        if isinstance(result, BaseException):
            raise result
        return result

    def _round(self, calls: dict[int, tuple[str, tuple[Any, ...]]]) -> list[Any]:
        """Send calls to shards at the same time; return results, or errors, in their order."""
        packed: dict[tuple[int, ...], bytes] = {}
        sent: dict[int, bytes] = {}
        for number, call in calls.items():
            # what goes to all shards is packed once
            same = tuple(id(argument) for argument in call[1])
            if same not in packed:
                packed[same] = dumps(call)
            sent[number] = packed[same]
        self.bytes += sum(len(message) for message in sent.values())
        try:
            found: list[Any] = self._sync(self._send, sent)
        except RuntimeError:
            # a client that was closed has no loop: raise an error that explains it
            self._workers()
            raise
        return found

    def _sync(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        try:
            return self.client.sync(function, *arguments, **options)
        except UnboundLocalError:
            # this is how Dask's function ends if the client is closed while it waits
            raise RuntimeError("the client was closed") from None

    async def _send(self, sent: dict[int, bytes]) -> list[Any]:
        return await asyncio.gather(*(self._one(*message) for message in sent.items()))

    async def _one(self, number: int, message: bytes) -> Any:
        shard = self._shards[number]
        call = {"function": CALL, "actor": shard.future.key, "kwargs": {}}
        try:
            rpc = self._reach(shard.address)
            request = rpc.actor_execute(args=[to_serialize(message)], **call)
            response = await self._response(request, shard.address)
        except (Lost, OSError, KeyError, RuntimeError) as error:
            # the worker is gone, or the shard, or the client is closed
            return Lost(f"{shard.address} is gone ({error})")
        if response["status"] != "OK":
            return response["exception"]
        packed = response["result"]
        self.bytes += len(packed)
        found, shard.rows_read = pickle.loads(packed)
        return found

    def _reach(self, address: str) -> Any:
        """Return what calls a worker: directly, or by way of the scheduler."""
        if self._direct:
            return self.client.rpc(address)
        return ProxyRPC(self.client.scheduler, address)

    async def _response(self, request: Coroutine[Any, Any, Any], address: str) -> Any:
        """Wait for a response while its worker is there; Dask would try to reach it for long."""
        task, end = asyncio.ensure_future(request), monotonic() + self._answer_seconds
        try:
            while True:
                done, _ = await asyncio.wait({task}, timeout=WATCH_SECONDS)
                if done:
                    return task.result()
                if monotonic() > end or not await self._is_there(address):
                    raise Lost("no reply")
        finally:
            task.cancel()

    async def _is_there(self, address: str) -> bool:
        known = self.client.scheduler.ncores(workers=[address])
        return address in await asyncio.wait_for(known, self._worker_seconds)

    def rows_read(self) -> int:
        """Return the number of rows read so far, by shards that were lost too."""
        return sum(shard.rows_read + shard.read_before for shard in self._shards)

    def close(self) -> None:
        """Free the shards."""
        for shard in self._shards:
            shard.release()


def _runs(chunks: list[int], n: int) -> list[list[int]]:
    """Divide a list into at most n consecutive runs of about equal length."""
    cuts = [len(chunks) * i // n for i in range(n + 1)]
    return [chunks[a:b] for a, b in pairwise(cuts) if a < b]
