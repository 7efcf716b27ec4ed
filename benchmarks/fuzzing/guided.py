"""Inputs chosen by atheris, by the lines of code that they reach: an extra, for one target."""

import random
import sys
from pathlib import Path

import atheris

from benchmarks.fuzzing.targets import load_target

WATCHED = [
    "semisvm.tables",
    "semisvm.tables",
    "semisvm.persistence",
    "semisvm.designs",
    "semisvm.persistence",
]
COMPILED = ["semisvm.tables._svmlight_kernels"]
"""Numba cannot compile what atheris has changed."""


def main(name: str, seconds: str, seed: str, out: str) -> None:
    """Fuzz until the time is over; libFuzzer ends the process.

    Parameters
    ----------
    name, seconds, seed, out : str
        Target, time, seed, and folder of the corpus and of inputs that fail.
    """
    with atheris.instrument_imports(include=WATCHED, exclude=COMPILED):
        target = load_target(name)
    corpus = Path(out) / "corpus" / name
    corpus.mkdir(parents=True, exist_ok=True)
    for k, data in enumerate(target.seeds()):
        (corpus / f"seed-{k}").write_bytes(data)

    def mutated(data: bytes, largest: int, number: int) -> bytes:
        return target.mutate(data, random.Random(number))[:largest]

    limits = [f"-max_total_time={seconds}", f"-seed={int(seed) + 1}", "-rss_limit_mb=4096"]
    places = [f"-artifact_prefix={out}/{name}-", str(corpus)]
    atheris.Setup([name, *limits, *places], target.check, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
