"""Calls to blocks of remote shards: few rounds, and a log from which lost blocks are restored.

A block that is lost is made anew from its rows, and the operations that made its state are
repeated. Most operations change nothing, and much of what others did has been overwritten since.
Every operation that changes a block is listed (`ONE_SCORE`, `MANY_SCORES`) with the parts of the
state that it

- reads,
- sets, whatever they were before,
- changes.

Walking back from the last operation, one is needed if it sets or changes a part that is still
live; a part is live until a needed operation sets it, and what a needed operation reads is live
before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from semisvm.designs import Floats
from semisvm.distributed.shard import Question


@dataclass(frozen=True)
class Effect:
    """What an operation does to the state of a block."""

    reads: frozenset[str]
    sets: frozenset[str]
    changes: frozenset[str]


def _effect(reads: str = "", sets: str = "", changes: str = "") -> Effect:
    return Effect(*(frozenset(names.split()) for names in (reads, sets, changes)))


# Gaps between the losses of the labels are kept until the scores move. Before: the beliefs before.
# Spared: products free half of the costs, which follow from the others up to rounding.
ONE_SCORE = {
    "score": _effect(sets="scores curvature gaps"),
    "shift": _effect("scores", "curvature gaps", "scores"),
    "probe": _effect("scores costs spared", "curvature"),
    "leave_out": _effect("scores costs spared", "curvature gaps", "scores"),
    "move": _effect("scores step", "curvature gaps", "scores"),
    "advance": _effect("scores step costs spared", "curvature gaps", "scores"),
    "set_given_costs": _effect(sets="costs spared curvature"),
    "set_label_costs": _effect("labels", "costs spared curvature beliefs before solved"),
    "set_belief_costs": _effect("beliefs", "costs spared curvature beliefs"),
    "release": _effect(sets="costs spared curvature step"),
    "curvature": _effect("scores costs spared curvature", "spared"),
    "linearize": _effect("scores costs spared", "curvature step"),
    "set_direction": _effect("costs", "step curvature"),
    "cut": _effect("scores", "labels"),
    "switch": _effect("labels", "", "labels"),
    "mark_labels": _effect("labels", "solved"),
    "follow_labels": _effect("scores labels solved", "", "solved"),
    "soften": _effect("scores gaps", "beliefs", "gaps"),
    "soften, keep": _effect("scores gaps beliefs", "beliefs before", "gaps"),
    "gap_range": _effect("scores gaps", "", "gaps"),
    "gap_spread": _effect("scores gaps", "", "gaps"),
    "soft_losses": _effect("scores gaps beliefs", "gaps"),
    "restore_beliefs": _effect("costs spared", "beliefs costs"),
    "divergence": _effect("beliefs costs spared", "costs"),
    "follow_beliefs": _effect("scores beliefs before", "before gaps"),
    "respond": _effect(
        "scores costs spared curvature beliefs", "", "curvature beliefs gaps spared"
    ),
}

MANY_SCORES = {
    "score": _effect(sets="scores"),
    "move": _effect("scores step", "", "scores"),
    "advance": _effect("scores step costs", "", "scores"),
    "set_given_costs": _effect(sets="costs"),
    "set_label_costs": _effect("labels", "costs solved"),
    "set_belief_costs": _effect("beliefs", "costs"),
    "release": _effect(sets="costs step"),
    "set_direction": _effect("costs", "step"),
    "open_table": _effect("scores", "table"),
    "assign": _effect("table", "", "table"),
    "balance": _effect("table", "", "table"),
    "relabel": _effect("table", "", "table"),
    "adopt_table": _effect("table", "labels"),
    "follow_labels": _effect("scores labels solved", "", "solved"),
    "gibbs": _effect("table", "beliefs"),
    "adopt_beliefs": _effect("table beliefs", "", "beliefs"),
    "restore_beliefs": _effect("costs", "beliefs"),
    "respond": _effect("scores beliefs", "response"),
    "answer": _effect("costs beliefs response", "step answers"),
    "answered": _effect("scores costs beliefs response step answers", "step"),
}

SILENT = frozenset(
    {
        "score",
        "shift",
        "leave_out",
        "move",
        "set_direction",
        "set_given_costs",
        "set_label_costs",
        "set_belief_costs",
    }
    | {"release", "switch", "mark_labels", "relabel", "restore_beliefs", "adopt_beliefs"}
)
"""Operations without a result: they travel with the next one that has one."""


def needed(log: Sequence[Question], effects: dict[str, Effect]) -> list[Question]:
    """Return the operations of a log on which the state of the blocks still depends, in order."""
    live = frozenset[str]().union(*(one.sets | one.changes for one in effects.values()))
    kept: list[Question] = []
    for question in reversed(log):
        effect = effects[_kind(question)]
        if live & (effect.sets | effect.changes):
            kept.append(question)
            live = (live - effect.sets) | effect.reads
    return kept[::-1]


def _kind(question: Question) -> str:
    """Return the name of an operation; of one with an option that changes its effect, with it."""
    name, arguments, _ = question
    return "soften, keep" if name == "soften" and arguments[3:] == (True,) else name


# Scores are computed anew from the weights after so many steps, so that a block that is lost
# need not repeat more; with very many columns after fewer, since the driver keeps the steps.
MOST_STEPS = 32
FEWEST_STEPS = 4
STEP_BYTES = 1 << 26
PRUNE_AFTER = 64
PRODUCT = "curvature"


Companions = dict[str, Sequence[tuple[str, tuple[Any, ...]]]]
_CURVATURE = ("labeled_curvature", ())
_POSITIVE = ("count_above", ((0.0,),))
WITH_ONE_SCORE: Companions = {
    "linearize": [_CURVATURE],
    "advance": [_CURVATURE, ("crossing", ()), _POSITIVE],
    "soft_losses": [_POSITIVE],
    "cut": [("losses", ())],
}
WITH_MANY_SCORES: Companions = {
    "linearize": [_CURVATURE],
    "advance": [_CURVATURE],
    "table_cost": [("fit", ()), ("predicted_counts", ())],
    "gibbs": [("second_moments", ())],
}
"""Small operations that mostly follow another one, and are sent with it."""
DEPENDS = {
    "labeled_curvature": {"scores"},
    "crossing": {"scores", "labels"},
    "count_above": {"scores"},
    "losses": {"scores", "labels"},
    "fit": {"scores"},
    "predicted_counts": {"scores"},
    "second_moments": {"beliefs"},
}
"""The parts of the state (see `ONE_SCORE`) on which their results depend."""


class Shards(Protocol):
    """Where operations are run."""

    chunks: Sequence[Sequence[int]]
    """Per shard, the numbers of its chunks."""

    def ask(
        self,
        questions: Sequence[Sequence[Question]],
        before: Callable[[int], Sequence[Question]],
    ) -> Sequence[Sequence[Sequence[Any]]]:
        """Run operations on each shard, in one round.

        ``before(shard)`` returns what a shard that is made anew must run first.
        """
        ...


class Wire:
    """Call blocks of several shards; see `semisvm.tasks.driver.Rows`.

    Operations without a result wait for the next one that has one, and travel with it.

    Parameters
    ----------
    shards : Shards
    one_score : bool
    """

    def __init__(self, shards: Shards, one_score: bool) -> None:
        self._shards = shards
        self._effects = ONE_SCORE if one_score else MANY_SCORES
        self._companions = WITH_ONE_SCORE if one_score else WITH_MANY_SCORES
        self._asked: set[str] = set()
        # results of companions, with their arguments, until something changes them
        self._ahead: dict[str, tuple[tuple[Any, ...], Sequence[Any]]] = {}
        self._n_blocks = sum(len(chunks) for chunks in shards.chunks)
        self._waiting: list[Question] = []
        self._log: list[Question] = []
        self._prune_at = PRUNE_AFTER
        self._scored = Scored()

    def __call__(
        self, name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> Sequence[Any]:
        """Call a method of every block, optionally with further arguments per block."""
        if name in self._ahead and self._ahead[name][0] == arguments:
            return self._ahead[name][1]
        changes = name in self._effects
        question = (name, _kept(arguments) if changes else arguments, each)
        if name in SILENT:
            self._waiting.append(question)
            self._forget(name)
            self._follow_scores(question)
            return [None] * self._n_blocks
        questions, self._waiting = [*self._waiting, question], []
        self._asked.add(name)
        # not of what was never called: the labelled rows may be too many for it
        pairs = self._companions.get(name, ())
        more = [(other, given, None) for other, given in pairs if other in self._asked]
        answers = self._send([*questions, *more], 1 + len(more))
        self._remember(questions)
        self._forget(name)
        for (other, given, _), answer in zip(more, answers[1:], strict=True):
            self._ahead[other] = given, answer
        self._follow_scores(question)
        return answers[0]

    def _forget(self, name: str) -> None:
        """Forget results that an operation has made wrong."""
        if name in self._effects:
            effect = self._effects[name]
            touched = effect.sets | effect.changes
            for other in [one for one in self._ahead if touched & DEPENDS[one]]:
                del self._ahead[other]

    def _send(self, questions: Sequence[Question], wanted: int) -> list[list[Any]]:
        """Return the results of the last operations, each in the order of the blocks."""
        chunks = self._shards.chunks
        parts = self._shards.ask(
            [_of_shard(questions, own) for own in chunks],
            lambda shard: _of_shard(needed(self._log, self._effects), chunks[shard]),
        )
        found: list[list[Any]] = [[None] * self._n_blocks for _ in range(wanted)]
        for own, part in zip(chunks, parts, strict=True):
            for answers, into in zip(part[-wanted:], found, strict=True):
                for chunk, answer in zip(own, answers, strict=True):
                    into[chunk] = answer
        return found

    def _remember(self, questions: Sequence[Question]) -> None:
        changing = [question for question in questions if question[0] in self._effects]
        if changing and self._log and changing[0][0] == self._log[-1][0] == PRODUCT:
            # one of many products in a row does what all of them do
            self._log.pop()
        self._log += changing
        if len(self._log) > self._prune_at:
            self._log = needed(self._log, self._effects)
            self._prune_at = 2 * len(self._log) + PRUNE_AFTER

    def _follow_scores(self, question: Question) -> None:
        """Have the scores computed anew after many steps."""
        w = self._scored.follow(*question[:2])
        if w is not None:
            self._waiting.append(("score", (w,), None))
            self._forget("score")


class Scored:
    """The weights of which the blocks have the scores, and how many steps led there."""

    def __init__(self) -> None:
        self.w: Floats | None = None
        self._step: Floats | None = None
        self._n_steps = 0

    def follow(self, name: str, arguments: tuple[Any, ...]) -> Floats | None:
        """Log an operation; return weights of which it is time to compute the scores anew."""
        if name == "score":
            w, labeled_only = (*arguments, False)[:2]
            self.w, self._n_steps = (None if labeled_only else w.copy()), 0
        elif name in ("shift", "leave_out"):
            self.w = None
        elif name == "set_direction":
            self._step = arguments[0]
        elif name in ("move", "advance") and self.w is not None:
            assert self._step is not None
            self.w += arguments[0] * self._step
            self._n_steps += 1
            if self._n_steps >= max(FEWEST_STEPS, min(MOST_STEPS, STEP_BYTES // self.w.nbytes)):
                self._n_steps = 0
                return self.w.copy()
        return None


def _kept(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments that stay as they are, whatever the driver does to its vectors."""
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)


def _of_shard(questions: Sequence[Question], chunks: Sequence[int]) -> Sequence[Question]:
    """Return operations with the further arguments of some chunks only."""
    if all(each is None for _, _, each in questions):
        return questions
    return [
        (name, arguments, None if each is None else [each[chunk] for chunk in chunks])
        for name, arguments, each in questions
    ]
