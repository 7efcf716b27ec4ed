import distributed
import pytest

from dask_clusters import start_cluster


@pytest.fixture(scope="module")
def client():
    """Connect to two worker processes."""
    with start_cluster() as cluster, distributed.Client(cluster) as client:
        yield client
