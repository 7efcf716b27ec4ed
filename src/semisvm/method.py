"""What a method is: an estimator with some parameters fixed, and what is known about it."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from semisvm.costs import Cost


@dataclass(frozen=True)
class Parameter:
    """A parameter that users may set.

    Attributes
    ----------
    name : str
        Of the estimator.
    type : type
    help : str
    option : str, optional
        Its option on the command line.
    choices : tuple of str
        Allowed values of a text.
    """

    name: str
    type: type
    help: str
    option: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suits:
    """What data a method is for.

    Attributes
    ----------
    two, many : bool
        Two classes; more than two.
    sparse, dense : bool
        Kinds of matrices.
    needs_unlabeled : bool
        Whether it gains anything over supervised learning only from unlabelled rows.
    uses_prior : bool
        Whether it uses the class shares.
    probabilities : bool
        Whether its scores are probabilities without calibration.
    most_unlabeled : int, optional
        Number of unlabelled rows beyond which it takes too long.
    """

    two: bool = True
    many: bool = True
    sparse: bool = True
    dense: bool = True
    needs_unlabeled: bool = True
    uses_prior: bool = True
    probabilities: bool = False
    most_unlabeled: int | None = None


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Attributes
    ----------
    name : str
    aliases : tuple of str
    estimator : str
        "module:class".
    summary : str
        One line.
    suits : Suits
    parameters : tuple of Parameter
    cost : Cost
        Rough cost of a fit; comparisons choose what is quick on data of this size.
    fixed : mapping
        Parameters of the estimator that make it this method.
    auto : bool
        Whether it is among the few that are tried where the method itself is chosen.
    varies : str
        A parameter of which another value is tried there too: "reg", "kernel" or none.
    compared : bool
        Whether it is compared where no methods are named; not if it differs from another
        one only in the choice of rows to label.
    """

    name: str
    aliases: tuple[str, ...]
    estimator: str
    summary: str
    suits: Suits
    parameters: tuple[Parameter, ...]
    cost: Cost
    fixed: Mapping[str, Any] = field(default_factory=dict)
    auto: bool = False
    varies: str = ""
    compared: bool = True

    @property
    def title(self) -> str:
        """What the method is called in words: the beginning of its summary."""
        return self.summary.partition(":")[0].partition(",")[0]

    @property
    def estimator_name(self) -> str:
        """Name of the class."""
        return self.estimator.partition(":")[2]

    def load(self) -> Any:
        """Import the class of the estimator."""
        module, _, name = self.estimator.partition(":")
        return getattr(import_module(module), name)

    def make(self, **parameters: Any) -> Any:
        """Make an estimator.

        Parameters
        ----------
        **parameters
            Of the estimator; those that make the method cannot be changed.
        """
        changed = sorted(set(parameters) & set(self.fixed))
        if changed:
            raise ValueError(f"the method {self.name!r} fixes {', '.join(changed)}.")
        return self.load()(**self.fixed, **parameters)

    @property
    def takes_weights(self) -> bool:
        """Whether a fit takes weights of the rows."""
        return "sample_weight" in inspect.signature(self.load().fit).parameters

    def parameter(self, name: str) -> Parameter | None:
        """Return a parameter by its name, or None if the method does not have it."""
        return next((p for p in self.parameters if p.name == name), None)

    def default(self, name: str) -> Any:
        """Return the default of a parameter: the signature of the estimator has it."""
        return inspect.signature(self.load()).parameters[name].default

    def suits_classes(self, n_classes: int) -> bool:
        """Tell whether the method is for so many classes."""
        return self.suits.two if n_classes <= 2 else self.suits.many

    def misfit(self, n_classes: int, n_unlabeled: int, is_sparse: bool) -> str | None:
        """Say why the method does not suit data, or None if it does.

        Parameters
        ----------
        n_classes, n_unlabeled : int
        is_sparse : bool
            Kind of the matrix.
        """
        if not self.suits_classes(n_classes):
            return "it is for two classes" if self.suits.two else "it is for many classes"
        if self.suits.needs_unlabeled and n_unlabeled == 0:
            return "it needs unlabelled rows"
        most = self.suits.most_unlabeled
        if most is not None and n_unlabeled > most:
            return f"it is for at most {most:,} unlabelled rows"
        if not (self.suits.sparse if is_sparse else self.suits.dense):
            return f"it does not take {'sparse' if is_sparse else 'dense'} data"
        return None
