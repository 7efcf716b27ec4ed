"""Chunks in this process: one shard, whose blocks its threads share."""

from collections.abc import Sequence
from typing import Any

from semisvm.blocks.rows import Ask
from semisvm.remote.shard import Shard
from semisvm.remote.sources import Source


class Local:
    """The one shard of a fit without a cluster.

    Parameters
    ----------
    source : Source
    n_threads : int
    """

    def __init__(self, source: Source, n_threads: int) -> None:
        self._shard = Shard(source.compute(), n_threads)
        self.chunks = [list(range(source.n_chunks))]

    def call(
        self, method: str, arguments: Sequence[tuple[Any, ...]], lasting: bool = False
    ) -> list[Any]:
        """Call a method of the shard."""
        return [getattr(self._shard, method)(*arguments[0])]

    def asking(self) -> Ask:
        """Return the function that asks the blocks."""

        def ask(
            name: str, *arguments: Any, each: Sequence[tuple[Any, ...]] | None = None
        ) -> Sequence[Any]:
            return self._shard.ask([(name, arguments, each)])[0]

        return ask

    def rows_read(self) -> int:
        """Return the number of rows read so far."""
        return self._shard.rows_read

    def close(self) -> None:
        """Free the rows."""
        self._shard.close()
