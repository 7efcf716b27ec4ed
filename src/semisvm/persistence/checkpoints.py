"""The callback that keeps a fit in a file, from which it can go on.

The file is the container of model files, not compressed (`persistence.archive`): nothing in it is
run, and it cannot make more memory necessary than a small multiple of its own length. A checkpoint
of another version of the package is refused, because its steps may be others.

The schema below is checked before a fit goes on, because compiled code does not check its arrays:
"weights" and "classes" are sizes that all arrays of a phase agree in. The number of weights itself
is compared by the fit.
"""

import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm._version import __version__
from semisvm.persistence.archive import Container, read_archive, write_archive
from semisvm.persistence.json_values import from_plain, to_plain
from semisvm.solvers.snapshots import FitKeeper, Identity
from semisvm.tables.errors import DataError, ModelFileError
from semisvm.tables.schema import (
    Check,
    Record,
    Sizes,
    agree,
    anything,
    complaint,
    either,
    flag,
    listed,
    mapping,
    number,
    optional,
    refuse,
    scalar,
    text,
    whole,
)
from semisvm.tables.writing import check_place

CHECKPOINT = Container("checkpoint", "checkpoint", 2, compact=False)
AGAIN = "Delete it to begin again."
SEVERAL_THREADS = (
    "the fit was resumed with {now} threads after {then}: sums are added in another order, so the "
    "last bits differ from those of an uninterrupted fit"
)


class CheckpointError(DataError):
    """A checkpoint that is damaged, or of another fit than the one that is to go on from it."""


LONGEST = 60
"""Characters of a value; of a longer one there is a fingerprint."""
FINGERPRINTS = {
    "type": "X has another type of numbers",
    "rows": "X has other values (of a kernel: other features)",
    "labels": "y has other labels",
    "weights": "sample_weight is another",
    "evidence": "evidence is other",
    "start": "the model that warm_start begins with is another",
}


def as_text(identity: Identity) -> Identity:
    """Return an identity with its parameters as text, which can be kept and compared."""
    parameters = {name: _text(value) for name, value in identity["parameters"].items()}
    return {**identity, "parameters": parameters}


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value)).removesuffix(".0")
    if value is None or isinstance(value, (str, bool)):
        return repr(value)
    try:
        text = json.dumps(to_plain(value.tolist() if isinstance(value, np.ndarray) else value))
    except TypeError:
        # a function, for instance a kernel: the fingerprint of the features is stricter
        text = f"{type(value).__name__} {getattr(value, '__qualname__', '')}"
    if len(text) > LONGEST:
        return f"{type(value).__name__} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def difference(kept: Identity, here: Identity) -> str | None:
    """Return in which way a checkpoint is of another fit; None if it is of this one."""
    if kept["estimator"] != here["estimator"]:
        return f"it is a checkpoint of {kept['estimator']}, and this is {here['estimator']}"
    names = sorted(kept["parameters"].keys() | here["parameters"].keys())
    pairs = [(name, kept["parameters"].get(name), here["parameters"].get(name)) for name in names]
    others = [f"{name} was {then} and is {now}" for name, then, now in pairs if then != now]
    if others:
        return f"its parameters are others: {'; '.join(others)}"
    if kept["shape"] != here["shape"]:
        return f"X had the shape {tuple(kept['shape'])} and has {tuple(here['shape'])}"
    for name, what in FINGERPRINTS.items():
        if kept[name] != here[name]:
            return f"its data are others: {what}"
    return None


def write_checkpoint(path: str | Path, content: dict[str, Any]) -> None:
    """Write dicts, lists, text, numbers and arrays of numbers, atomically."""
    aside: list[NDArray[Any]] = []
    document = {"semisvm": __version__, "content": to_plain(content, aside)}
    try:
        write_archive(path, document, {str(k): a for k, a in enumerate(aside)}, CHECKPOINT)
    except ModelFileError as error:
        raise DataError(error.message, path) from error


def read_checkpoint(path: str | Path) -> dict[str, Any]:
    """Read what `write_checkpoint` wrote, or raise a CheckpointError (a DataError if not there)."""
    try:
        return _read(path)
    except DataError:
        raise
    except ModelFileError as error:
        # the file of another program is not to be deleted
        other = CHECKPOINT.words in error.message
        reason = error.message if other else f"this checkpoint is damaged: {error.message} {AGAIN}"
        raise CheckpointError(reason, path) from error
    # json and numpy raise errors of many kinds for what is not what they expect
    except Exception as error:
        what = f"{type(error).__name__}: {str(error)[:200]}"
        raise CheckpointError(f"this checkpoint is damaged ({what}). {AGAIN}", path) from error


def _read(path: str | Path) -> dict[str, Any]:
    document, arrays, _ = read_archive(path, kind=CHECKPOINT)
    version = document["semisvm"]
    if version != __version__:
        raise CheckpointError(
            f"this checkpoint was written by semisvm {str(version)[:40]}, and this is "
            f"{__version__}, whose steps may be others. Go on with that version. {AGAIN}",
            path,
        )
    aside = [arrays[str(k)] for k in range(len(arrays))]
    content = from_plain(document["content"], aside=aside)
    if not isinstance(content, dict):
        raise ValueError("it has no content")
    return content


MOST, LEAST = 1e75, 1e-75
"""Sizes of weights, prices and temperatures. Rows are as long as 1e75 at most, so that scores have
finite squares; others could keep a label step in its loop for ever."""


def vector(size: str, *, unbounded: bool = False) -> Check:
    """Require a vector in double precision; prices of classes without rows may be -inf."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.ndim != 1:
            raise refuse(where, "a vector of numbers in double precision")
        agree(size, len(value), where, sizes)
        if not ((np.abs(value) <= MOST) | (unbounded & (value == -np.inf))).all():
            raise refuse(where, f"a vector of numbers up to {MOST:g}")

    return check


def extended(value: Any, where: str, sizes: Sizes) -> None:
    """Require a number that may be infinite, as a best value is before there is one."""
    if type(value) not in (int, float) or math.isnan(value):
        raise refuse(where, "a number")


WEIGHTS = vector("weights")
PRICES = vector("classes", unbounded=True)
STATE: dict[str, Check] = {
    "w": WEIGHTS,
    "objective": extended,
    "gradient_norm": extended,
    "gap": extended,
    "n_iter": whole(),
    "cg_steps": whole(),
    "n_active": whole(),
    "converged": flag,
}
SNAPSHOT = Record(
    {},
    {
        # of the start, which is a state and nothing else
        **STATE,
        "state": Record(STATE),
        "gradient": optional(WEIGHTS),
        "best": WEIGHTS,
        "chosen_at": WEIGHTS,
        "solved": optional(number(LEAST, MOST)),
        "switched": listed(whole()),
        "anticipating": flag,
        "temperature": number(LEAST, MOST),
        "price": optional(either(number(-MOST, MOST), PRICES)),
        "prices": optional(PRICES),
        "hard_prices": optional(PRICES),
        "entropies": listed(extended, length=2),
        "energy": optional(extended),
        "lowest": extended,
        "here": extended,
        "best_key": listed(extended, length=2),
        "sampled": optional(whole(1)),
        "step": optional(WEIGHTS),
        "before": optional(WEIGHTS),
        "product": extended,
        "exact": flag,
        "lam": optional(number(LEAST, MOST)),
        "moved": flag,
        "facts": mapping(text, extended),
        "search": Record({"idle": whole(), "lowest": extended, "slow": flag, "smallest": extended}),
    },
)
PLACE = Record({"level": whole(), "iteration": whole(), "rounds": whole(), "settled": flag})
TRACE_ROW = Record({"phase": text, "seconds": number(0.0)}, {"passes": number(0.0)}, others=scalar)
IDENTITY = Record(
    {
        "estimator": text,
        "parameters": mapping(text, text),
        "shape": listed(whole(), length=2),
        "classes": whole(),
        "threads": whole(1),
        **dict.fromkeys(FINGERPRINTS, text),
    },
)
ABOUT = Record({"identity": IDENTITY, "finished": flag}, others=anything)
"""What identifies the fit of a checkpoint."""
PLACES = Record(
    {
        "phases": listed(Record({"name": text, "place": PLACE, "snapshot": optional(SNAPSHOT)})),
        "rows": listed(TRACE_ROW),
        "notes": listed(text),
        "seconds": number(0.0),
    },
    others=anything,
)
"""What a fit goes on from."""


class Checkpoint(FitKeeper):
    """A callback that keeps a fit in a file, from which it can go on after it was stopped.

    The file is written at the end of every level, and after a round if the last writing is
    ``every`` seconds ago or more. It appears whole or not at all: a process that is killed, at
    any moment, leaves the last one. It holds a few vectors over columns and the place in the
    schedule, no rows, and no pickle. Ctrl-C, and any error, writes the last place and reports how
    to go on.

    The resumed fit ends with the same model as one that was never interrupted, bit for bit, on
    the same machine with the same number of threads and the same versions of NumPy, SciPy and
    Numba. For this, scores and labels are computed anew after every round of a fit with a
    checkpoint, so it rounds differently from a fit without one.

    Resuming is a matter of this object, not an argument of ``fit``: it then works wherever a
    parameter does, such as in a pipeline, no estimator has one argument more, and a script that
    is started again goes on without a change.

    Parameters
    ----------
    path : str or Path
        File to write; it must not be that of an unfinished fit, unless this is resumed.
    every : float, default=60.0
        Seconds after which the file is written within a level. Rounds are not divided: one that
        takes longer is kept when it ends.
    resume : bool, default=False
        Go on from the file, if there is one. It must be of the same data, parameters
        (``n_jobs``, ``verbose`` and ``callback`` apart) and version of semisvm.
    callback : callable, optional
        Another callback, called with each row of the trace; the fit stops when it returns
        True, and can go on from there later.

    See Also
    --------
    TransductiveSVC, AnnealedSVC, NewtonSVC : The estimators that take it, as ``callback``.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import Checkpoint, TransductiveSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, y[::2] = scale(X), -1
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.checkpoint")
    >>> early = Checkpoint(path, callback=lambda row: row["level"] == 3)
    >>> _ = TransductiveSVC(reg=0.1, callback=early).fit(X, y)  # stopped at level 3
    >>> late = TransductiveSVC(reg=0.1, callback=Checkpoint(path, resume=True)).fit(X, y)
    >>> whole = TransductiveSVC(reg=0.1, callback=Checkpoint(path)).fit(X, y)
    >>> bool((late.coef_ == whole.coef_).all())
    True
    """

    def __init__(
        self,
        path: str | Path,
        every: float = 60.0,
        *,
        resume: bool = False,
        callback: Callable[[Mapping[str, Any]], Any] | None = None,
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"path must be that of a file, got {path!r}.")
        if isinstance(every, bool) or not isinstance(every, (int, float)) or not every >= 0:
            raise ValueError(f"every must be a number of seconds, got {every!r}.")
        if callback is not None and not callable(callback):
            raise ValueError(f"callback must be a function or None, got {callback!r}.")
        self.path = Path(path)
        self.every = every
        self.resume = resume
        self.callback = callback

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, every={self.every!r}, resume={self.resume!r})"

    def __call__(self, row: Mapping[str, Any]) -> Any:
        """Pass a row of the trace to the other callback."""
        return None if self.callback is None else self.callback(row)

    def open(self, identity: Identity) -> "FileStore":
        """Check the file, and prepare it for one fit.

        Raises
        ------
        CheckpointError
            If the file is damaged or of another fit; or of an unfinished one that is not
            to be resumed.
        DataError
            If the file cannot be written.
        """
        check_place(self.path)
        here = as_text(identity)
        found = self._read() if self.path.exists() else None
        if found is not None and self.resume:
            found = self._same(found, here)
        elif found is not None and not found["finished"]:
            raise CheckpointError(
                "this is the checkpoint of an unfinished fit. Go on from it with resume=True. "
                + AGAIN,
                self.path,
            )
        return FileStore(self, here, found if self.resume else None)

    def _read(self) -> dict[str, Any]:
        """Return a checkpoint with the identity of its fit, or raise."""
        found = read_checkpoint(self.path)
        self._check(ABOUT, found, {})
        return found

    def _check(self, check: Check, found: dict[str, Any], sizes: Sizes) -> None:
        wrong = complaint(check, found, "its content", sizes)
        if wrong is not None:
            raise CheckpointError(f"this checkpoint is damaged: {wrong} {AGAIN}", self.path)

    def _same(self, found: dict[str, Any], here: Identity) -> dict[str, Any]:
        """Return a checkpoint that is of this fit, or raise."""
        kept = found["identity"]
        reason = difference(kept, here)
        if reason is not None:
            raise CheckpointError(
                f"the fit cannot go on from this checkpoint: {reason}. {AGAIN}", self.path
            )
        self._check(PLACES, found, {"classes": here["classes"]})
        then, now, notes = kept["threads"], here["threads"], list(found["notes"])
        if then != now:
            notes.append(SEVERAL_THREADS.format(now=now, then=then))
        return {**found, "notes": notes}

    def how_to_resume(self) -> str:
        """Return how to go on after the fit was stopped."""
        return (
            f"{self.path} holds the fit up to its last round; to go on, fit again with "
            f"callback=Checkpoint({str(self.path)!r}, resume=True)"
        )

    def wrote(self) -> None:
        """Do nothing, after each writing; subclasses may override it."""


class FileStore:
    """The file of one fit, with its identity as text and what to go on from, if anything."""

    def __init__(
        self, checkpoint: Checkpoint, identity: Identity, found: dict[str, Any] | None
    ) -> None:
        self._checkpoint = checkpoint
        self._identity = identity
        self._found = found
        self._last = perf_counter()
        self._warned = False

    def read(self) -> dict[str, Any] | None:
        """Return what to go on from, if anything."""
        found, self._found = self._found, None
        return found

    def is_due(self) -> bool:
        """Return whether the last writing is ``every`` seconds ago."""
        return perf_counter() - self._last >= self._checkpoint.every

    def write(self, content: dict[str, Any]) -> bool:
        """Replace the file. A disk that is full must not end the fit: warn, and try again later."""
        try:
            write_checkpoint(self._checkpoint.path, {"identity": self._identity, **content})
        except DataError as error:
            if not self._warned:
                self._warned = True
                message = f"the checkpoint was not written, and the fit goes on: {error}"
                warnings.warn(message, UserWarning, stacklevel=2)
            return False
        finally:
            self._last = perf_counter()
        self._checkpoint.wrote()
        return True

    def describe(self) -> str:
        """Return how to go on from the file."""
        return self._checkpoint.how_to_resume()

    def refuse(self, reason: str) -> CheckpointError:
        """Return the error with the reason why the file cannot be used."""
        message = f"the fit cannot go on from this checkpoint: {reason}. {AGAIN}"
        return CheckpointError(message, self._checkpoint.path)
