"""Plain text tables with a verdict, which are data as well."""

import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

OK, MISSED = "ok", "MISSED"
LIBRARIES = ("semisvm", "numpy", "scipy", "scikit-learn", "numba")

Row = Mapping[str, Any]


def verdict(reached: bool) -> str:
    """Say in a word whether a bar was reached."""
    return OK if reached else MISSED


def machine() -> dict[str, Any]:
    """Describe what the figures depend on; a load near the number of cpus spoils times."""
    load = round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None
    versions = {name: version(name) for name in LIBRARIES}
    python = platform.python_version()
    return {
        "cpus": os.cpu_count(),
        "load": load,
        "python": python,
        **versions,
        "commit": revision(),
    }


def revision() -> str | None:
    """Return the commit of a clone; None where the package was installed otherwise."""
    here = Path(__file__)
    try:
        # an environment may lie in the repository of something else
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        return _git(here.parent, "describe", "--always", "--dirty", "--exclude=*")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def cell(value: Any) -> str:
    """Write one value; None is a dash."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def pairs(facts: Mapping[str, Any]) -> str:
    """Write facts in one line."""
    return ", ".join(f"{name} {cell(value)}" for name, value in facts.items())


def lines_of(rows: Sequence[Row]) -> list[str]:
    """Lay out rows under their columns; words to the left, numbers to the right."""
    columns = list(rows[0])
    cells = [columns, *([cell(row[name]) for name in columns] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    words = [any(isinstance(row[name], str) for row in rows) for name in columns]
    return [
        "  ".join(
            text.ljust(width) if left else text.rjust(width)
            for text, width, left in zip(line, widths, words, strict=True)
        ).rstrip()
        for line in (cells[0], ["-" * width for width in widths], *cells[1:])
    ]


def plain(value: Any) -> Any:
    """Turn a summary into a dictionary and leave the rest alone."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


class Report:
    """The printed and the machine-readable outcome of one benchmark."""

    def __init__(self, name: str, **settings: Any) -> None:
        self.name = name
        self.settings = settings
        self.machine = machine()
        self.tables: dict[str, list[dict[str, Any]]] = {}
        print(f"== {name}\nmachine: {pairs(self.machine)}\nsettings: {pairs(settings)}")

    def table(self, title: str, rows: Sequence[Row]) -> None:
        """Print a table at once, and keep it."""
        print(f"\n{title}", *lines_of(rows), sep="\n", flush=True)
        self.tables[title] = [{k: plain(v) for k, v in row.items()} for row in rows]

    def result(self) -> dict[str, Any]:
        """Return everything as plain data, with the number of missed bars."""
        print()
        cells = (v for rows in self.tables.values() for row in rows for v in row.values())
        return {
            "benchmark": self.name,
            "machine": self.machine,
            "settings": self.settings,
            "tables": self.tables,
            "misses": sum(value == MISSED for value in cells),
        }
