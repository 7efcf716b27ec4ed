"""Names in messages: which one may be meant, which ones there are, which are hardly names."""

from collections.abc import Iterable
from difflib import get_close_matches

MISSING_WORDS = frozenset(
    sign + word for word in ("nan", "1.#ind", "1.#qnan") for sign in ("", "-")
) | {"na", "n/a", "<na>", "#na", "#n/a", "#n/a n/a", "null", "none"}
"""Words that programs write for a missing value, in any case; the list of pandas."""

LOOKS_MISSING = {
    *("?", "-", "--", ".", "-1", "unlabeled", "unlabelled", "no label", "unknown", "unassigned"),
    *("unclassified", "undefined", "missing", "pending", "tbd", "todo"),
}
"""Labels that may mark rows without one, but may be classes too."""


def near_match(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelt one probably stands for."""
    by_fold = {known_name.casefold().strip(): known_name for known_name in known}
    found = get_close_matches(name.casefold().strip(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None


def listing(names: Iterable[str], most: int = 20) -> str:
    """Write names in a row, the first ones of many."""
    known = [repr(name) for name in names]
    rest = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + rest


def series(names: Iterable[str]) -> str:
    """Write names in a sentence: one, two and three."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
