"""How much there is to hold in mind: files, lines, what a fit enters, what a change touches.

Counts are of ``src/semisvm`` of the working tree, or beside it of another revision (``--base``).
"Files entered" are those of which a fit calls a function; a fit of a default machine on two
classes, and a whole command. A change is measured by an example of the kind that exists already:
the files that name it have to be touched to add another one. Tests and docs are not counted.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from papers.table import Report

from benchmarks import ROOT
from benchmarks.revisions import sources

REPEAT = 1

FIT = """
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale
from semisvm import {name}
X, y = load_breast_cancer(return_X_y=True)
partly = np.where(np.arange(len(y)) % 20, -1, y)
X = scale(X)
work = lambda: {name}().fit(X, partly)
"""
COMMAND = """
import sys, random
random.seed(0)
with open("rows.csv", "w") as stream:
    print("a,b,kind", file=stream)
    for k in range(200):
        side = k % 2
        label = ("x", "y")[side] if k < 40 else ""
        print(f"{random.gauss(3 * side, 1)},{random.gauss(0, 1)},{label}", file=stream)
def work():
    from semisvm.cli.entry import main
    sys.argv = ["semisvm", "fit", "rows.csv", "--label", "kind", "-a", "tsvm", "-o", "m", "-q"]
    try:
        main()
    except SystemExit:
        pass
"""
ENTERED = {
    "TransductiveSVC().fit": FIT.format(name="TransductiveSVC"),
    "AnnealedSVC().fit": FIT.format(name="AnnealedSVC"),
    "semisvm fit -a tsvm": COMMAND,
}
# Compiled functions are not seen by the profiler; their files are not counted on either side.
TRACE = """
import inspect, json, os, semisvm
package = os.path.dirname(semisvm.__file__) + os.sep
seen = set()
def note(frame, event, argument):
    name = frame.f_code.co_filename
    if event == "call" and name.startswith(package) and name not in seen:
        # neither modules and classes that are defined, nor what is called to define them
        while frame is not None and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            frame = frame.f_back
        if frame is None or frame.f_globals.get("__name__") == "__main__":
            seen.add(name)
import sys, threading
# The command line forks to survive Ctrl-C: the parts of both processes are counted.
def report():
    with open(f"entered-{os.getpid()}.json", "w") as stream:
        json.dump(sorted(seen), stream)
exit_at_once = os._exit
def exit_with_report(code):
    report()
    exit_at_once(code)
os._exit = exit_with_report
threading.setprofile(note)
sys.setprofile(note)
work()
sys.setprofile(None)
report()
"""

CHANGES = {
    "a loss": r"rounded_hinge|ROUNDED_HINGE",
    "a label step": r"\bswitch_pairs\b",
    "a schedule": r"\bdecades\b",
    "a file format": r"parquet|Parquet",
    "an option of fit": r"\bexportable\b",
    "an estimator": r"LowDensitySeparation",
    "the default reg": r"\bdefault_reg(=|: float)",
    "a column type": r"CategoricalBlock|CATEGORICAL\b",
    "a display": r"ScoreHistogramDisplay",
    "a cluster operation": r"\bweighed_outputs\b",
    "a message": r"are too few to",
    # not the module of that name, nor what it is used for
    "a field of the model file": r"[\"']conformal[\"']|\bbundle\.conformal\b|\bconformal[:=] ?",
}


def python_files(root: Path) -> list[Path]:
    """Return the files of the package, with the stubs that list public names."""
    return sorted(path for path in root.rglob("*.py*") if path.suffix in (".py", ".pyi"))


def kinds_of_lines(path: Path) -> Counter[str]:
    """Count lines of code, imports, docstrings, comments, and blank ones."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    kinds = ["code"] * len(lines)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            _mark(kinds, node, "imports")
        elif isinstance(node, ast.Expr) and _is_text(node.value):
            _mark(kinds, node, "docstrings")
    for k, line in enumerate(lines):
        if kinds[k] != "docstrings" and line.strip().startswith("#"):
            kinds[k] = "comments"
        elif not line.strip() and kinds[k] != "docstrings":
            kinds[k] = "blank"
    return Counter(kinds)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _mark(kinds: list[str], node: ast.stmt, kind: str) -> None:
    for k in range(node.lineno - 1, node.end_lineno or node.lineno):
        kinds[k] = kind


def importers(root: Path) -> dict[str, set[str]]:
    """Return the modules that import each module."""
    modules = [(".".join(p.relative_to(root).with_suffix("").parts), p) for p in python_files(root)]
    found: dict[str, set[str]] = {name: set() for name, _ in modules}
    for name, path in modules:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("semisvm."):
                base = (node.module or "").removeprefix("semisvm.")
                for alias in node.names:
                    for target in (f"{base}.{alias.name}", base):
                        if target in found:
                            found[target].add(name)
                            break
    return found


def structure(root: Path) -> dict[str, Any]:
    """Count files, lines, packages, and modules that one other module imports."""
    paths = python_files(root)
    lines: Counter[str] = Counter()
    for path in paths:
        lines += kinds_of_lines(path)
    names = Counter(path.name for path in paths if path.stem != "__init__")
    used = importers(root)
    single = [name for name, by in used.items() if len(by) == 1 and not name.endswith("__init__")]
    return {
        "files": len(paths),
        "lines": sum(lines.values()),
        **{f"lines of {kind}": count for kind, count in sorted(lines.items())},
        "packages": len({p.parent for p in paths if p.name == "__init__.py"} - {root}),
        "modules at the root": len([p for p in root.glob("*.py") if not p.name.startswith("_")]),
        "modules with one importer": len(single),
        "file names that occur twice": sum(count > 1 for count in names.values()),
        "longest file": max(sum(kinds_of_lines(path).values()) for path in paths),
    }


def entered(root: Path, code: str) -> int:
    """Count the files of which a piece of work calls a function."""
    environment = {**os.environ, "PYTHONPATH": str(root.parent)}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(2):  # the first run compiles
            for old in Path(scratch).glob("entered-*.json"):
                old.unlink()
            done = subprocess.run(
                [sys.executable, "-c", code + TRACE],
                cwd=scratch,
                env=environment,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            raise RuntimeError(done.stderr)
        parts = [json.loads(path.read_text()) for path in Path(scratch).glob("entered-*.json")]
    return len({name for part in parts for name in part})


def touched(root: Path, pattern: str) -> int:
    """Count the files that name an example of what a change adds."""
    found = re.compile(pattern)
    return sum(bool(found.search(path.read_text(encoding="utf-8"))) for path in python_files(root))


def measure(tree: Path) -> dict[str, dict[str, Any]]:
    """Return all counts of a checkout."""
    root = tree / "src" / "semisvm"
    return {
        "structure": structure(root),
        "files entered": {name: entered(root, code) for name, code in ENTERED.items()},
        "files a change touches": {name: touched(root, p) for name, p in CHANGES.items()},
    }


def run(folder: Path, repeat: int, base: str | None = None) -> dict[str, Any]:
    """Count, beside another revision if one is named."""
    counted = {"now": measure(ROOT)}
    if base is not None:
        with tempfile.TemporaryDirectory() as scratch, sources(base, Path(scratch)) as tree:
            counted = {base: measure(tree), **counted}
    report = Report("house")
    for title in counted["now"]:
        names = counted["now"][title]
        rows = [{"what": n, **{r: c[title].get(n) for r, c in counted.items()}} for n in names]
        report.table(title, rows)
    return report.result()
