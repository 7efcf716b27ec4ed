"""Tables that were written here: each format must give them back, cell by cell.

An input is the seed of a table, so that failing ones can be kept like others.
"""

import csv
import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.fuzzing.checking import dense, expect, outcome, put
from semisvm.tables import DataError, MatrixData, Table, read
from semisvm.tables.svmlight import write_svmlight

LETTERS = ["a", "Z", "0", "7", " ", ",", ";", '"', "\n", "\r\n", "\t", "\u00e4", "\u65e5", "'", "#"]
PANDAS_SHARE = 0.25
"""Of the CSV files that pandas reads too, which takes longer than all the rest."""


def seeds() -> list[bytes]:
    """Return the first input; all are as good."""
    return [b"table"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return another input."""
    return rng.randbytes(8)


def check(data: bytes) -> None:
    """Write a table or a matrix of this seed in some way, and read it."""
    rng = random.Random(data)
    rng.choice((_check_csv, _check_csv, _check_json_lines, _check_svmlight, _check_npz))(rng)


def _cell(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(["", "1", "-2.5", "NA", "x", "1e400", "true", "  "])
    return "".join(rng.choices(LETTERS, k=rng.randrange(9)))


def _rows(rng: random.Random) -> list[list[str]]:
    width = rng.randrange(2, 6)
    return [[_cell(rng) for _ in range(width)] for _ in range(rng.randrange(1, 7))]


def _check_csv(rng: random.Random) -> None:
    rows = _rows(rng)
    names = [f"c{k} \u00e4" for k in range(len(rows[0]))]
    delimiter = rng.choice((",", ";", "|"))
    stream = io.StringIO()
    quoting: Any = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    end = rng.choice(("\n", "\r\n"))
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([names, *rows])
    encoding = rng.choice(("utf-8", "utf-8-sig", "utf-16"))
    content = stream.getvalue().encode(encoding)
    packed = gzip.compress(content, mtime=0) if rng.random() < 0.2 else content
    path = put(packed, "t.csv")
    table = _table(path, delimiter=delimiter)
    expect(table.names == names, f"{table.names} instead of {names}")
    for k, name in enumerate(names):
        expect(table.columns[name] == [row[k] for row in rows], f"cells of {name!r} differ")
    if rng.random() < PANDAS_SHARE:
        _check_pandas(content, encoding, delimiter, table)


def _check_pandas(content: bytes, encoding: str, delimiter: str, table: Table) -> None:
    import pandas as pd

    frame = pd.read_csv(
        io.BytesIO(content),
        encoding=encoding,
        sep=delimiter,
        dtype=str,
        keep_default_na=False,
        engine="c",
    )
    for name, cells in zip(table.names, frame.to_numpy().T.tolist(), strict=True):
        expect(table.columns[name] == cells, f"pandas reads other cells in {name!r}")


def _table(path: Path, **options: Any) -> Table:
    found = outcome(lambda: read(path, **options))
    expect(isinstance(found, Table), f"refused: {found}")
    assert isinstance(found, Table)
    return found


def _check_json_lines(rng: random.Random) -> None:
    values: list[Any] = [None, True, 1, -2.5, "x", "\u65e5\n", 10**30, [1], {"a": None}, ""]
    rows = [
        {f"k{k}": rng.choice(values) for k in range(5) if rng.random() < 0.7}
        for _ in range(rng.randrange(1, 8))
    ]
    lines = [json.dumps(row, ensure_ascii=rng.random() < 0.5) for row in rows]
    path = put("\n".join(lines).encode(), "t.jsonl")
    table = _table(path)
    names = set().union(*rows)
    expect(set(table.names) == names, f"{table.names} instead of {names}")
    for name in names:
        expect(table.columns[name] == [row.get(name) for row in rows], f"{name!r} differs")


def _matrix(rng: random.Random) -> Any:
    shape = rng.randrange(1, 6), rng.randrange(1, 8)
    numbers = np.random.default_rng(rng.randrange(2**32))
    X = numbers.normal(size=shape) * 10.0 ** numbers.integers(-320, 300, size=shape)
    X[numbers.random(shape) < 0.5] = 0
    X[rng.randrange(shape[0]), -1] = 0.1
    return X


def _check_svmlight(rng: random.Random) -> None:
    X = _matrix(rng)
    labels = [rng.choice((None, 1, -1, 2**53 - 1)) for _ in X]
    stream = io.BytesIO()
    write_svmlight(stream, X, labels)
    data = _matrix_data(put(stream.getvalue(), "t.svm"), zero_based=False)
    expect(np.array_equal(dense(data), X), "the values differ")
    assert data.labels is not None
    expect(data.labels.tolist() == labels, "the labels differ")


def _check_npz(rng: random.Random) -> None:
    X = _matrix(rng)
    stream = io.BytesIO()
    if rng.random() < 0.5:
        form = rng.choice(("csr", "csc", "coo", "bsr", "dia"))
        matrix: Any = sparse.csr_matrix(X)
        sparse.save_npz(stream, matrix.asformat(form), rng.random() < 0.5)
    else:
        rng.choice((np.savez, np.savez_compressed))(stream, X=np.asarray(X, order="F"))
    data = _matrix_data(put(stream.getvalue(), "t.npz"))
    expect(np.array_equal(dense(data), X), "the values differ")


def _matrix_data(path: Path, **options: Any) -> MatrixData:
    found = outcome(lambda: read(path, **options))
    expect(not isinstance(found, DataError), f"refused: {found}")
    assert isinstance(found, MatrixData)
    return found
