"""Class shares and other numbers per class, as they are written on the command line."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from semisvm.cli.errors import UserError
from semisvm.naming import near_match

if TYPE_CHECKING:
    from semisvm.io import MatrixData, Table

ESTIMATE, LABELS, EQUAL = "estimate", "labels", "equal"
BALANCED = "balanced"
LABELLED = ("labelled", "labeled", LABELS)


def class_shares(text: str | None, data: "Table | MatrixData") -> dict[Any, float] | str | None:
    """Read the class shares for the labels of data; None if none are given."""
    if text is None or data.labels is None:
        return None
    return read_prior(text, set(data.labels.tolist()) - {None})


def read_prior(text: str, classes: set[Any]) -> dict[Any, float] | str:
    """Read class shares such as ``spam=0.4,ham=0.6``.

    Parameters
    ----------
    text : str
        Or "labelled" for the shares of the labels, "estimate" for an estimate, "equal" for
        equal shares. One class may be left out; it gets the rest.
    classes : set
        The classes of the labels.
    """
    if text in LABELLED or text == ESTIMATE:
        return ESTIMATE if text == ESTIMATE else LABELS
    if text == EQUAL:
        return {label: 1.0 / len(classes) for label in classes}
    shares = read_numbers(text, classes, "--prior")
    rest = [label for label in classes if label not in shares]
    for label in rest:
        shares[label] = max(0.0, 1.0 - sum(shares.values())) if len(rest) == 1 else 0.0
    if len(rest) > 1:
        raise UserError(f"--prior has no share for {', '.join(sorted(map(str, rest)))}.")
    return shares


def class_factors(text: str | None, data: "Table | MatrixData") -> dict[Any, float] | str | None:
    """Read factors such as ``spam=5`` for the labels of data; "balanced" is left as it is."""
    if text is None or text == BALANCED or data.labels is None:
        return text if text == BALANCED else None
    classes = set(data.labels.tolist()) - {None}
    return read_numbers(text, classes, "--class-weight")


def read_numbers(
    text: str, named: Iterable[Any], option: str, what: tuple[str, str] = ("class", "classes")
) -> dict[Any, float]:
    """Read one number per class that is named, such as ``spam=0.4,ham=0.6``."""
    known = {str(label): label for label in named}
    names = ", ".join(sorted(known))
    found: dict[Any, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if not equals:
            raise UserError(f"{option} must look like spam=0.4,ham=0.6, but {part!r} has no '='.")
        if name.strip() not in known:
            near = near_match(name, known)
            hint = f" Did you mean {near!r}?" if near else ""
            raise UserError(
                f"{option} names the {what[0]} {name!r}.{hint} The {what[1]} are {names}."
            )
        try:
            found[known[name.strip()]] = float(number)
        except ValueError:
            raise UserError(
                f"{option} has {number!r} for {name!r}, which is not a number."
            ) from None
    return found
