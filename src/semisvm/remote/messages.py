"""Packed calls of a shard, as they travel: their size is known, and arrays come out writable."""

import pickle

from semisvm._version import __version__
from semisvm.designs.blas import one_blas_thread
from semisvm.remote.shard import Shard

CALL = "call"


class RemoteShard(Shard):
    """A shard that is called by messages, over connections that belong to the cluster."""

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
