"""The commands of docs/command_line.md print what the page says."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semisvm.cli.app import app

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
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, result.output
            matches = doctest.OutputChecker().check_output(expected, result.stdout, FLAGS)
            assert matches, f"{arguments} printed\n{result.stdout}\ninstead of\n{expected}"
