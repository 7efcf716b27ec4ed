"""What can go wrong on a cluster, and how long to wait for it."""

ANSWER_SECONDS = 600.0
"""How long a worker may take for an answer; `dask.config` "semisvm.answer-seconds"."""
WORKER_SECONDS = 60.0
"""How long to wait for a worker if there is none; `dask.config` "semisvm.worker-seconds"."""


class ClusterError(RuntimeError):
    """A fit could not go on: workers, the scheduler or the source of some rows are gone."""
