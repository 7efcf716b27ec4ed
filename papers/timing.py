"""Times that can be compared: measured alternately in one run, first calls kept apart."""

import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time
from typing import Any

import numpy as np

Task = Callable[[], Any]


@dataclass(frozen=True)
class Spread:
    """A median with its quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Summarise a few measurements."""
        low, median, high = np.quantile(list(values), [0.25, 0.5, 0.75]).tolist()
        return cls(median, low, high)

    def __str__(self) -> str:
        return f"{self.median:.3g} [{self.low:.3g}, {self.high:.3g}]"


@dataclass(frozen=True)
class Timings:
    """What `interleaved` measured.

    Attributes
    ----------
    seconds : dict of lists
        One time a round, for every task.
    first : dict
        Seconds of the warm-up call, with the compilation in it.
    results : dict
        What the last call of every task gave.
    processor : dict of lists
        The seconds of all processors together, which others on the machine do not change.
    """

    seconds: dict[str, list[float]]
    first: dict[str, float]
    results: dict[str, Any]
    processor: dict[str, list[float]] = field(default_factory=dict)

    def on_processor(self) -> "Timings":
        """Return the same measurements with processor seconds in place of elapsed ones."""
        return replace(self, seconds=self.processor)

    def median(self, name: str) -> float:
        """Return the median seconds of a task."""
        return Spread.of(self.seconds[name]).median

    def ratio(self, candidate: str, baseline: str) -> Spread:
        """Summarise the ratios of the rounds: a slow moment of the machine hits both."""
        pairs = zip(self.seconds[candidate], self.seconds[baseline], strict=True)
        return Spread.of(a / b for a, b in pairs)

    def difference(self, candidate: str, baseline: str) -> Spread:
        """Summarise the differences of the rounds, in seconds."""
        pairs = zip(self.seconds[candidate], self.seconds[baseline], strict=True)
        return Spread.of(a - b for a, b in pairs)

    def first_extra(self, name: str) -> float:
        """Return what the warm-up call took beyond the median: loading or compiling kernels."""
        return self.first[name] - self.median(name)


def seconds_of(task: Task) -> tuple[float, Any]:
    """Time one call."""
    start = perf_counter()
    result = task()
    return perf_counter() - start, result


def interleaved(
    tasks: Mapping[str, Task], repeat: int, warm_up: Sequence[str] | None = None
) -> Timings:
    """Time tasks alternately: every round runs each of them once, odd rounds backwards.

    Parameters
    ----------
    tasks : mapping name -> function
    repeat : int
        Rounds that count.
    warm_up : names, optional
        Tasks to call once before the first round; None calls all of them.
    """
    names = list(tasks)
    first = {name: seconds_of(tasks[name])[0] for name in (names if warm_up is None else warm_up)}
    timings = Timings({name: [] for name in names}, first, {}, {name: [] for name in names})
    for k in range(repeat):
        for name in names[::-1] if k % 2 else names:
            busy = process_time()
            seconds, timings.results[name] = seconds_of(tasks[name])
            timings.processor[name].append(process_time() - busy)
            timings.seconds[name].append(seconds)
    return timings


def joined(parts: Sequence[Timings]) -> Timings:
    """Put the rounds of several measurements of the same tasks together."""
    names = parts[0].seconds
    seconds = {name: [t for part in parts for t in part.seconds[name]] for name in names}
    busy = {name: [t for part in parts for t in part.processor[name]] for name in names}
    return Timings(seconds, parts[0].first, parts[-1].results, busy)


def peak_bytes(task: Task) -> int:
    """Measure the most memory that a call holds at a time, beyond what was there before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        task()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak - before
