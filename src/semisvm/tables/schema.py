"""What a value of a model file may be: small checks that schemas are made of.

A check is a function of a value, of the words for the place where it stands, and of the sizes
that are known so far. A size is a name, such as "classes": the first list or array with it
sets it, and all others must agree.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.tables.errors import ModelFileError

Sizes = dict[str, int]
Check = Callable[[Any, str, Sizes], None]

DAMAGED = "this model file is damaged: "
MOST_COLUMNS = (1 << 31) - 1
LARGEST = 1e300
"""Numbers of a summary or a trace; sums and differences of two of them are still finite."""


def refuse(where: str, needed: str) -> ModelFileError:
    """Return the error of a value that is not what it must be."""
    return ModelFileError(f"{DAMAGED}{where} must be {needed}.")


def complaint(check: Check, value: Any, where: str, sizes: Sizes | None = None) -> str | None:
    """Return in which way a value does not pass a check; None if it does."""
    try:
        check(value, where, {} if sizes is None else sizes)
    except ModelFileError as error:
        return error.message.removeprefix(DAMAGED)
    return None


def agree(name: str, found: int, where: str, sizes: Sizes) -> None:
    """Refuse a size that differs from what is known of it."""
    if sizes.setdefault(name, found) != found:
        raise ModelFileError(f"{DAMAGED}{where} has {found:,} {name}, not {sizes[name]:,}.")


def text(value: Any, where: str, sizes: Sizes) -> None:
    """Require text that can be written."""
    if not isinstance(value, str):
        raise refuse(where, "text")
    try:
        value.isascii() or value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise refuse(where, "text without halves of characters") from error


def flag(value: Any, where: str, sizes: Sizes) -> None:
    """Require true or false."""
    if not isinstance(value, bool):
        raise refuse(where, "true or false")


def nothing(value: Any, where: str, sizes: Sizes) -> None:
    """Require None."""
    if value is not None:
        raise refuse(where, "null")


def anything(value: Any, where: str, sizes: Sizes) -> None:
    """Take any value: what is read from a file is plain data."""


def label(value: Any, where: str, sizes: Sizes) -> None:
    """Require a number, text, or true or false."""
    if not isinstance(value, (bool, int, float)):
        text(value, where, sizes)


def scalar(value: Any, where: str, sizes: Sizes) -> None:
    """Require a number, text, true or false, or None."""
    if value is not None:
        label(value, where, sizes)


def in_words(name: Any, most: int = 40) -> str:
    """Return the beginning of an untrusted text, with replacements for control characters."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(name)[:most])


def whole(low: int = 0, high: int | None = None) -> Check:
    """Require a whole number within bounds."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if type(value) is not int or value < low or (high is not None and value > high):
            most = "" if high is None else f" and <= {high}"
            raise refuse(where, f"a whole number >= {low}{most}")

    return check


def number(
    low: float = -LARGEST, high: float = LARGEST, *, above: float = -math.inf, finite: bool = True
) -> Check:
    """Require a number within bounds; NaN and infinity only where they are allowed."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        fine = type(value) in (int, float)
        if fine and math.isfinite(value):
            fine = low <= value <= high and value > above
        elif fine:
            fine = not finite
        if not fine:
            bound = f" > {above:g}" if above > -math.inf else ""
            bound += f" >= {low:g}" if low > -LARGEST else ""
            bound += f" and <= {high:g}" if high < LARGEST else ""
            raise refuse(where, f"a number{bound}")

    return check


def one_of(*choices: Any) -> Check:
    """Require one of some values."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not any(type(value) is type(choice) and value == choice for choice in choices):
            raise refuse(where, f"one of {', '.join(map(repr, choices))}")

    return check


def either(*checks: Check) -> Check:
    """Require one of several checks; the message is that of the first one."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        first = None
        for part in checks:
            try:
                return part(value, where, sizes)
            except ModelFileError as error:
                first = first or error
        assert first is not None
        raise first

    return check


def optional(part: Check) -> Check:
    """Require what passes a check, or None."""
    return either(part, nothing)


def listed(
    item: Check,
    size: str | None = None,
    *,
    least: int = 0,
    length: int | None = None,
    more: int = 0,
    unique: bool = False,
) -> Check:
    """Require a list or tuple.

    Parameters
    ----------
    item : Check
        Of every entry.
    size : str, optional
        Name of the length.
    least : int, default=0
        Fewest entries.
    length : int, optional
        Number of entries.
    more : int, default=0
        Entries beyond the named length, as edges have one more than bins.
    unique : bool, default=False
        Whether all entries differ.
    """

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise refuse(where, f"a list of {least} or more")
        if length is not None and len(value) != length:
            raise refuse(where, f"a list of {length}")
        for k, entry in enumerate(value):
            try:
                item(entry, where, sizes)
            except ModelFileError:
                # the place is put into words only where they are needed: lists may be long
                item(entry, f"{where}[{k}]", sizes)
                raise
        if size is not None:
            agree(size, len(value) - more, where, sizes)
        if unique and len(set(value)) < len(value):
            raise refuse(where, "a list without repetitions")

    return check


def size(name: str) -> Check:
    """Require a number of one or more that is a size of arrays."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        whole(1)(value, where, sizes)
        agree(name, value, where, sizes)

    return check


def shaped(*names: str) -> Check:
    """Require the shape of a matrix, whose sizes have names."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        listed(whole(0, MOST_COLUMNS), length=len(names))(value, where, sizes)
        for name, found in zip(names, value, strict=True):
            agree(name, found, where, sizes)

    return check


def ordered(part: Check) -> Check:
    """Require a list that passes a check and does not fall."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        part(value, where, sizes)
        if any(a > b for a, b in itertools.pairwise(value)):
            raise refuse(where, "a list in ascending order")

    return check


def mapping(key: Check, item: Check) -> Check:
    """Require a dict."""

    def check(value: Any, where: str, sizes: Sizes) -> None:
        if not isinstance(value, Mapping):
            raise refuse(where, "an object")
        for name, entry in value.items():
            key(name, f"a key of {where}", sizes)
            item(entry, f"{where}.{in_words(name)}", sizes)

    return check


class Record:
    """Require a dict with certain entries.

    Parameters
    ----------
    required : mapping of checks
    optional : mapping of checks, optional
        Entries that may be missing, as in files from before there were any.
    others : Check, optional
        Of all further entries; by default there are none.
    """

    def __init__(
        self,
        required: Mapping[str, Check],
        optional: Mapping[str, Check] | None = None,
        others: Check | None = None,
    ) -> None:
        self.required = tuple(required)
        self.known = {**required, **(optional or {})}
        self.others = others

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a value."""
        if not isinstance(value, Mapping):
            raise refuse(where, "an object")
        for name in self.required:
            if name not in value:
                raise ModelFileError(f"{DAMAGED}{where} has no {name}.")
        for name, part in self.known.items():
            if name in value:
                part(value[name], f"{where}.{name}", sizes)
        for name in value:
            if name not in self.known:
                text(name, f"a key of {where}", sizes)
                if self.others is None:
                    raise ModelFileError(
                        f"{DAMAGED}{where} has {name[:40]!r}, which is not known here."
                    )
                self.others(value[name], f"{where}.{in_words(name)}", sizes)


@dataclass(frozen=True)
class Array:
    """Require an array.

    Attributes
    ----------
    kinds : str
        Letters of numpy's kinds of types.
    shape : tuple
        Names of sizes.
    low, high, above : float, optional
        Bounds of the entries, which are finite; ``high`` may be the name of a size, which
        entries then stay below: they are positions.
    """

    kinds: str
    shape: tuple[str, ...]
    low: float | None = None
    high: float | str | None = None
    above: float | None = None

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a value."""
        if not isinstance(value, np.ndarray) or value.dtype.kind not in self.kinds:
            raise refuse(where, f"an array of kind {' or '.join(self.kinds)}")
        if value.ndim != len(self.shape):
            raise refuse(where, f"an array of {len(self.shape)} dimensions")
        for name, length in zip(self.shape, value.shape, strict=True):
            agree(name, length, where, sizes)
        if value.dtype.kind in "iuf" and value.size:
            self._check_entries(float(value.min()), float(value.max()), where, sizes)

    def _check_entries(self, low: float, high: float, where: str, sizes: Sizes) -> None:
        # NaN is among the least and the greatest, so two passes are enough
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ModelFileError(f"{DAMAGED}{where} is not finite everywhere.")
        most = sizes[self.high] - 1 if isinstance(self.high, str) else self.high
        if (self.low is not None and low < self.low) or (most is not None and high > most):
            raise refuse(where, "an array of numbers within bounds")
        if self.above is not None and low <= self.above:
            raise refuse(where, f"an array of numbers > {self.above:g}")


@dataclass(frozen=True)
class Names:
    """Require an object array of text, all different; ``size`` is the name of its length."""

    size: str

    def __call__(self, value: Any, where: str, sizes: Sizes) -> None:
        """Check a value."""
        if not isinstance(value, np.ndarray) or value.ndim != 1:
            raise refuse(where, "a list of names")
        listed(text, self.size, unique=True)(value.tolist(), where, sizes)
