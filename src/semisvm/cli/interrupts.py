"""Stopping a command in the middle of a long call, and the message that is printed then.

Python looks at signals between two of its own instructions. A fit that is inside LAPACK or a
solver responds when that call returns, which may be minutes later. So a command runs in a child
process, forked before anything heavy is loaded; the first process only waits for it and passes
signals on, and kills a child that has not ended after `GRACE` seconds. The child keeps the
message for that case, such as the table of finished methods, in memory that both share. A child
that can still respond prints the same itself.
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
from time import perf_counter
from types import FrameType
from typing import Any

GRACE = 1.0
"""Seconds in which a command may end by itself, to remove half-written files."""
TWICE = 0.5
"""Seconds within which two interrupts are one: a terminal sends it to both processes, and one
passes it on."""
SIZE = 1 << 20
"""Bytes of the shared memory: two slots, the texts of commands being kilobytes."""
PASSED_ON = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


@dataclass(frozen=True)
class LastWords:
    """What is printed if a command is stopped.

    Attributes
    ----------
    result : str
        For the standard output: what is finished.
    message : str
        A line for the error stream.
    finishes : bool
        Whether the command ends by itself after a stop, and may take longer for it.
    """

    result: str = ""
    message: str = "stopped; no file was written"
    finishes: bool = False

    def say(self) -> None:
        """Write both, or nothing."""
        if self.message:
            print(self.message, file=sys.stderr, flush=True)
        if self.result:
            print(self.result, flush=True)


class Board:
    """The last words of a process, readable by another one whenever it ends.

    There are two slots, and the first byte says which one counts. A new text goes to the other
    slot before that byte changes, so the one that counts is always whole.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SIZE)

    def write(self, words: LastWords) -> None:
        """Put words in place of the last ones; too long a text is left out."""
        text = json.dumps(asdict(words)).encode()
        if len(text) + 4 >= SIZE // 2:
            text = json.dumps(asdict(LastWords(message=words.message))).encode()
        slot = 1 - self._memory[0]
        place = 1 + slot * (SIZE // 2)
        self._memory[place : place + 4] = len(text).to_bytes(4, "big")
        self._memory[place + 4 : place + 4 + len(text)] = text
        self._memory[0] = slot

    def read(self) -> LastWords:
        """Return the words that count."""
        place = 1 + self._memory[0] * (SIZE // 2)
        length = int.from_bytes(self._memory[place : place + 4], "big")
        if length == 0:
            return LastWords()
        return LastWords(**json.loads(self._memory[place + 4 : place + 4 + length]))


_BOARD = Board()
"""One for the process and its first ancestor: signals are a matter of processes too."""


def leave(result: str = "", message: str = LastWords.message) -> None:
    """Set what is printed if the command is stopped from now on.

    Parameters
    ----------
    result : str
        What is finished, for the standard output.
    message : str
        A line for the error stream.
    """
    _BOARD.write(LastWords(result, message, _BOARD.read().finishes))


def finish_when_stopped() -> None:
    """Let the command end by itself after a stop, however long that takes; a second one ends it."""
    _BOARD.write(replace(_BOARD.read(), finishes=True))


def say_last_words(told: Sequence[str] = ()) -> None:
    """Print what `leave` set, once: the end of a process may take long too.

    Parameters
    ----------
    told : sequence of str
        What the stop itself has to say, such as the files that are written by now.
    """
    words = _BOARD.read()
    if told and words.message:
        words = replace(words, message=f"stopped; {'; '.join(told)}")
    words.say()
    leave(message="")


@contextmanager
def first_interrupt() -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether there was an interrupt, which then does not end the work.

    A second one ends it, as without this. Outside the main thread nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    times: list[float] = []

    def note(number: int, frame: FrameType | None) -> None:
        now = perf_counter()
        if not times:
            times.append(now)
            finish_when_stopped()
            print("stopping: what is known decides; again to end at once", file=sys.stderr)
        elif now - times[0] > TWICE:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(times)
    finally:
        if not times:
            signal.signal(signal.SIGINT, before)


def supervised(work: Callable[[], Any]) -> None:
    """Run a command so that it stops within two seconds when asked to.

    Where processes cannot be forked, or threads run already, the command runs here and stops
    when it can.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        work()
        return
    ours, theirs = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    # a signal must not come before both processes know what to do with it
    signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON)
    child = os.fork()
    if child:
        os.close(ours)
        sys.exit(_wait(child))
    os.close(theirs)
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _interrupt_once)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
        threading.Thread(target=_end_with, args=(ours,), daemon=True).start()
        work()
    except KeyboardInterrupt:
        say_last_words()
        sys.exit(128 + signal.SIGINT)


def _interrupt_once(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt: a terminal sends it to both processes, and one passes it on."""
    signal.signal(number, signal.SIG_IGN)
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

    def end(number: int, frame: FrameType | None) -> None:
        os.kill(child, signal.SIGKILL)

    def late(number: int, frame: FrameType | None) -> None:
        if _BOARD.read().finishes:
            signal.setitimer(signal.ITIMER_REAL, GRACE)
        else:
            end(number, frame)

    def pass_on(number: int, frame: FrameType | None) -> None:
        if stopped:
            end(number, frame)
            return
        stopped.append(number)
        os.kill(child, number)
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    signal.signal(signal.SIGALRM, late)
    for number in PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, pass_on)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, PASSED_ON)
    _, status = os.waitpid(child, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    _clear_line()
    if stopped:
        say_last_words()
        return 128 + stopped[0]
    print(f"semisvm was killed by the signal {_name(-code)}", file=sys.stderr)
    return 128 - code


def _name(number: int) -> str:
    hint = ", perhaps because memory ran out" if number == signal.SIGKILL else ""
    try:
        return signal.Signals(number).name + hint
    except ValueError:
        return str(number)


def _clear_line() -> None:
    """Remove the line of a progress that was cut off, and show the cursor again."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K\x1b[?25h")
        sys.stderr.flush()
