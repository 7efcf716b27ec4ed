"""How many unlabelled rows the levels of a path take: few at first, and all at the last level.

Levels before the last one only lead to a valley of the objective, and a sample of the rows leads
there as well. What it costs does not grow with the data. At the last weight of the unlabelled
rows, or when labels have hardened, labels settle on growing samples, and then on all rows. The
result is a solution for all rows, with the same certificate.
"""

from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task

WHOLE_BELOW = 20_000
"""Fewer unlabelled rows are taken whole at every level."""
SMALLEST = 10_000
CURVATURE_ROWS = 10_000
"""Unlabelled rows that products with the curvature take where levels take samples."""
GROWTH = 4
"""Factor between the sizes of samples on which labels settle."""


def sample_sizes(task: Task) -> tuple[int, ...]:
    """Return the sizes of the samples for a task, the smallest first; none for small ones.

    Losses that are not smooth keep numbers per row from one level to the next, and rows that may
    not have every one of many classes may not fit the counts of a sample: then there is none too.
    """
    n = task.rows.n_free_rows
    if n < WHOLE_BELOW or not task.smooth:
        return ()
    if isinstance(task, ManyClassTask) and task.rows.all.forbids():
        return ()
    sizes, size = [], SMALLEST
    while GROWTH * size <= 2 * n:
        sizes.append(size)
        size *= GROWTH
    return tuple(sizes) or (SMALLEST,)


def rows_of(task: Task) -> dict[str, int]:
    """Return what the trace has about a sample; nothing about a whole task."""
    return {} if task.sample_size is None else {"sampled_rows": task.sample_size}
