"""Where the console script begins, also where the extra ``cli`` is not installed."""

import signal
import sys
from typing import Any

MISSING = (
    "The command line needs the packages typer and rich, and {name} is missing. Install them "
    "with: pip install 'semisvm[cli]'"
)


def main() -> None:
    """Run the command line."""
    from semisvm.cli.stopping import supervised

    supervised(_run)


def _run() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(MISSING.format(name=error.name), file=sys.stderr)
        raise SystemExit(2) from None
    # like Ctrl-C, so that files that are being written are removed
    signal.signal(signal.SIGTERM, _terminate)
    from semisvm.cli.app import app

    app(prog_name="semisvm")


def _terminate(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)
