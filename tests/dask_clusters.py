"""Small clusters of worker processes on the loopback address."""

import warnings

import distributed


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
