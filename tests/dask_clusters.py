"""Small clusters of worker processes on the loopback address."""

import warnings

import distributed


def start_cluster(n_workers=2, **options):
    """Start worker processes, with nothing that listens beyond this machine."""
    settings = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distributed.LocalCluster(n_workers=n_workers, **(settings | options))
