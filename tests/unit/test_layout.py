"""Tests lie where the code lies."""

from pathlib import Path

import semisvm

TESTS = Path(__file__).resolve().parents[1]


def folders(path, mark):
    """Names of the folders of a path that hold files of a pattern."""
    return {folder.name for folder in path.iterdir() if any(folder.glob(mark))}


def test_every_package_has_a_folder_of_tests():
    packages = folders(Path(semisvm.__file__).parent, "__init__.py")
    assert folders(TESTS / "unit", "test_*.py") == packages - {"cli"}
    assert "cli" in folders(TESTS, "test_*.py")
