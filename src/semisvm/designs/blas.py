"""BLAS in a fit: one thread a call, because the workers of the fit are the threads.

Left alone, BLAS wakes threads of its own for large products. They spin for a while after the
call, on the cores that the row blocks of the next product need.
"""

from functools import cache
from threading import Lock
from types import TracebackType
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneThread:
    """A context that may be entered again, by other threads too; the last to leave restores."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._depth = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._limit.restore_original_limits()
                self._limit = None


one_blas_thread = _OneThread()
