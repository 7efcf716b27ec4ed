"""Packed calls of a shard, as they travel: their size is known, and arrays come out writable."""

import pickle
from collections.abc import Sequence
from typing import Any

from semisvm._version import __version__
from semisvm.designs.blas import one_blas_thread
from semisvm.remote.shard import Shard

CALL = "call"


class RemoteShard(Shard):
    """A shard that is called by messages, over connections that belong to the cluster."""

    def __init__(self, chunks: Sequence[Any], n_threads: int = 1) -> None:
        super().__init__([_unpacked(chunk) for chunk in chunks], n_threads)

    def call(self, message: bytes) -> bytes:
        """Call a method; message and answer, with the number of rows read so far, are packed."""
        method, arguments = pickle.loads(message)
        with one_blas_thread:
            answer = getattr(self, method)(*arguments)
        return pickle.dumps((answer, self.rows_read))

    def version(self) -> str:
        """Return the version of the package on the worker."""
        return __version__

    def __del__(self) -> None:
        self.close()


def _unpacked(chunk: Any) -> Any:
    """Return rows; a folder travels packed, since the scheduler may not be able to open it."""
    return pickle.loads(chunk) if isinstance(chunk, bytes) else chunk
