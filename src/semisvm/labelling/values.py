"""Values of a request, checked before the sitting sees them."""

from collections.abc import Mapping
from typing import Any

from semisvm.labelling.security import RefusedError

MAX_TEXT = 1000
MAX_ROWS = 1000


class Values:
    """What a request says: the values of a JSON object, or of the address.

    Parameters
    ----------
    given : mapping
        Names to JSON values, or to texts.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def _bad(self, name: str, what: str) -> RefusedError:
        return RefusedError(400, f"{name} must be {what}.")

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number that is not negative."""
        value = self._given.get(name, default)
        if isinstance(value, str) and value.isdecimal() and len(value) < 19:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._bad(name, "a whole number")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or None where there is none."""
        return None if self._given.get(name) is None else self.integer(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text of bounded length."""
        value = self._given.get(name, default)
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise self._bad(name, f"a text of at most {MAX_TEXT} characters")
        return value

    def optional(self, name: str) -> str | None:
        """Return a text, or None where there is none."""
        return None if self._given.get(name) in (None, "") else self.text(name)

    def flag(self, name: str) -> bool:
        """Return true or false; false where nothing is said."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise self._bad(name, "true or false")
        return value

    def integers(self, name: str) -> list[int]:
        """Return a list of whole numbers."""
        value = self._given.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_ROWS:
            raise self._bad(name, f"a list of 1 to {MAX_ROWS} whole numbers")
        return [Values({name: item}).integer(name) for item in value]
