"""Arrays that are written piece by piece to ``.npy`` files."""

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm.io.places import explained, sync
from semisvm.ondisk.header import HEAD_BYTES, ArrayFact, array_head

PIECE = 1 << 20
"""Entries that are changed at a time, in the last step."""


class ArrayFile:
    """A ``.npy`` file that grows.

    Parameters
    ----------
    folder : Path
    name : str
    dtype : dtype
    path : str or Path
        What the user calls the folder.
    width : int, optional
        Number of columns of a matrix; by default it is a vector.
    """

    def __init__(
        self, folder: Path, name: str, dtype: Any, path: str | Path, width: int | None = None
    ) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.file = folder / f"{name}.npy"
        self._path, self._width = path, width
        self._length = self._crc = 0
        with explained(path):
            self._stream: BinaryIO = open(self.file, "wb")  # noqa: SIM115
            self._stream.write(bytes(HEAD_BYTES))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of what is there."""
        return (self._length,) if self._width is None else (self._length, self._width)

    def add(self, values: NDArray[Any]) -> None:
        """Append values, or rows of them."""
        part = np.ascontiguousarray(values, dtype=self.dtype)
        content = part.reshape(-1).view(np.uint8).data
        self._crc = zlib.crc32(content, self._crc)
        with explained(self._path):
            self._stream.write(content)
        self._length += len(part)

    def stop(self) -> None:
        """Close the file, complete or not."""
        with suppress(OSError):
            self._stream.close()

    def close(self) -> ArrayFact:
        """Complete the file; return what is to be said about it."""
        with explained(self._path), self._stream as stream:
            stream.seek(0)
            stream.write(array_head(self.dtype, self.shape))
            sync(stream, self._path)
        return self._fact()

    def _fact(self) -> ArrayFact:
        return ArrayFact(self.dtype.name, list(self.shape), self._crc)

    def discard(self) -> None:
        """Remove the file."""
        self.stop()
        self.file.unlink(missing_ok=True)

    def mapped(self, mode: Any = "r") -> NDArray[Any]:
        """Map what is there."""
        if not self._stream.closed:
            self._stream.flush()
        if self._length == 0:
            return np.empty(self.shape, dtype=self.dtype)
        return np.memmap(self.file, self.dtype, mode, HEAD_BYTES, self.shape)

    def change(self, new: Callable[[slice, NDArray[Any]], NDArray[Any]]) -> ArrayFact:
        """Replace all values after `close`, some at a time."""
        array, crc = self.mapped("r+"), 0
        with explained(self._path):
            for part in pieces_of(len(array), PIECE // max(self._width or 1, 1)):
                array[part] = new(part, array[part])
                crc = zlib.crc32(np.ascontiguousarray(array[part]).view(np.uint8).data, crc)
            if isinstance(array, np.memmap):
                array.flush()
        self._crc = crc
        return self._fact()


def pieces_of(n: int, step: int = PIECE) -> Iterator[slice]:
    """Yield slices that cover n entries."""
    step = max(step, 1)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
