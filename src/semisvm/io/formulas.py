"""Cells that a spreadsheet would take for formulas.

A program that opens a CSV file may run ``=HYPERLINK(...)``, whoever wrote it. An apostrophe
before such a cell makes it text. It is added and taken away so that each cell comes back as
it was; numbers, and signs on their own, are no formulas.
"""

import re
from typing import Any

TRIGGERS = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
NUMBER = re.compile(r"[+-]?(\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?%?", re.IGNORECASE)
MARK = "'"


def is_formula(cell: Any) -> bool:
    """Tell whether a cell is text that a spreadsheet may run.

    >>> [is_formula(cell) for cell in ("=1+1", "-1", "-", "@SUM(A1)", -1.5)]
    [True, False, False, True, False]
    """
    if not isinstance(cell, str) or cell[:1] not in TRIGGERS or not cell:
        return False
    return any(map(str.isalnum, cell)) and not _is_number(cell)


def _is_number(cell: str) -> bool:
    if NUMBER.fullmatch(cell.strip()):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def escaped(cell: Any) -> Any:
    """Return a cell with an apostrophe before it if it is a formula, or was one before that.

    >>> [escaped(cell) for cell in ("=1+1", "'=1+1", "-1", "it's")]
    ["'=1+1", "''=1+1", '-1', "it's"]
    """
    return MARK + cell if isinstance(cell, str) and is_formula(cell.lstrip(MARK)) else cell


def unescaped(cell: str) -> str:
    """Return the cell that `escaped` was given.

    >>> unescaped("'=1+1"), unescaped("'quoted'")
    ('=1+1', "'quoted'")
    """
    return cell[1:] if cell.startswith(MARK) and is_formula(cell.lstrip(MARK)) else cell
