"""What a fit did: one row per iteration, written by a recorder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from semisvm.solvers.newton import State
from semisvm.solvers.snapshots import FitKeeper, Identity, Journal, KeptJournal

TraceRow = Mapping[str, Any]
Callback = Callable[[TraceRow], Any]


@dataclass(repr=False)
class Trace:
    """What a fit did: one row per iteration, and notes in words.

    ``trace[3]`` is a row, ``trace["objective"]`` a column, `to_frame` a pandas DataFrame.
    Columns that an iteration does not have are NaN.

    Steps never raise the objective within a level, with one exception. Annealing lowers the
    free energy at a temperature, column ``free_energy``; its ``objective`` is that of the best
    labels with the class counts for the weights of the iteration, and may rise.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def columns(self) -> list[str]:
        """Names of the columns, in the order in which they first appear."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def __repr__(self) -> str:
        return f"Trace({len(self.rows)} rows of {', '.join(self.columns)}; notes: {self.notes})"

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from semisvm.reporting.notebook import trace_view

        return str(trace_view(self))

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
        """Return the rows as a pandas DataFrame."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError(
                "Trace.to_frame needs pandas; install it with pip install 'semisvm[frames]'."
            ) from error
        return pd.DataFrame(self.rows, columns=self.columns)


STOPPED = "stopped by the callback"


class Recorder:
    """Write a trace, print one line per level, and let the callback stop the fit.

    Attributes
    ----------
    trace : Trace
    stopped : bool
    journal : Journal
        Keeps the places of the fit, if the callback is there for that.
    counters : dict of callables
        What the fit has done so far, for columns of these names: how often it has read the data,
        or called other processes.
    positive : str
        What notes call the class of positive scores.
    """

    positive = "the second class"

    def __init__(
        self, callback: Callback | None = None, verbose: int = 0, hook: Callback | None = None
    ) -> None:
        self.trace = Trace()
        self.counters: dict[str, Callable[[], float]] = {}
        self._before: dict[str, Any] = {}
        self.stopped = False
        self.journal = Journal()
        self._kept_notes: list[str] = []
        self._callback = callback
        self._hook = hook
        self._verbose = verbose
        self._start = perf_counter()

    @property
    def seconds(self) -> float:
        """Time of the fit so far, that before it was resumed included."""
        return perf_counter() - self._start

    @contextmanager
    def keeping(self, identity: Callable[[], Identity]) -> Iterator[None]:
        """Keep the fit that is made inside, if the callback is a `FitKeeper`.

        Parameters
        ----------
        identity : () -> dict
            Called only then; see `FitKeeper.open`.
        """
        if not isinstance(self._callback, FitKeeper):
            yield
            return
        self.journal = journal = KeptJournal(self, self._callback.open(identity()))
        try:
            yield
        except BaseException as error:
            journal.rescue(error)
            raise
        journal.finish()

    def take_up(self, rows: Sequence[dict[str, Any]], notes: Sequence[str], seconds: float) -> None:
        """Go on with the trace of a fit that is resumed."""
        self.trace.rows += rows
        self._before = dict(rows[-1]) if rows else {}
        # notes between phases will be made again
        self._kept_notes = [note for note in notes if note != STOPPED]
        self.trace.notes += self._kept_notes
        self._start -= seconds

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
        """Add a row about weights and how the solver found them."""
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
        row = {"phase": phase, **facts}
        for name, count in self.counters.items():
            row[name] = self._before.get(name, 0) + count()
        row["seconds"] = self.seconds
        self.trace.rows.append(row)
        calls = () if self.stopped else (self._callback, self._hook)
        # both are called, even if the first one stops the fit
        answers = [call(dict(row)) for call in calls if call is not None]
        if any(answers):
            self.stopped = True
            self.note(STOPPED)

    def note(self, text: str) -> None:
        """Add a note in words."""
        if text in self._kept_notes:
            self._kept_notes.remove(text)
        else:
            self.trace.notes.append(text)

    def level_done(self) -> None:
        """Print the last row if verbose."""
        if self._verbose and self.trace.rows:
            row = self.trace.rows[-1]
            cells = (f"{k}={_short(row[k])}" for k in row if k not in _QUIET)
            print("[semisvm] " + "  ".join(cells), flush=True)

    def part(self, number: int, count: int, label: Any = None) -> "Recorder":
        """Return a recorder for one of several problems that are solved in turns.

        Parameters
        ----------
        number, count : int
            Which problem of how many.
        label : optional
            Name of the problem, which its rows and notes begin with.
        """
        return _PartRecorder(self, number, count, label)


class _PartRecorder(Recorder):
    """Write rows of one problem of several into the trace of all.

    A problem that begins after the callback has stopped the fit still has one round: without
    it there would be no weights.
    """

    def __init__(self, whole: Recorder, number: int, count: int, label: Any) -> None:
        self.trace = whole.trace
        self.stopped = False
        self.journal = Journal()
        self._kept_notes = []
        self._whole = whole
        self._number, self._count = number, count
        self._label = label
        self.positive = "the class" if label is None else str(label)

    def add(self, phase: str, **facts: Any) -> None:
        """Add a row; its progress is that of all problems."""
        if "progress" in facts:
            facts["progress"] = (self._number + facts["progress"]) / self._count
        if self._label is not None:
            facts = {"label": self._label, **facts}
        self._whole.add(phase, **facts)
        self.stopped = self._whole.stopped

    def note(self, text: str) -> None:
        """Add a note in words, which names the problem."""
        super().note(text if self._label is None else f"{self._label}: {text}")

    def level_done(self) -> None:
        """Print the last row if ``verbose`` is set."""
        self._whole.level_done()


_QUIET = {"iteration", "gradient_norm", "newton_steps", "active_rows"}


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
