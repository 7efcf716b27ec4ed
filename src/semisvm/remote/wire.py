"""The way of questions to blocks that are elsewhere: few rounds, and a log to repeat them from."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from semisvm.designs import Floats
from semisvm.remote.replay import MANY_SCORES, ONE_SCORE, SILENT, needed
from semisvm.remote.shard import Question

# Scores are computed anew from the weights after so many steps, so that a block that is lost
# need not repeat more; with very many columns after fewer, since the driver keeps the steps.
MOST_STEPS = 32
FEWEST_STEPS = 4
STEP_BYTES = 1 << 26
PRUNE_AFTER = 64


class Shards(Protocol):
    """Where questions go."""

    chunks: Sequence[Sequence[int]]
    """Per shard, the numbers of its chunks."""

    def ask(
        self,
        questions: Sequence[Sequence[Question]],
        before: Callable[[int], Sequence[Question]],
    ) -> Sequence[Sequence[Sequence[Any]]]:
        """Ask each shard its questions, in one round.

        ``before(shard)`` returns what a shard that is made anew must be asked first.
        """
        ...


class Wire:
    """Ask blocks of several shards; see `semisvm.blocks.rows.Rows`.

    Questions without an answer wait for the next one that has one, and travel with it.

    Parameters
    ----------
    shards : Shards
    one_score : bool
    """

    def __init__(self, shards: Shards, one_score: bool) -> None:
        self._shards = shards
        self._effects = ONE_SCORE if one_score else MANY_SCORES
        self._n_blocks = sum(len(chunks) for chunks in shards.chunks)
        self._waiting: list[Question] = []
        self._log: list[Question] = []
        self._prune_at = PRUNE_AFTER
        self._scored = Scored()

    def __call__(
        self, name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] | None = None
    ) -> Sequence[Any]:
        """Call a method of every block, optionally with further arguments per block."""
        changes = name in self._effects
        question = (name, _kept(arguments) if changes else arguments, each)
        if name in SILENT:
            self._waiting.append(question)
            self._follow_scores(question)
            return [None] * self._n_blocks
        questions, self._waiting = [*self._waiting, question], []
        answers = self._send(questions)
        self._remember(questions)
        self._follow_scores(question)
        return answers

    def _send(self, questions: Sequence[Question]) -> Sequence[Any]:
        """Return the answers to the last question, in the order of the blocks."""
        chunks = self._shards.chunks
        parts = self._shards.ask(
            [_of_shard(questions, own) for own in chunks],
            lambda shard: _of_shard(needed(self._log, self._effects), chunks[shard]),
        )
        found: list[Any] = [None] * self._n_blocks
        for own, part in zip(chunks, parts, strict=True):
            for chunk, answer in zip(own, part[-1], strict=True):
                found[chunk] = answer
        return found

    def _remember(self, questions: Sequence[Question]) -> None:
        self._log += [question for question in questions if question[0] in self._effects]
        if len(self._log) > self._prune_at:
            self._log = needed(self._log, self._effects)
            self._prune_at = 2 * len(self._log) + PRUNE_AFTER

    def _follow_scores(self, question: Question) -> None:
        """Have the scores computed anew after many steps."""
        w = self._scored.follow(*question[:2])
        if w is not None:
            self._waiting.append(("score", (w,), None))


class Scored:
    """The weights of which the blocks have the scores, and how many steps led there."""

    def __init__(self) -> None:
        self.w: Floats | None = None
        self._step: Floats | None = None
        self._n_steps = 0

    def follow(self, name: str, arguments: tuple[Any, ...]) -> Floats | None:
        """Follow a question; return weights of which it is time to compute the scores anew."""
        if name == "score":
            w, labeled_only = (*arguments, False)[:2]
            self.w, self._n_steps = (None if labeled_only else w.copy()), 0
        elif name == "shift":
            self.w = None
        elif name == "look":
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
    """Return questions with the further arguments of some chunks only."""
    if all(each is None for _, _, each in questions):
        return questions
    return [
        (name, arguments, None if each is None else [each[chunk] for chunk in chunks])
        for name, arguments, each in questions
    ]
