"""Stopping a command in the middle of a long call, and the message that is printed then.

Python handles signals between two of its own instructions. A fit that is inside LAPACK or a solver
responds when that call returns, which may be minutes later. No thread of the process can end it:
functions of scipy.linalg, such as ``eigh`` and ``cho_factor``, hold Python's lock throughout. So a
command runs in a child process, forked before anything heavy is loaded. The first process waits for
it, passes signals on, and kills a child that has not ended after `GRACE` seconds, or at once after
a second signal. The message for that case, such as the table of finished methods, is in memory that
both share. A child that can still respond prints the same itself.
"""

import json
import mmap
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from types import FrameType
from typing import Any

GRACE = 1.0
"""Seconds in which a command may end by itself, to remove half-written files."""
SIZE = 1 << 20
"""Bytes of the shared memory: two slots, the texts of commands being kilobytes."""
STOPS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@dataclass(frozen=True)
class StopMessage:
    """What is printed if a command is stopped.

    Attributes
    ----------
    result : str
        For the standard output: what is finished.
    message : str
        A line for the error stream.
    finishes : list of int
        Signals after which the command ends by itself, and may take longer for it.
    """

    result: str = ""
    message: str = "stopped; no file was written"
    finishes: Sequence[int] = ()


class Board:
    """The stop message of a process, readable by another one whenever it ends.

    There are two slots, and the first byte has the number of the valid one. A new text goes to the
    other slot before that byte changes, so the valid one is always whole.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SIZE)

    def write(self, stop: StopMessage) -> None:
        """Replace the message; too long a result is left out."""
        text = json.dumps(asdict(stop)).encode()
        if len(text) + 4 >= SIZE // 2:
            text = json.dumps(asdict(replace(stop, result=""))).encode()
        slot = 1 - self._memory[0]
        place = 1 + slot * (SIZE // 2)
        self._memory[place : place + 4 + len(text)] = len(text).to_bytes(4, "big") + text
        self._memory[0] = slot

    def read(self) -> StopMessage:
        """Return the message."""
        place = 1 + self._memory[0] * (SIZE // 2)
        length = int.from_bytes(self._memory[place : place + 4], "big")
        if length == 0:
            return StopMessage()
        return StopMessage(**json.loads(self._memory[place + 4 : place + 4 + length]))


_BOARD = Board()
"""One for the process and its first ancestor: signals are a matter of processes too."""
_RECEIVED: list[int] = []
"""Signals that this process, which runs the command, has handled."""
_IS_CHILD = False


def when_stopped(result: str = "", message: str = StopMessage.message) -> None:
    """Set what is printed if the command is stopped from now on.

    Parameters
    ----------
    result : str
        What is finished, for the standard output.
    message : str
        A line for the error stream.
    """
    _BOARD.write(replace(_BOARD.read(), result=result, message=message))


def finish_when_stopped(signals: Sequence[int] = tuple(STOPS)) -> None:
    """Let the command end by itself after one of some signals; a second one kills it."""
    _BOARD.write(replace(_BOARD.read(), finishes=signals))


def print_stop_message(notes: Sequence[str] = ()) -> None:
    """Print what `when_stopped` set, once: the end of a process may take long too.

    Parameters
    ----------
    notes : sequence of str
        Replace the message, such as the files that are written by now.
    """
    stop = _BOARD.read()
    if stop.message:
        message = f"stopped; {'; '.join(notes)}" if notes else stop.message
        print(message, file=sys.stderr, flush=True)
    if stop.result:
        print(stop.result, flush=True)
    when_stopped(message="")


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed, which then does not end the work.

    Pressed again, it does. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    noted: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        if not noted:
            noted.append(number)
            text = "choosing among the methods tried so far. Press Ctrl-C again to quit."
            print(f"Interrupted: {text}", file=sys.stderr)
        elif not _IS_CHILD:  # a child gets a signal twice, and is killed after the second one
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    finish_when_stopped([signal.SIGINT])
    try:
        yield lambda: bool(noted)
    finally:
        if not noted:
            finish_when_stopped([])
            signal.signal(signal.SIGINT, before)


def supervised(work: Callable[[], Any]) -> None:
    """Run a command so that it stops within two seconds when asked to.

    Where processes cannot be forked, or threads run already, the command runs here and stops
    when it can.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        _run(work)
        return
    ours, theirs = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    # a signal must not come before both processes have their handlers
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    child = os.fork()
    if child:
        os.close(ours)
        sys.exit(_wait(child))
    os.close(theirs)
    global _IS_CHILD
    _IS_CHILD = True
    _run(work, ours)


def _run(work: Callable[[], Any], pipe: int | None = None) -> None:
    """Run a command in this process; signals end it as Ctrl-C does, with a code of their own."""
    try:
        _handle(STOPS, _stop)
        if pipe is not None:
            threading.Thread(target=_end_with, args=(pipe,), daemon=True).start()
        work()
    except KeyboardInterrupt:
        print_stop_message()
        sys.exit(128 + next(iter(_RECEIVED), signal.SIGINT))
    except SystemExit:
        # commands set the code of Ctrl-C only, after which some end well
        if _RECEIVED and _RECEIVED[0] != signal.SIGINT:
            sys.exit(128 + _RECEIVED[0])
        raise


def _handle(signals: Sequence[int], handler: Any) -> None:
    for number in signals:
        # what is ignored stays so: that is how nohup works
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)


def _stop(number: int, frame: FrameType | None) -> None:
    _RECEIVED.append(number)
    # a signal to the whole group comes twice to a child: from the sender, and passed on
    if len(_RECEIVED) == 1 or not _IS_CHILD:
        raise KeyboardInterrupt


def _end_with(pipe: int) -> None:
    """Wait until the first process is gone, and end this one if it was killed."""
    os.read(pipe, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(GRACE)
    os._exit(128 + signal.SIGTERM)


def _wait(child: int) -> int:
    """Wait for the child, passing signals on; return the exit code of the command."""
    stopped: list[int] = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        os.kill(child, number if len(stopped) == 1 else signal.SIGKILL)
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def late(number: int, frame: FrameType | None) -> None:
        if stopped[0] not in _BOARD.read().finishes:
            os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, late)
    _handle(STOPS, pass_on)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if sys.stderr.isatty():
        # remove the line of a progress that was cut off, and show the cursor again
        print("\r\x1b[2K\x1b[?25h", end="", file=sys.stderr, flush=True)
    if stopped:
        print_stop_message()
        return 128 + stopped[0]
    hint = ", perhaps because memory ran out" if code == -signal.SIGKILL else ""
    known = {number.value: number.name for number in signal.Signals}
    print(f"semisvm was killed by the signal {known.get(-code, -code)}{hint}", file=sys.stderr)
    return 128 - code
