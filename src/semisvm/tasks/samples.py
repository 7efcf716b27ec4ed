"""Which unlabelled rows a sample has: some rows in a row out of each of many parts of the data.

Rows of a part are read in their order, and every part has its share of the sample: data that are
sorted, by class for instance, are sampled as well as others. The sample follows from the number of
rows and its size alone, so it is the same on a cluster, on the disk and in memory.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from semisvm.designs import Index

# Parts of the data. With more, the rows of a sample are more independent; with fewer, they are
# read faster from a disk.
N_PARTS = 1_000


def spans_of(n_rows: int, size: int, *, others: bool = False) -> Index:
    """Return where the rows of a sample are, from which to before which, shape (k, 2).

    The ``others`` are a sample of about the same size that has none of its rows; the sample must
    have at most half of them.
    """
    n_parts = min(N_PARTS, size)
    begins = np.arange(n_parts + 1) * n_rows // n_parts
    lengths = np.diff(begins * size // n_rows)
    room = np.diff(begins) - lengths
    first = begins[:-1] + np.floor(
        np.random.default_rng(n_rows).random(n_parts) * (room + 1)
    ).astype(np.intp)
    last = first + lengths
    if others:
        # on the side where there are more of them
        before, after = first - begins[:-1], begins[1:] - last
        first, last = (
            np.where(after >= before, last, np.maximum(first - lengths, begins[:-1])),
            np.where(after >= before, np.minimum(last + lengths, begins[1:]), first),
        )
    return np.column_stack([first, last])


def within(spans: Index, sizes: Sequence[int]) -> Iterator[Index]:
    """Yield the spans in each of some blocks of rows, counted from its first row."""
    begin = 0
    for size in sizes:
        own = np.clip(spans - begin, 0, size)
        yield own[own[:, 0] < own[:, 1]]
        begin += size


def places_of(spans: Index) -> Index:
    """Return the numbers of all rows in spans."""
    lengths = spans[:, 1] - spans[:, 0]
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(spans[:, 0] - (ends - lengths), lengths)
