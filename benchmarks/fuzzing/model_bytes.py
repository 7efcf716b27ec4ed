"""Model files whose bytes, or members, were changed."""

import contextlib

from benchmarks import ROOT
from benchmarks.fuzzing.checking import put
from benchmarks.fuzzing.mutation import archive_mutator, mutator
from semisvm.io import DataError
from semisvm.model_files import ModelFileError, load

mutate = archive_mutator(
    mutator([b'"', b"{", b"}", b"[", b"]", b"null", b'"same_as"', b"<f8", b"<U9", b"1e400"])
)


def seeds() -> list[bytes]:
    """Give the model files of the tests."""
    return [path.read_bytes() for path in sorted((ROOT / "tests" / "data").glob("*.semisvm"))]


def check(data: bytes) -> None:
    """Load it, or be told why not."""
    with contextlib.suppress(ModelFileError, DataError):
        load(put(data, "a.semisvm"))
