"""What is fuzzed, by name."""

import random
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

MODULES = {
    "csv": "delimited",
    "jsonl": "json_lines",
    "svmlight": "svmlight",
    "npz": "npz",
    "parquet": "parquet",
    "xlsx": "xlsx",
    "labels": "label_files",
    "tables": "tables",
    "models": "models",
    "rows": "rows",
    "checkpoints": "checkpoints",
    "fits": "fits",
}
"""A module has the functions of `Target`."""

NEEDS = {"parquet": "pyarrow", "tables": "pandas", "xlsx": "openpyxl"}

SECONDS = 5.0
"""Processor seconds of an input; one that takes longer hangs."""
MORE_SECONDS = {"fits": 20.0}
"""The same for targets that do more than read a file."""

POOL = 100
"""Changed inputs that may be changed once more."""

FRESH = 0.5
"""Share of the inputs that are changes of seeds."""


class Target(Protocol):
    """A family of files."""

    def seeds(self) -> list[bytes]:
        """Return valid files, and files that are wrong in a known way."""
        ...

    def mutate(self, data: bytes, rng: random.Random) -> bytes:
        """Return another file."""
        ...

    def check(self, data: bytes) -> None:
        """Raise, if the file is neither refused with an error of ours nor read rightly."""
        ...


def target_names() -> list[str]:
    """Return the names of the targets whose packages are there."""
    return [name for name in MODULES if name not in NEEDS or find_spec(NEEDS[name]) is not None]


def seconds_of(name: str) -> float:
    """Return the processor seconds that an input of a target may take."""
    return MORE_SECONDS.get(name, SECONDS)


def load_target(name: str) -> Target:
    """Import a target."""
    return cast(Target, import_module(f"benchmarks.fuzzing.{MODULES[name]}"))


@dataclass
class Inputs:
    """An endless sequence of inputs of one target, which its seed determines.

    Attributes
    ----------
    target : Target
    rng : random.Random
    """

    target: Target
    rng: random.Random

    def __post_init__(self) -> None:
        self._seeds = self.target.seeds()
        self._pool: list[bytes] = []

    def draw(self) -> bytes:
        """Return the next one."""
        rng = self.rng
        known = self._seeds if not self._pool or rng.random() < FRESH else self._pool
        data = self.target.mutate(rng.choice(known), rng)
        if len(self._pool) < POOL:
            self._pool.append(data)
        else:
            self._pool[rng.randrange(POOL)] = data
        return data
