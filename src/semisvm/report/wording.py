"""Values of a report for people."""

from collections.abc import Mapping
from typing import Any


def show(value: Any) -> str:
    """Write a value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {show(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(show(item) for item in value)
    return str(value)


def percent(share: float | None) -> str:
    """Write a share."""
    return "–" if share is None else f"{100 * share:.1f}%"
