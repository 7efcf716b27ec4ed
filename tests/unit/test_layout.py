"""Tests lie where the code lies."""

from pathlib import Path

import semisvm
from slow import SLOW, is_slow

TESTS = Path(__file__).resolve().parents[1]


def folders(path, mark):
    """Names of the folders of a path that hold files of a pattern."""
    return {folder.name for folder in path.iterdir() if any(folder.glob(mark))}


def test_every_package_has_a_folder_of_tests():
    packages = folders(Path(semisvm.__file__).parent, "__init__.py")
    assert folders(TESTS / "unit", "test_*.py") == packages - {"cli"}
    assert "cli" in folders(TESTS, "test_*.py")


def test_a_quick_run_has_tests_of_every_package_that_needs_no_cluster():
    assert [name for name in SLOW if not (TESTS / name).exists()] == []
    files = (TESTS / "unit").glob("*/test_*.py")
    quick = {path.parent.name for path in files if not is_slow(path)}
    assert quick == folders(TESTS / "unit", "test_*.py") - {"distributed"}
