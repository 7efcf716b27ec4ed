"""Threads over blocks of rows, with results in a fixed order.

BLAS gets one thread per call during a fit. By default it starts threads for large products; they
spin for a while after the call, on the cores that the row blocks of the next product need.

Forks. A fork copies the state of all locks, but only the thread that forks: a lock held by another
thread stays locked in the child for ever. So a fork waits for the short times in which a fit holds
a lock that outlives it:

- `no_fork`, around the first import of an optional package and around changes of BLAS threads.
  While they are looked up, the loader of the C library is locked too;
- numba's compiler lock, under which code is compiled or read from the cache, with imports of
  numba's own.
"""

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import RLock, get_ident
from types import TracebackType
from typing import Any

import joblib
import numpy as np
from numba.core import compiler_lock
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

global_compiler_lock: Any = compiler_lock.global_compiler_lock
no_fork = RLock()


def _before() -> None:
    # in the same order as a fit
    no_fork.acquire()
    global_compiler_lock.acquire()


def _after() -> None:
    global_compiler_lock.release()
    no_fork.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """A re-entrant context, shared by threads; the last to leave restores the limits."""

    def __init__(self) -> None:
        self._depths: dict[int, int] = {}
        self._limit: Any = None

    def __enter__(self) -> None:
        with no_fork:
            # a forked child may have inherited the limit of a fit of its parent
            if self._limit is None:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._depths[get_ident()] = self._depths.get(get_ident(), 0) + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with no_fork:
            self._depths[get_ident()] -= 1
            if not self._depths[get_ident()]:
                del self._depths[get_ident()]
            if not self._depths:
                self._limit.restore_original_limits()
                self._limit = None

    def after_fork(self) -> None:
        """Forget threads that do not exist in the child."""
        own = get_ident()
        self._depths = {own: self._depths[own]} if own in self._depths else {}


one_blas_thread = _OneThread()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_blas_thread.after_fork)


# Passing a block to another thread and waiting for it takes about a quarter of a millisecond
# (measured on passes of 0.1 to 2 ms); a smaller block takes less time than that.
MIN_WORK_PER_THREAD = 250_000
# Work per entry in a pass over vectors, in the same unit: stored entries of the data.
VECTOR_WORK = 1
# The same per row of a list, with branches and several arrays to read.
ROW_WORK = 4
# Share of the work that is left for the end, in smaller blocks: cores are never equally fast,
# and the thread that finishes first takes more of them. Without it two threads over 100,000
# rows waited for each other for a tenth to a fifth of the time.
LATE_SHARE = 0.25

# More threads than machines have cores. Results depend on the number of threads, so a larger
# number is an error rather than silently reduced.
MAX_THREADS = 1024

Bounds = tuple[tuple[int, int], ...]


def thread_count(n_jobs: Any) -> int:
    """Turn ``n_jobs`` into a number of threads: None is 1, -1 all cores, -2 all cores but one."""
    if n_jobs is None:
        return 1
    if not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    if n_jobs > MAX_THREADS:
        raise ValueError(
            f"n_jobs must be at most {MAX_THREADS} threads, got a larger number; this machine has "
            f"{joblib.cpu_count()} cores, and n_jobs=-1 uses all of them."
        )
    return int(n_jobs) if n_jobs > 0 else max(1, joblib.cpu_count() + 1 + int(n_jobs))


def balanced_blocks(total: NDArray[Any], n_threads: int, late: float = 0.0) -> Bounds:
    """Split positions 0..len(total) into consecutive blocks of about equal total work.

    Parameters
    ----------
    total : array of shape (k,)
        Cumulative cost of the positions, for instance the stored entries of rows.
    n_threads : int
        Maximum number of blocks; little work gets fewer.
    late : float
        Share of the work that is put into as many more, smaller blocks at the end.
    """
    k = len(total)
    if n_threads == 1 or k < 2:
        return ((0, k),)
    n_blocks = int(min(n_threads, k, max(1, total[-1] // MIN_WORK_PER_THREAD)))
    shares = np.full(n_blocks, 1.0 / n_blocks)
    if late and n_blocks > 1:
        shares = np.concatenate([(1.0 - late) * shares, late * shares])
    # whole numbers: to compare others, NumPy would copy the totals
    goals = np.ceil(total[-1] * np.cumsum(shares[:-1])).astype(total.dtype)
    cuts = [0, *np.searchsorted(total, goals).tolist(), k]
    return tuple(pairwise(cuts))


def even_blocks(k: int, work_each: int, n_threads: int) -> Bounds:
    """Split positions 0..k of equal cost into consecutive blocks."""
    n_blocks = max(1, min(n_threads, k, k * work_each // MIN_WORK_PER_THREAD))
    if n_blocks == 1:
        return ((0, k),)
    return tuple(pairwise(k * i // n_blocks for i in range(n_blocks + 1)))


class Workers:
    """A small thread pool that lives as long as one fit.

    No pool outlives its fit and none is shared, so fits in several Python threads and in
    forked children cannot block each other. The calling thread takes blocks too, which saves
    one wake-up per call. While a pool lives, BLAS uses one thread per call.
    """

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads
        self._pool = ThreadPoolExecutor(n_threads - 1) if n_threads > 1 else None

    def run(self, task: Callable[[int, int, int], Any], blocks: Bounds) -> None:
        """Call ``task(k, start, stop)`` for each block k and wait for all of them.

        Threads take the blocks in order, each the next one when it is free.
        """
        if self._pool is None or len(blocks) == 1:
            for k, (start, stop) in enumerate(blocks):
                task(k, start, stop)
            return
        waiting = deque(enumerate(blocks))

        def take() -> None:
            while waiting:
                try:
                    k, (start, stop) = waiting.popleft()
                except IndexError:
                    # another thread was faster
                    return
                task(k, start, stop)

        others: list[Future[None]] = [
            self._pool.submit(take) for _ in range(min(self.n_threads, len(blocks)) - 1)
        ]
        try:
            take()
        finally:
            for other in others:
                other.result()

    def share(
        self, part: Callable[[int, int], Any], k: int, work_each: int = VECTOR_WORK
    ) -> list[Any]:
        """Call ``part(start, stop)`` on blocks of 0..k; return the results in order."""
        blocks = even_blocks(k, work_each, self.n_threads)
        if len(blocks) == 1:
            return [part(0, k)]
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
        one_blas_thread.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
        one_blas_thread.__exit__(kind, error, trace)
