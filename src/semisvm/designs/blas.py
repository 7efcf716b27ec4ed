"""BLAS in a fit: one thread per call, because the fit has its own worker threads.

By default BLAS starts threads for large products. They spin for a while after the call, on the
cores that the row blocks of the next product need.
"""

import os
from functools import cache
from threading import get_ident
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController

from semisvm.forking import no_fork


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
