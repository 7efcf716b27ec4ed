"""What a fork waits for, so that no child is born into a locked house.

A fork copies locks as they are, and of the threads only the one that forks: what another thread
had locked stays locked in the child for ever. So a fork waits for the few moments in which a fit
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
    # the order in which a fit takes both
    no_fork.acquire()
    global_compiler_lock.acquire()


def _after() -> None:
    global_compiler_lock.release()
    no_fork.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)
