"""Blocks of rows with every vector over them, and the objective over all blocks."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.tasks.many_beliefs import ManyScoreBlock
    from semisvm.tasks.many_scores_driver import ManyScoreRows
    from semisvm.tasks.one_score import OneScoreBlock
    from semisvm.tasks.one_score_driver import OneScoreRows

_HOMES = {
    "ManyScoreBlock": "semisvm.tasks.many_beliefs",
    "ManyScoreRows": "semisvm.tasks.many_scores_driver",
    "OneScoreBlock": "semisvm.tasks.one_score",
    "OneScoreRows": "semisvm.tasks.one_score_driver",
}

__all__ = [
    "ManyScoreBlock",
    "ManyScoreRows",
    "OneScoreBlock",
    "OneScoreRows",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
