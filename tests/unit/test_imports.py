"""Which packages of semisvm may import which others: `docs/architecture.md` tells why."""

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
    # the data, and what is known about rows and labels
    "ondisk": "",
    "designs": "compiling forking ondisk",
    "vectors": "compiling",
    "rows": "ondisk",
    "scaling": "rows",
    "fingerprints": "ondisk",
    "validation": "designs rows",
    "partial_labels": "designs naming validation",
    "row_weights": "designs partial_labels validation",
    "multi_labels": "naming partial_labels",
    "hierarchy": "designs",
    "margins": "partial_labels rows",
    "euclidean": "designs rows",
    "graphs": "compiling costs designs euclidean rows",
    "kernels": "designs euclidean fingerprints graphs rows validation",
    # the fit
    "losses": "compiling designs",
    "label_steps": "compiling designs losses partial_labels row_weights",
    "blocks": "compiling designs hierarchy label_steps losses row_weights vectors",
    "programs": "designs forking",
    "solvers": "compiling designs hierarchy programs row_weights vectors",
    "pages": "jsonable wording",
    "loop": "pages solvers",
    "remote": "_version blocks designs fingerprints hierarchy losses ondisk row_weights rows",
    "clusters": "compiling designs loop rows validation",
    "objectives": (
        "blocks designs graphs hierarchy label_steps loop losses row_weights solvers vectors"
    ),
    "methods": (
        "blocks designs hierarchy label_steps loop losses objectives partial_labels "
        "programs row_weights rows solvers validation vectors"
    ),
    "estimators": (
        "_lazy clusters designs fingerprints graphs hierarchy kernels loop losses methods "
        "multi_labels naming objectives ondisk pages partial_labels remote row_weights rows "
        "validation vectors"
    ),
    # around the estimators
    "trust": "designs naming rows validation",
    "active": "clusters designs estimators margins partial_labels rows validation",
    "method": "costs",
    "registry": "costs estimators method naming",
    "model_selection": (
        "_lazy columns compiling costs designs estimators hierarchy loop losses method methods "
        "naming objectives ondisk pages partial_labels registry row_weights rows"
        " trust validation wording"
    ),
    "displays": "_lazy estimators loop margins model_selection pages partial_labels rows",
    "io": "compiling naming ondisk",
    "columns": "io naming partial_labels rows validation",
    "model": "columns fingerprints io ondisk rows scaling trust",
    "preparing": "columns io model_files ondisk rows scaling trust",
    "label_models": "model trust",
    "training": (
        "columns fingerprints io margins model model_selection naming ondisk partial_labels "
        "preparing registry rows trust"
    ),
    "training_labels": (
        "columns estimators io label_models model_selection preparing registry training"
    ),
    "converting_files": "columns io ondisk remote",
    "converting": "columns converting_files io ondisk",
    "model_files": (
        "_version columns graphs hierarchy io kernels label_models loop model model_selection "
        "naming registry scaling trust"
    ),
    "exporting": "_version columns io kernels model naming rows scaling",
    "checkpoints": "_version io loop model_files",
    "report": (
        "_lazy _version io jsonable margins model model_files model_selection pages partial_labels "
        "registry wording"
    ),
    "labelling": (
        "_lazy clusters columns io jsonable margins model_files model_selection partial_labels "
        "preparing registry report scaling training trust"
    ),
    "__init__": (
        "_lazy _version checkpoints clusters converting estimators exporting io loop model "
        "model_files model_selection ondisk training"
    ),
    "cli": (
        "_version active checkpoints columns converting costs displays exporting io jsonable "
        "label_models labelling loop method model model_files model_selection naming ondisk "
        "partial_labels preparing registry remote report training training_labels trust "
        "visible wording"
    ),
    "__main__": "cli",
}
"""Part of the package -> the parts that it may import; a part that is not named, none."""

FOR_TYPES = {"model": "model_selection", "solvers": "blocks", "training": "loop"}
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
    ours = [node for node in guards if "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for node in ours for statement in node.body for inner in ast.walk(statement)}


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


@cache
def edges(types: bool) -> set[tuple[str, str]]:
    """Return the pairs (part, part it imports); imports inside functions count."""
    found = set()
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = for_types(tree)
        for node in ast.walk(tree):
            if (node in guarded) == types:
                found |= {(part_of(path), other) for other in targets(node)}
    return {(part, other) for part, other in found if part != other}


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


def test_the_walk_sees_all_kinds_of_imports() -> None:
    text = (
        "import semisvm.loop\n"
        "def f():\n    from semisvm import cli, TransductiveSVC\n"
        "homes = {'X': 'semisvm.model', 'Y': 'semisvm.io:Y', 'Z': 'semisvm.graphs is a package'}\n"
    )
    seen = {other for node in ast.walk(ast.parse(text)) for other in targets(node)}
    assert seen == {"loop", "cli", "__init__", "model", "io"}


NOT_NEEDED = [
    *(
        "highspy",
        "clarabel",
        "matplotlib",
        "sklearn.metrics",
        "sklearn.neighbors",
        "sklearn.cluster",
        "dask",
        "distributed",
    ),
    *("sklearn.model_selection", "sklearn.decomposition", "semisvm.model_selection"),
    *("semisvm.programs", "semisvm.graphs", "semisvm.clusters", "semisvm.active", "semisvm.io"),
    *("semisvm.registry", "semisvm.estimators.annealed", "semisvm.estimators.newton"),
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
