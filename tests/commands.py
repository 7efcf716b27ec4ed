"""Runs commands in this process."""

from typing import Any

import pytest


def run(*arguments: Any, code: int = 0) -> Any:
    """Run a command; skip the test where the packages of the command line are missing."""
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from typer.testing import CliRunner

    from semisvm.cli.app import app

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def refusal(*arguments: Any) -> str:
    """Run what is refused, and return the one line of the error."""
    result = run(*arguments, code=2)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    return line
