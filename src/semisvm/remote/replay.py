"""Which questions a block has to answer again to get into the state that it was in.

A block that is lost is made anew from its rows, and is asked again what made its state. Most
questions change nothing, and much of what others did has been overwritten since. Every question
that changes a block is listed with the parts of the state that it

- reads,
- sets, whatever they were before,
- changes.

Walking back from the last question, one is needed if it sets or changes a part that is still
live; a part is live until a needed question sets it, and what a needed question reads is live
before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from semisvm.remote.shard import Question


@dataclass(frozen=True)
class Effect:
    """What a question does to the state of a block."""

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
    "move": _effect("scores step", "curvature gaps", "scores"),
    "advance": _effect("scores step costs spared", "curvature gaps", "scores"),
    "charge_given": _effect(sets="costs spared curvature"),
    "charge_labels": _effect("labels", "costs spared curvature beliefs before solved"),
    "charge_beliefs": _effect("beliefs", "costs spared curvature beliefs"),
    "rest": _effect(sets="costs spared curvature step"),
    "curvature": _effect("scores costs spared curvature", "spared"),
    "linearize": _effect("scores costs spared", "curvature step"),
    "look": _effect("costs", "step curvature"),
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
    "charge_given": _effect(sets="costs"),
    "charge_labels": _effect("labels", "costs solved"),
    "charge_beliefs": _effect("beliefs", "costs"),
    "rest": _effect(sets="costs step"),
    "look": _effect("costs", "step"),
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
    {"score", "shift", "move", "look", "charge_given", "charge_labels", "charge_beliefs"}
    | {"rest", "switch", "mark_labels", "relabel", "restore_beliefs", "adopt_beliefs"}
)
"""Questions without an answer: they travel with the next one that has one."""


def needed(log: Sequence[Question], effects: dict[str, Effect]) -> list[Question]:
    """Return the questions of a log that the state of the blocks still depends on, in order."""
    live = frozenset[str]().union(*(one.sets | one.changes for one in effects.values()))
    kept: list[Question] = []
    for question in reversed(log):
        effect = effects[_kind(question)]
        if live & (effect.sets | effect.changes):
            kept.append(question)
            live = (live - effect.sets) | effect.reads
    return kept[::-1]


def _kind(question: Question) -> str:
    """Return the name of a question; of one that does more on demand, with the demand."""
    name, arguments, _ = question
    return "soften, keep" if name == "soften" and arguments[3:] == (True,) else name
