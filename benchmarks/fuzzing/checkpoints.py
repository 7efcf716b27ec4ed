"""Checkpoints that were tampered with: they are refused, or the fit goes on to a model.

`seeds` are files of fits that were stopped, of every method. `mutate` changes the place, the trace
or an array and writes them again with the right checksums, or changes bytes. `check` goes on from a
file: what comes of it is a model with finite weights, or an error of the package.
"""

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.fuzzing.checking import expect, outcome, put
from benchmarks.fuzzing.documents import changed, with_other_bytes
from benchmarks.fuzzing.models import pack, unpack
from semisvm import AnnealedSVC, Checkpoint, NewtonSVC, TransductiveSVC
from semisvm.persistence.checkpoints import CHECKPOINT
from semisvm.tables import DataError

FITS: dict[int, Callable[..., Any]] = {
    40: lambda **more: TransductiveSVC(reg=0.1, **more),
    42: lambda **more: AnnealedSVC(reg=0.1, class_prior=[0.5, 0.5], **more),
    45: lambda **more: TransductiveSVC(reg=0.1, **more),
    48: lambda **more: AnnealedSVC(reg=0.1, class_prior=[1 / 3, 1 / 3, 1 / 3], **more),
    50: lambda **more: NewtonSVC(reg=0.1, **more),
}
"""Fits by their number of rows, by which a checkpoint is known; with three classes if divisible."""


def problem(n: int) -> tuple[Any, Any]:
    """Make a few rows, of which every third has a label."""
    rng, k = np.random.default_rng(0), 3 if n % 3 == 0 and n != 42 else 2
    y = np.arange(n) % k
    X = rng.standard_normal((n, 3)) + 1.5 * np.eye(k, 3)[y]
    return X, np.where(np.arange(n) % 5 < 2, y, -1)


@cache
def seeds() -> list[bytes]:
    """Return checkpoints of fits that were stopped early, late, and not at all."""
    made = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, make in FITS.items():
            for last in (2, 6, 10**6):
                path = Path(folder) / f"{n}-{last}"
                make(callback=Checkpoint(path, callback=_stop_after(last))).fit(*problem(n))
                made.append(path.read_bytes())
    return made


def _stop_after(last: int) -> Callable[[Any], bool]:
    left = [last]

    def stop(row: Any) -> bool:
        left[0] -= 1
        return left[0] <= 0

    return stop


def mutate(content: bytes, rng: Random) -> bytes:
    """Return a checkpoint with one to three changes of document, arrays or bytes."""
    if rng.random() < 0.1:
        return with_other_bytes(content, rng)
    try:
        document, arrays = unpack(content, CHECKPOINT)
    except Exception:  # a file that was changed before
        return with_other_bytes(content, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        document, arrays = changed(document, arrays, rng)
    return pack(document, arrays, CHECKPOINT)


# What must hold


def check(content: bytes) -> None:
    """Go on from a file, and do not overwrite it where one must not."""
    path = put(content, "fit.checkpoint")
    found = resumed(path)
    if isinstance(found, DataError):
        expect(path.read_bytes() == content, "a refused checkpoint was changed")
        return
    expect(bool(np.isfinite(found.coef_).all()), "the weights are not finite")
    expect(bool(np.isfinite(found.objective_)), "the objective is not finite")
    rows = list(found.trace_)
    expect(all(type(row["phase"]) is str for row in rows), "the trace has rows without a phase")
    json.dumps([rows, found.trace_.notes])
    found.trace_.to_frame()


def resumed(path: Path) -> Any:
    """Return the model of a fit that goes on from a file, or our error."""
    n = _rows_of(path.read_bytes())
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return outcome(lambda: FITS[n](callback=Checkpoint(path, resume=True)).fit(*problem(n)))


def _rows_of(content: bytes) -> int:
    try:
        n = unpack(content, CHECKPOINT)[0]["content"]["identity"]["shape"][0]
    except Exception:
        return 40
    return n if type(n) is int and n in FITS else 40
