"""Two revisions of this repository side by side: seconds, memory, and what they find.

Each revision is checked out into a folder of its own and served by a process of its own; the
fits of `benchmarks.workload` are timed in turns, so a slow moment of the machine hits both.
Uncommitted changes count where a revision is not named.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from os import environ
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from papers.table import Report, verdict
from papers.timing import Spread

from benchmarks import ROOT
from benchmarks.workload import FITS, MADE, METHODS

REPEAT = 5
SLOWER_BAR = 1.03
BASE = "HEAD"
GATE_RATIO, GATE_SECONDS = 1.15, 0.05
"""A fit fails the gate if its processor time is above the base's by both of these."""
GATE = f"slower by {GATE_RATIO - 1:.0%} and {GATE_SECONDS:g} s"


@dataclass
class Revision:
    """A process that fits with one revision of the package.

    Attributes
    ----------
    name : str
    process : the process
    seconds, processor : dict of lists
        Elapsed and processor seconds, by fit.
    found : dict
        What the last fit of every name gave.
    """

    name: str
    process: "subprocess.Popen[str]"
    seconds: dict[str, list[float]] = field(default_factory=dict)
    processor: dict[str, list[float]] = field(default_factory=dict)
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    def fit(self, name: str) -> dict[str, Any]:
        """Let the process do one fit and wait for it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(name, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of revision {self.name!r} ended during {name!r}")
        result: dict[str, Any] = json.loads(line)
        return result

    def time(self, name: str) -> None:
        """Do one fit that counts."""
        self.found[name] = self.fit(name)
        for clock in ("seconds", "processor"):
            getattr(self, clock).setdefault(name, []).append(self.found[name][clock])

    def peak(self) -> float:
        """Read the most memory that the process has held, in MiB; NaN where nobody tells."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return float("nan")
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024


@contextmanager
def sources(revision: str | None, scratch: Path) -> Iterator[Path]:
    """Check a revision out for a while; None is the working tree itself."""
    if revision is None:
        yield ROOT
        return
    folder = scratch / revision.replace("/", "_")
    git = ("git", "-C", str(ROOT), "worktree")
    subprocess.run([*git, "add", "-q", "--detach", str(folder), revision], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@contextmanager
def served(name: str, folder: Path, data: Path) -> Iterator[Revision]:
    """Start the process of a revision, and end it."""
    command = [sys.executable, str(Path(__file__).with_name("workload.py")), str(data)]
    process = subprocess.Popen(
        command,
        env={**environ, "PYTHONPATH": str(folder / "src")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Revision(name, process)
        finally:
            process.kill()


def in_turns(revisions: tuple[Revision, Revision], name: str, repeat: int) -> None:
    """Fit once with each to load the kernels, then in turns; odd rounds backwards."""
    for revision in revisions:
        revision.fit(name)
    for k in range(repeat):
        for revision in revisions[:: -1 if k % 2 else 1]:
            revision.time(name)


def row(name: str, base: Revision, head: Revision) -> dict[str, Any]:
    """Compare the times and the answers of one fit."""
    ratio = _ratio(head.seconds[name], base.seconds[name])
    old, new = base.found[name], head.found[name]
    return {
        "fit": name,
        "base, s": Spread.of(base.seconds[name]).median,
        "head / base": ratio,
        f"<= {SLOWER_BAR}": verdict(ratio.median <= SLOWER_BAR),
        "processor": _ratio(head.processor[name], base.processor[name]),
        "objective, relative": new["objective"] / old["objective"] - 1.0,
        "scores, largest difference": _largest(old, new),
        "rounds": f"{old['rounds']} -> {new['rounds']}",
    }


def gate_row(name: str, base: Revision, head: Revision) -> dict[str, Any]:
    """Judge one fit by the gate."""
    old, new = (Spread.of(revision.processor[name]).median for revision in (base, head))
    ratio = _ratio(head.processor[name], base.processor[name])
    slower = ratio.median > GATE_RATIO and new - old > GATE_SECONDS
    return {"fit": name, "base, s": old, "head / base": ratio, f"not {GATE}": verdict(not slower)}


def _ratio(new: Sequence[float], old: Sequence[float]) -> Spread:
    return Spread.of(a / b for a, b in zip(new, old, strict=True))


def _largest(old: Mapping[str, Any], new: Mapping[str, Any]) -> float:
    return float(np.abs(np.subtract(new["scores"], old["scores"])).max())


def run(
    folder: Path, repeat: int, base: str = BASE, head: str | None = None, gate: bool = False
) -> dict[str, Any]:
    """Print how a revision, or the working tree, compares with another revision.

    The gate has fits to made-up data, and looks at processor time alone.
    """
    report = Report("revisions", base=base, head=head or "working tree", rounds=repeat)
    names = [f"{method}, {which}" for which in (MADE if gate else FITS) for method in METHODS]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(TemporaryDirectory()))
        places = [stack.enter_context(sources(revision, scratch)) for revision in (base, head)]
        both = [
            stack.enter_context(served(name, place, folder.resolve()))
            for name, place in zip((base, head or "working tree"), places, strict=True)
        ]
        for name in names:
            in_turns((both[0], both[1]), name, repeat)
        rows = [(gate_row if gate else row)(name, *both) for name in names]
        peaks = {f"{r.name}, MiB": r.peak() for r in both}
    report.table("fits", rows)
    report.table("peak memory of the processes", [peaks])
    return report.result()
