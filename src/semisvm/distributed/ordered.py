"""Calls on the workers of a cluster whose results come in the order of the calls."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from semisvm.distributed.connecting import ClusterError

AHEAD = 2
"""Calls per thread of the cluster that are under way at a time."""
POLL_SECONDS = 2.0


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
