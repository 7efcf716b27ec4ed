"""The examples of the README and of the guide are true."""

import doctest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/architecture.md", "docs/linear.md")


@pytest.mark.parametrize("page", PAGES)
def test_examples(page: str) -> None:
    path = ROOT / page
    if not path.exists():
        pytest.skip(f"{page} is not beside the tests")
    failed, attempted = doctest.testfile(
        str(path), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE, encoding="utf-8"
    )
    assert attempted > 0
    assert failed == 0
