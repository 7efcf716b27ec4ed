"""Parquet files: changed ones, and new ones of any schema."""

import io
import random
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from benchmarks.fuzzing.checking import check_one_kind, check_pieces, outcome, put, use_columns
from benchmarks.fuzzing.mutation import mutator
from semisvm.tables import DataError, read, read_chunks

NEW = 0.1
"""Share of the inputs that are new files."""

CELLS: list[list[Any]] = [
    ["a b", None, "c", "NA"],
    [1, 2, None, 2**60 + 1],
    [1.5, float("nan"), None, float("inf")],
    [True, None, False, True],
    [b"x", b"\xff", None, b""],
    [date(2020, 1, 1), None, date(1, 1, 1), date(9999, 12, 31)],
    [datetime(2020, 1, 1), None, None, datetime(1999, 1, 1)],
    [Decimal("1.5"), Decimal("-2.25"), None, Decimal("0")],
    [[1], [], None, [2, 3]],
    [{"b": 1}, {"b": None}, None, {"b": 2}],
    [None, None, None, None],
    [2**64 - 1, 0, 1, 2],
]
NAMES = ["y", "a", "a", "a.b", "", "b", "\u00e4", "x" * 300]

_bytes = mutator([b"PAR1", b"\x15", b"\x00" * 8, b"\x19", b"\x1c"])


def _written(columns: list[list[Any]], names: list[str], **options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [pa.array(cells, _unsigned(pa, cells)) for cells in columns]
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, names=names), stream, **options)
    return stream.getvalue()


def _unsigned(pa: Any, cells: list[Any]) -> Any:
    large = any(type(cell) is int and cell >= 2**63 for cell in cells)
    return pa.uint64() if large else None


def seeds() -> list[bytes]:
    """Return files of every type of column, packed and not."""
    made = []
    for options in ({"compression": "none"}, {"use_dictionary": False, "row_group_size": 2}):
        for k, cells in enumerate(CELLS):
            made.append(_written([CELLS[0], cells], ["y", f"c{k}"], **options))
    return made


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Change bytes, or write a new file."""
    if rng.random() >= NEW:
        return _bytes(data, rng)
    width = rng.randrange(4)
    columns = [rng.choice(CELLS) for _ in range(width)]
    return _written(columns, rng.choices(NAMES, k=width), row_group_size=rng.choice((1, 3, 9)))


def check(data: bytes) -> None:
    """Read at once, in pieces, and with a label."""
    path = put(data, "a.parquet")
    whole = outcome(lambda: read(path))
    pieces = outcome(lambda: list(read_chunks(path, chunk_rows=3)))
    if isinstance(whole, DataError):
        return
    if not isinstance(pieces, DataError):
        check_pieces(whole, pieces)
    use_columns(whole)
    for name in whole.names[:2]:
        labelled = outcome(partial(read, path, label=name))
        if not isinstance(labelled, DataError):
            check_one_kind(labelled.labels)
