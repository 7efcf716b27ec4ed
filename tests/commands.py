"""Running commands of the command line in tests."""

from typing import Any

from typer.testing import CliRunner

from semisvm.cli.app import app


def run(*arguments: Any, code: int = 0) -> Any:
    """Run a command in this process; it must end with the given exit code."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
