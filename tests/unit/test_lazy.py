"""Names that are imported when they are first used."""

import ast
import gc
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import pytest

import semisvm
from semisvm._lazy import LINE, uncollected

STUBS = sorted(Path(semisvm.__file__).parent.rglob("*.pyi"))


def package_of(stub):
    inner = stub.parent.relative_to(Path(semisvm.__file__).parent).parts
    return import_module(".".join(["semisvm", *inner]))


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_a_stub_is_the_list_of_public_names(stub):
    package, text = package_of(stub), stub.read_text(encoding="utf-8")
    listed = ast.parse(text).body
    assert len(LINE.findall(text)) == len(listed)
    names = [line.names[0].name for line in listed]
    assert sorted(names) == package.__all__ == dir(package)
    for line in listed:
        name = line.names[0].name
        assert getattr(package, name) is getattr(import_module(line.module), name)


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.parent.name)
def test_a_name_that_is_not_public_is_missing(stub):
    package = package_of(stub)
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'no'"):
        _ = package.no


def test_packages_in_a_zip_file(tmp_path):
    """The stubs are read by the loader of the package."""
    root = Path(semisvm.__file__).parent
    with ZipFile(tmp_path / "semisvm.zip", "w") as archive:
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.pyi")]):
            archive.write(path, path.relative_to(root.parent))
    code = "import semisvm; assert '.zip' in semisvm.__file__; print(semisvm.Trace.__name__)"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "semisvm.zip")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "Trace\n", done.stderr


def test_the_garbage_collector_rests_and_comes_back():
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_imported_starts_no_search_for_garbage():
    searched = []
    gc.collect()
    gc.callbacks.append(lambda phase, info: searched.append(info["generation"]))
    try:
        with uncollected():
            kept = [[] for _ in range(10 * gc.get_threshold()[0])]
        more = [[] for _ in range(gc.get_threshold()[0] // 2)]
    finally:
        gc.callbacks.pop()
    assert searched == []
    assert len(kept) > len(more)


def test_frozen_objects_stay_frozen():
    gc.freeze()
    try:
        with uncollected():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
