"""The runner of all experiments: measures, keeps, prints, judges and draws.

An experiment says what is to be measured (`papers.plans`); everything else is here, for
``python -m papers`` and for ``python -m benchmarks``.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Any

from joblib import Parallel, delayed

from papers import Table
from papers.data import MissingDataError
from papers.keeping import (
    KeptResults,
    data_fingerprint,
    key_of,
    source_fingerprint,
)
from papers.plans import Call, Curve, Found, Part, Plan
from papers.table import Report
from semisvm import __version__
from semisvm.text import plain, rough_time

JOBS = 2
LONG = 5.0
"""Processor minutes from which on a run begins by saying how long it takes."""


@dataclass
class Progress:
    """How far a run is, for whoever shows it.

    Attributes
    ----------
    total, done : int
        Measurements.
    title : str
        Of the table that is being measured.
    """

    total: int = 0
    done: int = 0
    title: str = ""

    def share(self) -> float:
        """Return the share of the measurements that are done."""
        return self.done / self.total if self.total else 0.0

    def text(self) -> str:
        """Say what is running."""
        return f"{self.title} ({self.done} of {self.total} measurements)"


Watch = Callable[[Progress], AbstractContextManager[None]]


def unwatched(progress: Progress) -> AbstractContextManager[None]:
    """Show nothing."""
    return nullcontext()


@dataclass
class Results:
    """All results of a run, in memory and perhaps in a file.

    Attributes
    ----------
    folder : Path
        Of the data.
    jobs : int
        Processes for measurements that are not timed.
    watch : function of the progress
        Returns a context in which it is shown.
    kept : KeptResults or None
    """

    folder: Path
    jobs: int
    watch: Watch
    kept: KeptResults | None = None
    progress: Progress = field(default_factory=Progress)
    values: dict[str, tuple[Any, float]] = field(default_factory=dict)

    def expect(self, parts: Sequence[Part]) -> None:
        """Take over what is kept of the measurements of a plan, and count them."""
        keys = {key_of(part.measure, call) for part in parts for call in part.calls}
        if self.kept is not None:
            self.values = {k: v for k, v in self.kept.results.items() if k in keys}
        self.progress.total, self.progress.done = len(keys), len(self.values)

    def of(self, part: Part) -> Found:
        """Measure what a part still lacks; return its results by call."""
        calls = {key_of(part.measure, call): call for call in part.calls}
        missing = {key: call for key, call in calls.items() if key not in self.values}
        self.progress.title = part.title
        if missing:
            with self.watch(self.progress):
                for key, value, seconds in self._measured(part, missing):
                    self._take(key, value, seconds)
        return {call: self.values[key][0] for key, call in calls.items()}

    def _measured(self, part: Part, missing: dict[str, Call]) -> Iterator[tuple[str, Any, float]]:
        tasks = ((part.measure, self.folder, key, call) for key, call in missing.items())
        if part.timed or self.jobs == 1 or len(missing) == 1:
            yield from (_measure(*task) for task in tasks)
            return
        # whatever is finished first is kept first
        pool = Parallel(self.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from pool(delayed(_measure)(*task) for task in tasks)

    def _take(self, key: str, value: Any, seconds: float) -> None:
        if self.kept is not None:
            self.kept.keep(key, value, seconds)
        self.values[key] = value, seconds
        self.progress.done += 1

    def processor_seconds(self) -> float:
        """Return what all measurements took, also those of earlier runs."""
        return sum(seconds for _, seconds in self.values.values())


def _measure(
    measure: Callable[..., Any], folder: Path, key: str, call: Call
) -> tuple[str, Any, float]:
    """Measure once; the result is as it would be read from a file."""
    start = process_time()
    value = plain(measure(folder, *call))
    return key, value, process_time() - start


def check_sets(table: Table, folder: Path) -> None:
    """Refuse a folder without the data sets, before anything is printed or measured."""
    missing = [name for name in table.needs if not (folder / name).is_dir()]
    if missing and (not table.some or missing == list(table.needs)):
        raise MissingDataError(
            f"the folder {str(folder)!r} has no set {missing[0]!r}, which {table.name!r} needs"
        )


def plan_of(table: Table, folder: Path, repeat: int | None) -> tuple[Plan, int]:
    """Return what an experiment would measure, and its usual number of draws."""
    module = import_module(f"papers.{table.name}")
    return module.plan(folder, repeat or module.REPEAT), module.REPEAT


def run(
    table: Table,
    folder: Path,
    repeat: int | None = None,
    *,
    jobs: int = JOBS,
    resume: Path | None = None,
    watch: Watch = unwatched,
) -> dict[str, Any]:
    """Run an experiment: print its tables, and return everything as plain data.

    Parameters
    ----------
    table : Table
    folder : Path
        Holds the folders of the data sets.
    repeat : int, optional
        Random draws, or rounds of a timing; by default as many as the published table, or what
        takes minutes.
    jobs : int, default=2
        Processes for what is not timed.
    resume : Path, optional
        File in which finished measurements are kept; those that it has are not made again.
    watch : function of a `Progress`, optional
        Returns a context in which the progress is shown.

    Returns
    -------
    result : dict
        ``tables``, ``curves``, ``misses`` (bars that were missed), and what they depend on.

    Raises
    ------
    MissingDataError
        If a data set is not there.
    DataError
        If the file to resume is of another experiment, other code or data.
    """
    check_sets(table, folder)
    plan, usual = plan_of(table, folder, repeat)
    kept = None if resume is None else KeptResults(resume, about(table, folder))
    with nullcontext() if kept is None else closing(kept):
        for note in [] if kept is None else kept.notes:
            print(f"note: {note}")
        results = Results(folder, jobs, watch, kept)
        results.expect(plan.parts)
        _foretell(table, results.progress, (repeat or usual) / usual)
        report = Report(table.name, **plan.settings)
        curves: list[Curve] = []
        for part in plan.parts:
            found = results.of(part)
            report.table(part.title, part.rows(found))
            curves += part.curves(found)
    result = report.result()
    result["curves"] = [asdict(curve) for curve in curves]
    result["processor seconds"] = round(results.processor_seconds(), 1)
    return result


def _foretell(table: Table, progress: Progress, part: float) -> None:
    """Say how long a long run takes, by what is left of it."""
    left = 1.0 - progress.share()
    minutes = table.minutes * part * left
    if progress.done:
        print(f"{progress.done} of {progress.total} measurements are taken over")
    if minutes >= LONG:
        print(f"this takes {rough_time(60.0 * minutes)} of one processor")


def about(table: Table, folder: Path) -> dict[str, Any]:
    """Return what the results of an experiment depend on, besides the arguments of each."""
    return {
        "experiment": table.name,
        "version": __version__,
        "code": source_fingerprint(),
        "data": data_fingerprint(folder, (*table.needs, *table.may_use)),
    }
