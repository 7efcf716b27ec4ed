"""Labels of files that are read piece by piece, as codes."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.io.errors import DataError
from semisvm.io.labels import At, Labels, label_values, missing_words, reader_of
from semisvm.io.options import Options

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
