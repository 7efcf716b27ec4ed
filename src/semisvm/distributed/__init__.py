"""Rows in parts: on the workers of a Dask cluster, or in this process.

Dask is imported only where X is in parts; see `semisvm.designs.validation.is_distributed`.
"""

from importlib.util import find_spec

from semisvm.distributed.connecting import ClusterError

__all__ = ["ClusterError", "require_dask"]


def require_dask() -> None:
    """Raise ImportError, and say what to install, if Dask is not there."""
    if find_spec("dask") is None:
        raise ImportError(
            "X in parts needs Dask, which is not installed: pip install 'semisvm[dask]'. Or give "
            "one matrix, or one folder of rows."
        )
