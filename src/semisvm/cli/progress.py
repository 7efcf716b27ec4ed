"""Progress of fits: what is running, for how long, and how long it may still take.

On a terminal this is one line that is redrawn; otherwise a few plain lines.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from semisvm.cli.interrupts import first_interrupt
from semisvm.cli.messages import print_stderr
from semisvm.methods.loop import SETTLING
from semisvm.solvers.trace import Callback
from semisvm.text import rough_time

if TYPE_CHECKING:
    from semisvm.model_selection.comparison_result import ProgressCallback, Step

PAUSE = 5.0
"""Minimum seconds between two plain lines."""
STILL = 60.0
"""Seconds after which a plain line repeats what is running."""
TICK = 0.5


def share_done(row: Mapping[str, Any]) -> float:
    """Return how much of a fit is done, by its schedule in a row of the trace."""
    return float(row.get("progress", 0.0 if row["phase"] == "supervised" else SETTLING))


@dataclass
class Counted:
    """Fits of a comparison; times left follow from earlier fits of a name, or from its cost.

    Attributes
    ----------
    costs : mapping of floats
        Expected seconds of a fit, by name; only their proportions count once there are times.
    """

    costs: Mapping[str, float] = field(default_factory=dict)
    step: "Step | None" = None
    since: float = 0.0
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def update(self, step: "Step") -> None:
        """Record that a fit begins, so the one before is done."""
        now = perf_counter()
        # the first fit compiles, and would make all others look slow
        if self.step is not None and self.step.done > 0:
            self.times[self.step.name].append(now - self.since)
        self.step, self.since = step, now

    def share(self) -> float:
        """Return the share of the fits that are done."""
        return 0.0 if self.step is None else self.step.done / self.step.total

    def text(self) -> str:
        """Show what is running."""
        if self.step is None:
            return "starting"
        count = f"fit {self.step.done + 1} of {self.step.total}"
        return f"{self.step} ({count}){self._left()}"

    def _left(self) -> str:
        """Estimate the time left, as soon as a fit was timed."""
        assert self.step is not None
        if self.step.left is not None:
            left = max(self.step.left - (perf_counter() - self.since), 0.0)
            return f", at most {rough_time(left)} left"
        spent = {name: sum(times) for name, times in self.times.items()}
        if self.step.done < 2 or not sum(spent.values()):
            return ""
        expected = sum(self._cost(name) * len(times) for name, times in self.times.items())
        speed = sum(spent.values()) / expected if expected > 0 else 1.0
        left = sum(seconds * n for seconds, n in self._to_come(speed))
        left = max(left - (perf_counter() - self.since), 0.0)
        return f", {rough_time(left)} left"

    def _to_come(self, speed: float) -> Iterator[tuple[float, int]]:
        """Yield the seconds of a fit, and how many such fits there are to come."""
        assert self.step is not None
        now, folds = self.step.name, self.step.n_folds
        yield self._seconds(now, speed), folds - self.step.fold + 1
        others = [name for name in self.costs if name != now and name not in self.times]
        counted = 0
        for name in others:
            yield self._seconds(name, speed), folds
            counted += folds
        unknown = self.step.total - self.step.done - (folds - self.step.fold + 1) - counted
        yield self._seconds(now, speed), max(unknown, 0)

    def _seconds(self, name: str, speed: float) -> float:
        times = self.times.get(name)
        return sum(times) / len(times) if times else speed * self._cost(name)

    def _cost(self, name: str) -> float:
        return self.costs.get(name, 1.0)


@dataclass
class Traced:
    """One fit, through the rows of its trace.

    Attributes
    ----------
    name : str
        Method.
    """

    name: str
    row: Mapping[str, Any] | None = None
    done: float = 0.0

    def update(self, row: Mapping[str, Any]) -> None:
        """Record a row of the trace."""
        self.done = share_done(row)
        self.row = row

    def share(self) -> float:
        """Return the share that is done."""
        return self.done

    def text(self) -> str:
        """Show what is running."""
        rest = "" if self.row is None else f": {describe(self.row, self.done)}"
        return f"fitting {self.name}{rest}"


@dataclass(frozen=True)
class Shown:
    """The progress of `semisvm.train`, on the error stream.

    Attributes
    ----------
    wanted : bool
    """

    wanted: bool

    @contextmanager
    def choosing(self) -> "Iterator[ProgressCallback | None]":
        """Show the fits that choose a method; after Ctrl-C those tried so far decide."""
        with first_interrupt() as interrupted, counting(self.wanted) as show:

            def update(step: "Step") -> bool:
                if show is not None:
                    show(step)
                return interrupted()

            yield update

    @contextmanager
    def fitting(self, method: str) -> Iterator[Callback | None]:
        """Show the last fit."""
        traced = Traced(method)
        with shown(traced, self.wanted):
            yield traced.update if self.wanted else None


@contextmanager
def counting(
    wanted: bool, costs: Mapping[str, float] | None = None
) -> "Iterator[ProgressCallback | None]":
    """Show the progress of many fits; yield a function to call before each, or None.

    Parameters
    ----------
    wanted : bool
    costs : mapping, optional
        Expected seconds of a fit, by name.
    """
    counted = Counted(costs or {})
    with shown(counted, wanted):
        yield counted.update if wanted else None


class State(Protocol):
    """Something that goes on."""

    def share(self) -> float:
        """Return the share that is done."""
        ...

    def text(self) -> str:
        """Show what is running."""
        ...


@contextmanager
def shown(state: State, wanted: bool = True) -> Iterator[None]:
    """Show a state while it changes: a line that moves on a terminal, else plain lines."""
    if not wanted:
        yield
        return
    console = Console(stderr=True)
    if not console.is_terminal:
        with _lines(state):
            yield
        return
    columns = (BarColumn(20), TextColumn("{task.percentage:3.0f}%"), _Live(state))
    with Progress(*columns, console=console, transient=True) as progress:
        progress.add_task("", total=1.0)
        yield


class _Live(ProgressColumn):
    """The words of a state, asked for whenever the line is drawn."""

    max_refresh = TICK

    def __init__(self, state: State) -> None:
        super().__init__()
        self._state = state

    def render(self, task: Task) -> Text:
        """Return the text, and move the bar."""
        task.completed = self._state.share()
        return Text(f"{self._state.text()}{_since(task.elapsed)}")


def _since(elapsed: float | None) -> str:
    return "" if elapsed is None or elapsed < 2.0 else f", {elapsed:.0f} s so far"


@contextmanager
def _lines(state: State) -> Iterator[None]:
    """Print a plain line at times: the first one after a while, so that quick work is silent."""
    ended = threading.Event()
    thread = threading.Thread(target=_print_lines, args=(state.text, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _print_lines(text: Callable[[], str], ended: threading.Event) -> None:
    start = last = perf_counter()
    printed = ""
    while not ended.wait(TICK):
        now, line = perf_counter(), text()
        # the same fit is named again only after a long while
        if now - last >= (STILL if line.partition(",")[0] == printed else PAUSE):
            print_stderr(f"{line}, {now - start:.0f} s so far")
            last, printed = now, line.partition(",")[0]


def describe(row: Mapping[str, Any], done: float) -> str:
    """Describe in one line how far a fit is."""
    parts = [f"{row['phase']}, level {row['level']}", f"objective {row['objective']:.5g}"]
    moved = row.get("switched", row.get("changed"))
    if moved is not None:
        parts.append(f"{moved} switched")
    if 0.05 < done < 0.95:
        parts.append(f"{rough_time(row['seconds'] * (1 - done) / done)} left")
    return ", ".join(parts)
