"""Texts for people: names that may be meant, times and counts, unsafe characters, JSON."""

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

MISSING_WORDS = frozenset(
    sign + word for word in ("nan", "1.#ind", "1.#qnan") for sign in ("", "-")
) | {"na", "n/a", "<na>", "#na", "#n/a", "#n/a n/a", "null", "none"}
"""Words that programs write for a missing value, in any case; the list of pandas."""

LOOKS_MISSING = {
    *("?", "-", "--", ".", "-1", "unlabeled", "unlabelled", "no label", "unknown", "unassigned"),
    *("unclassified", "undefined", "missing", "pending", "tbd", "todo"),
}
"""Labels that may mark rows without one, but may be classes too."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a question with the known name that a misspelt one probably stands for, if any."""
    by_fold = {known_name.casefold().strip(): known_name for known_name in known}
    found = get_close_matches(name.casefold().strip(), by_fold, n=1, cutoff=0.6)
    return f" Did you mean {by_fold[found[0]]!r}?" if found else ""


def shortened(text: str, most: int) -> str:
    """Return text of at most so many characters; a cut is shown."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listing(names: Iterable[str], most: int = 20) -> str:
    """Write names in a row, the first ones of many."""
    known = [repr(name) for name in names]
    rest = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + rest


def series(names: Iterable[str], word: str = "and") -> str:
    """Write names in a sentence: one, two and three."""
    *first, last = names
    return f"{', '.join(first)} {word} {last}" if first else last


CONTROL = "\x00-\x1f\x7f-\x9f"
DIRECTION = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
SURROGATES = "\ud800-\udfff"
"""Halves of characters, which no encoding can write."""

_UNFIT = re.compile(f"[{CONTROL}{DIRECTION}{SURROGATES}\u2028\u2029]")
_UNFIT_IN_JSON = re.compile(f"[\x7f-\x9f{DIRECTION}{SURROGATES}\u2028\u2029]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def visible(text: str) -> str:
    r"""Return text with its control characters written out, as in ``\x1b``.

    >>> visible("spam\x1b[2J")
    'spam\\x1b[2J'
    """
    return _UNFIT.sub(_written_out, text)


def visible_json(text: str) -> str:
    """Return a JSON document with control characters as its escapes: the same data.

    Parameters
    ----------
    text : str
        As of ``json.dumps``, which escapes some of them itself.
    """
    return _UNFIT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _written_out(found: re.Match[str]) -> str:
    sign = found[0]
    code = ord(sign)
    return _SHORT.get(sign) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def rough_time(seconds: float) -> str:
    """Write an estimated time."""
    for unit, size in (("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"about {seconds / size:.0f} {unit}"
    return f"about {max(seconds, 1.0):.0f} s"


def measured_time(seconds: float) -> str:
    """Write a measured time; hundredths of a second are the finest that matter."""
    if seconds < 0.01:
        return "< 0.01 s"
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"


def counted(number: int, thing: str) -> str:
    """Write a number of things, such as "1 round" and "2 rounds"."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def plain(value: Any) -> Any:
    """Turn a value into JSON types: keys are text, what is not finite is null."""
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
