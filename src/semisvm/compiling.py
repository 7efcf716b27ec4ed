"""The decorator for compiled code."""

import sys
import warnings
from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numba
from numba.core import caching, event

_warned = _announced = False
_FunctionCache: Any = caching.FunctionCache


class _Cache(_FunctionCache):
    """Numba's cache of one function, without which the function works too.

    Numba lets errors of files through: an empty or truncated one fails every call, and a full
    disk fails the first.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code for a signature; None if there is none, or it is damaged."""
        try:
            found = super().load_overload(sig, target_context)
            if found is None:
                _announce()
            return found
        except Exception as error:
            _warn(f"the cache {self.cache_path} cannot be read ({_named(error)})")
        try:
            self.flush()  # or else the damaged files stay as they are
        except Exception:
            self.disable()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code, if the disk takes it."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn(f"the cache {self.cache_path} cannot be written ({_named(error)})")


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function on its first call; it releases the GIL and is cached.

    Numba caches compiled code beside the source, or else in the user's cache folder. If
    neither is writable, as in some containers, every process compiles the code again. So it does
    after a warning if files there are damaged, or the disk is full.

    Parameters
    ----------
    function : callable
    **options : of ``numba.njit``
    """
    if function is None:
        return lambda function: compiled(function, **options)
    # nothing calls it as a function of C, and to compile that takes a tenth of the time
    usual: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}
    dispatcher = numba.njit(**usual, **options)(function)
    try:
        dispatcher._cache = _Cache(function)  # as cache=True does, with a cache of numba's own
    except RuntimeError:
        # numba found no folder for it
        _warn("neither the package folder nor the user's cache folder is writable")
    return dispatcher


MOST_WAITING = 3.0
"""How many times as long as it may work something may wait for a busy machine."""


class WorkClock(event.Listener):
    """Seconds of work since it was made, without compiling within ``with clock.running()``.

    Code is compiled once per machine, so that time does not predict that of the next fit. Nor
    does the time in which other programs had the processor: what is limited by this clock does the
    same on a busy machine, up to `MOST_WAITING`.

    Attributes
    ----------
    compiling : float
        Seconds that were spent on compiling.
    """

    def __init__(self) -> None:
        self.compiling = self._compiling_busy = 0.0
        self._depth = 0
        self._start = self._began = (perf_counter(), process_time())

    @property
    def elapsed(self) -> float:
        """Seconds that have gone by, but for compiling."""
        return perf_counter() - self._began[0] - self.compiling

    @property
    def seconds(self) -> float:
        """Seconds of the processor, if they are fewer than have elapsed, as with one thread."""
        elapsed = self.elapsed
        busy = process_time() - self._began[1] - self._compiling_busy
        return max(min(busy, elapsed), elapsed / MOST_WAITING)

    def running(self) -> Any:
        """Return a context within which compiling is noticed."""
        return event.install_listener("numba:compile", self)

    def on_start(self, event: Any) -> None:
        """Begin to compile, unless this is a function that another one calls."""
        if self._depth == 0:
            self._start = perf_counter(), process_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Add the time since the outermost function was begun."""
        self._depth -= 1
        if self._depth == 0:
            self.compiling += perf_counter() - self._start[0]
            self._compiling_busy += process_time() - self._start[1]


def _announce() -> None:
    """Print once per process that code is being compiled, where a person waits for it."""
    global _announced
    if not _announced and (sys.stderr.isatty() or "ipykernel" in sys.modules):
        _announced = True
        print(
            "semisvm: compiling for this machine, once; later fits start at once. "
            "semisvm.warm() does this ahead of time.",
            file=sys.stderr,
        )


def _warn(why: str) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"no compiled code is at hand: {why}. It is compiled again, which takes seconds. If "
            "this comes again, set NUMBA_CACHE_DIR to another folder.",
            RuntimeWarning,
            stacklevel=4,
        )
