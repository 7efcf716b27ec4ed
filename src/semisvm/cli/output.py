"""Tables for people, JSON for machines; both from the same data."""

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from semisvm.jsonable import plain


def print_json(facts: dict[str, Any]) -> None:
    """Print facts as JSON."""
    print(json.dumps(plain(facts), indent=2, ensure_ascii=False))


def print_facts(title: str, facts: dict[str, Any]) -> None:
    """Print names and values as a table of two columns."""
    print(title)
    table = RichTable(show_header=False, box=None)
    for name, value in facts.items():
        table.add_row(Text(name), Text(show(value)))
    Console(highlight=False).print(table)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; text of users is never taken for markup."""
    print(title)
    table = RichTable(box=None)
    for k, name in enumerate(header):
        words = any(isinstance(row[k], str) for row in rows)
        table.add_column(Text(name), justify="left" if words else "right")
    for row in rows:
        table.add_row(*(Text(show(cell)) for cell in row))
    Console(highlight=False).print(table)


def show(value: Any) -> str:
    """Write a value for people."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={show(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(show(item) for item in value)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
