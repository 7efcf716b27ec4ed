"""Opening X where it is: on the cluster of the current client, or in this process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from semisvm.remote.spread import SpreadRows

INSTALL = 'pip install "semisvm[dask]"'
NEEDS_DASK = (
    f"X in parts needs Dask, which is not installed: {INSTALL}. Or give one matrix, or one folder "
    "of rows."
)


def current_client() -> Any:
    """Return the client of a cluster that the user has connected to; None if there is none."""
    try:
        from distributed import Client
    except ImportError:
        return None
    try:
        return Client.current(allow_global=True)
    except ValueError:
        return None


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
    try:
        from semisvm.remote.sources import source_of
    except ImportError as error:
        raise ImportError(NEEDS_DASK) from error
    source, client = source_of(X), current_client()
    if client is None:
        from dask import config
        from dask.system import CPU_COUNT

        from semisvm.remote.local import Local

        all_of_them = int(config.get("num_workers", None) or CPU_COUNT)
        shards: Any = Local(source, all_of_them if n_jobs is None else threads)
    else:
        from semisvm.remote.cluster import Cluster

        shards = Cluster(client, source, None if n_jobs is None else threads)
    try:
        yield SpreadRows(shards)
    finally:
        shards.close()
