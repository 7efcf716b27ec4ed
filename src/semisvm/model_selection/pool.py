"""What is tried where a method is chosen: methods that differ, with a few settings each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semisvm.designs.costs import Size
from semisvm.designs.validation import typical_variance
from semisvm.estimators.registry import Method, methods
from semisvm.labels.partial import PartialLabels
from semisvm.losses import SQUARED_HINGE

STRENGTH = 1.0 / 3.0
"""Regularisation, in units of the typical variance of the rows, that is tried besides the
default. For a table of few columns it is a hundred times the default, and much better; for
texts it is the default."""
APART = 3.0
"""Factor between two regularisations from which both are tried."""
SAFE = 2.0
"""What the supervised method weighs before any label was held out, in units of the others: it
does no harm."""
SUITED = 2.0
"""The same for a regularisation that suits the rows."""
MOST_KERNEL_ROWS = 3_000
"""Kernel features take a square matrix of the rows."""
RBF = {"kernel": "rbf", "gamma": "mean_distance"}


@dataclass(frozen=True)
class Entry:
    """A method with settings.

    Attributes
    ----------
    name : str
        For people: the method, and what differs from its defaults.
    method : Method
    parameters : dict
        Of the estimator.
    seconds : float
        Rough estimate of the time of one fit.
    last_seconds : float
        The same for the fit to all rows, where only some are used to choose.
    weight : float
        In a committee, before any label was held out.
    """

    name: str
    method: Method
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    last_seconds: float = 0.0
    weight: float = 1.0

    def make(self, unlabeled: Any, **more: Any) -> Any:
        """Make the estimator."""
        return self.method.make(unlabeled=unlabeled, **self.parameters, **more)


def pool(X: Any, labels: PartialLabels, given: Mapping[str, Any]) -> list[Entry]:
    """List what suits the data, the supervised method first.

    Parameters
    ----------
    X : validated rows
        All, or some that stand for all.
    labels : PartialLabels
        Of all rows.
    given : mapping
        Parameters that the user has set: each goes to the methods that have it, and is not
        varied.
    """
    size = Size.of(X, len(labels.classes))
    full = size.with_rows(len(labels.codes))
    suited = None if "reg" in given else suited_reg(X)
    found: list[Entry] = []
    for method in candidates(labels):
        fixed = accepted(method, given)
        seconds, last = method.cost.seconds(size), method.cost.seconds(full)
        weight = 1.0 if found else SAFE
        found.append(Entry(method.name, method, fixed, seconds, last, weight))
        if method.varies == "reg" and suited is not None:
            name = f"{method.name} reg={suited:g}"
            parameters = {**fixed, "reg": suited}
            found.append(Entry(name, method, parameters, seconds, last, SUITED * weight))
        if method.varies == "kernel" and "kernel" not in given and _takes_kernel(full):
            times = (3.0 * seconds, 3.0 * last)
            found.append(Entry(f"{method.name} rbf", method, {**fixed, **RBF}, *times))
    # the cheap ones first, so that slow ones are tried while there is time
    return [found[0], *sorted(found[1:], key=lambda entry: entry.seconds)]


def suited_reg(X: Any) -> float | None:
    """Return a regularisation that suits the variance of the rows; None if the default does.

    Parameters
    ----------
    X : validated rows
    """
    found = float(f"{STRENGTH * typical_variance(X):.2g}")
    usual = SQUARED_HINGE.default_reg
    return None if usual / APART < found < usual * APART or found == 0.0 else found


def candidates(labels: PartialLabels) -> list[Method]:
    """List the methods to choose from, the supervised one first."""
    n = len(labels.unlabeled)
    return [method for method in methods() if method.auto and method.misfit(n) is None]


def accepted(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the given parameters that the method has."""
    return {name: value for name, value in given.items() if name in method.parameters}


def _takes_kernel(size: Size) -> bool:
    return size.suits_array and size.n_rows <= MOST_KERNEL_ROWS
