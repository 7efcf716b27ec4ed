"""The command line, run in this process."""

from typer.testing import CliRunner

from semisvm.cli.app import app


def run(*arguments, code=0):
    """Run a command and check its exit code; errors that are ours are raised."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result
