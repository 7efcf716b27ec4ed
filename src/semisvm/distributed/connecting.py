"""Connecting to a cluster, or starting one on this machine; calls on it; time limits and errors.

Workers are checked on connecting: versions, and whether they can read the files.
"""

import importlib.metadata
import logging
import os
import platform
import signal
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

ANSWER_SECONDS = 600.0
"""How long a worker may take for a reply; `dask.config` "semisvm.answer-seconds"."""
WORKER_SECONDS = 60.0
"""How long to wait for a worker if there is none; `dask.config` "semisvm.worker-seconds"."""


class ClusterError(RuntimeError):
    """A fit could not go on: workers, the scheduler or the source of some rows are gone."""


CONNECT_SECONDS = 10.0
"""How long to wait for a scheduler, and for its first worker."""
ASK_SECONDS = 60.0
"""How long workers may take to report their versions; the first call imports."""
AHEAD = 2
"""Calls per thread of the cluster that are under way at a time."""
POLL_SECONDS = 2.0
LOOPBACK = "127.0.0.1"
PACKAGES = (
    *("semisvm", "numpy", "scipy", "scikit-learn", "numba"),
    *("dask", "distributed", "cloudpickle"),
)
"""What workers and the driver must have in the same version: objects travel between them, and
the last bits of sums depend on it."""


@contextmanager
def connected(address: str | None = None, n_workers: int | None = None) -> Iterator[Any]:
    """Connect to the scheduler of a cluster, or start workers on this machine.

    While the block lasts, fits and predictions of X in parts use the cluster. What was started is
    ended with the block; a cluster that was there before goes on.

    Parameters
    ----------
    address : str, optional
        Of a scheduler, such as ``tcp://10.0.0.1:8786``.
    n_workers : int, optional
        Number of processes with one thread each, which listen on the loopback address only; in
        place of an address.

    Yields
    ------
    client : distributed.Client

    Raises
    ------
    ClusterError
        If the scheduler or its workers cannot be reached, or have other versions of packages.
    ImportError
        If Dask is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise ImportError(
            'A cluster needs Dask, which is not installed: pip install "semisvm[dask]".'
        ) from error
    with _quiet():
        if address is None:
            with _interrupts_later():
                cluster = _local_cluster(n_workers or 1)
            with cluster, distributed.Client(cluster) as client:
                yield client
            return
        with _client_of(address) as client:
            check_workers(client)
            yield client


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask's own messages, which our errors repeat, from the error stream."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            # sockets with which it finds its own address
            warnings.simplefilter("ignore", ResourceWarning)
            yield
    finally:
        logger.setLevel(before)


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Make processes that are started in this block ignore Ctrl-C, which this process handles.

    A terminal sends it to all processes. It is blocked meanwhile, and comes when the block ends;
    the threads and processes that are started here keep it blocked.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # it unblocks the signal when it starts with the first process
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _local_cluster(n_workers: int) -> Any:
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host=LOOPBACK,
        # neither the scheduler nor a worker has a page; their HTTP servers for metrics listen
        # on any free port of the loopback address
        dashboard_address=None,
        worker_dashboard_address=None,
        scheduler_kwargs={"dashboard_address": f"{LOOPBACK}:0"},
        # rows on the disk are in no one's memory, and what a fit needs it needs
        memory_limit=0,
        silence_logs=logging.CRITICAL,
    )


def _client_of(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no scheduler of Dask answers at {address} within {CONNECT_SECONDS:g} s. Check the "
            "address and that the scheduler runs; 'dask scheduler' prints its address."
        ) from error


def check_workers(client: Any) -> None:
    """Refuse a cluster without workers, or whose workers have other versions than this process.

    Raises
    ------
    ClusterError
    """
    try:
        client.wait_for_workers(1, timeout=CONNECT_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"the cluster has no worker after {CONNECT_SECONDS:g} s. Start some, for instance "
            "with 'dask worker ADDRESS'."
        ) from error
    here = versions()
    for address, found in _run(client, versions).items():
        other = [
            f"{name} {found.get(name)} instead of {version}"
            for name, version in here.items()
            if found.get(name) != version
        ]
        if other:
            raise ClusterError(
                f"the worker {address} has {', '.join(other)}. Install the same versions on all "
                "workers as here."
            )


def versions() -> dict[str, str]:
    """Return the versions that matter to what travels between processes."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "unknown"
    return found


def check_files(client: Any, paths: Sequence[str | Path]) -> None:
    """Refuse files that not all workers can read, or that are others there.

    Raises
    ------
    ClusterError
    """
    names = [str(Path(path).absolute()) for path in paths]
    _compare_sizes(client, names, sizes_of(names))


def _compare_sizes(client: Any, names: Sequence[str], here: Sequence[int | None]) -> None:
    for address, found in _run(client, sizes_of, names).items():
        for name, size, ours in zip(names, found, here, strict=True):
            if size != ours:
                what = "cannot read" if size is None else "has another file in the place of"
                raise ClusterError(
                    f"the worker {address} {what} {name}. Put the data where all workers see them "
                    "under the same path, such as a shared disk."
                )


def sizes_of(names: Sequence[str]) -> list[int | None]:
    """Return the sizes of files; None for what cannot be read, 0 for folders."""
    return [
        (0 if os.path.isdir(name) else os.path.getsize(name)) if os.access(name, os.R_OK) else None
        for name in names
    ]


def _run(client: Any, function: Any, *arguments: Any) -> dict[str, Any]:
    """Call a function on all workers, at once."""
    from distributed.utils import wait_for

    async def call() -> dict[str, Any]:
        found: dict[str, Any] = await wait_for(client.run(function, *arguments), ASK_SECONDS)
        return found

    try:
        return dict(client.sync(call))
    except (ModuleNotFoundError, AttributeError) as error:
        raise ClusterError(
            f"the workers cannot import semisvm ({error}). Install the same version of semisvm on "
            "all workers as here."
        ) from error
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"the workers of the cluster do not answer within {ASK_SECONDS:g} s "
            f"({type(error).__name__}). Check that they run and can be reached."
        ) from error


def in_order(
    client: Any, function: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]
) -> Iterator[Any]:
    """Yield the results of a function for many arguments, a few of which are with the workers.

    Parameters
    ----------
    client : distributed.Client
    function : callable
        Can be called again with the same arguments, on another worker, if one is lost.
    arguments : iterable of tuples
        Taken when there is a worker for them.

    Raises
    ------
    ClusterError
        If the cluster is gone, or a call was lost with several workers. An error of the function
        itself is raised as it is.
    """
    ahead = AHEAD * max(sum(client.ncores().values()), 1)
    waiting: deque[Any] = deque()
    try:
        for given in arguments:
            waiting.append(client.submit(function, *given, pure=False))
            if len(waiting) >= ahead:
                yield _result(client, waiting.popleft())
        while waiting:
            yield _result(client, waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


def _result(client: Any, future: Any) -> Any:
    from asyncio import CancelledError

    from distributed import KilledWorker

    while True:
        try:
            return future.result(timeout=POLL_SECONDS)
        except TimeoutError:
            _check_cluster(client, future)
        except (KilledWorker, CancelledError) as error:
            raise ClusterError(
                "a part of the work was lost with the workers that had it. Workers that reach "
                "their memory limit are killed: give them more memory, or use fewer of them."
            ) from error


def _check_cluster(client: Any, future: Any) -> None:
    """Raise if waiting longer is of no use."""
    if client.status != "running":
        raise ClusterError("the scheduler of the cluster is gone. Start the cluster again.")
    if future.status == "pending" and not client.scheduler_info(n_workers=1)["workers"]:
        raise ClusterError("the cluster has no worker left. Start some, and try again.")
