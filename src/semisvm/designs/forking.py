"""Locks that a fork waits for, so that no child process starts with a lock held.

A fork copies the state of all locks, but only the thread that forks: a lock held by another
thread stays locked in the child for ever. So a fork waits for the short times in which a fit
holds a lock that outlives it:

- `no_fork`, around the first import of an optional package and around changes of BLAS threads.
  While they are looked up, the loader of the C library is locked too;
- numba's compiler lock, under which code is compiled or read from the cache, with imports of
  numba's own.
"""

import os
from threading import RLock
from typing import Any

from numba.core import compiler_lock

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
