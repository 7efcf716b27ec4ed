"""Import paths of packages that were merged: they still work, with a warning of the new path."""

import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

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
