"""The one loop of all methods.

A method alternates a weight step (labels fixed) and a label step (weights fixed) until
nothing changes. It does so along a schedule that makes the problem gradually harder: the
weight of the unlabelled rows rises, or a temperature falls.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from semisvm.loop.schedules import Level
from semisvm.loop.trace import Recorder
from semisvm.solvers.newton import State


class Steps(Protocol):
    """What the loop needs from a method: its two steps."""

    def enter(self, level: Level) -> None:
        """Enter a new level."""
        ...

    def weight_step(self, level: Level) -> State:
        """Fit the weights to the labels."""
        ...

    def label_step(self, level: Level) -> tuple[bool, dict[str, Any]]:
        """Choose labels for the weights; return whether they settled, and facts to record."""
        ...


class Resumable(Steps, Protocol):
    """A method that can continue from the end of a round, also in another process.

    A snapshot is small: vectors over columns, and numbers, in dicts and lists. All vectors over
    rows follow from it. What a method does after ``restore`` must depend on nothing else that
    happened before: see `semisvm.loop.journal`.
    """

    def snapshot(self) -> dict[str, Any]:
        """Return what the method needs to continue after the current round, as copies."""
        ...

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to the end of the round at which a snapshot was taken; it stays as it is."""
        ...


def follow(
    phase: str,
    levels: Sequence[Level],
    method: Steps,
    recorder: Recorder,
    max_rounds: int,
    finished: Callable[[], bool] | None = None,
    stride: Callable[[], int] | None = None,
) -> tuple[int, bool]:
    """Run a method along its schedule.

    Parameters
    ----------
    phase : str
        Name of the loop in the trace.
    levels : sequence of Level
    method : Steps
    recorder : Recorder
    max_rounds : int
        Maximum number of rounds (weight step, label step) per level.
    finished : () -> bool, optional
        Called before each level; True skips the rest of the schedule.
    stride : () -> int, optional
        Called after each level; how many levels further the next one is, by default 1.

    Returns
    -------
    rounds : int
        Number of rounds over all levels.
    settled : bool
        Whether the last level ended because nothing changed.
    """
    journal = recorder.journal
    place = journal.begin(phase, method)
    while place.level < len(levels):
        number, first = place.level, place.iteration
        level = levels[number]
        if first == 0:
            if recorder.stopped or (finished is not None and finished()):
                break
            method.enter(level)
        for iteration in range(first, max_rounds):
            weights = method.weight_step(level)
            place.settled, facts = method.label_step(level)
            place.rounds += 1
            recorder.record(
                phase,
                weights,
                level=number,
                value=level.value,
                iteration=iteration,
                progress=level.progress,
                **facts,
            )
            ended = place.settled or iteration + 1 == max_rounds
            place.iteration = 0 if ended else iteration + 1
            if ended:
                place.level += 1 if stride is None else stride()
            journal.keep(place)
            if ended or recorder.stopped:
                break
        recorder.level_done()
        if recorder.stopped:
            break
    return place.rounds, place.settled
