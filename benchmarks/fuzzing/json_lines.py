"""JSON lines."""

from functools import partial

from benchmarks.fuzzing.checking import check_one_kind, check_pieces, outcome, put, use_columns
from benchmarks.fuzzing.mutation import mutator
from semisvm.tables import DataError, read, read_chunks

mutate = mutator(
    [b"{", b"}", b"[", b"]", b":", b",", b"null", b"true", b"NaN", b"Infinity", b"\\ud800", b"{}"]
)


def seeds() -> list[bytes]:
    """Return small files."""
    return [
        b'{"y": "spam", "t": "a b c", "n": 1.5}\n\n{"y": null, "t": "d", "n": null}\n{"n": 2}\n',
        b'{"y": 1}\n{"y": 2.0}\n{"y": true}\n{"y": "x"}\n{"y": "NA"}',
        b'{"y": 1e19, "a": [1, {"b": 2}]}\r\n{"y": 123456789012345678901234567890, "a": {}}\r\n',
        b"".join(b'{"k%d": %d, "y": %d}\n' % (i, i, i % 2) for i in range(12)),
        b"[1, 2]",
        b'{"a": ' + b"[" * 50 + b"]" * 50 + b"}",
    ]


def check(data: bytes) -> None:
    """Read at once, in pieces, and with a label."""
    path = put(data, "a.jsonl")
    whole = outcome(lambda: read(path))
    check_pieces(whole, outcome(lambda: list(read_chunks(path, chunk_rows=2))))
    if isinstance(whole, DataError):
        return
    use_columns(whole)
    for name in whole.names[:2]:
        labelled = outcome(partial(read, path, label=name))
        if not isinstance(labelled, DataError):
            check_one_kind(labelled.labels)
