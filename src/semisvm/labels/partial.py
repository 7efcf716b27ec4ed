"""The contract for partly labelled data: which rows have which label, and the class shares.

Unlabelled rows carry a marker in ``y``: -1 by scikit-learn's convention, or what the
user sets with ``unlabeled=``. None and NaN always count as unlabelled.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from semisvm.designs.base import Floats, Index, row_type
from semisvm.text import LOOKS_MISSING, MISSING_WORDS
from semisvm.validation import check_same_length, floats

PRIOR_SUM_TOLERANCE = 1e-6
UNLABELED_CODE = -1
WORDS_FOR_MISSING = MISSING_WORDS | LOOKS_MISSING | {""}
"""Labels that probably mark unlabelled rows, if many rows have them."""
MISSING_SHARE = 1.0 / 3.0
"""Share of the labels from which such a word is hardly a class."""
NAME_BOTH = (
    "Where no row of another class can be labelled, name both classes with classes=, a parameter "
    "of TransductiveSVC, AnnealedSVC and SemiSupervisedClassifier."
)
# Digits of a remainder; what is left is rounding.
ROUNDING = 9


def _row_numbers(mask: NDArray[np.bool_]) -> Index:
    """List the marked rows, in as few bytes as kernels can take."""
    return np.flatnonzero(mask).astype(row_type(len(mask)))


class LearnedEvidence(Protocol):
    """What learns evidence about rows from their labels: `semisvm.model_selection.WeakLabels`."""

    def learn(self, labels: "PartialLabels") -> Floats:
        """Return log(max q / q) of each row and class, shape (n, m)."""
        ...

    def take(self, rows: Index) -> "LearnedEvidence":
        """Return the same for some of the rows."""
        ...

    def describe(self, labels: "PartialLabels") -> str:
        """Return how reliable it is, as the beginning of a sentence."""
        ...


@dataclass(frozen=True)
class PartialLabels:
    """Labels as codes.

    Attributes
    ----------
    classes : array of shape (m,)
        The labelled classes, sorted.
    codes : int array of shape (n,)
        Position in ``classes``, or -1 for an unlabelled row.
    evidence : array of shape (n, m), optional
        What is known about each row besides: the logarithm of the largest probability of a class,
        divided by that of each class. See `semisvm.labels.evidence`.
    source : LearnedEvidence, optional
        What learns the evidence from the labels. Where labels are hidden it learns again.
    """

    classes: NDArray[Any]
    codes: NDArray[Any]
    evidence: Floats | None = None
    source: "LearnedEvidence | None" = None

    @cached_property
    def labeled(self) -> Index:
        """Indices of the labelled rows, ascending."""
        return _row_numbers(self.codes != UNLABELED_CODE)

    @cached_property
    def unlabeled(self) -> Index:
        """Indices of the unlabelled rows, ascending."""
        return _row_numbers(self.codes == UNLABELED_CODE)

    @cached_property
    def without_label(self) -> Index:
        """Classes that no row is labelled with."""
        counts = np.bincount(self.codes[self.labeled], minlength=len(self.classes))
        return np.flatnonzero(counts == 0)

    def fractions(self, weight: Floats | None = None) -> Floats:
        """Compute the class shares among the labelled rows, with row weights if given."""
        weights = None if weight is None else weight[self.labeled]
        counts = np.bincount(self.codes[self.labeled], weights, minlength=len(self.classes))
        return np.asarray(counts / counts.sum(), dtype=np.float64)

    def without(self, rows: Index) -> "PartialLabels":
        """Return the same with the labels of some rows hidden; evidence about them stays.

        Evidence that was learnt from labels is learnt again, from those that are left.
        """
        codes = self.codes.copy()
        codes[rows] = UNLABELED_CODE
        hidden = replace(self, codes=codes)
        return (
            hidden if self.source is None else replace(hidden, evidence=self.source.learn(hidden))
        )

    def of_rows(self, rows: Index) -> "PartialLabels":
        """Return the labels of some rows, and the evidence about them."""
        evidence = None if self.evidence is None else self.evidence[rows]
        source = None if self.source is None else self.source.take(rows)
        return PartialLabels(self.classes, self.codes[rows], evidence, source)

    def decode(self, codes: NDArray[np.intp]) -> NDArray[Any]:
        """Turn codes into class labels."""
        return np.asarray(self.classes[codes])


def encode(y: ArrayLike, unlabeled: Any = -1, classes: ArrayLike | None = None) -> PartialLabels:
    """Read a partly labelled target.

    Parameters
    ----------
    y : array-like of shape (n,)
        Class labels of any one kind (numbers, strings, booleans).
    unlabeled : scalar
        The marker of unlabelled rows, in addition to None and NaN.
    classes : array-like of shape (m,), optional
        All classes, where some have no label; by default those of the labels.

    Raises
    ------
    ValueError
        If there is no labelled row, only one labelled class, or a label that is probably a
        mistake.
    """
    target = column_or_1d(label_array(y), warn=True)
    missing = _is_missing(target)
    marked = missing | _equals(target, unlabeled)
    values = given_labels(target[~marked])
    if len(values) == 0:
        marker = "" if unlabeled is None else f"{unlabeled!r}, "
        raise ValueError(
            f"y has no labelled row: all of its {len(target)} entries are {marker}None "
            "or NaN, which mark unlabelled rows. Label at least one row of each class, or "
            "set another marker with unlabeled=."
        )
    _refuse_string_marker(values, unlabeled)
    # where None marks unlabelled rows, as for the readers of files, the words are meant
    if len(values) == len(target) and unlabeled is not None:
        _doubt_missing_words(values)
    check_classification_targets(values)
    found, place = np.unique(values, return_inverse=True)
    if classes is not None:
        declared = _declared(classes, found)
        found, place = declared, np.searchsorted(declared, found)[place]
    if len(found) == 1:
        only = found.tolist()[0]
        raise ValueError(_one_class_message(only, bool((marked & ~missing).any()), unlabeled))
    codes = np.full(len(target), UNLABELED_CODE, dtype=_code_type(len(found)))
    codes[~marked] = place
    return PartialLabels(found, codes)


def _declared(classes: ArrayLike, labeled: NDArray[Any]) -> NDArray[Any]:
    """Return declared classes, sorted; raise if a label is none of them."""
    found = np.unique(given_labels(column_or_1d(label_array(classes))))
    if (found.dtype.kind in "US") != (labeled.dtype.kind in "US"):
        raise ValueError(
            f"classes={found.tolist()!r} are of another kind than the labels, {labeled.tolist()!r}."
        )
    unknown = np.setdiff1d(labeled, found).tolist()
    if unknown:
        raise ValueError(
            f"y has labels of {unknown!r}, and classes={found.tolist()!r} does not name them. Name "
            "all classes, or leave classes out to take those of the labels."
        )
    return found.astype(np.result_type(found, labeled))


def _code_type(n_classes: int) -> np.dtype[Any]:
    """Return the type of codes: one byte is usually enough, and a fit keeps one code per row."""
    # two numbers to spare, so that shifting all codes by one does no harm
    return np.min_scalar_type(-(n_classes + 2))


def is_unlabeled(y: ArrayLike, unlabeled: Any = -1) -> NDArray[np.bool_]:
    """Return which entries of ``y`` mark an unlabelled row, whatever the other entries are."""
    target = column_or_1d(label_array(y), warn=True)
    return _is_missing(target) | _equals(target, unlabeled)


def hide_labels(y: ArrayLike, rows: ArrayLike, unlabeled: Any = -1) -> NDArray[Any]:
    """Return a copy of ``y`` in which the listed rows are unlabelled.

    Parameters
    ----------
    y : array-like of shape (n,)
    rows : array-like of row indices, or bool array of shape (n,)
    unlabeled : scalar
        The marker. If ``y`` cannot hold it, as an array of strings cannot hold a number,
        the result is an object array in which None marks the rows.
    """
    target = column_or_1d(label_array(y), warn=True)
    marked = np.flatnonzero(is_unlabeled(target, unlabeled))
    if len(marked):
        hidden, marker = target.copy(), target[marked[0]]
    elif not _can_hold(target, unlabeled):
        hidden, marker = target.astype(object), None
    else:
        kind = np.result_type(target, np.asarray(unlabeled))
        hidden, marker = target.astype(kind), unlabeled
    listed = np.asarray(rows)
    hidden[listed if listed.size else listed.astype(np.intp)] = marker
    return hidden


def rows_to_choose(X: Any, n: int, y: ArrayLike | None, unlabeled: Any = -1) -> NDArray[np.bool_]:
    """Mark the rows of X without label, of which n are to be chosen; refuse if they are fewer."""
    free = np.ones(X.shape[0], dtype=bool) if y is None else is_unlabeled(y, unlabeled)
    check_same_length(X, free, "y")
    left = int(free.sum())
    if left < n:
        raise ValueError(
            f"{n} rows were requested, but only {left} of the {len(free)} rows have no label; "
            "request fewer rows."
        )
    return free


def deal(rows: Index, codes: NDArray[np.intp], n_folds: int) -> list[Index]:
    """Deal labelled rows to folds, class by class.

    The sizes of the folds differ by one row at most, and so do the numbers of rows of a
    class.

    Parameters
    ----------
    rows : array of row indices
        Rows of one class are dealt in this order.
    codes : int array of shape (n,)
        Classes of all rows.
    n_folds : int

    Returns
    -------
    folds : list of arrays of row indices, ascending
    """
    dealt = rows[np.argsort(codes[rows], kind="stable")]
    return [np.sort(dealt[k::n_folds]) for k in range(n_folds)]


def _can_hold(target: NDArray[Any], marker: Any) -> bool:
    if target.dtype.kind in "USO":
        return isinstance(marker, str) and target.dtype.kind != "S"
    return target.dtype.kind in "iuf" and isinstance(marker, (int, float, np.number))


def label_array(y: Any) -> NDArray[Any]:
    """Return y as an array in which labels keep their kind, or raise if there is none."""
    if y is None:
        # scikit-learn's checks expect the words "requires y to be passed"
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. Pass the "
            "labels, with -1 for unlabelled rows."
        )
    if isinstance(y, np.ma.MaskedArray):
        hidden, y = np.ma.getmaskarray(y), y.data.astype(object)
        y[hidden] = None
    target = np.asarray(y)
    if _loses_kind(y, target):
        listed = y.to_pylist() if hasattr(y, "to_pylist") else list(y)
        target = np.empty(len(listed), dtype=object)
        target[:] = listed
    if target.dtype.kind == "f" and np.isinf(target).any():
        row = int(np.flatnonzero(np.isinf(target).ravel())[0])
        raise ValueError(
            f"Input y contains infinity or a value too large (entry {row}). Class labels "
            "must be finite; mark unlabelled rows with None, NaN or the marker."
        )
    return target


def _loses_kind(y: Any, target: NDArray[Any]) -> bool:
    """Return whether numpy changed labels because others are missing.

    Missing values turn nullable integers and booleans of pandas, polars and pyarrow into floats,
    and NaN or a number in a list of strings becomes a string.
    """
    if target.ndim != 1:
        return False
    if target.dtype.kind == "f":
        # arrays of pyarrow have a type instead of a dtype
        dtype = getattr(y, "dtype", getattr(y, "type", None))
        return dtype is not None and not isinstance(dtype, np.dtype)
    if target.dtype.kind in "US" and isinstance(y, (list, tuple)):
        return not all(isinstance(label, (str, bytes)) for label in y)
    return False


def _is_missing(target: NDArray[Any]) -> NDArray[np.bool_]:
    if target.dtype.kind == "f":
        return np.isnan(target)
    if target.dtype.kind != "O":
        return np.zeros(len(target), dtype=bool)
    # NaN and NaT differ from themselves; comparing pandas.NA gives no truth value
    return np.array([v is None or not _same(v, v) for v in target], dtype=bool)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return False


def _equals(target: NDArray[Any], marker: Any) -> NDArray[np.bool_]:
    """Compare without numpy's warnings about comparing strings with numbers."""
    if marker is None or (isinstance(marker, float) and np.isnan(marker)):
        return np.zeros(len(target), dtype=bool)
    if target.dtype.kind == "O":
        return np.array([_same(v, marker) for v in target], dtype=bool)
    if (target.dtype.kind in "US") != isinstance(marker, (str, bytes)):
        return np.zeros(len(target), dtype=bool)
    return np.asarray(target == marker, dtype=bool)


def given_labels(values: NDArray[Any]) -> NDArray[Any]:
    """Convert labels of an object array to their own type, so that classes are sortable."""
    if values.dtype.kind != "O" or len(values) == 0:
        return values
    kinds = {type(v) for v in values}
    text = {k for k in kinds if issubclass(k, str)}
    if text and text != kinds:
        names = ", ".join(sorted(k.__name__ for k in kinds))
        raise ValueError(
            f"y mixes labels of different kinds ({names}). Use strings only or numbers only; "
            "None marks an unlabelled row among strings."
        )
    return np.array(values.tolist())


def _refuse_string_marker(values: NDArray[Any], unlabeled: Any) -> None:
    if values.dtype.kind in "US" and unlabeled == -1 and np.any(values == "-1"):
        raise ValueError(
            "y holds the string '-1' as a label. If it marks unlabelled rows, pass "
            "unlabeled='-1', or use None for them; a class of that name needs another name. "
            "(numpy turns [-1, 'a'] into strings: build y with dtype=object.)"
        )


def _doubt_missing_words(values: NDArray[Any]) -> None:
    """Warn if a class looks like missing values that were turned into text."""
    if values.dtype.kind not in "US":
        return
    for word, count in zip(*map(np.ndarray.tolist, np.unique_counts(values)), strict=True):
        text = word.decode("utf-8", "replace") if isinstance(word, bytes) else word
        if count > MISSING_SHARE * len(values) and text.strip().casefold() in WORDS_FOR_MISSING:
            warnings.warn(
                f"no row of y is unlabelled, and {count} of {len(values)} labels are {word!r}. If "
                f"it marks unlabelled rows, pass unlabeled={word!r}, or use None for them.",
                UserWarning,
                stacklevel=6,
            )


def _one_class_message(only: Any, some_marked: bool, unlabeled: Any) -> str:
    message = f"y has labels of one class only, {only!r}; a classifier needs two or more. "
    if unlabeled == -1 and only == 1 and some_marked:
        return message + (
            "The labels are {-1, 1}, and -1 marks unlabelled rows by scikit-learn's "
            "convention: if -1 is a class here, pass unlabeled=0 (or another marker). " + NAME_BOTH
        )
    return message + "Label at least one row of another class. " + NAME_BOTH


def resolve_prior(
    class_prior: ArrayLike | Mapping[Any, float] | str, labels: PartialLabels
) -> Floats:
    """Return given class shares in the order of the classes.

    Parameters
    ----------
    class_prior : array-like of shape (m,), or mapping class -> share
    labels : PartialLabels
    """
    classes = labels.classes
    if isinstance(class_prior, str):
        raise ValueError(
            f"class_prior must be None, class shares (an array or a dict), 'estimate' or "
            f"'labels', got {class_prior!r}."
        )
    if isinstance(class_prior, Mapping):
        prior = _prior_from_mapping(class_prior, classes)
    else:
        prior = floats("class_prior", class_prior)
    if prior.shape != (len(classes),):
        raise ValueError(
            f"class_prior has shape {prior.shape} but there are {len(classes)} classes, "
            f"{classes.tolist()}: give one share per class, in this order, or a dict by class."
        )
    if not np.all(np.isfinite(prior)) or np.any(prior < 0):
        raise ValueError(f"class_prior must hold shares between 0 and 1, got {prior.tolist()}.")
    if abs(prior.sum() - 1.0) > PRIOR_SUM_TOLERANCE:
        raise ValueError(
            f"class_prior must sum to one, but {prior.tolist()} sums to {prior.sum():.6g}."
        )
    return prior / prior.sum()


def _prior_from_mapping(shares: Mapping[Any, float], classes: NDArray[Any]) -> Floats:
    known = classes.tolist()
    unknown = [key for key in shares if key not in known]
    if unknown:
        raise ValueError(
            f"class_prior names unknown classes {unknown!r}; the labelled classes are {known!r}."
        )
    absent = [label for label in known if label not in shares]
    if absent:
        raise ValueError(f"class_prior has no share for the classes {absent!r}; add their shares.")
    return floats("class_prior", [shares[label] for label in known])


def prior_counts(prior: Floats, n: int, order: Index | None = None) -> NDArray[np.intp]:
    """Round n * prior to whole numbers of rows that sum to n (largest remainder method).

    Parameters
    ----------
    prior : array of shape (m,)
    n : int
    order : array of the m classes, optional
        Of equal remainders the first in this order are rounded up; by default by number.
    """
    exact = prior * n
    counts = np.floor(exact).astype(np.intp)
    rest = n - int(counts.sum())
    classes = np.arange(len(prior)) if order is None else order
    left = np.round(exact - counts, ROUNDING)[classes]
    counts[classes[np.argsort(-left, kind="stable")[:rest]]] += 1
    return counts


def check_empty_classes(
    prior: Floats, n: int, classes: NDArray[Any], *, whole: bool = True
) -> None:
    """Report classes to which the given shares assign no unlabelled row.

    With two classes this is an error; with more it may be intended, and is a warning.

    Parameters
    ----------
    prior : array of shape (m,)
    n : int
        Number of unlabelled rows.
    classes : array of shape (m,)
    whole : bool, default=True
        Whether shares are rounded to numbers of rows. A mean can have any share above zero.
    """
    counts = prior_counts(prior, n) if whole else prior
    for label, share, count in zip(classes.tolist(), prior.tolist(), counts.tolist(), strict=True):
        if count > 0:
            continue
        message = (
            f"class_prior asks for a share of {share:.6g} of class {label!r} among {n} "
            "unlabelled rows, which is zero rows."
        )
        if len(classes) == 2:
            raise ValueError(
                message + " Give the class a larger share, or use class_prior=None for an estimate."
            )
        warnings.warn(
            message + " No unlabelled row will get this class.", UserWarning, stacklevel=5
        )
