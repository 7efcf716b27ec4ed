"""Votes of classifiers as features: what makes a linear machine of an ensemble."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs import Floats


@dataclass(frozen=True)
class VoteMap:
    """One feature a classifier: 1 where it predicts class 1, -1 where it predicts class 0.

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
        """No training row is kept but those that members keep themselves."""
        return np.empty(0, dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Give the votes of all members, shape (n, rank)."""
        return np.column_stack([vote(member, X) for member in self.members])


def vote(member: Any, X: Any) -> Floats:
    """Give the votes of one classifier of the classes 0 and 1."""
    return np.where(np.asarray(member.predict(X)) == 1, 1.0, -1.0)
