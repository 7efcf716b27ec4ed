"""Places of a fit, each with what is needed to continue from there in another process.

A fit is a sequence of phases: the supervised start, and one or several runs of the loop. Its
place is the phase, the level and the round. ``recorder.journal`` is called at each:

==========================  ==========================  ==================================
call                        without a checkpoint        with one
==========================  ==========================  ==================================
``once(phase, solve)``,     solves                      solves and keeps the state; a
in `first_state`                                        resumed fit returns it
``begin(phase, method)``,   begins at level 0           a resumed fit calls
at the start of `follow`                                ``method.restore(snapshot)`` and
                                                        begins at the kept level and round
``keep(place)``, after      nothing                     ``method.restore(method.snapshot())``,
every round of `follow`                                 and perhaps writes
==========================  ==========================  ==================================

``keep`` has the method restore **its own** snapshot: scores are computed anew from the weights,
labels from the scores. From there the fit that goes on at once and the one that goes on in another
process do the same arithmetic on the same numbers, so they end with the same model, bit for bit. A
fit that is not kept skips all this. ``tests/unit/persistence/test_resuming.py`` tests the two
conditions for every method:

- after ``restore``, nothing that the method or the blocks do depends on what happened before, other
  than through the snapshot;
- a snapshot is plain data: dicts, lists, numbers, text and arrays, which the file keeps exactly.

When a fit is resumed its code runs from the beginning: finished phases return their results, which
takes a few passes over the rows, and what is between phases (a new method for the best point of
the path) is computed again. So a new method, or a fit of more phases, needs no code for checkpoints
but the two functions.

Estimators and the loop use only the protocol (`FitKeeper`, `Store`). `semisvm.persistence`
implements it: the callback `Checkpoint`, the file, and the comparison of fingerprints
(`identity_of`, `semisvm.designs.fingerprints`).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.fingerprints import fingerprint, fingerprint_of_rows
from semisvm.labels.partial import PartialLabels
from semisvm.solvers.newton import State

if TYPE_CHECKING:
    from semisvm.methods.loop import Resumable, Steps
    from semisvm.solvers.trace import Recorder

Snapshot = dict[str, Any]
Identity = dict[str, Any]
WITHOUT_EFFECT = ("callback", "verbose", "n_jobs")
"""Parameters of an estimator that do not change the model, up to rounding."""


def identity_of(
    estimator: Any, X: Any, labels: PartialLabels, weight: Floats | None, threads: int
) -> Identity:
    """Return what the fit of an estimator depends on, as plain data.

    Parameters
    ----------
    estimator : estimator
    X : matrix of shape (n, d)
        What the fit reads: of a kernel, its features.
    labels : PartialLabels
    weight : array of shape (n,), optional
        Sample weights.
    threads : int
        Threads, or shards of rows in parts: they change the last bits.
    """
    parameters = estimator.get_params(deep=False)
    warm = parameters.get("warm_start") and hasattr(estimator, "coef_")
    start = [estimator.node_coef_, estimator.node_intercept_] if warm else []
    classes = np.frombuffer(repr(labels.classes.tolist()).encode(), dtype=np.uint8)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {k: v for k, v in parameters.items() if k not in WITHOUT_EFFECT},
        "shape": list(X.shape),
        "classes": len(labels.classes),
        "type": X.dtype.str,
        "rows": fingerprint_of_rows(X),
        "labels": fingerprint(labels.codes, classes),
        "weights": fingerprint(*([] if weight is None else [weight])),
        "evidence": fingerprint(*([] if labels.evidence is None else [labels.evidence])),
        "start": fingerprint(*start),
        "threads": threads,
    }


@dataclass
class Place:
    """Where a run of the loop is.

    Attributes
    ----------
    level, iteration : int
        The next level and round; round 0 is that at which a level is entered.
    rounds : int
        Rounds so far, over all levels.
    settled : bool
        Whether nothing changed in the last round.
    """

    level: int = 0
    iteration: int = 0
    rounds: int = 0
    settled: bool = False


@dataclass(frozen=True)
class Phase:
    """A phase as far as it got; without a snapshot it is at its beginning."""

    name: str
    place: Place
    snapshot: Snapshot | None = None


@dataclass(frozen=True)
class Kept:
    """A place of a whole fit.

    Attributes
    ----------
    phases : tuple of Phase
        The last one is under way.
    n_rows, n_notes : int
        Length of the trace.
    seconds : float
        Time of the fit so far.
    """

    phases: tuple[Phase, ...] = ()
    n_rows: int = 0
    n_notes: int = 0
    seconds: float = 0.0


class Store(Protocol):
    """Where places are kept, by a callback that is a `FitKeeper`."""

    def read(self) -> dict[str, Any] | None:
        """Return what was written last, to go on from there; None to start at the beginning."""
        ...

    def is_due(self) -> bool:
        """Return whether the last writing is so long ago that the next place is to be written."""
        ...

    def write(self, content: dict[str, Any]) -> bool:
        """Write plain data and arrays in place of the last ones; return whether it succeeded."""
        ...

    def describe(self) -> str:
        """Return where it is, in words, for a fit that ends early."""
        ...

    def refuse(self, reason: str) -> Exception:
        """Return the error with the reason why what was read cannot be used."""
        ...


class FitKeeper(ABC):
    """A callback that also keeps the places of a fit, such as `semisvm.Checkpoint`."""

    @abstractmethod
    def __call__(self, row: Any) -> Any:
        """See a row of the trace; True stops the fit."""

    @abstractmethod
    def open(self, identity: Identity) -> Store:
        """Prepare the store of one fit, or refuse.

        Parameters
        ----------
        identity : dict
            What the fit is a function of: estimator, parameters, fingerprints of the data.
        """


class Journal:
    """What the loop calls at its places; this one keeps nothing.

    Attributes
    ----------
    keeps : bool
        Whether places are kept.
    """

    keeps = False

    def begin(self, phase: str, method: "Steps") -> Place:
        """Enter a phase of the loop; return where to begin."""
        return Place()

    def keep(self, place: Place) -> None:
        """Keep the place of the phase that was entered last, after a round."""

    def once(self, phase: str, n_weights: int, solve: Callable[[], State]) -> State:
        """Return what a phase without rounds finds, or had found before."""
        return solve()


class KeptJournal(Journal):
    """A journal in a store.

    Parameters
    ----------
    recorder : Recorder
        Of the fit; gets the trace of the fit that is resumed.
    store : Store
    """

    keeps = True

    def __init__(self, recorder: "Recorder", store: Store) -> None:
        self._recorder = recorder
        self._store = store
        # phases of the fit that is resumed, to be entered again
        self._known: tuple[Phase, ...] = ()
        self._method: Resumable | None = None
        # all that is written: replaced as a whole, so that no signal finds half of it
        self._now = Kept()
        self._pending = False
        self._written = False
        # a fit that the callback has stopped still does a little: that is not kept
        self._closed = False
        content = store.read()
        if content is not None:
            self._resume(content)

    def _resume(self, content: dict[str, Any]) -> None:
        self._written = True
        try:
            self._known = tuple(
                Phase(phase["name"], Place(**phase["place"]), phase["snapshot"])
                for phase in content["phases"]
            )
            self._recorder.take_up(content["rows"], content["notes"], content["seconds"])
        except (KeyError, TypeError) as error:
            raise self._refused(f"its parts are not those of a fit ({error})") from error

    def _refused(self, reason: str) -> Exception:
        self._written = False
        return self._store.refuse(reason)

    def begin(self, phase: str, method: "Steps") -> Place:
        """Enter a phase; the method goes back to the snapshot if the phase was kept."""
        resumable = self._method = cast("Resumable", method)
        known = self._enter(phase)
        if known.snapshot is not None:
            reason = _misfit(known.snapshot, resumable.snapshot())
            if reason is not None:
                raise self._refused(reason)
            self._restore(resumable, known.snapshot)
        return replace(known.place)

    def _restore(self, method: "Resumable", snapshot: Snapshot) -> None:
        try:
            method.restore(snapshot)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise self._refused(f"its numbers are not those of this fit ({error})") from error

    def _enter(self, name: str) -> Phase:
        """Add a phase to the place, as it was kept or at its beginning."""
        number = len(self._now.phases)
        phase = self._known[number] if number < len(self._known) else Phase(name, Place())
        if phase.name != name:
            raise self._refused(f"its phase {number} is {phase.name!r} and not {name!r}")
        self._set((*self._now.phases, phase))
        return phase

    def _set(self, phases: tuple[Phase, ...]) -> None:
        trace = self._recorder.trace
        self._now = Kept(phases, len(trace.rows), len(trace.notes), self._recorder.seconds)

    def keep(self, place: Place) -> None:
        """Have the method go back to its snapshot; write it after a level, or if it is time."""
        if self._closed:
            return
        assert self._method is not None
        snapshot = self._method.snapshot()
        self._method.restore(snapshot)
        *before, last = self._now.phases
        self._set((*before, Phase(last.name, replace(place), snapshot)))
        self._pending = True
        self._closed = self._recorder.stopped
        if place.iteration == 0 or self._closed or self._store.is_due():
            self._write()

    def once(self, phase: str, n_weights: int, solve: Callable[[], State]) -> State:
        """Return what a phase without rounds finds, or had found before."""
        known = self._enter(phase)
        if known.snapshot is not None:
            reason = _misfit(known.snapshot, State(np.empty(n_weights)).to_dict())
            if reason is not None:
                raise self._refused(reason)
            return State.from_dict(known.snapshot)
        found = solve()
        if not self._closed:
            *before, _ = self._now.phases
            self._set((*before, Phase(phase, Place(), found.to_dict())))
            self._closed = self._recorder.stopped
            self._write()
        return found

    def finish(self) -> None:
        """Mark the fit as complete."""
        if not self._closed:
            self._write(finished=True)

    def rescue(self, error: BaseException) -> None:
        """Write the last place of a fit that ends early, and add that to the error."""
        if self._pending and not self._closed:
            self._write()
        if self._written:
            error.add_note(self._store.describe())

    def _write(self, finished: bool = False) -> None:
        now, trace = self._now, self._recorder.trace
        content = {
            "finished": finished,
            "phases": [{**vars(phase), "place": asdict(phase.place)} for phase in now.phases],
            "rows": trace.rows[: now.n_rows],
            "notes": trace.notes[: now.n_notes],
            "seconds": now.seconds,
        }
        if self._store.write(content):
            self._pending, self._written = False, True


def _misfit(snapshot: Snapshot, other: Snapshot) -> str | None:
    """Return why a snapshot cannot take the place of another one of the method; None if it can.

    Arrays of a wrong length would be read past their end.
    """
    if snapshot.keys() != other.keys():
        return f"it holds {sorted(snapshot)} and not {sorted(other)}"
    for name, value in other.items():
        found = snapshot[name]
        if isinstance(value, dict) and "w" in value:
            reason = _misfit(found, value) if isinstance(found, dict) else f"it has no {name!r}"
            if reason is not None:
                return reason
        elif isinstance(value, np.ndarray) and np.shape(found) not in (value.shape, ()):
            return f"its {name!r} has another shape"
    return None
