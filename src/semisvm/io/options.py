"""How a file is to be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from semisvm.io.errors import missing_column

CHUNK_ROWS = 10_000


@dataclass(frozen=True)
class Options:
    """How a file is to be read; `semisvm.io.read` explains the fields."""

    label: str | None = None
    columns: Sequence[str] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quotes: bool = True
    sheet: str | None = None
    unlabeled: str | None = None
    na_is_class: bool = False
    zero_based: bool | Literal["auto"] = "auto"
    n_features: int | None = None
    max_columns: int | None = None
    chunk_rows: int | None = None
    absent: bool = False
    seen: Callable[[int], object] | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """What stands for "no label" in a label column, besides blank."""
        return () if self.unlabeled is None else (self.unlabeled,)

    def wanted(self, there: Sequence[str], path: str | Path) -> list[str]:
        """Return the feature columns to keep, or raise if one is not there."""
        known = set(there)
        for name in (*(self.columns or ()), *(() if self.label is None else (self.label,))):
            if name not in known:
                raise missing_column(name, there, path)
        chosen = there if self.columns is None else list(dict.fromkeys(self.columns))
        return [name for name in chosen if name != self.label]
