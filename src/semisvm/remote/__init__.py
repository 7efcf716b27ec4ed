"""Rows that are spread over chunks: on the workers of a Dask cluster, or in this process.

Nothing here imports Dask until a collection of Dask is given.
"""

from typing import Any

from semisvm.ondisk import RowsOnDisk
from semisvm.remote.errors import ClusterError

__all__ = ["ClusterError", "is_spread"]


def is_spread(X: Any) -> bool:
    """Tell whether X is a collection of Dask, or a list of folders of rows."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(part, RowsOnDisk) for part in X)
    return type(X).__module__.split(".")[0] == "dask"
