"""Small clusters of worker processes on the loopback address."""

import multiprocessing
import warnings

import dask
import distributed

if "forkserver" in multiprocessing.get_all_start_methods():
    # Workers are copies of one process that has imported everything: each import takes seconds.
    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    context = distributed.utils.get_mp_context()  # which sets a list of its own
    context.set_forkserver_preload(["distributed", "semisvm.distributed.cluster"])


def start_cluster(n_workers=2, **options):
    """Start worker processes, with nothing that listens beyond this machine."""
    settings = {
        "threads_per_worker": 1,
        "host": "127.0.0.1",
        "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"},
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distributed.LocalCluster(n_workers=n_workers, **(settings | options))
