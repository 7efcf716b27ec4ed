"""CSV and TSV files."""

from functools import partial

from benchmarks.fuzzing.checking import (
    check_pieces,
    check_text_labels,
    outcome,
    put,
    use_columns,
)
from benchmarks.fuzzing.mutation import mutator
from semisvm.tables import Table, read, read_chunks

mutate = mutator([b",", b";", b'""', b'","', b"\xe4", b"NA", b"None", b"\x1f\x8b", b"\xff\xfe"])

ENCODINGS = ["latin-1", "utf-16", "utf-32-be", "utf-7", "cp932", "idna", "punycode", "rot13", "hz"]


def seeds() -> list[bytes]:
    """Return small tables."""
    plain = 'y,text,n\nspam,"a ""b"", c",1.5\n,"two\nlines",-2\nham,x,NA\n'
    return [
        plain.encode(),
        plain.replace("\n", "\r\n").encode("utf-16"),
        ("\ufeff" + plain.replace(",", ";")).encode(),
        b"y;a\n1;2\n3.0;4\n\n05;6\n",
        b"y\n1\n2\nnan\nNULL\n9223372036854775808\n",
        ",".join(f"c{i}" for i in range(40)).encode() + b"\n" + b",".join([b"1"] * 40),
        b"id,day,y\n" + b"".join(b"%d,2020-01-0%d,a%d\n" % (i, i, i % 2) for i in range(1, 10)),
    ]


def check(data: bytes) -> None:
    """Read at once, in pieces, and with each of the first columns as the label."""
    path = put(data, "a.csv")
    whole = outcome(lambda: read(path))
    check_pieces(whole, outcome(lambda: list(read_chunks(path, chunk_rows=2))))
    encoding = ENCODINGS[len(data) % len(ENCODINGS)]
    outcome(lambda: read(path, format="tsv", quotes=False, encoding=encoding))
    if not isinstance(whole, Table):
        return
    use_columns(whole)
    for name in whole.names[:2]:
        labelled = outcome(partial(read, path, label=name))
        check_text_labels(whole.columns[name], labelled.labels)
