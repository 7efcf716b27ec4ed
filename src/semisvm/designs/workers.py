"""Threads over blocks of rows: one block a thread, results in a fixed order."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from types import TracebackType
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

# A block smaller than this is finished sooner than another thread is woken up.
MIN_WORK_PER_THREAD = 60_000
# Work of a row in a pass over vectors, in the same units: stored entries of the data.
VECTOR_WORK = 1

Bounds = tuple[tuple[int, int], ...]


def thread_count(n_jobs: Any) -> int:
    """Turn ``n_jobs`` into a number of threads: None is 1, -1 all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    return int(n_jobs) if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + int(n_jobs))


def balanced_blocks(work: NDArray[Any], n_threads: int) -> Bounds:
    """Split positions 0..len(work) into consecutive blocks of about equal total work.

    Parameters
    ----------
    work : array of shape (k,)
        Cost of each position, for instance the stored entries of a row.
    n_threads : int
        Upper limit of the number of blocks; little work gets fewer.
    """
    k = len(work)
    if n_threads == 1 or k < 2:
        return ((0, k),)
    total = np.cumsum(work, dtype=np.int64)
    n_blocks = int(min(n_threads, k, max(1, total[-1] // MIN_WORK_PER_THREAD)))
    goals = total[-1] * np.arange(1, n_blocks) / n_blocks
    cuts = [0, *np.searchsorted(total, goals).tolist(), k]
    return tuple(pairwise(cuts))


def even_blocks(k: int, work_each: int, n_threads: int) -> Bounds:
    """Split positions 0..k, which all cost the same, into consecutive blocks."""
    n_blocks = max(1, min(n_threads, k, k * work_each // MIN_WORK_PER_THREAD))
    return tuple(pairwise(k * i // n_blocks for i in range(n_blocks + 1)))


class Workers:
    """A small thread pool that lives as long as one fit.

    No pool outlives its fit and none is shared, so fits in several Python threads and in
    forked children cannot meet each other's locks. The calling thread takes the first
    block itself, which saves one wake-up a call.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, task: Callable[[int, int, int], Any], blocks: Bounds) -> None:
        """Call ``task(k, start, stop)`` for every block k and wait for all of them."""
        if self._pool is None or len(blocks) == 1:
            for k, (start, stop) in enumerate(blocks):
                task(k, start, stop)
            return
        others: list[Future[Any]] = [
            self._pool.submit(task, k, start, stop)
            for k, (start, stop) in enumerate(blocks[1:], start=1)
        ]
        try:
            task(0, *blocks[0])
        finally:
            for other in others:
                other.result()

    def share(
        self, part: Callable[[int, int], Any], k: int, work_each: int = VECTOR_WORK
    ) -> list[Any]:
        """Call ``part(start, stop)`` on blocks of 0..k; give what the blocks gave, in order."""
        blocks = even_blocks(k, work_each, self.n_threads)
        found: list[Any] = [None] * len(blocks)

        def task(i: int, start: int, stop: int) -> None:
            found[i] = part(start, stop)

        self.run(task, blocks)
        return found

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
