"""How many unlabelled rows the levels of a path take: few at first, and all at the last level.

Levels before the last one only lead to a valley of the objective, and a sample of the rows leads
there as well. What it costs does not grow with the data. At the last weight of the unlabelled
rows, or when labels have hardened, labels settle on growing samples, and then on all rows. The
result is a solution for all rows, with the same certificate.
"""

from collections.abc import Sequence

from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.task import Task

WHOLE_BELOW = 50_000
"""Fewer unlabelled rows are taken whole at every level."""
SMALLEST = 10_000
MOST_OPTIMISM = 0.02
"""A sample is too small if what is minimised is higher by more than this for other rows, relative
to the objective: then labels are decided by the few rows that happen to be in it."""
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


def larger(sizes: Sequence[int], size: int) -> int | None:
    """Return the size of the next sample; None for all rows."""
    return min((other for other in sizes if other > size), default=None)


def no_less(size: int | None, current: int | None) -> int | None:
    """Return a size of samples that is at least the current one; None is that of all rows."""
    return None if size is None or current is None else max(size, current)


def rows_of(task: Task) -> dict[str, int]:
    """Return what the trace has about a sample; nothing about a whole task."""
    return {} if task.sample_size is None else {"sampled_rows": task.sample_size}
