"""Blocks of rows, which own all vectors over rows, and the driver's view of all blocks."""

from semisvm.blocks.many_beliefs import ManyScoreBlock
from semisvm.blocks.one_score import OneScoreBlock
from semisvm.blocks.rows import ManyScoreRows, OneScoreRows, Rows

__all__ = ["ManyScoreBlock", "ManyScoreRows", "OneScoreBlock", "OneScoreRows", "Rows"]
