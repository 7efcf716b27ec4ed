"""Names of the columns of a matrix, in a file of their own."""

from pathlib import Path

from semisvm.tables.errors import DataError
from semisvm.tables.opening import open_text


def read_names(path: str | Path, n_columns: int, encoding: str | None = None) -> list[str]:
    """Read one name per line, such as the words of a vocabulary, in the order of the columns.

    Parameters
    ----------
    path : str or Path
    n_columns : int
        How many there must be.
    encoding : str, optional

    Raises
    ------
    DataError
    """
    with open_text(path, encoding) as text:
        names = [line.strip() for line in text]
    while names and not names[-1]:
        names.pop()
    if len(names) != n_columns:
        raise DataError(
            f"there are {len(names):,} names, but the model has {n_columns:,} columns: one line "
            "per column is needed, in their order.",
            path,
        )
    return names
