"""The decorator for compiled code."""

import warnings
from collections.abc import Callable
from typing import Any

import numba

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
