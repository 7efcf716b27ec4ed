"""Where the rows come from: collections of Dask, or folders of rows."""

import pickle
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask.core import flatten

from semisvm.designs.disk import RowsOnDisk

ASK_SECONDS = 60.0
"""How long the scheduler may take for a reply."""


class Source(Protocol):
    """Rows in chunks."""

    n_columns: int
    names: Sequence[str] | None
    n_chunks: int

    def places(self, client: Any) -> list[str | None]:
        """Return, per chunk, the worker that holds it in memory for the user."""
        ...

    def found_at(self, client: Any, futures: Mapping[int, Any]) -> dict[int, str]:
        """Return where chunks are that were computed."""
        who = _who_has(client, [one for one in futures.values() if hasattr(one, "key")])
        keys = {k: str(getattr(one, "key", "")) for k, one in futures.items()}
        return {k: who[key] for k, key in keys.items() if key in who}

    def futures(self, client: Any, chunks: Sequence[int]) -> list[Any]:
        """Have chunks computed by workers."""
        ...

    def compute(self) -> list[Any]:
        """Compute all chunks in this process."""
        ...

    def parts(self) -> list[Any]:
        """Return the chunks, lazily."""
        ...

    def sizes(self) -> list[float]:
        """Return the rows per chunk; NaN where they are not known."""
        ...


class CollectionSource(Source):
    """A Dask array or dataframe.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
    """

    def __init__(self, X: Any) -> None:
        if isinstance(X, da.Array):
            _check_array(X)
            parts = X.to_delayed().ravel().tolist()
            self.names = None
        else:
            parts = list(X.to_delayed())
            names = list(X.columns)
            self.names = names if all(isinstance(name, str) for name in names) else None
        self._X = X
        self._parts = parts
        self.n_columns = int(X.shape[1])
        self.n_chunks = len(parts)

    def places(self, client: Any) -> list[str | None]:
        """Return, per chunk, the worker that holds it in memory for the user."""
        from distributed import futures_of

        who = _who_has(client, futures_of(self._X))
        return [who.get(str(key)) for key in flatten(self._X.__dask_keys__())]

    def futures(self, client: Any, chunks: Sequence[int]) -> list[Any]:
        """Have chunks computed by workers."""
        found: list[Any] = client.compute([self._parts[k] for k in chunks])
        return found

    def compute(self) -> list[Any]:
        """Compute all chunks with threads of this process."""
        return list(dask.compute(*self._parts, scheduler="threads"))

    def parts(self) -> list[Any]:
        """Return the chunks, lazily."""
        return self._parts

    def sizes(self) -> list[float]:
        """Return the rows per chunk; NaN where they are not known."""
        known = isinstance(self._X, da.Array)
        return list(self._X.chunks[0]) if known else [np.nan] * self.n_chunks


class FoldersSource(Source):
    """Folders of rows, one chunk each, that all workers can read.

    Parameters
    ----------
    folders : sequence of RowsOnDisk
    """

    names = None

    def __init__(self, folders: Sequence[RowsOnDisk]) -> None:
        self._folders = list(folders)
        self.n_columns = folders[0].shape[1]
        self.n_chunks = len(folders)

    def places(self, client: Any) -> list[str | None]:
        """Return None for all chunks: none of them is in memory."""
        return [None] * self.n_chunks

    def futures(self, client: Any, chunks: Sequence[int]) -> list[Any]:
        """Return the folders, packed: only workers need to be able to open them."""
        return [pickle.dumps(self._folders[k]) for k in chunks]

    def compute(self) -> list[Any]:
        """Return the folders, which are mapped."""
        return list(self._folders)

    def parts(self) -> list[Any]:
        """Return the folders, to be opened where they are read."""
        return [dask.delayed(pickle.loads)(pickle.dumps(folder)) for folder in self._folders]

    def sizes(self) -> list[float]:
        """Return the rows per folder."""
        return [folder.shape[0] for folder in self._folders]


def _who_has(client: Any, futures: Sequence[Any]) -> dict[str, str]:
    """Return, by key, one worker that has the result of a future."""
    if not futures:
        return {}
    keys = [future.key for future in futures]
    found = client.sync(client.scheduler.who_has, keys=keys, callback_timeout=ASK_SECONDS)
    return {str(key): min(workers) for key, workers in found.items() if workers}


def _check_array(X: da.Array) -> None:
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if X.numblocks[1] != 1:
        raise ValueError(
            f"X is divided into {X.numblocks[1]} blocks of columns, but its chunks must have all "
            "columns. Use X.rechunk({1: -1})."
        )
    if np.isnan(X.shape[1]):
        raise ValueError("X has an unknown number of columns. Use X.compute_chunk_sizes().")


def source_of(X: Any) -> Source:
    """Return the source of X."""
    if isinstance(X, (list, tuple)):
        return FoldersSource(X)
    if isinstance(X, (da.Array, dd.DataFrame)):
        return CollectionSource(X)
    raise TypeError(
        f"X is a {type(X).__name__} of Dask; give a Dask array or dataframe, or a list of folders "
        "of rows."
    )
