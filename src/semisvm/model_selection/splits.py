"""Cross-validation when most of the rows have no label.

Only labelled rows can be held out, because only they can be scored. Unlabelled rows
train in every fold.
"""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.model_selection import BaseCrossValidator, StratifiedGroupKFold
from sklearn.utils import check_random_state

from semisvm.designs.base import Index
from semisvm.designs.validation import take_rows
from semisvm.labels.partial import deal, encode, hide_labels, label_array
from semisvm.validation import check_count, check_same_length

Split = tuple[Index, Index]


def group_numbers(groups: Any, rows: Any) -> NDArray[np.intp]:
    """Return the groups of rows as numbers (n,); raise unless there is one entry per row."""
    group = np.unique(label_array(groups), return_inverse=True)[1]
    check_same_length(rows, group, "groups")
    return np.asarray(group)


def rows_of_groups(group: NDArray[np.intp], fold: Index) -> Index:
    """Return all rows of the groups of some rows."""
    return np.flatnonzero(np.isin(group, group[fold]))


class PartialLabelKFold(BaseCrossValidator):
    """K folds of the labelled rows, stratified; the unlabelled rows always train.

    The labelled rows are dealt to the folds class by class, so that the sizes of the
    folds differ by one row at most, and so do the numbers of rows of a class. A class
    with a single label is never held out, since a model that never saw the class cannot
    predict it.

    Parameters
    ----------
    n_splits : int, default=5
    n_repeats : int, default=1
        How many times to deal; more than once needs ``shuffle=True``.
    shuffle : bool, default=False
        Whether to mix the rows of each class before they are dealt.
    random_state : int, RandomState or None, default=None
        Seed of the mixing.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from semisvm.model_selection import PartialLabelKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in PartialLabelKFold(2).split(y, y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    __metadata_request__split = {"groups": True}  # noqa: RUF012 - read by scikit-learn's routing

    def __init__(
        self,
        n_splits: int = 5,
        *,
        n_repeats: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        unlabeled: Any = -1,
    ) -> None:
        if check_count("n_splits", n_splits) == 1:
            raise ValueError("n_splits must be 2 or more, got 1: a fold is held out, others train.")
        check_count("n_repeats", n_repeats)
        if n_repeats > 1 and not shuffle:
            raise ValueError("n_repeats > 1 needs shuffle=True, else every repeat is the same.")
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.shuffle = shuffle
        self.random_state = random_state
        self.unlabeled = unlabeled

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of pairs that `split` yields."""
        return int(self.n_splits * self.n_repeats)

    def split(self, X: Any, y: ArrayLike, groups: Any = None) -> Iterator[Split]:
        """Yield indices of training and of held-out rows.

        Parameters
        ----------
        X : ignored
        y : array-like of shape (n,)
            Labels, and the marker for unlabelled rows.
        groups : array-like of shape (n,), default=None
            Rows that belong together, such as those of one patient. The labelled rows of a group
            are held out together, and its unlabelled rows do not train then. In a fold whose
            training rows would lack a class, the groups with that class train.
        """
        codes = encode(y, self.unlabeled).codes
        group = None if groups is None else group_numbers(groups, codes)
        for fold in self.folds(codes, group):
            away = fold if group is None else rows_of_groups(group, fold)
            yield np.setdiff1d(np.arange(len(codes)), away), fold

    def _grouped(self, codes: NDArray[np.intp], group: NDArray[np.intp]) -> Iterator[Index]:
        labeled = np.flatnonzero(codes >= 0)
        n_groups = len(np.unique(group[labeled]))
        if n_groups < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need as many groups with labelled rows, but there "
                f"are {n_groups}. Take fewer folds, or leave out groups=."
            )
        rng, seed = check_random_state(self.random_state), None
        for _ in range(self.n_repeats):
            seed = int(rng.randint(2**31)) if self.shuffle else None
            folds = StratifiedGroupKFold(self.n_splits, shuffle=self.shuffle, random_state=seed)
            with warnings.catch_warnings():
                # about classes with few labels, as below
                warnings.simplefilter("ignore", UserWarning)
                pairs = list(folds.split(labeled, codes[labeled], group[labeled]))
            for train, test in pairs:
                lost = np.setdiff1d(codes[labeled[test]], codes[labeled[train]])
                kept = group[labeled[test]][np.isin(codes[labeled[test]], lost)]
                held = labeled[test][~np.isin(group[labeled[test]], kept)]
                if len(held) == 0:
                    raise ValueError(
                        "a fold would hold out all labels of a class, whose rows are in too few "
                        "groups. Take fewer folds, or label rows of more groups."
                    )
                yield held

    def folds(
        self, codes: NDArray[np.intp], group: NDArray[np.intp] | None = None
    ) -> Iterator[Index]:
        """Yield the rows to hold out, by class codes of which -1 is unlabelled.

        Parameters
        ----------
        codes : int array of shape (n,)
        group : int array of shape (n,), optional
            Labelled rows of a group are held out together.
        """
        if group is not None:
            yield from self._grouped(codes, group)
            return
        rng = check_random_state(self.random_state)
        rows = self._foldable(codes)
        self._warn_of_few(np.bincount(codes[codes >= 0]))
        for _ in range(self.n_repeats):
            order = rng.permutation(rows) if self.shuffle else rows
            yield from deal(order, codes, self.n_splits)

    def _foldable(self, codes: NDArray[np.intp]) -> Index:
        """Return the labelled rows whose class has another label, or raise if there are none."""
        counts = np.bincount(codes[codes >= 0])
        rows = np.flatnonzero(codes >= 0)
        rows = rows[counts[codes[rows]] > 1]
        if len(rows) < self.n_splits:
            raise ValueError(
                f"n_splits={self.n_splits} folds need as many labelled rows of classes with two "
                f"or more labels, but there are {len(rows)}. Label more rows or take fewer folds."
            )
        return rows

    def _warn_of_few(self, counts: NDArray[np.intp]) -> None:
        few = counts[counts > 0].min()
        message = None
        if few == 1:
            message = (
                "A class has a single label: that row trains in every fold and is never held "
                "out, so the scores say nothing about the class."
            )
        elif few < self.n_splits:
            message = (
                f"The least labelled class has {few} labels, fewer than n_splits="
                f"{self.n_splits}: some folds hold out none of it."
            )
        if message:
            warnings.warn(message, UserWarning, stacklevel=4)


def folds_of_groups(
    codes: NDArray[np.intp], group: NDArray[np.intp], most: int, seed: int
) -> list[Index]:
    """Return folds of the labelled rows by groups, fewer where the groups allow no more.

    Parameters
    ----------
    codes : int array of shape (n,)
        Classes of all rows; -1 is unlabelled.
    group : int array of shape (n,)
    most : int
    seed : int

    Returns
    -------
    folds : list of arrays of row indices
        Empty if the labels of a class are in too few groups for two folds.
    """
    for n_splits in range(most, 1, -1):
        cv = PartialLabelKFold(n_splits, shuffle=True, random_state=seed)
        try:
            return list(cv.folds(codes, group))
        except ValueError:
            continue  # too few groups for so many folds
    return []


class TransductiveKFold(PartialLabelKFold):
    """K folds in which the held-out rows still train, without their labels.

    That is how a transductive method is used: the rows to be classified are there when
    it is fitted. A splitter gives indices only, and y goes along with X, so it cannot
    hide the label of a row that trains. Therefore the data get a twin without label of
    every labelled row (`with_twins`), and the training rows of a fold are the labelled
    rows of the other folds, the unlabelled rows, and the twins of the held-out rows. No
    label of a held-out row is ever in reach of the estimator, which may be any
    estimator or pipeline, in `GridSearchCV` and `cross_val_score` as they are.

    With ``refit=True`` a search fits its last model to all rows with all twins, which
    are a few more unlabelled rows; for the model without them, refit on the data before
    `with_twins`.

    Parameters
    ----------
    n_splits : int, default=5
    n_repeats : int, default=1
    shuffle : bool, default=False
    random_state : int, RandomState or None, default=None
    unlabeled : scalar, default=-1
        As in `PartialLabelKFold`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import TransductiveSVC
    >>> from semisvm.model_selection import TransductiveKFold, hide_labels, with_twins
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> X2, y2 = with_twins(scale(X), partly)
    >>> scores = cross_val_score(TransductiveSVC(reg=0.1), X2, y2, cv=TransductiveKFold(4))
    >>> bool(scores.mean() > 0.8)
    True
    """

    def split(self, X: Any, y: ArrayLike, groups: Any = None) -> Iterator[Split]:
        """Yield indices of training and of held-out rows.

        Parameters
        ----------
        X, y : what `with_twins` gave
        groups : None
            Held-out rows train without their labels here, so that groups cannot be kept apart.
        """
        if groups is not None:
            raise ValueError(
                "TransductiveKFold trains on the held-out rows, without their labels, so it cannot "
                "keep groups apart. Use PartialLabelKFold."
            )
        codes = encode(y, self.unlabeled).codes
        labeled = np.flatnonzero(codes >= 0)
        first_twin = len(codes) - len(labeled)
        twins = np.arange(first_twin, len(codes))
        if np.any(codes[twins] >= 0) or not same_rows(X, labeled, twins):
            raise ValueError(
                "the last rows are not twins without label of the labelled rows: give "
                "TransductiveKFold the X and y that with_twins(X, y) returns."
            )
        always = np.flatnonzero(codes[:first_twin] < 0)
        for fold in self.folds(codes):
            train = np.setdiff1d(labeled, fold)
            hidden = twins[np.isin(labeled, fold)]
            yield np.concatenate([np.sort(np.concatenate([train, always])), hidden]), fold


def with_twins(X: Any, y: ArrayLike, unlabeled: Any = -1) -> tuple[Any, NDArray[Any]]:
    """Append a copy without label of every labelled row, for `TransductiveKFold`.

    Parameters
    ----------
    X : array, sparse matrix, data frame or list of n rows
    y : array-like of shape (n,)
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.

    Returns
    -------
    X, y : n + l rows, the twins last
    """
    labels = encode(y, unlabeled)
    n, labeled = len(labels.codes), labels.labeled
    rows = np.concatenate([np.arange(n), labeled])
    target = hide_labels(label_array(y)[rows], np.arange(n, len(rows)), unlabeled)
    return take_rows(X, rows), target


def same_rows(X: Any, some: Index, others: Index) -> bool:
    """Return whether two lists of rows hold the same values."""
    a, b = take_rows(X, some), take_rows(X, others)
    if sparse.issparse(a):
        return bool(abs(a - b).max() == 0.0) if len(some) else True
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True))
    except TypeError:
        # NaN is not a thing of strings and objects
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
