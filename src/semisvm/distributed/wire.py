"""Calls to blocks of remote shards: few rounds, and a log from which lost blocks are restored.

All of this follows from the declarations of the operations (`semisvm.tasks.operations`).

*Rounds.* Silent operations wait for the next one with a result. Small results that are mostly
wanted after another one are computed along with it, and kept until an operation sets or changes
what they read.

*The log.* A block that is lost is made anew from its rows, and the operations that made its state
are repeated. Most operations change nothing, and much of what others did has been overwritten
since. Walking back from the last operation, one is needed if it sets or changes a part of the state
that is still live; a part is live until a needed operation sets it, or any operation frees it, and
what a needed operation reads is live before it.

*Why a log.* The other road to restore a lost block is that of checkpoints: all methods would go
back to the ``snapshot()`` at the end of their last round, on all shards. That is more code, not
less: the declarations are needed for the rounds anyway, and make the log the sixty lines of
`needed`, `Wire._remember` and `Scored`, whereas going back needs a way out of every solver, a
snapshot of methods that have none (those without rounds, and those that switch labels pair by
pair), and the work of a round is lost. With the log the loss of a worker does not change a fit by
a single bit.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from semisvm.designs import Floats
from semisvm.tasks.driver import Block
from semisvm.tasks.operations import Call, Operation, operations_of


def needed(log: Sequence[Call], kind: type[Block]) -> list[Call]:
    """Return the calls of a log on which the state of the blocks still depends, in order."""
    operations, live, kept = operations_of(kind), frozenset(kind.STATE), []
    for call in reversed(log):
        declared = operations[call.name]
        live -= declared.frees
        if live & declared.effects:
            kept.append(call)
            live = (live - declared.sets) | declared.reads
    return kept[::-1]


# Scores are computed anew from the weights after so many steps, so that a block that is lost
# need not repeat more; with very many columns after fewer, since the driver keeps the steps.
MOST_STEPS = 32
FEWEST_STEPS = 4
STEP_BYTES = 1 << 26
PRUNE_AFTER = 64


class Shards(Protocol):
    """Where operations are run."""

    chunks: Sequence[Sequence[int]]
    """Per shard, the numbers of its chunks."""

    def run(
        self, calls: Sequence[Sequence[Call]], before: Callable[[int], Sequence[Call]]
    ) -> Sequence[Sequence[Sequence[Any]]]:
        """Run operations on each shard, in one round.

        ``before(shard)`` returns what a shard that is made anew must run first.
        """
        ...


class Wire:
    """Call blocks of several shards; see `semisvm.tasks.driver.Rows`.

    Parameters
    ----------
    shards : Shards
    kind : class of the blocks
    """

    def __init__(self, shards: Shards, kind: type[Block]) -> None:
        self._shards = shards
        self._kind = kind
        self._operations = operations_of(kind)
        # names of the operations that had to be called so far
        self._called: set[str] = set()
        # results that were computed along with others
        self._ahead: dict[str, Sequence[Any]] = {}
        self._waiting: list[Call] = []
        self._log: list[Call] = []
        self._prune_at = PRUNE_AFTER
        self._scored = Scored()

    def __call__(self, call: Call) -> Sequence[Any]:
        """Run an operation on all blocks; return one result per block, or per shard."""
        declared = self._operations[call.name]
        if call.name in self._ahead:
            return self._ahead[call.name]
        if declared.effects:
            # it may be repeated later, when the driver has changed its vectors
            kept = (a.copy() if isinstance(a, np.ndarray) else a for a in call.arguments)
            call = Call(call.name, tuple(kept), call.each)
        self._forget(declared)
        if declared.silent:
            self._waiting.append(call)
            self._follow_scores(declared, call)
            return ()
        calls, self._waiting = [*self._waiting, call], []
        self._called.add(call.name)
        along = [
            Call(other.name, ())
            for other in self._operations.values()
            # not what was never called: the labelled rows may be too many for it
            if call.name in other.follows and other.name in self._called
        ]
        found = self._send([*calls, *along], 1 + len(along))
        self._remember(calls)
        self._ahead.update(
            {other.name: result for other, result in zip(along, found[1:], strict=True)}
        )
        self._follow_scores(declared, call)
        return found[0]

    def _forget(self, declared: Operation) -> None:
        """Forget results that an operation makes wrong."""
        for other in [
            name for name in self._ahead if self._operations[name].reads & declared.effects
        ]:
            del self._ahead[other]

    def _send(self, calls: Sequence[Call], wanted: int) -> list[Sequence[Any]]:
        """Return the results of the last calls."""
        chunks = self._shards.chunks
        parts = self._shards.run(
            [_of_shard(calls, own) for own in chunks],
            lambda shard: _of_shard(needed(self._log, self._kind), chunks[shard]),
        )
        results = zip(*(part[-wanted:] for part in parts), strict=True)
        return [
            self._in_order(self._operations[call.name], of_shards)
            for call, of_shards in zip(calls[-wanted:], results, strict=True)
        ]

    def _in_order(self, declared: Operation, of_shards: Sequence[Sequence[Any]]) -> list[Any]:
        """Return results in the order of the blocks, or of the shards, which combined theirs."""
        if declared.combine is not None:
            return [result for [result] in of_shards]
        found: dict[int, Any] = {}
        for own, results in zip(self._shards.chunks, of_shards, strict=True):
            found.update(zip(own, results, strict=True))
        return [found[chunk] for chunk in sorted(found)]

    def _remember(self, calls: Sequence[Call]) -> None:
        changing = [call for call in calls if self._operations[call.name].effects]
        again = bool(changing and self._log) and changing[0].name == self._log[-1].name
        if again and self._operations[changing[0].name].idempotent:
            # one of many products in a row does what all of them do
            self._log.pop()
        self._log += changing
        if len(self._log) > self._prune_at:
            self._log = needed(self._log, self._kind)
            self._prune_at = 2 * len(self._log) + PRUNE_AFTER

    def _follow_scores(self, declared: Operation, call: Call) -> None:
        """Have the scores computed anew after many steps, which a lost block would repeat."""
        w = self._scored.follow(declared, call.arguments)
        if w is not None:
            [again] = (one for one in self._operations.values() if one.weights == "given")
            self._waiting.append(Call(again.name, (w,)))
            self._forget(again)


class Scored:
    """The weights of which the blocks have the scores, and how many steps led there."""

    def __init__(self) -> None:
        self.w: Floats | None = None
        self._step: Floats | None = None
        self._n_steps = 0

    def follow(self, declared: Operation, arguments: tuple[Any, ...]) -> Floats | None:
        """Follow a call; return weights of which it is time to compute the scores anew."""
        if declared.weights == "given":
            self.w, self._n_steps = arguments[0].copy(), 0
        elif declared.weights == "unknown":
            self.w = None
        elif declared.weights == "step":
            self._step = arguments[0]
        elif declared.weights == "moved" and self.w is not None:
            assert self._step is not None
            self.w += arguments[0] * self._step
            self._n_steps += 1
            if self._n_steps >= max(FEWEST_STEPS, min(MOST_STEPS, STEP_BYTES // self.w.nbytes)):
                self._n_steps = 0
                return self.w.copy()
        return None


def _of_shard(calls: Sequence[Call], chunks: Sequence[int]) -> Sequence[Call]:
    """Return calls with the arguments of some chunks only."""
    if all(call.each is None for call in calls):
        # the same object for all shards, so that it is packed once
        return calls
    return [
        Call(*call[:2], None if call.each is None else [call.each[chunk] for chunk in chunks])
        for call in calls
    ]
