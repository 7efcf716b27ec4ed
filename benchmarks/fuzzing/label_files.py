"""Files of labels alone, as text or as an array; and labels that were filled in."""

import io

import numpy as np

from benchmarks.fuzzing.checking import check_one_kind, check_text_labels, expect, outcome, put
from benchmarks.fuzzing.mutation import mutator
from semisvm.tables import DataError, join_answers, read
from semisvm.tables.opening import Options
from semisvm.tables.reading import read_labels_file

mutate = mutator([b"NA", b"None", b"\n\n", b"-1", b"<U4", b"<i8", b"label", b"semisvm_row"])

ROWS = b"x,label\n1,a\n2,\n3,\n"


def seeds() -> list[bytes]:
    """Return labels in all forms."""
    made = [b"1\n0\n-1\n", b"spam\n\nham\r\nNA\n", b"1.0\n2\n3", b"semisvm_row,label\n2,b\n3,NA\n"]
    for labels in (["a", "b"], [1, -1, 0], [0.5, np.nan], [True, False], [b"x", b"y"]):
        stream = io.BytesIO()
        np.save(stream, np.array(labels))
        made.append(stream.getvalue())
    return made


def check(data: bytes) -> None:
    """Read labels, as they are and as answers."""
    path = put(data, "labels.csv")
    found = outcome(lambda: read_labels_file(path, Options()))
    if not isinstance(found, DataError):
        labels, words = found
        expect(sum(words.values()) <= len(labels), "too many words")
        if data.startswith(b"\x93NUMPY"):
            check_one_kind(labels)
        else:
            text = io.TextIOWrapper(io.BytesIO(data), "utf-8", newline="")
            if data.isascii() and not data.startswith(b"\x1f\x8b"):
                check_text_labels([line.rstrip("\r\n") for line in text], labels)
    rows = read(put(ROWS, "rows.csv"), label="label")
    joined = outcome(lambda: join_answers(rows, [path]))
    if not isinstance(joined, DataError):
        check_one_kind(joined.data.labels)
        assert joined.data.labels is not None
        expect(joined.data.labels[0] == "a", "a label was overwritten")
