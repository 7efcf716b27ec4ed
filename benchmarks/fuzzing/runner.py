"""Fuzzing in several processes, each within bounds of time and memory."""

import multiprocessing
import random
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any

from benchmarks.fuzzing.findings import Finding, attempt, shrink
from benchmarks.fuzzing.targets import Inputs, Target, load_target, seconds_of

MEMORY = 512 << 20
"""Bytes that an input may ask for, beyond what the process has after the seeds."""

WATCH_SECONDS = 0.2
PATIENCE = 8
"""Time by the clock, in limits of processor time, after which a process is ended."""
SLOWEST = 10
"""Inputs that a run names as its slowest."""
LAST = 1 << 17
"""Bytes of the last input that survive a process that dies."""


@dataclass
class Tally:
    """What was done so far, in memory that the processes share.

    Attributes
    ----------
    counts, seconds : arrays with one entry a target
    began : float
        When the current input was begun; 0 between inputs.
    target, size, last
        The current input.
    """

    counts: Any
    seconds: Any
    began: Any
    target: Any
    size: Any
    last: Any

    @classmethod
    def of(cls, context: Any, n_targets: int) -> "Tally":
        """Make an empty one."""
        return cls(
            context.Array("q", n_targets, lock=False),
            context.Array("d", n_targets, lock=False),
            context.Value("d", 0.0, lock=False),
            context.Value("i", 0, lock=False),
            context.Value("i", 0, lock=False),
            context.Array("c", LAST, lock=False),
        )

    def begin(self, target: int, data: bytes) -> None:
        """Note the input before it is tried."""
        self.target.value, self.size.value = target, min(len(data), LAST)
        self.last[: self.size.value] = data[:LAST]
        self.began.value = monotonic()

    def end(self) -> None:
        """Count the input."""
        k = self.target.value
        self.counts[k] += 1
        self.seconds[k] += monotonic() - self.began.value
        self.began.value = 0.0


@dataclass(frozen=True, order=True)
class Timed:
    """An input, and its processor seconds."""

    seconds: float
    target: str
    data: bytes


def work(names: list[str], seed: int, end: float, tally: Tally, results: Any) -> None:
    """Try inputs until the time is over; put what is found into a queue.

    All targets have the same time, so that slow ones do not hold up the others.
    """
    targets = [load_target(name) for name in names]
    for name, target in zip(names, targets, strict=True):
        for data in target.seeds():
            _keep(attempt(name, target, data, None), set(), target, results)
    bound_memory()
    inputs = [Inputs(target, random.Random(f"{seed} {n}")) for n, target in enumerate(targets)]
    seen: set[str] = set()
    slowest: list[Timed] = []
    while monotonic() < end:
        k = min(range(len(names)), key=tally.seconds.__getitem__)
        data = inputs[k].draw()
        tally.begin(k, data)
        start = process_time()
        found = attempt(names[k], targets[k], data, seconds_of(names[k]))
        timed = Timed(process_time() - start, names[k], data)
        tally.end()
        slowest = sorted([*slowest, timed], reverse=True)[:SLOWEST]
        if timed in slowest:
            results.put(timed)
        _keep(found, seen, targets[k], results)


def bound_memory() -> None:
    """Let this process have only so much more memory than it has, where Linux can tell."""
    status = Path("/proc/self/status")
    if not status.exists():
        return
    import resource

    used = int(status.read_text(encoding="ascii").split("VmData:")[1].split()[0]) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))


def _keep(found: Finding | None, seen: set[str], target: Target, results: Any) -> None:
    """Send what fails in a new place, as small as it gets."""
    if found is None or f"{found.target} {found.place}" in seen:
        return
    seen.add(f"{found.target} {found.place}")
    limit = seconds_of(found.target)
    results.put(shrink(found, lambda data: attempt(found.target, target, data, limit)))


@dataclass
class Outcome:
    """What a run did and found."""

    names: list[str]
    counts: list[int]
    seconds: list[float]
    findings: dict[str, Finding] = field(default_factory=dict)
    slowest: list[Timed] = field(default_factory=list)

    def add(self, found: Finding | Timed) -> None:
        """Keep the smallest input of every place, and the slowest inputs of all."""
        if isinstance(found, Timed):
            self.slowest = sorted([*self.slowest, found], reverse=True)[:SLOWEST]
            return
        key = f"{found.target} {found.place}"
        if key not in self.findings or len(found.data) < len(self.findings[key].data):
            self.findings[key] = found


@dataclass
class Worker:
    """A process, and what it shares."""

    process: BaseProcess
    tally: Tally

    def lost(self, names: list[str]) -> Finding | None:
        """Return the input that killed the process, or that it hangs in where no alarm helps."""
        began = self.tally.began.value
        limit = PATIENCE * seconds_of(names[self.tally.target.value])
        hangs = began > 0 and monotonic() - began > limit
        died = not self.process.is_alive() and self.process.exitcode != 0
        if not hangs and not died:
            return None
        if hangs:
            self.process.kill()
            self.process.join()
        data = bytes(self.tally.last[: self.tally.size.value])
        place = "hangs in compiled code" if hangs else f"exit code {self.process.exitcode}"
        return Finding(names[self.tally.target.value], place, "", data)


def run(names: list[str], seconds: float, seed: int, processes: int) -> Outcome:
    """Fuzz targets for some time.

    Parameters
    ----------
    names : list of str
    seconds : float
    seed : int
    processes : int
    """
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    end = monotonic() + seconds
    seeds = iter(range(seed * 1_000_000, (seed + 1) * 1_000_000))

    def start() -> Worker:
        tally = Tally.of(context, len(names))
        arguments = (names, next(seeds), end, tally, results)
        worker = Worker(context.Process(target=work, args=arguments, daemon=True), tally)
        worker.process.start()
        return worker

    found: list[Finding | Timed] = []
    workers, over = [start() for _ in range(processes)], []
    while workers:
        sleep(WATCH_SECONDS)
        while not results.empty():
            found.append(results.get())
        for worker in list(workers):
            lost = worker.lost(names)
            if lost is not None:
                found.append(lost)
            if lost is not None or not worker.process.is_alive():
                workers.remove(worker)
                over.append(worker)
            if lost is not None and monotonic() < end:
                workers.append(start())
    while not results.empty():
        found.append(results.get())
    tallies = [worker.tally for worker in over]
    outcome = Outcome(
        names,
        [sum(tally.counts[k] for tally in tallies) for k in range(len(names))],
        [sum(tally.seconds[k] for tally in tallies) for k in range(len(names))],
    )
    for finding in found:
        outcome.add(finding)
    return outcome
