"""What can go wrong on a cluster."""


class ClusterError(RuntimeError):
    """A fit could not go on: workers, the scheduler or the source of some rows are gone."""
