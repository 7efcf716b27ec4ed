"""Which packages of semisvm may import which others: `docs/architecture.md` has the reasons."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import semisvm

ROOT = Path(semisvm.__file__).parent
PACKAGE = "semisvm"

ALLOWED = {
    # in the order of the data's way
    "designs": "_lazy compiling",
    "validation": "designs",
    "labels": "designs text validation",
    "losses": "compiling designs text",
    "label_steps": "compiling designs labels losses",
    "solvers": "_lazy compiling designs labels",
    "maps": "_lazy compiling designs solvers validation",
    "tasks": "_lazy compiling designs label_steps labels losses maps solvers",
    "distributed": "_version designs labels losses tasks",
    "methods": "_lazy designs label_steps labels losses solvers tasks validation",
    "estimators": (
        "_lazy designs distributed label_steps labels losses maps methods solvers tasks text "
        "validation"
    ),
    "tables": "_lazy compiling designs labels text validation",
    "model_selection": (
        "_lazy compiling designs estimators labels losses maps methods solvers tables tasks "
        "text validation"
    ),
    "model": "designs model_selection tables",
    "persistence": (
        "_lazy _version designs distributed estimators labels maps model model_selection "
        "solvers tables text"
    ),
    "preparing": "designs estimators labels model_selection persistence tables text",
    "training": "estimators labels model model_selection preparing tables text",
    "warming": "compiling tables training",
    "classifier": "designs estimators model persistence reporting tables training",
    "__init__": (
        "_lazy _version classifier designs estimators maps model model_selection "
        "persistence solvers tables training warming"
    ),
    "reporting": (
        "_lazy _version designs estimators labels model model_selection persistence solvers "
        "tables text"
    ),
    "labelling": (
        "_lazy estimators labels maps model_selection persistence preparing reporting tables "
        "text training"
    ),
    "cli": (
        "_version designs distributed estimators labelling labels methods model "
        "model_selection persistence preparing reporting solvers tables text training warming"
    ),
    "__main__": "cli",
}
"""Part of the package -> the parts that it may import; a part that is not named, none."""

FOR_TYPES = {"solvers": "methods tasks", "training": "solvers"}
"""The same for imports under ``if TYPE_CHECKING``, which make no order."""

MODULE = re.compile(rf"{PACKAGE}(\.\w+)+")


def part_of(path: Path) -> str:
    """Return the file or folder directly below the package that a file is or is in."""
    first, *below = path.relative_to(ROOT).parts
    return first if below else path.stem


PARTS = {part_of(path) for path in ROOT.rglob("*.py")}


def target(module: str, name: str = "") -> str:
    """Return the part that ``from module import name`` reads."""
    inner = [*module.split(".")[1:], *([name] if name else [])]
    return inner[0] if inner and inner[0] in PARTS else "__init__"


def for_types(tree: ast.Module) -> set[ast.AST]:
    """Return all nodes under ``if TYPE_CHECKING``."""
    guards = (node for node in ast.walk(tree) if isinstance(node, ast.If))
    ours = [node for node in guards if getattr(node.test, "id", "") == "TYPE_CHECKING"]
    return {inner for node in ours for statement in node.body for inner in ast.walk(statement)}


def views(tree: ast.Module) -> set[ast.AST]:
    """Return all nodes of functions that make what notebooks show; they make no order."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    ours = [node for node in functions if node.name in ("_repr_html_", "_html_repr")]
    return {inner for node in ours for inner in ast.walk(node)}


def targets(node: ast.AST) -> Iterator[str]:
    """Yield the parts that a node reads: imports, and names of modules as text.

    Text counts because public names are imported by tables of texts when they are first used.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name.split(".")[0] == PACKAGE:
                yield target(alias.name)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "imports are absolute"
        if node.module and node.module.split(".")[0] == PACKAGE:
            yield from (target(node.module, alias.name) for alias in node.names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = MODULE.match(node.value)
        if found and found.end() in (len(node.value), node.value.find(":")):
            yield target(found.group())


def edges(types: bool) -> set[tuple[str, str]]:
    """Return the pairs (part, part it imports); imports inside functions count."""
    return all_edges()[types]


@cache
def all_edges() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Return the pairs of imports that make an order, and of those for types only."""
    found: tuple[set[tuple[str, str]], set[tuple[str, str]]] = (set(), set())
    files = {*ROOT.rglob("*.py"), *ROOT.rglob("*.pyi")}  # stubs list what is imported when used
    for path in files - {ROOT / "_lazy.py"}:  # names paths, imports none
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded, shown = for_types(tree), views(tree)
        for node in ast.walk(tree):
            if node not in shown:
                part = part_of(path)
                found[node in guarded].update((part, t) for t in targets(node) if t != part)
    return found


def pairs(table: dict[str, str]) -> set[tuple[str, str]]:
    return {(part, other) for part, others in table.items() for other in others.split()}


def test_only_allowed_imports() -> None:
    assert sorted(edges(types=False) - pairs(ALLOWED)) == []
    assert sorted(edges(types=True) - pairs(ALLOWED) - pairs(FOR_TYPES)) == []


def test_nothing_is_allowed_that_is_not_there() -> None:
    assert sorted(pairs(ALLOWED) - edges(types=False)) == []
    assert sorted(pairs(FOR_TYPES) - edges(types=True)) == []


def test_no_cycles() -> None:
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for part, other in edges(types=False):
        sorter.add(part, other)
    try:
        sorter.prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


def test_all_kinds_of_imports_are_found() -> None:
    text = (
        "import semisvm.methods\n"
        "def f():\n    from semisvm import cli, TransductiveSVC\n"
        "homes = {'X': 'semisvm.model', 'Y': 'semisvm.tables:Y', 'Z': 'semisvm.maps is'}\n"
    )
    seen = {other for node in ast.walk(ast.parse(text)) for other in targets(node)}
    assert seen == {"methods", "cli", "__init__", "model", "tables"}


NOT_NEEDED = [
    *("highspy", "matplotlib", "dask", "distributed", "openpyxl"),
    *("sklearn.metrics", "sklearn.neighbors", "sklearn.cluster"),
    *("sklearn.model_selection", "sklearn.decomposition"),
    *("semisvm.model_selection", "semisvm.tables", "semisvm.persistence", "semisvm.reporting"),
    *("semisvm.maps.neighbors", "semisvm.maps.kmedian", "semisvm.solvers.highs"),
    *("semisvm.estimators.registry", "semisvm.estimators.annealed", "semisvm.estimators.newton"),
]


def modules_after(code: str) -> set[str]:
    """Return the modules that a new process has after some code."""
    show = f"{code}; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", show], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_one_estimator_imports_what_it_needs() -> None:
    """What scikit-learn itself imports with its base is not ours to avoid."""
    base = modules_after("import sklearn.base, sklearn.utils.validation, numba")
    ours = modules_after("from semisvm import TransductiveSVC")
    assert "semisvm.estimators.transductive" in ours
    assert sorted(ours.intersection(NOT_NEEDED) - base) == []
    # of other packages: two small modules of scikit-learn, no new package
    others = {name.split(".")[0] for name in ours - base if not name.startswith("_")}
    assert others <= {"semisvm", "sklearn"}


def test_a_linear_fit_imports_no_kernel_functions() -> None:
    fit = (
        "from semisvm import TransductiveSVC; TransductiveSVC().fit([[0.0], [1], [2]], [0, 1, -1])"
    )
    assert "sklearn.metrics" not in modules_after(fit)
