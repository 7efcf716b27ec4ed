"""k-median clustering in the 1-norm."""

from semisvm.clusters.kmedian import KMedian

__all__ = ["KMedian"]
