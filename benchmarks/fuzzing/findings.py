"""Inputs that fail: told apart by where they fail, made smaller, and kept in files."""

import hashlib
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks.fuzzing.targets import Target
from semisvm.tables import DataWarning

SHRINK_SECONDS = 10.0


class HangError(BaseException):
    """An input takes too long; not an `Exception`, which readers may translate."""


@dataclass(frozen=True)
class Finding:
    """An input that fails.

    Attributes
    ----------
    target : str
    place : str
        Error and line of code, the same for inputs that fail in the same way.
    report : str
        The traceback.
    data : bytes
    """

    target: str
    place: str
    report: str
    data: bytes

    def save(self, folder: Path) -> Path:
        """Write the input and the traceback, and give the path of the input."""
        path = keep(folder / self.target, self.data)
        path.with_suffix(".txt").write_text(f"{self.place}\n\n{self.report}", encoding="utf-8")
        return path


def keep(folder: Path, data: bytes) -> Path:
    """Write an input under a name made of its content, and give the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / hashlib.sha256(data).hexdigest()[:12]
    path.write_bytes(data)
    return path


def attempt(name: str, target: Target, data: bytes, seconds: float | None) -> Finding | None:
    """Check one input; give what is wrong, if anything is.

    Parameters
    ----------
    name : str
    target : Target
    data : bytes
    seconds : float, optional
        Most processor time, by a timer of the process; None leaves that alone.
    """
    try:
        with _strict_warnings(), _alarm(seconds):
            target.check(data)
    except (Exception, HangError) as error:
        return Finding(name, _place(error), traceback.format_exc(), data)
    return None


@contextmanager
def _strict_warnings() -> Iterator[None]:
    """Count warnings as failures, but for ours and numpy's about files of Python 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DataWarning)
        warnings.filterwarnings("ignore", "Reading `.npy`", UserWarning)
        yield


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    if seconds is None:
        yield
        return
    # processor time: on a busy machine an input takes longer, but does not hang
    signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _ring(number: int, frame: Any) -> None:
    raise HangError


def _place(error: BaseException) -> str:
    """Name the error and the last line of this project that it went through."""
    if isinstance(error, HangError):
        return "HangError"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "semisvm" in f.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"


def shrink(finding: Finding, try_again: Callable[[bytes], Finding | None]) -> Finding:
    """Remove what is not needed to fail in the same place."""
    best, end = finding, monotonic() + SHRINK_SECONDS
    size = len(best.data) // 2
    while size > 0 and monotonic() < end:
        start, smaller = 0, False
        while start < len(best.data) and monotonic() < end:
            found = try_again(best.data[:start] + best.data[start + size :])
            if found is not None and found.place == finding.place:
                best, smaller = found, True
            else:
                start += size
        size = size if smaller and size == 1 else size // 2
    return best
