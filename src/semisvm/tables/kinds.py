"""The types of columns, and which one a column is of."""

import re
from collections.abc import Mapping

from semisvm.tables.blocks import Block, Cells, Kind
from semisvm.tables.category_columns import CategoricalBlock
from semisvm.tables.number_columns import NumericBlock
from semisvm.tables.table import Table, with_thousands
from semisvm.tables.text_columns import HashedTextBlock, TextBlock
from semisvm.tables.time_columns import TimeBlock
from semisvm.tables.vector_columns import VectorBlock

TEXT, HASHED, NUMERIC = TextBlock.kind, HashedTextBlock.kind, NumericBlock.kind
CATEGORICAL, TIME, VECTOR = CategoricalBlock.kind, TimeBlock.kind, VectorBlock.kind

RECOGNISED: tuple[type[Block], ...] = (
    VectorBlock,
    NumericBlock,
    TimeBlock,
    TextBlock,
    CategoricalBlock,
)
"""Types in the order in which they are looked for: the first that recognises a column has it."""

TYPES: dict[str, type[Block]] = {
    one.kind: one
    for one in (
        TextBlock,
        HashedTextBlock,
        NumericBlock,
        CategoricalBlock,
        TimeBlock,
        VectorBlock,
    )
}
"""All types, in the order of their features."""

DECIMAL_COMMA = re.compile(r"[-+]?\d+,\d+")
FEW_OTHERS = 0.2
"""Up to this share of other values, a column is one of numbers with mistakes."""


def find_kind(table: Table, name: str) -> Kind:
    """Find out what a column holds."""
    cells = Cells(name, table.column(name))
    for one in RECOGNISED:
        found = one.recognise(cells)
        if found is not None:
            return found
    return Kind(None, _why_no_number(cells.words) or _like_identifier(cells))


def _like_identifier(cells: Cells) -> str:
    n = len(cells.words)
    return f"{cells.n_distinct} of its {n} values are distinct and short, like an identifier"


def _why_no_number(values: list[str]) -> str | None:
    """Return what is wrong with values that are meant to be numbers; None if they are not."""
    others = [value for value in values if with_thousands(value) is None]
    if all(DECIMAL_COMMA.fullmatch(value) for value in others):
        return f"its numbers have decimal commas, such as {others[0]!r}; write decimal points"
    if len(others) <= FEW_OTHERS * len(values):
        return (
            f"{len(others)} of its {len(values)} values are not numbers, such as {others[0]!r}; "
            "correct them, or leave their cells blank"
        )
    return None


def columns_by_type(kinds: Mapping[str, str]) -> dict[type[Block], list[str]]:
    """Return the columns of every type that there is, in the order of their features."""
    found = {one: [name for name in kinds if kinds[name] == one.kind] for one in TYPES.values()}
    return {one: names for one, names in found.items() if names}


def is_dense(kinds: Mapping[str, str]) -> bool:
    """Return whether all columns are numbers, times or vectors: hardly an entry is zero."""
    return all(TYPES[kind].is_dense for kind in kinds.values())


def is_array(kinds: Mapping[str, str]) -> bool:
    """Return whether features in memory are an array: those of vectors, perhaps with numbers."""
    return is_dense(kinds) and VectorBlock.kind in kinds.values()
