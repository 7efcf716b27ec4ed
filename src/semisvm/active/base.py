"""Base of the selections: from data, a budget and the labels so far they choose rows."""

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from semisvm.designs.base import Index
from semisvm.partial_labels import rows_to_choose
from semisvm.rows import read_rows
from semisvm.validation import check_count


class Selection(BaseEstimator, ABC):
    """Choose which rows to label next; subclasses define how.

    A selection is stateless: pass the labels of the first rows in ``y`` of the next call.
    """

    unlabeled: Any

    def select(self, X: Any, n: int, y: ArrayLike | None = None) -> Index:
        """Choose unlabelled rows, the most useful first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_rows, d)
        n : int
            Number of rows to choose.
        y : array-like of shape (n_rows,), optional
            The labels so far; unlabelled rows hold the marker. None if there are no labels.

        Returns
        -------
        rows : int array of shape (n,)
            Row numbers without repetition.
        """
        check_count("n", n)
        X = read_rows(X)
        free = rows_to_choose(X, int(n), y, self.unlabeled)
        return self._choose(X, int(n), free, y)

    @abstractmethod
    def _choose(self, X: Any, n: int, free: Any, y: ArrayLike | None) -> Index:
        """Choose n of the rows where ``free``, a bool array, is True."""
