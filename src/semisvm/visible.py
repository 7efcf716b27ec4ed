"""Text from files, made safe to show.

A label or the name of a column may hold whatever its author likes: sequences that move the
cursor or set the title of a terminal, or marks that change the direction of writing, so that
a line reads as something else.
"""

import re

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
