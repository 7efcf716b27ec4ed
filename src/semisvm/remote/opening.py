"""Opening X where it is: on the cluster of the current client, or in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dask import config
from dask.system import CPU_COUNT

from semisvm.remote.local import Local
from semisvm.remote.sources import source_of
from semisvm.remote.spread import SpreadRows


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
def opened(X: Any, n_jobs: int | None, threads: int) -> Iterator[SpreadRows]:
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
        from semisvm.remote.cluster import Cluster

        shards = Cluster(client, source, None if n_jobs is None else threads)
    try:
        yield SpreadRows(shards)
    finally:
        shards.close()
