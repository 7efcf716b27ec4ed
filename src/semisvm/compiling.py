"""The decorator for compiled code."""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numba
from numba.core import event

_told = False


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function on its first call; it releases the GIL and is cached.

    Numba caches compiled code beside the source, or else in the user's cache folder. If
    neither is writable, as in some containers, every process compiles the code again.

    Parameters
    ----------
    function : callable
    **options : of ``numba.njit``
    """
    if function is None:
        return lambda function: compiled(function, **options)
    try:
        return numba.njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:
        # numba found no folder for it
        _tell()
        return numba.njit(nogil=True, **options)(function)


class CompilationClock(event.Listener):
    """Seconds that this process has spent on compiling, within ``with clock.running()``.

    Code is compiled once per machine, so this time says nothing about the next fit.

    Attributes
    ----------
    seconds : float
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth = 0
        self._start = 0.0

    def running(self) -> Any:
        """Return a context within which the clock runs."""
        return event.install_listener("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """Begin, unless this is a function that another one calls."""
        if self._depth == 0:
            self._start = perf_counter()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Add the time since the outermost function was begun."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._start


def _tell() -> None:
    global _told
    if not _told:
        _told = True
        warnings.warn(
            "compiled code cannot be cached, because neither the package folder nor the user's "
            "cache folder is writable: every process compiles it again, which takes seconds. "
            "Set NUMBA_CACHE_DIR to a writable folder.",
            RuntimeWarning,
            stacklevel=4,
        )
