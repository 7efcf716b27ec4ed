"""Labels as they are in files: which are missing, and what the others mean.

Labels of files that are read piece by piece are kept as codes.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.opening import Options
from semisvm.text import LOOKS_MISSING, MISSING_WORDS, listing

Labels = NDArray[np.object_]
"""One label per row; None for a row without a label."""

At = Callable[[str, int], DataError]
"""Makes the error for a row, counted from 0."""

LAST_CHARACTER = 0x10FFFF

EXACT = 2.0**53
"""From here on, float64 cannot represent all whole numbers."""


def read_labels(
    cells: Sequence[Any] | NDArray[Any], options: Options, at: At
) -> tuple[Labels, dict[str, int]]:
    """Read a label column.

    Parameters
    ----------
    cells : list or array of str, number, bool or None
    options : Options
    at : function
        Makes the error for a row.

    Returns
    -------
    labels : object array of shape (n,)
    words : dict of int
        The words that were taken for "no label", and how many rows have them.
    """
    words = {} if options.na_is_class else missing_words(cells, options.markers)
    return text_labels(cells, (*options.markers, *words), at), words


def missing_words(cells: Iterable[Any], markers: Sequence[str] = ()) -> dict[str, int]:
    """Count the cells that are one of `MISSING_WORDS`, as they are spelt."""
    found: Counter[str] = Counter()
    for cell, count in Counter(cell for cell in cells if isinstance(cell, str)).items():
        word = cell.strip()
        if word.casefold() in MISSING_WORDS and word not in markers:
            found[word] += count
    return dict(found.most_common())


def about_missing(words: Mapping[str, int]) -> list[str]:
    """Return which words were taken for "no label"."""
    if not words:
        return []
    found = ", ".join(f"{word!r} ({count:,})" for word, count in words.items())
    rows = sum(words.values())
    return [
        f"{rows:,} {'row counts' if rows == 1 else 'rows count'} as unlabelled, because the "
        f"label is a word for a missing value: {found}. If it is the name of a class, use "
        "na_is_class=True."
    ]


def _somewhere(message: str, row: int) -> DataError:
    return DataError(message, line=row + 1, word="row")


def text_labels(cells: Iterable[Any], markers: Sequence[str] = (), at: At = _somewhere) -> Labels:
    """Read labels of any kind.

    Blank cells, None and NaN are unlabelled, and so is what ``markers`` names. If all
    other cells are whole numbers of 64 bits, the labels are numbers, else they stay text.

    Parameters
    ----------
    cells : iterable of str, number, bool or None
    markers : sequence of str
    at : function, optional
        Makes the error for a row.

    Returns
    -------
    labels : object array of shape (n,)
    """
    values = label_values(cells, {"", *(str(marker).strip() for marker in markers)}, at)
    read = reader_of([value for value in values if value is not None])
    return objects([None if value is None else read(value) for value in values])


def label_values(cells: Iterable[Any], blank: set[str], at: At) -> list[Any]:
    """Return the values of cells; an error has its row."""
    values = []
    for row, cell in enumerate(cells):
        try:
            values.append(label_value(cell, blank))
        except ValueError as error:
            raise at(str(error), row) from error
    return values


def label_value(cell: Any, blank: set[str]) -> Any:
    """Return the label in a cell as it stands there; None if it is missing, or one of ``blank``."""
    if isinstance(cell, (list, dict)):
        raise ValueError("a label must be text or a number.")
    if is_missing(cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (int, float, np.integer, np.floating)):
        number = _number(cell)
        return None if str(number) in blank else number
    text = (_decoded(cell) if isinstance(cell, bytes) else str(cell)).strip()
    return None if text in blank else text


def _number(cell: Any) -> int | float:
    if isinstance(cell, (int, np.integer)):
        return int(cell)
    number = float(cell)
    if np.isinf(number):
        raise ValueError("the label is infinite.")
    return int(number) if number.is_integer() else number


def _decoded(cell: bytes) -> str:
    try:
        return cell.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"the label {cell[:40]!r} is not UTF-8 text.") from error


def reader_of(given: list[Any]) -> Callable[[Any], Any]:
    """Choose one way to read all labels, so that classes are of one kind and stay apart."""
    kinds = {type(value) for value in given}
    if bool in kinds:
        return bool if kinds == {bool} else str
    if given and all(_is_whole(text) for text in {str(value) for value in given}):
        return lambda value: int(str(value).removesuffix(".0"))
    if str not in kinds and all(abs(value) < EXACT for value in given):
        return float
    return str


def _is_whole(text: str) -> bool:
    """Return whether a text is a whole number, as programs write it ("3", "-1", "3.0"), of 64 bits.

    Larger ones are left as they are: arrays of numbers cannot hold them.
    """
    number = text.removesuffix(".0")
    digits = number.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and (number == "0" or digits[0] != "0")):
        return False
    return len(digits) < 19 or (len(digits) == 19 and int(digits) < 2**63)


def number_labels(values: NDArray[Any], unlabeled: float | None, at: At) -> Labels:
    """Read labels given as numbers: ``unlabeled`` and NaN are unlabelled.

    Whole numbers become int. What cannot be kept exactly is refused.
    """
    floats = values.dtype.kind == "f"
    values = values.astype(np.float64, copy=False) if floats else values
    marked = np.isnan(values) if floats else np.zeros(len(values), dtype=bool)
    if unlabeled is not None:
        marked |= values == unlabeled
    limit = EXACT if floats else 2**63
    wrong = np.flatnonzero(~marked & ((values >= limit) | (values <= -limit)))
    if len(wrong):
        raise at(
            f"the label {values[wrong[0]]!s} is too large to be kept exactly; number the classes "
            "with small whole numbers.",
            int(wrong[0]),
        )
    rest = values[~marked]
    whole = bool(np.all(rest == np.round(rest)))
    labels = objects([None] * len(values))
    labels[~marked] = rest.astype(np.int64).tolist() if whole else rest.tolist()
    return labels


def array_labels(
    values: NDArray[Any], options: Options, path: str | Path
) -> tuple[Labels, dict[str, int]]:
    """Read labels given as an array; -1 is unlabelled unless the options define other markers.

    Returns
    -------
    labels, words
        As those of `read_labels`.
    """
    if values.ndim != 1:
        raise DataError(f"labels must be one column, but have shape {values.shape}.", path)

    def at(message: str, row: int) -> DataError:
        return DataError(message, path, row + 1, word="row")

    if values.dtype.kind in "US":
        return read_labels(_texts(values, path), options, at)
    if values.dtype.kind == "b":
        return objects(values.tolist()), {}
    if values.dtype.kind not in "iuf" or values.dtype.itemsize > 8:
        raise DataError(f"labels of type {values.dtype} are not read: use numbers or text.", path)
    given = options.unlabeled
    marker = _find_marker(values, path) if given is None else number_marker(given, path)
    return number_labels(values, marker, at), {}


def _texts(values: NDArray[Any], path: str | Path) -> list[Any]:
    if values.dtype.kind == "U":
        native = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("="))
        codes = native.view(np.uint32)
        # numpy hands them to Python unseen, which then fails, or not, in other places
        if np.any((codes > LAST_CHARACTER) | ((codes >= 0xD800) & (codes < 0xE000))):
            raise DataError("the labels have characters that are not valid Unicode.", path)
    return list(values.tolist())


def _find_marker(values: NDArray[Any], path: str | Path) -> float | None:
    found = set(np.unique(values[~np.isnan(values)]).tolist())
    if found == {-1, 0, 1}:
        raise DataError(
            "the labels are -1, 0 and 1: if -1 marks unlabelled rows, use unlabeled='-1'; if 0 "
            "does, unlabeled='0'.",
            path,
        )
    return None if found == {-1, 1} else -1.0


def number_marker(text: str, path: str | Path) -> float | None:
    """Read the marker of unlabelled rows where labels are numbers; None if all have labels."""
    if text in ("", "none"):
        return None
    try:
        return int(text.removesuffix(".0")) if _is_whole(text) else float(text)
    except ValueError as error:
        raise DataError(
            f"the labels are numbers, so the marker of unlabelled rows must be one, not {text!r}.",
            path,
        ) from error


def objects(values: list[Any]) -> Labels:
    """Put values in an object array."""
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def label_texts(labels: Labels | None) -> dict[int, str]:
    """Return the rows with a label, and their labels as text."""
    cells = [] if labels is None else labels.tolist()
    return {row: str(value) for row, value in enumerate(cells) if value is not None}


def count_labels(labels: Labels) -> dict[Any, int]:
    """Count the rows of every class, without the unlabelled ones."""
    counts = Counter(label for label in labels.tolist() if label is not None)
    return dict(sorted(counts.items(), key=lambda item: str(item[0])))


def count_repeated(labels: Labels) -> int:
    """Count the labels that can be held out: those of classes that have two or more."""
    return sum(count for count in count_labels(labels).values() if count > 1)


def remarks(labels: Labels) -> list[str]:
    """Return what looks like a mistake in labels to be fitted."""
    counts = count_labels(labels)
    found = []
    once = [label for label, count in counts.items() if count == 1]
    if once:
        found.append(
            f"the labels {listing(map(str, once))} appear once each: a misspelling, or a class "
            "with a single example, from which little can be learnt."
        )
    found += _about_case(counts)
    for label, count in counts.items():
        if str(label).casefold() in LOOKS_MISSING and count > len(labels) / 3:
            found.append(
                f"{count} of {len(labels)} rows have the label {label!r}. If it marks rows "
                f"without a label, use unlabeled={str(label)!r}."
            )
    return found


def _about_case(counts: Mapping[Any, int]) -> list[str]:
    """Name labels that are the same but for upper and lower case."""
    spelt: dict[str, list[str]] = {}
    for label in map(str, counts):
        spelt.setdefault(label.casefold(), []).append(label)
    alike = "; ".join(listing(labels) for labels in spelt.values() if len(labels) > 1)
    if not alike:
        return []
    return [f"labels that differ in upper and lower case only are different classes: {alike}."]


MOST_CLASSES = 100_000
Codes = NDArray[np.int32]


class LabelCodes:
    """Numbers the labels in the order in which they come, -1 for none.

    One piece may look like numbers and the next one not, so what the labels are is known only
    in the end: `classes` then is what `read_labels` would have made of all of them at once.

    Attributes
    ----------
    words : Counter
        The words that were taken for "no label", and how many rows have them.
    n_labeled : int
    """

    def __init__(self) -> None:
        self.words: Counter[str] = Counter()
        self.n_labeled = 0
        self._codes: dict[tuple[type, Any], int] = {}

    def of_cells(self, cells: Sequence[Any] | NDArray[Any], options: Options, at: At) -> Codes:
        """Return the codes of cells of a label column."""
        words = {} if options.na_is_class else missing_words(cells, options.markers)
        self.words.update(words)
        blank = {"", *(marker.strip() for marker in (*options.markers, *words))}
        return self.of_values(label_values(cells, blank, at))

    def of_values(self, labels: Labels | Sequence[Any]) -> Codes:
        """Return the codes of labels, None for a row without one."""
        known = self._codes
        # 1, 1.0 and True are equal, but not the same label
        keys = [None if label is None else (type(label), label) for label in labels]
        codes = [-1 if key is None else known.setdefault(key, len(known)) for key in keys]
        self._check_number()
        found = np.array(codes, dtype=np.int32)
        self.n_labeled += int(np.count_nonzero(found >= 0))
        return found

    def merged(self, other: "LabelCodes") -> Codes:
        """Take over the labels of another file; return the code here of every code there."""
        self.words.update(other.words)
        self.n_labeled += other.n_labeled
        known = self._codes
        places = [known.setdefault(key, len(known)) for key in other._codes]
        self._check_number()
        return np.array(places, dtype=np.int32)

    def numbered(self) -> tuple[list[Any], Codes]:
        """Return the codes as they are, in the place of `classes`, for rows to be merged."""
        return list(range(len(self._codes))), np.arange(len(self._codes), dtype=np.int32)

    def _check_number(self) -> None:
        if len(self._codes) > MOST_CLASSES:
            raise DataError(
                f"there are more than {MOST_CLASSES:,} different labels, like identifiers: is "
                "this the label column?"
            )

    def classes(self) -> tuple[list[Any], Codes]:
        """Return the classes, sorted, and the class of every code."""
        values = [value for _, value in self._codes]
        read = reader_of(values)
        labels = [read(value) for value in values]
        classes = sorted(set(labels))
        places = {label: k for k, label in enumerate(classes)}
        return classes, np.array([places[label] for label in labels], dtype=np.int32)


def codes_of_array(y: Any, unlabeled: Any, path: str | Path) -> tuple[Codes, list[Any]]:
    """Return codes and classes of labels in memory; None, NaN and ``unlabeled`` mark no label."""
    collected = LabelCodes()
    marked = [
        None if value is None or value != value or value == unlabeled else value
        for value in np.asarray(y).tolist()
    ]
    codes = collected.of_values([_kept(value, path) for value in marked])
    classes, places = collected.classes()
    return np.append(places, np.int32(-1))[codes], classes


def _kept(value: Any, path: str | Path) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise DataError(f"labels are numbers or text, not {type(value).__name__}.", path)
