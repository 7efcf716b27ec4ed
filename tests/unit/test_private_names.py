"""Private names stay in their package."""

import ast
from pathlib import Path

import semisvm

SOURCE = Path(semisvm.__file__).parent
HOOKS = {"_check_parameters", "_solve_task", "_specification", "_task"}
"""Of estimators: searches are estimators too, and model files check what they restore."""


OF_SCIKIT_LEARN = {"_init_callback_context"}
"""Documented by scikit-learn for estimators with callbacks, in spite of its name."""


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def parsed(package):
    return [ast.parse(path.read_text(encoding="utf-8")) for path in package]


def own_names(trees):
    """Names that a package defines, sets or declares itself."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id


def used_names(trees):
    """Private attributes of something else than the own object, and private imports."""
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            owner = node.value
            if not (isinstance(owner, ast.Name) and owner.id in ("self", "cls", "os")):
                yield node.attr
        elif isinstance(node, ast.ImportFrom):
            yield from (name.name for name in node.names if is_private(name.name))


def test_private_names_stay_in_their_package():
    packages = {path: sorted(path.glob("*.py")) for path in SOURCE.iterdir() if path.is_dir()}
    packages |= {path: [path] for path in SOURCE.glob("*.py")}
    foreign = {}
    for package, files in packages.items():
        modules = {path.stem for path in files}
        trees = parsed(files)
        found = set(used_names(trees)) - set(own_names(trees)) - modules - OF_SCIKIT_LEARN
        if package.name in ("persistence", "model_selection"):
            found -= HOOKS
        if found:
            foreign[package.name] = sorted(found)
    assert not foreign
