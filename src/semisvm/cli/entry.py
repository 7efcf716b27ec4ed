"""Where the console script begins, also where the extra ``cli`` is not installed."""

import signal
import sys
from typing import Any

MISSING = (
    "The command line needs the packages typer and rich, and {name} is missing. Install them "
    "with: pip install 'semisvm[cli]'"
)

SIGNALS = ("SIGTERM", "SIGHUP")


def main() -> None:
    """Run the command line."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(MISSING.format(name=error.name), file=sys.stderr)
        raise SystemExit(2) from None
    for name in SIGNALS:
        _heed(name)
    try:
        from semisvm.cli.app import app

        app(prog_name="semisvm")
    except Stopped as stop:
        raise SystemExit(stop.code) from None


class Stopped(KeyboardInterrupt):
    """A signal that ends a command as Ctrl-C does, so that what it has begun is removed.

    Attributes
    ----------
    code : int
        Exit code.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def _heed(name: str) -> None:
    number = getattr(signal, name, None)
    # what is ignored stays so: that is how nohup works
    if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, _stop)


def _stop(number: int, frame: Any) -> None:
    raise Stopped(number)
