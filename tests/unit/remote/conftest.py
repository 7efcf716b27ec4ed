"""A small cluster of worker processes on the loopback address."""

import warnings

import pytest

distributed = pytest.importorskip("distributed")


def start_cluster(n_workers=2, **options):
    """Start worker processes, with nothing that listens beyond this machine."""
    settings = {"threads_per_worker": 1, "host": "127.0.0.1", "dashboard_address": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return distributed.LocalCluster(n_workers=n_workers, **(settings | options))


@pytest.fixture(scope="module")
def client():
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(params=["threads", "cluster"])
def where(request):
    """Run a test with threads of this process, and on a cluster."""
    if request.param == "cluster":
        request.getfixturevalue("client")
    elif "client" in request.fixturenames:
        pytest.skip("a client would be used")
    return request.param
