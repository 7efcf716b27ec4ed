"""Where the console script begins, also where the extra ``cli`` is not installed."""

import signal
import sys
from typing import Any

MISSING = (
    "The command line needs the packages typer and rich, and {name} is missing. Install them "
    "with: pip install 'semisvm[cli]'"
)

SIGNALS = ("SIGTERM", "SIGHUP")
"""Besides Ctrl-C; Windows has the first only."""


def main() -> None:
    """Run the command line."""
    from semisvm.cli.interrupts import supervised

    supervised(_run)


def _run() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        print(MISSING.format(name=error.name), file=sys.stderr)
        raise SystemExit(2) from None
    received = _heed_signals()
    try:
        from semisvm.cli.app import app

        app(prog_name="semisvm")
    except (KeyboardInterrupt, SystemExit):
        if received:
            raise SystemExit(128 + received[0]) from None
        raise


def _heed_signals() -> list[int]:
    """Have signals end a command as Ctrl-C does; return the list of those that came."""
    received: list[int] = []

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        # a signal to the whole group comes twice: from the sender, and passed on
        if len(received) == 1:
            raise KeyboardInterrupt

    for name in SIGNALS:
        number = getattr(signal, name, None)
        # what is ignored stays so: that is how nohup works
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop)
    return received
