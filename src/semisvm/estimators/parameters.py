"""Parameters that several estimators share, and the decorator that writes constructors.

An estimator declares its parameters as annotated names with defaults, and inherits those that
it shares. To change the default of an inherited one, it declares that one again.
"""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field, make_dataclass
from inspect import get_annotations
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from numpy.typing import ArrayLike

from semisvm.solvers.trace import Callback

Kernel = str | Callable[..., float]
ClassPrior = ArrayLike | Mapping[Any, float] | str | None

T = TypeVar("T")
DECLARED = "_declared_parameters"
"""Attribute of a class: name -> `Declared`, of what it declares itself."""


class Declared(NamedTuple):
    """A parameter: its type, whether it is given by keyword only, and its default."""

    kind: Any
    by_keyword: bool
    default: Any


@dataclass_transform(eq_default=False)
def parameters(cls: type[T]) -> type[T]:
    """Write the constructor of a class from what it and its bases declare.

    What comes after ``_: KW_ONLY`` is given by keyword only. Positional parameters are in the
    order of a dataclass, those of the bases first. Of the keywords, those of the class itself
    are first, since they tell what is special about it.

    The class is no dataclass itself. Tools such as Dask identify a dataclass by its fields, so
    they would take two models with equal parameters for the same, whatever they were fitted to.
    """
    setattr(cls, DECLARED, _declared(cls))
    lineage = [vars(part)[DECLARED] for part in cls.__mro__ if DECLARED in vars(part)]
    merged: dict[str, Declared] = {}
    for own in reversed(lineage):
        merged |= own
    depth = {name: i for i, own in enumerate(lineage) for name in own}
    order = sorted(merged, key=lambda name: depth[name] if merged[name].by_keyword else -1)
    fields = [
        (name, found.kind, field(default=found.default, kw_only=found.by_keyword))
        for name, found in ((name, merged[name]) for name in order)
    ]
    about = {"__doc__": cls.__doc__, "__module__": cls.__module__}
    made = make_dataclass(cls.__name__, fields, eq=False, repr=False, namespace=about)
    cls.__init__ = made.__init__  # type: ignore[misc, method-assign]
    return cls


def _declared(cls: type) -> dict[str, Declared]:
    """Take the parameters from a class, which then holds no values for them."""
    found, by_keyword = {}, False
    for name, kind in get_annotations(cls).items():
        if kind is KW_ONLY:
            by_keyword = True
        else:
            found[name] = Declared(kind, by_keyword, vars(cls)[name])
            delattr(cls, name)
    return found


@parameters
class CommonParameters:
    """Parameters of all classifiers."""

    _: KW_ONLY
    unlabeled: Any = -1
    verbose: int = 0
    callback: Callback | None = None


@parameters
class KernelParameters:
    """Parameters of `fit_map`; the linear kernel needs none of the others."""

    _: KW_ONLY
    kernel: Kernel = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    n_components: int | None = None
    kernel_tol: float = 1e-4


@parameters
class InterceptParameters:
    """Parameters of a regularised intercept."""

    _: KW_ONLY
    fit_intercept: bool = True
    intercept_scaling: float = 1.0


@parameters
class SolverParameters:
    """Parameters of iterative solvers."""

    _: KW_ONLY
    tol: float = 1e-5
    max_iter: int = 1000
    n_jobs: int | None = None


@parameters
class WarmSolverParameters(SolverParameters):
    """Parameters of iterative solvers that can continue the last fit."""

    _: KW_ONLY
    warm_start: bool = False
