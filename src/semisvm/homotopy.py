"""The one loop of every method, its schedules and its trace.

A method alternates a weight step (labels fixed) and a label step (weights fixed) until
nothing changes, and does so along a schedule that makes the problem gradually harder: the
weight of the unlabelled rows goes up, or a temperature goes down.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from time import perf_counter
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from semisvm.weights import State

TraceRow = Mapping[str, Any]
Callback = Callable[[TraceRow], Any]


@dataclass(repr=False)
class Trace:
    """What a fit did: one row an iteration, and notes in words.

    ``trace[3]`` is a row, ``trace["objective"]`` a column, `to_frame` a pandas DataFrame.
    Columns that an iteration does not have are NaN.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in the order in which they first appear."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def __repr__(self) -> str:
        return f"Trace({len(self.rows)} rows of {', '.join(self.columns)}; notes: {self.notes})"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: str) -> NDArray[Any]: ...

    def __getitem__(self, key: int | str) -> dict[str, Any] | NDArray[Any]:
        if isinstance(key, int):
            return self.rows[key]
        if key not in self.columns:
            raise KeyError(f"{key!r}; the columns are {self.columns}")
        return np.array([row.get(key, np.nan) for row in self.rows])

    def to_frame(self) -> Any:
        """Give the rows as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "Trace.to_frame needs pandas: pip install 'semisvm[frames]'."
            ) from error
        return pd.DataFrame(self.rows, columns=self.columns)


class Recorder:
    """Write a trace, print one line a level, and ask the user whether to go on."""

    def __init__(self, callback: Callback | None = None, verbose: int = 0) -> None:
        self.trace = Trace()
        self.stopped = False
        self._callback = callback
        self._verbose = verbose
        self._start = perf_counter()

    def record(
        self,
        phase: str,
        weights: State,
        *,
        objective: float,
        level: int = 0,
        value: float = np.nan,
        iteration: int = 0,
        **facts: Any,
    ) -> None:
        """Add a row about weights and what the solver did to find them."""
        self.add(
            phase,
            level=level,
            value=value,
            iteration=iteration,
            objective=objective,
            **facts,
            newton_steps=weights.n_iter,
            cg_steps=weights.cg_steps,
            active_rows=weights.n_active,
            gradient_norm=weights.gradient_norm,
        )

    def add(self, phase: str, **facts: Any) -> None:
        """Add a row; ``stopped`` is set if the callback returned True."""
        row = {"phase": phase, **facts, "seconds": perf_counter() - self._start}
        self.trace.rows.append(row)
        if self._callback is not None and self._callback(dict(row)):
            self.stopped = True
            self.note("stopped by the callback")

    def note(self, text: str) -> None:
        """Add a remark in words."""
        self.trace.notes.append(text)

    def level_done(self) -> None:
        """Print the last row if the user wants to watch."""
        if self._verbose and self.trace.rows:
            row = self.trace.rows[-1]
            cells = (f"{k}={_short(row[k])}" for k in row if k not in _QUIET)
            print("[semisvm] " + "  ".join(cells), flush=True)


_QUIET = {"iteration", "gradient_norm", "newton_steps", "active_rows"}


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Level:
    """One stage of a schedule.

    Attributes
    ----------
    value : float
        Weight of the unlabelled rows, or temperature.
    tol : float
        Certified relative error to which weight steps are solved here.
    last : bool
        Whether the answer is taken from this level.
    """

    value: float
    tol: float
    last: bool


LOOSE_TOL = 1e-3
"""Early levels only lead the way: solved this loosely they cost a sixth or less."""

COOLING_TOL = 1e-4
"""While a temperature falls, the path must not leave its valley: 1e-3 sometimes lost it."""


def settling(value: float, tol: float) -> Iterator[Level]:
    """Stay at a level: first loosely, where labels still move, then tightly."""
    if tol < LOOSE_TOL:
        yield Level(value, LOOSE_TOL, last=False)
    yield Level(value, tol, last=True)


def rising(start: float, stop: float, rate: float, tol: float) -> Iterator[Level]:
    """Multiply by ``rate`` from ``start`` up to ``stop`` and settle there."""
    value = start
    while value < stop:
        yield Level(value, max(LOOSE_TOL, tol), last=False)
        value *= rate
    yield from settling(stop, tol)


def decades(start: float, stop: float, tol: float) -> Iterator[Level]:
    """Multiply by 3 and 10/3 in turns from ``start`` up to ``stop`` and settle there."""
    value, factors = start, cycle((3.0, 10.0 / 3.0))
    while value < 0.999 * stop:
        yield Level(value, max(LOOSE_TOL, tol), last=False)
        value *= next(factors)
    yield from settling(stop, tol)


def falling(
    start: float, floor: float, rate: float, tol: float, finished: Callable[[], bool]
) -> Iterator[Level]:
    """Divide by ``rate`` from ``start`` until ``finished`` says so or ``floor`` is reached."""
    value = start
    while value > floor and not finished():
        yield Level(value, max(COOLING_TOL, tol), last=False)
        value /= rate


class Method(Protocol):
    """What the loop needs of a method: its two steps."""

    def enter(self, level: Level) -> None:
        """Take over a new level."""
        ...

    def weight_step(self, level: Level) -> State:
        """Fit the weights to the labels."""
        ...

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Choose labels for the weights; tell whether they settled, and facts to record."""
        ...


def follow(
    phase: str, levels: Iterable[Level], method: Method, recorder: Recorder, max_rounds: int
) -> tuple[int, bool]:
    """Run a method along its schedule.

    Returns
    -------
    rounds : int
        Alternations over all levels.
    settled : bool
        Whether the last level ended because nothing changed.
    """
    rounds, settled = 0, False
    for number, level in enumerate(levels):
        if recorder.stopped:
            break
        method.enter(level)
        for iteration in range(max_rounds):
            weights = method.weight_step(level)
            settled, facts = method.label_step(level)
            rounds += 1
            recorder.record(
                phase, weights, level=number, value=level.value, iteration=iteration, **facts
            )
            if settled or recorder.stopped:
                break
        recorder.level_done()
    return rounds, settled
