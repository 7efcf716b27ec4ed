"""Rows in parts: on the workers of a Dask cluster, or in this process.

``fit(X, y)`` takes the same steps with X in parts (a Dask array or dataframe, or a list of folders
of rows): X becomes `DistributedRows`, in place of a design, and methods get the same `OneScoreRows`
or `ManyScoreRows` as for rows in memory, with another function that calls the blocks (see
`semisvm.tasks`)::

    driver                                               worker (a Dask actor per worker)
      Rows ──► Wire ───────► Cluster ── one message ───────► RemoteShard ──► blocks, one per chunk
               queue, log    places of shards, rounds, bytes   adds up vectors over columns

``sources`` has the chunks of X: which worker has them in memory, how to compute them. ``shard`` has
the blocks of one worker, independent of Dask, and the one shard of a fit without a client.
``cluster`` makes shards as actors, sends to them and makes lost ones anew. ``wire`` decides which
operations travel together, and which a lost block must repeat. ``rows`` makes ``predict`` and
the like lazy Dask arrays. Dask is imported only where X is in parts; see
`semisvm.designs.validation.is_distributed`.

*Why actors.* A shard must stay in the memory of its worker between calls, must not be written to
the disk or moved, and must be freed when the fit ends or its process dies. Tasks with ``workers=``
would need a registry of their own for that, and each call would go through the scheduler. The
driver calls actors directly, over connections that Dask opens; it opens no port itself. Calls have
a time limit of their own: those of ``distributed.Actor`` have none.

*Few rounds.* A round takes milliseconds, however small the work. So

- an operation without a result (``score``, ``set_label_costs``, ``set_direction``, ...) waits for
  the next one with a result, and travels with it;
- small operations that usually follow another one (``follows`` in their declarations) are sent
  along with it, and their results are kept until what they read changes;
- a threshold is first searched near the last one (`semisvm.tasks.one_score_driver`): one call;
- a shard combines the results of its blocks, so one vector over columns travels per worker, however
  many chunks there are;
- the driver gets the labelled rows, for the preconditioner, only if they are few.

The columns ``rounds`` and ``bytes`` of the trace count messages and their size, both ways.

*What is gathered.* The driver has one label per row, the labelled rows if they are few, and a
sample of 5,000 others for the estimate of the class shares and for the pivots of a kernel
(``n_components`` must be given). At the end it gets the chosen labels. The losses ``hinge`` and
``crammer_singer`` ascend in the dual row by row: up to 1 GiB of rows are brought into the driver
for them, more are refused.

*Order of sums.* Results are added in the order of the chunks of a shard, then in that of the
shards. The chunks of a shard are decided once: chunks in memory stay where they are, the others
are dealt to the workers in consecutive runs. So repeated fits on the same chunks and the same
number of workers are equal bit for bit, and so is a fit in which a worker died.

*A worker that dies.* `Wire` keeps a log of the operations that changed the state of the blocks.
Their declarations (`semisvm.tasks.operations`) give the parts of the state that each of them reads,
sets and changes; walking back through the log finds those on which the state still depends. A lost
shard is loaded again on another worker, gets its labels, repeats these operations, and then runs
the one whose result is missing; the other shards wait. A step of the weights is one such operation
(``set_direction``) and one pass over the rows; of all the products of its conjugate gradients one
is needed at most. After 32 steps at most the scores are computed anew from the weights, so the log
is short and never has more than a few dozen vectors over columns.
``tests/unit/tasks/test_operations.py`` checks that the declarations are true, and
``tests/unit/distributed/test_replay.py`` loses shards before every round of fits with all methods,
and compares bit for bit.

*Waits.* A worker without a reply for 600 s counts as dead (``semisvm.answer-seconds`` in Dask's
configuration). The fit raises `ClusterError` if no worker is left for 60 s
(``semisvm.worker-seconds``), if a part of X was lost three times in a row, or if the source of
some rows or the scheduler is gone; a ``Checkpoint`` remains.
"""

from importlib.util import find_spec

from semisvm.distributed.connecting import ClusterError

__all__ = ["ClusterError", "require_dask"]


def require_dask() -> None:
    """Raise ImportError, with what to install, if Dask is not installed."""
    if find_spec("dask") is None:
        raise ImportError(
            "X in parts needs Dask, which is not installed: pip install 'semisvm[dask]'. Or give "
            "one matrix, or one folder of rows."
        )
