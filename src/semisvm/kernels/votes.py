"""Votes or scores of classifiers as features, which turn an ensemble into a linear model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats


@dataclass(frozen=True)
class VoteMap:
    """One feature per classifier: 1 if it predicts class 1, -1 if it predicts class 0.

    Attributes
    ----------
    members : sequence of fitted classifiers
    """

    members: Sequence[Any]

    @property
    def rank(self) -> int:
        """Number of features."""
        return len(self.members)

    @property
    def pivots(self) -> NDArray[np.intp]:
        """None: only the members themselves may keep training rows."""
        return np.empty(0, dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Compute the votes of all members, shape (n, rank)."""
        return np.column_stack([vote(member, X) for member in self.members])


@dataclass(frozen=True)
class ScoreMap:
    """The scores of classifiers: one feature per member for two classes, one per class for more.

    Attributes
    ----------
    members : sequence of fitted classifiers
    """

    members: Sequence[Any]

    @property
    def rank(self) -> int:
        """Number of features."""
        return sum(len(member.coef_) for member in self.members)

    @property
    def pivots(self) -> NDArray[np.intp]:
        """None: only the members themselves may keep training rows."""
        return np.empty(0, dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Compute the scores of all members, shape (n, rank)."""
        return np.column_stack([member.decision_function(X) for member in self.members])


def vote(member: Any, X: Any) -> Floats:
    """Compute the votes of one classifier for the classes 0 and 1."""
    return np.where(np.asarray(member.predict(X)) == 1, 1.0, -1.0)
