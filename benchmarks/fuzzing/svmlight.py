"""svmlight files, against a parser of a few lines that knows nothing of speed."""

import re
from unittest.mock import patch

import numpy as np

from benchmarks.fuzzing.checking import check_one_kind, dense, expect, outcome, put
from benchmarks.fuzzing.mutation import mutator
from semisvm.tables import DataError, MatrixData, read, read_chunks

BLANKS = re.compile(rb"[ \t\r\x0b\x0c]+")
SHOWN_COLUMNS = 1000
HEAD = 64

mutate = mutator([b":", b" ", b"#", b"1:", b"qid:", b"+", b"e", b".", b" 0:1", b" 5:", b"\xff\xfe"])


def seeds() -> list[bytes]:
    """Return small files."""
    return [
        b"1 1:0.5 4:1\n-1 2:0.25 3:1e-3 # a comment\n0 1:1\n",
        b"1:1 2:2\n\n3:1\n# nothing\n1:2\n",
        b"2 qid:3 0:1 7:2\r\n3 qid:4 5:1\r\n",
        b"1 4:1 2:3 9:1\n2 3:0.1 1:123456789012345678901\n",
        b"1.5 1:1\n2.5 1:.5 2:5. 3:+7 4:-0 5:1E5\n",
        b"".join(b"%d %d:%d.%d\n" % (i % 3, i + 1, i, i) for i in range(30)),
    ]


def check(data: bytes) -> None:
    """Read at once, in small blocks, and by the simple parser."""
    path = put(data, "a.svm")
    whole = outcome(lambda: read(path, unlabeled="none"))
    outcome(lambda: read(path, labels_file=path, max_columns=50))
    if isinstance(whole, DataError):
        return
    check_one_kind(whole.labels)
    if data[:HEAD].count(0) <= HEAD // 4:
        # where many of the first bytes are zero, they are taken for UTF-16
        _check_pieces(path, whole)
    if whole.X.shape[1] <= SHOWN_COLUMNS:
        _check_values(data, whole)


def _check_pieces(path: object, whole: MatrixData) -> None:
    width, first = whole.X.shape[1], whole.facts["zero_based"]
    with patch.multiple("semisvm.tables.svmlight", BLOCK=16, PEEK=HEAD):
        pieces = outcome(lambda: list(read_chunks(str(path), n_features=width, zero_based=first)))
    expect(not isinstance(pieces, DataError), f"pieces: {pieces}")
    for name in ("indices", "data"):
        parts = [getattr(piece.X, name) for piece in pieces]
        expect(np.array_equal(np.concatenate(parts), getattr(whole.X, name)), "pieces differ")
    lines = np.concatenate([piece.lines for piece in pieces])
    assert whole.lines is not None
    expect(np.array_equal(lines, whole.lines), "the pieces have other lines")


def _check_values(data: bytes, whole: MatrixData) -> None:
    first = 0 if whole.facts["zero_based"] else 1
    labels, rows = _parsed(data.removeprefix(b"\xef\xbb\xbf"))
    X = np.zeros(whole.X.shape)
    expect(len(rows) == len(X), f"{len(X)} rows instead of {len(rows)}")
    for row, pairs in zip(X, rows, strict=True):
        for index, value in pairs:
            row[index - first] = value
    expect(np.array_equal(dense(whole), X), "the values differ")
    if whole.labels is not None:
        expect(whole.labels.tolist() == labels, "the labels differ")


def _parsed(data: bytes) -> tuple[list[float], list[list[tuple[int, float]]]]:
    labels, rows = [], []
    for line in data.split(b"\n"):
        tokens = [token for token in BLANKS.split(line.split(b"#")[0]) if token]
        if not tokens:
            continue
        if b":" not in tokens[0]:
            labels.append(float(tokens.pop(0)))
        pairs = [token.split(b":") for token in tokens if not token.startswith(b"qid:")]
        rows.append([(int(index), float(value)) for index, value in pairs])
    return labels, rows
