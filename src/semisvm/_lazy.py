"""Public names that are imported when they are first used."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any


def attributes(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package whose names live in other modules.

    Parameters
    ----------
    package : str
    homes : mapping
        Name -> module that defines it.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = homes[name] in sys.modules
        with nullcontext() if loaded else uncollected():
            return getattr(import_module(homes[name]), name)

    return find


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection for a while, unless it is disabled already.

    An import makes objects that stay. To look for garbage among them, and among those of numba
    and scikit-learn, takes longer than the import. So they are put among the old objects
    unseen; otherwise the first object made afterwards would start a search of them all.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # else there are objects that must stay frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()
