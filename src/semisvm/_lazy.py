"""Public names that are imported when they are first used."""

from collections.abc import Callable, Mapping
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
        return getattr(import_module(homes[name]), name)

    return find
