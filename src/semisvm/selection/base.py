"""The protocol of selections: data, a budget and the labels so far go in, rows come out."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from semisvm.designs.base import Index
from semisvm.partial_labels import is_unlabeled
from semisvm.rows import read_rows
from semisvm.validation import check_count, check_same_length


class Selection(BaseEstimator, ABC):
    """Chooses which rows to have labelled next; subclasses say how.

    A selection is stateless: the labels that the first rows got come back in ``y`` of the
    next call.
    """

    unlabeled: Any

    def select(self, X: Any, n: int, y: ArrayLike | None = None) -> Index:
        """Choose rows without label, those that matter most first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, d)
        n : int
            The budget: how many rows to choose.
        y : array-like of shape (n_rows,), optional
            The labels so far, with the marker for rows without one; None if there are none.

        Returns
        -------
        rows : int array of shape (n,)
            Distinct.
        """
        check_count("n", n)
        X = read_rows(X)
        free = np.ones(X.shape[0], dtype=bool) if y is None else is_unlabeled(y, self.unlabeled)
        check_same_length(X, free, "y")
        left = int(free.sum())
        if left < n:
            raise ValueError(
                f"{n} rows are asked for, but only {left} of the {len(free)} rows have no label."
            )
        return self._choose(X, int(n), free, y)

    @abstractmethod
    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        """Choose n of the rows that ``free``, a bool array, allows."""
