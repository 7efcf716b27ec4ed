"""The commands of docs/command_line.md print what the page shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from commands import run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "command_line.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(block):
    """Give pairs of a command and what it should print."""
    for part in block.split("$ ")[1:]:
        command, _, output = part.partition("\n")
        yield shlex.split(command), output


def test_page(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("the page is not beside the tests")
    monkeypatch.chdir(tmp_path)
    for kind, block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(block, str(PAGE), "exec"), {})
            continue
        for (program, *arguments), expected in commands(block):
            assert program == "semisvm"
            shown = run(*arguments).stdout
            matches = doctest.OutputChecker().check_output(expected, shown, FLAGS)
            assert matches, f"{arguments} printed\n{shown}\ninstead of\n{expected}"
