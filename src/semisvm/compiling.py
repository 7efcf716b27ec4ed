"""The one decorator of compiled code."""

import warnings
from collections.abc import Callable
from typing import Any

import numba

_told = False


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function when it is first called; it holds no GIL, and is kept for next time.

    Numba keeps compiled code beside the source, or else in the user's cache folder. Where
    neither can be written, as in some containers, the code is compiled anew in every process.

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
            "compiled code cannot be kept, because neither the folder of the package nor the "
            "user's cache folder can be written: every process compiles it again, which takes "
            "seconds. Set NUMBA_CACHE_DIR to a folder that can be written.",
            RuntimeWarning,
            stacklevel=4,
        )
