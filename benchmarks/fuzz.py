"""``python -m benchmarks fuzz``: files of strangers against every reader and loader."""

import argparse
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

from benchmarks.fuzzing.findings import Finding, attempt, keep
from benchmarks.fuzzing.runner import Outcome, run
from benchmarks.fuzzing.targets import Inputs, load_target, target_names

SUMMARY = "mutated and generated files for every reader, models, rows and checkpoints"


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    names = target_names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, metavar="N", help="(default: 60)")
    parser.add_argument("--targets", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first process")
    parser.add_argument("--processes", type=int, default=2, metavar="N", help="(default: 2)")
    parser.add_argument(
        "--out", type=Path, default=Path("out/fuzz"), metavar="DIR", help="for inputs that fail"
    )
    parser.add_argument("--try", type=Path, dest="file", metavar="FILE", help="one input again")
    parser.add_argument(
        "--atheris",
        action="store_true",
        help="guided by coverage, for one target",
    )
    parser.add_argument(
        "--slowest", action="store_true", help="keep and print the inputs that took longest"
    )
    parser.add_argument("--list", action="store_true", help="print the targets")
    options = parser.parse_args(arguments)
    if (options.file is not None or options.atheris) and len(options.targets) != 1:
        parser.error("--try and --atheris need one of --targets")
    return options


def main(arguments: list[str]) -> int:
    """Fuzz, print what was done, and return 1 if anything fails."""
    options = read_arguments(arguments)
    if options.list:
        print("\n".join(options.targets))
        return 0
    if options.file is not None:
        (name,) = options.targets
        found = attempt(name, load_target(name), options.file.read_bytes(), None)
        print("fine" if found is None else found.report)
        return int(found is not None)
    if options.atheris:
        return guided(options.targets[0], options.seconds, options.seed, options.out)
    begin = monotonic()
    outcome = run(options.targets, options.seconds, options.seed, options.processes)
    show(outcome, monotonic() - begin)
    for finding in outcome.findings.values():
        print(f"{finding.target}: {finding.place}, kept as {finding.save(options.out)}")
    if options.slowest:
        for timed in outcome.slowest:
            path = keep(options.out / timed.target, timed.data)
            print(f"{timed.target}: {timed.seconds:.2f} s of processor time, kept as {path}")
    return int(bool(outcome.findings))


def show(outcome: Outcome, seconds: float) -> None:
    """Print inputs and speed of every target."""
    print(f"{'target':12} {'inputs':>10} {'a second':>9} {'findings':>9}")
    for name, count, taken in zip(outcome.names, outcome.counts, outcome.seconds, strict=True):
        failing = sum(finding.target == name for finding in outcome.findings.values())
        print(f"{name:12} {count:10,} {count / max(taken, 1e-9):9,.0f} {failing:9,}")
    total = sum(outcome.counts)
    print(f"{'all':12} {total:10,} {total / seconds:9,.0f} {len(outcome.findings):9,}")


def explore(name: str, seed: int, n_inputs: int) -> list[Finding]:
    """Try a number of inputs in this process, the same ones for the same seed."""
    target = load_target(name)
    inputs = Inputs(target, random.Random(seed))
    tried = [*target.seeds(), *(inputs.draw() for _ in range(n_inputs))]
    found = (attempt(name, target, data, None) for data in tried)
    return [finding for finding in found if finding is not None]


def guided(name: str, seconds: float, seed: int, out: Path) -> int:
    """Let atheris choose the inputs, in a process that has not imported what it watches."""
    if find_spec("atheris") is None:
        print("benchmarks: --atheris needs atheris: pip install atheris", file=sys.stderr)
        return 2
    module = "benchmarks.fuzzing.guided"
    command = [sys.executable, "-m", module, name, str(int(seconds)), str(seed), str(out)]
    return subprocess.run(command, check=False).returncode
