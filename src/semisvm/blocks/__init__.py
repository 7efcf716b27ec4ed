"""Blocks of rows, which own all vectors over rows, and the driver's view of all blocks."""

from semisvm.blocks.many_beliefs import ManyScoreBlock
from semisvm.blocks.many_score_rows import ManyScoreRows
from semisvm.blocks.one_score import OneScoreBlock
from semisvm.blocks.one_score_rows import OneScoreRows
from semisvm.blocks.rows import Rows

__all__ = ["ManyScoreBlock", "ManyScoreRows", "OneScoreBlock", "OneScoreRows", "Rows"]
