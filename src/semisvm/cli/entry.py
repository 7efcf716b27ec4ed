"""Where the console script begins, also where the extra ``cli`` is not installed."""

import sys

from semisvm.cli.interrupts import supervised

MISSING = (
    "The command line needs the packages typer and rich, and {name} is missing. Install them "
    "with: pip install 'semisvm[cli]'"
)


def main() -> None:
    """Run the command line."""
    supervised(_run)


def _run() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(MISSING.format(name=error.name), file=sys.stderr)
        raise SystemExit(2) from None
    from semisvm.cli.app import app

    app(prog_name="semisvm")
