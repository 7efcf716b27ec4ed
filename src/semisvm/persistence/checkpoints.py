"""The callback that keeps a fit in a file."""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from semisvm.persistence.checkpoint_files import (
    ABOUT,
    AGAIN,
    PLACES,
    CheckpointError,
    as_text,
    difference,
    read_checkpoint,
    write_checkpoint,
)
from semisvm.persistence.checks import Check, Sizes, complaint
from semisvm.solvers.snapshots import FitKeeper, Identity
from semisvm.tables.errors import DataError
from semisvm.tables.writing import check_place

SEVERAL_THREADS = (
    "the fit was resumed with {now} threads after {then}: sums are added in another order, so the "
    "last bits differ from those of an uninterrupted fit"
)


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
        said = complaint(check, found, "its content", sizes)
        if said is not None:
            raise CheckpointError(f"this checkpoint is damaged: {said} {AGAIN}", self.path)

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
    """The file of one fit.

    Parameters
    ----------
    checkpoint : Checkpoint
    identity : dict
        With parameters as text.
    found : dict, optional
        What to go on from.
    """

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
