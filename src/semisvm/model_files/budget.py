"""How much memory a model file may use, counted before it is allocated."""

from dataclasses import dataclass
from typing import Self

from semisvm.model_files.errors import ModelFileError

MAX_BYTES = 4 << 30
FREE_BYTES = 64 << 20
MAX_RATIO = 100
"""Bytes in memory to bytes in the file, beyond `FREE_BYTES`; weights and words shrink far less."""


@dataclass
class Budget:
    """What is spent of the memory that a file may take.

    Attributes
    ----------
    limit : int
        Bytes.
    spent : int
    """

    limit: int
    spent: int = 0

    @classmethod
    def of(cls, packed: int, max_bytes: int | None = None) -> Self:
        """Make the budget of a file of so many bytes, or the one that a user allows."""
        if max_bytes is None:
            max_bytes = min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * packed))
        return cls(max_bytes)

    def spend(self, size: int) -> None:
        """Count bytes that are about to be needed, or refuse the file."""
        self.spent += size
        if self.spent > self.limit:
            raise ModelFileError(
                f"this file would unpack to {self.spent:,} bytes or more, of which {self.limit:,} "
                "are allowed for its size. If you trust it, pass a larger max_bytes=."
            )
