"""Public names of packages, which are imported when they are first used.

The stub ``__init__.pyi`` of a package is the one list of its public names, with a line
``from module import name as name`` for each. Type checkers and editors read it as it is, `attach`
makes the functions of the package from it.
"""

import gc
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

LINE = re.compile(r"^from (\S+) import \(?\s*(\w+) as \2\b", re.MULTILINE)

Attached = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def attach(package: str) -> Attached:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package that has a stub."""
    module = sys.modules[package]
    # by the loader, since the package may be in a zip file
    loader: Any = module.__loader__
    stub = loader.get_data(f"{module.__file__}i").decode()
    homes = {name: home for home, name in LINE.findall(stub)}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        loaded = homes[name] in sys.modules
        with nullcontext() if loaded else uncollected():
            return getattr(import_module(homes[name]), name)

    names = sorted(homes)
    return find, lambda: names, names


MOST_OF_PYTHON = 1_000
"""Python 3.12 freezes some hundreds of objects when it starts."""


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
        if gc.get_freeze_count() <= MOST_OF_PYTHON:  # else there are objects that must stay frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()
