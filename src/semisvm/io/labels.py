"""Labels as they stand in files: which are blank, and what the others mean."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.io.errors import DataError, is_missing
from semisvm.io.opening import open_bytes, open_text
from semisvm.naming import listing

Labels = NDArray[np.object_]
"""One label a row; None for a row without label."""

LOOKS_MISSING = {
    "na",
    "n/a",
    "nan",
    "none",
    "null",
    "?",
    "-1",
    "unlabeled",
    "unlabelled",
    "unknown",
}


def text_labels(cells: Iterable[Any], markers: Sequence[str] = ()) -> Labels:
    """Read a label column.

    Blank cells, None and NaN are unlabelled, and so is what ``markers`` names. If all
    other cells are whole numbers, the labels are numbers, else they stay text.

    Parameters
    ----------
    cells : iterable of str, number, bool or None
    markers : sequence of str

    Returns
    -------
    labels : object array of shape (n,)
    """
    blank = {"", *(str(marker).strip() for marker in markers)}
    values = [_label(cell, blank) for cell in cells]
    given = {value for value in values if value is not None}
    read = _reader_of(given)
    return _objects([None if value is None else read(value) for value in values])


def _label(cell: Any, blank: set[str]) -> Any:
    if is_missing(cell):
        return None
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, (int, float, np.integer, np.floating)):
        number = float(cell)
        plain = int(cell) if number.is_integer() else number
        return None if str(plain) in blank else plain
    text = str(cell).strip()
    return None if text in blank else text


def _reader_of(given: set[Any]) -> Callable[[Any], Any]:
    """Give one way to read all labels, so that classes are of one kind."""
    if given and all(isinstance(value, bool) for value in given):
        return bool
    texts = {str(value) for value in given}
    if given and all(_is_whole(text) for text in texts):
        return lambda value: int(str(value).removesuffix(".0"))
    if all(isinstance(value, (int, float)) for value in given):
        return float
    return str


def _is_whole(text: str) -> bool:
    """Tell whether a text is a whole number, as written by programs: "3", "-1", "3.0"."""
    digits = text.removesuffix(".0").removeprefix("-")
    return digits.isascii() and digits.isdigit() and (digits == "0" or digits[0] != "0")


def number_labels(values: NDArray[Any], unlabeled: float | None = 0.0) -> Labels:
    """Read labels given as numbers: ``unlabeled`` and NaN are unlabelled.

    Whole numbers become int.
    """
    marked = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    if unlabeled is not None:
        marked |= values == unlabeled
    rest = values[~marked]
    whole = bool(np.all(rest == np.round(rest)))
    labels = _objects([None] * len(values))
    labels[~marked] = rest.astype(np.int64).tolist() if whole else rest.tolist()
    return labels


def read_labels_file(path: str | Path, unlabeled: str | None, encoding: str | None) -> Labels:
    """Read one label a line, as SVMlin had it; blank lines and the marker are unlabelled.

    A ``.npy`` file holds the labels as an array.
    """
    markers = () if unlabeled is None else (unlabeled,)
    with open_bytes(path) as stream:
        if stream.read(6) == b"\x93NUMPY":
            return array_labels(load_array(path), unlabeled, path)
    with open_text(path, encoding) as text:
        return text_labels(text.read().splitlines(), markers)


def load_array(path: str | Path) -> NDArray[Any]:
    """Load a ``.npy`` file without pickle."""
    try:
        with open_bytes(path) as stream:
            return np.asarray(np.load(stream, allow_pickle=False))
    except (ValueError, EOFError) as error:
        raise DataError(f"this array cannot be read ({error}).", path) from error


def array_labels(values: NDArray[Any], unlabeled: str | None, path: str | Path) -> Labels:
    """Read labels given as an array; -1 is unlabelled unless told otherwise."""
    if values.ndim != 1:
        raise DataError(f"labels must be one column, but have shape {values.shape}.", path)
    if values.dtype.kind in "USO":
        return text_labels(values.tolist(), () if unlabeled is None else (unlabeled,))
    if values.dtype.kind == "b":
        return _objects(values.tolist())
    marker = _number(unlabeled, path) if unlabeled is not None else _find_marker(values, path)
    return number_labels(values, marker)


def _find_marker(values: NDArray[Any], path: str | Path) -> float | None:
    found = set(np.unique(values[~np.isnan(values)]).tolist())
    if found == {-1, 0, 1}:
        raise DataError(
            "the labels are -1, 0 and 1: either -1 marks unlabelled rows (say unlabeled='-1', "
            "--unlabeled -1) or 0 does (unlabeled='0', --unlabeled 0).",
            path,
        )
    return None if found == {-1, 1} else -1.0


def _number(text: str, path: str | Path) -> float | None:
    if text in ("", "none"):
        return None
    try:
        return float(text)
    except ValueError as error:
        raise DataError(
            f"the labels are numbers, so the marker of unlabelled rows must be one, not {text!r}.",
            path,
        ) from error


def _objects(values: list[Any]) -> Labels:
    labels = np.empty(len(values), dtype=object)
    labels[:] = values
    return labels


def count_labels(labels: Labels) -> dict[Any, int]:
    """Count the rows of every class, without the unlabelled ones."""
    counts = Counter(label for label in labels.tolist() if label is not None)
    return dict(sorted(counts.items(), key=lambda item: str(item[0])))


def remarks(labels: Labels) -> list[str]:
    """Say what looks like a mistake in labels to be fitted."""
    counts = count_labels(labels)
    found = []
    once = [label for label, count in counts.items() if count == 1]
    if once:
        found.append(
            f"the labels {listing(map(str, once))} appear once each: a misspelling, or a class "
            "with a single example, of which little can be learnt."
        )
    for label, count in counts.items():
        if str(label).casefold() in LOOKS_MISSING and count > len(labels) / 3:
            found.append(
                f"{count} of {len(labels)} rows have the label {label!r}. If it marks rows "
                f"without label, say unlabeled={str(label)!r} (--unlabeled {label})."
            )
    return found
