"""Labels in a file of their own."""

from pathlib import Path

from semisvm.tables.arrays import is_npy, load_array
from semisvm.tables.errors import DataError
from semisvm.tables.labels import Labels, array_labels, read_labels
from semisvm.tables.opening import open_text
from semisvm.tables.options import Options


def read_labels_file(path: str | Path, options: Options) -> tuple[Labels, dict[str, int]]:
    """Read one label per line, as SVMlin did; blank lines and the marker are unlabelled.

    A ``.npy`` file holds the labels as an array.

    Returns
    -------
    labels, words
        As those of `semisvm.tables.labels.read_labels`.
    """
    if is_npy(path):
        return array_labels(load_array(path), options, path)
    with open_text(path, options.encoding) as text:
        lines = [line.rstrip("\r\n") for line in text]
    return read_labels(lines, options, lambda message, row: DataError(message, path, row + 1))
