"""The progress of a comparison: reported before every fit, and after every method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from semisvm.model_selection.comparison import Comparison


class Watcher(Protocol):
    """Receives the progress of a comparison."""

    def starting(self, name: str, fold: int, n_folds: int) -> None:
        """Receive a fit that begins; where several run at a time, the last one."""
        ...

    def finished(self, found: Comparison) -> None:
        """Receive all methods that are done so far, whenever there is one more."""
        ...


@dataclass(frozen=True)
class Step:
    """A fit that begins.

    Attributes
    ----------
    name : str
        Of the method or setting.
    fold, n_folds : int
        Counted from 1, over all repeats.
    done, total : int
        Fits that are done, and that there are.
    left : float, optional
        Estimated seconds until all are done.
    """

    name: str
    fold: int
    n_folds: int
    done: int
    total: int
    left: float | None = None

    def __str__(self) -> str:
        return f"{self.name}, fold {self.fold} of {self.n_folds}"


Told = Callable[[Step], Any]


@dataclass
class Counting:
    """A watcher that counts the fits and reports each one before it begins.

    Attributes
    ----------
    tell : callable(Step), optional
    n_methods : int
    report : callable(Comparison), optional
        Called whenever a method is done.
    done : int
        Fits so far.
    """

    tell: Told | None
    n_methods: int
    report: Callable[[Comparison], Any] | None = None
    done: int = 0

    def starting(self, name: str, fold: int, n_folds: int) -> None:
        """Report a fit."""
        if self.tell is not None:
            self.tell(Step(name, fold + 1, n_folds, self.done, self.n_methods * n_folds))
        self.done += 1

    def finished(self, found: Comparison) -> None:
        """Pass it on."""
        if self.report is not None:
            self.report(found)
