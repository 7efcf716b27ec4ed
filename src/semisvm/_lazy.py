"""Import paths: public names that are imported when they are first used, and paths that moved.

The stub ``__init__.pyi`` of a package is the one list of its public names, with a line
``from module import name as name`` for each. Type checkers and editors read it as it is, `attach`
makes the functions of the package from it.

Paths of packages that were merged (`MOVED`) still work, with a warning of the new path.
"""

import gc
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
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


MOVED = {
    "semisvm.active": "semisvm.model_selection",
    "semisvm.checkpoints": "semisvm.persistence",
    "semisvm.clusters": "semisvm.maps",
    "semisvm.columns": "semisvm.tables",
    "semisvm.displays": "semisvm.reporting",
    "semisvm.exporting": "semisvm.persistence",
    "semisvm.io": "semisvm.tables",
    "semisvm.loop": "semisvm.methods",
    "semisvm.model_files": "semisvm.persistence",
    "semisvm.ondisk": "semisvm.designs",
    "semisvm.programs": "semisvm.solvers",
    "semisvm.registry": "semisvm.estimators.registry",
    "semisvm.report": "semisvm.reporting",
}
"""Old path -> new path."""


class MovedPaths:
    """Finder and loader of old paths.

    It has no base of ``importlib.abc``: to import that takes longer than the rest of semisvm.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where an old path is loaded from."""
        return ModuleSpec(name, self) if name in MOVED else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave the module to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Let a module take its names from the new path."""
        new = MOVED[module.__name__]
        # The frames of the import system in between are not counted by Python.
        warnings.warn(
            f"{module.__name__} has moved: import from {new}.", DeprecationWarning, stacklevel=2
        )
        module.__dict__["__getattr__"] = partial(getattr, import_module(new))


def install_moved_paths() -> None:
    """Let the import system find old paths, after everything else."""
    if not any(isinstance(finder, MovedPaths) for finder in sys.meta_path):
        sys.meta_path.append(MovedPaths())
