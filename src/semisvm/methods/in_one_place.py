"""Shared by methods that need all rows in one place and hold vectors over them."""

from dataclasses import dataclass, field

import numpy as np

from semisvm.blocks import OneScoreBlock
from semisvm.designs import Floats
from semisvm.solvers import State


@dataclass
class ScoredState(State):
    """A state with the scores of all rows."""

    scores: Floats = field(default_factory=lambda: np.empty(0))


def scores_of(block: OneScoreBlock, w: Floats) -> Floats:
    """Compute the scores of all rows."""
    design = block.design
    return design.scores(w, design.all_rows, np.zeros(design.n_rows))
