"""Parameters that several estimators share, and the decorator that writes constructors.

An estimator declares its parameters as annotated names with defaults, and inherits those that
it shares. To change the default of an inherited one, it declares that one again.

The same holds for their documentation: a docstring describes what is special about its class,
and inherits the other parameters and attributes; that of ``fit`` inherits those of the bases' fits.
Defaults are added from the declarations.
"""

import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, field, make_dataclass
from inspect import cleandoc, get_annotations, signature
from typing import Any, NamedTuple, TypeVar, dataclass_transform

from numpy.typing import ArrayLike

from semisvm.methods.solution import BALANCE_TOL
from semisvm.solvers.trace import Callback

Kernel = str | Callable[..., float]
ClassPrior = ArrayLike | Mapping[Any, float] | str | None
LabelNoise = ArrayLike | Mapping[Any, float] | None

T = TypeVar("T")
DECLARED = "_declared_parameters"
"""Attribute of a class: name -> `Declared`, of what it declares itself."""
SECTIONS = "_docstring_sections"
"""Attribute of a class or function: title -> text, of the docstring that was written for it."""
HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


class Declared(NamedTuple):
    """A parameter: its type, whether it is given by keyword only, and its default."""

    kind: Any
    by_keyword: bool
    default: Any


@dataclass_transform(eq_default=False)
def parameters(cls: type[T]) -> type[T]:
    """Write the constructor and the docstring of a class from what it and its bases declare.

    What comes after ``_: KW_ONLY`` is given by keyword only. Positional parameters are in the
    order of a dataclass, those of the bases first. Of the keywords, those of the class itself
    are first, since they are what is special about it.

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
    if cls.__doc__:  # python -OO has none
        setattr(cls, SECTIONS, _sections(cls.__doc__))
        cls.__doc__ = _documentation(cls, {name: merged[name].default for name in order})
        _document_fit(cls)
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


def _sections(docstring: str) -> dict[str, str]:
    """Split a docstring in numpydoc form by its titles; the text before them has the title ""."""
    text, *rest = HEADING.split(cleandoc(docstring))
    return {"": text} | dict(zip(rest[::2], rest[1::2], strict=True))


def _entries(parts: Sequence[Any], title: str) -> dict[str, str]:
    """Return what a class and its bases describe in a section, by name, those of all first."""
    found: dict[str, str] = {}
    for part in reversed(parts):
        section = vars(part).get(SECTIONS, {}).get(title, "")
        found |= {entry.partition(" :")[0]: entry.rstrip() for entry in ENTRY.split(section)}
    del found[""]  # there is nothing before the first entry of a section
    return found


def _documentation(cls: type, defaults: Mapping[str, Any]) -> str:
    """Return the docstring of a class with inherited parameters and attributes, and defaults.

    Parameters are in the order of the signature.
    """
    described = _entries(cls.__mro__, "Parameters")
    listed = []
    for name in filter(described.__contains__, defaults):
        head, *text = described[name].split("\n")
        default = repr(defaults[name]).replace("'", '"')
        listed.append("\n".join((f"{head}, default={default}", *text)))
    merged = {"Parameters": listed, "Attributes": _entries(cls.__mro__, "Attributes").values()}
    sections = {"": "", **{title: "\n".join(found) for title, found in merged.items() if found}}
    sections |= {k: text for k, text in vars(cls)[SECTIONS].items() if k not in merged}
    return _joined(sections)


def _document_fit(cls: type) -> None:
    """Complete the docstring of the fit of a class by those of its bases."""
    fit = vars(cls).get("fit")
    if fit is None or not fit.__doc__:
        return
    setattr(fit, SECTIONS, _sections(fit.__doc__))
    fits = [vars(part)["fit"] for part in cls.__mro__ if hasattr(vars(part).get("fit"), SECTIONS)]
    described = _entries(fits, "Parameters")
    named = filter(described.__contains__, signature(fit).parameters)
    inherited = ChainMap(*(vars(each)[SECTIONS] for each in fits))
    listed = "\n".join(described[name] for name in named)
    fit.__doc__ = _joined({**inherited, "Parameters": listed})


def _joined(sections: Mapping[str, str]) -> str:
    return "\n\n".join(
        f"{title}\n{'-' * len(title)}\n{text.rstrip()}" if title else text.rstrip()
        for title, text in sections.items()
    )


@parameters
class CommonParameters:
    """Parameters of all classifiers, and what all of them publish.

    Parameters
    ----------
    unlabeled : scalar
        Value in y that marks unlabelled rows, in addition to None and NaN.
    verbose : int
        Print one line per level.
    callback : callable or None
        Called with each row of the trace; the fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Shares of the classes among the labelled rows.
    transduction_ : array of shape (n,)
        The given labels, and predictions for the unlabelled rows.
    objective_ : float
    n_iter_ : int
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)
    """

    _: KW_ONLY
    unlabeled: Any = -1
    verbose: int = 0
    callback: Callback | None = None


@parameters
class KernelParameters:
    """Parameters of `fit_map`; the linear kernel needs none of the others.

    Parameters
    ----------
    kernel : str or callable
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows,
        or "precomputed". Kernels other than "linear" become feature maps: the fit stores
        n x rank numbers, and prediction needs only the pivot rows. "latent" is the cosine
        along the leading singular vectors of all rows, labelled or not, which count once
        each, whatever their weight.
    gamma : float, "scale" or "mean_distance"
        Coefficient of the kernel: "scale" is 1 / (d var(X)), "mean_distance" is
        1 / (2 width^2), where width is the average distance between two rows.
    degree : int
        Degree of the kernel "poly".
    coef0 : float
        Constant term of the kernels "poly" and "sigmoid".
    n_components : int or None
        Maximum number of kernel features (Nystroem); None leaves it to ``kernel_tol``. With
        "latent" the number of singular vectors; None is 30.
    kernel_tol : float
        Fraction of the trace of the kernel matrix that the features may leave out.

    Attributes
    ----------
    kernel_map_ : KernelMap, LatentMap or None
        Features of the kernel, with one weight each in ``coef_``; None if linear.
    """

    _: KW_ONLY
    kernel: Kernel = "linear"
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 1.0
    n_components: int | None = None
    kernel_tol: float = 1e-4


@parameters
class LossParameters:
    """Parameters of the machines with a choice of losses, whose fits a `Checkpoint` can keep.

    Parameters
    ----------
    loss : str
        Of the margin z: "squared_hinge" is max(0, 1 - z)^2; "huber" the same, but linear
        below -1; "hinge" is max(0, 1 - z), for two classes only; "rounded_hinge" the same
        with its corner rounded; "squared" is (1 - z)^2; "log" is maxent, also for two
        classes; "crammer_singer" is the margin loss max_z [(z != y) + s_z] - s_y.
    hierarchy : None, nested dict, list of paths or dict child -> parent
        Class hierarchy with the classes as leaves. The score of a class is the sum of the
        scores of the nodes on its path, and the weights of all nodes are regularised.
    callback : callable or None
        Called with each row of the trace; the fit stops when it returns True. A
        `Checkpoint` keeps the fit in a file, from which it can go on.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
        Weights of the classes, summed along their paths.
    node_coef_, node_intercept_ : arrays of shape (k, d) and (k,)
        Weights of the nodes of the hierarchy; ``hierarchy_.names`` names them.
    """

    _: KW_ONLY
    loss: str = "squared_hinge"
    hierarchy: Any = None


@parameters
class ClassPriorParameters:
    """Parameters of class shares that are estimated where they are not given.

    Parameters
    ----------
    class_prior : None, "estimate", "labels", array of shape (m,) or dict
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None, or "estimate", estimates them from labelled and unlabelled rows
        (`semisvm.model_selection.estimate_prior`); "labels" takes the labelled fractions.

    Attributes
    ----------
    class_prior_ : array of shape (m,)
        Class shares that were used.
    class_prior_std_ : array of shape (m,)
        Standard errors of ``class_prior_``; zero for given shares.
    """

    _: KW_ONLY
    class_prior: ClassPrior = None


@parameters
class BalanceParameters(ClassPriorParameters):
    """Parameters of class shares that the predictions of two classes keep.

    Parameters
    ----------
    balance_tol : float or None
        For two classes: how far the estimated share of positive outputs on new rows may
        be from the class share, relative to the share of the rarer class. Beyond that the
        intercept is moved just far enough. None leaves the intercept alone. With more
        classes or a hierarchy intercepts are never moved, and other values are an error.

    Attributes
    ----------
    transduction_ : array of shape (n,)
        The given labels, and the labels chosen for the unlabelled rows, whose counts
        match the class shares exactly.
    """

    _: KW_ONLY
    balance_tol: float | None = BALANCE_TOL


@parameters
class EvidenceParameters:
    """Parameters of evidence about unlabelled rows, which `fit` takes, and about wrong labels.

    Parameters
    ----------
    evidence_weight : float or None
        How much evidence counts in the choice of labels: the cost of a label is its loss
        minus ``evidence_weight`` times the logarithm of its probability q, up to a constant.
        At 1 evidence that is sure by a factor of 7 outweighs a row at the margin; at 0 only
        labels of probability zero matter. None is 0.2.
    label_noise : float, dict, array-like of shape (n,) or None
        Probability that a given label is wrong: of all labels, by class (those that are not named
        are right), or of each row, where no fold leaves rows out. A label that the others
        contradict is taken back; it counts as evidence about its row, which gets a label like the
        unlabelled ones. ``trace_.notes`` says which rows these are. None trusts all labels.
    """

    _: KW_ONLY
    evidence_weight: float | None = None
    label_noise: LabelNoise = None


@parameters
class ClassesParameters:
    """Parameter of classes without a label.

    Parameters
    ----------
    classes : array-like of shape (m,) or None
        All classes, where some have no label yet; None takes those of the labels. A class
        without labels needs ``class_prior`` or evidence. If there are two classes and one has
        labels, the share of that one is estimated where it is not given.
    """

    _: KW_ONLY
    classes: ArrayLike | None = None


@parameters
class InterceptParameters:
    """Parameters of a regularised intercept.

    Parameters
    ----------
    fit_intercept : bool
        Whether to fit an intercept.
    intercept_scaling : float
        Value of the constant feature; larger values regularise the intercept less.
    """

    _: KW_ONLY
    fit_intercept: bool = True
    intercept_scaling: float = 1.0


@parameters
class SolverParameters:
    """Parameters of iterative solvers.

    Parameters
    ----------
    tol : float
        Certified relative error of the objective.
    max_iter : int
        Maximum number of rounds (weight step, label step) per level.
    n_jobs : int or None
        Number of threads; None is one, -1 uses all cores.

    Attributes
    ----------
    n_iter_ : int
        Number of rounds (weight step, label step).
    """

    _: KW_ONLY
    tol: float = 1e-5
    max_iter: int = 1000
    n_jobs: int | None = None


@parameters
class WarmSolverParameters(SolverParameters):
    """Parameters of iterative solvers that can continue the last fit.

    Parameters
    ----------
    warm_start : bool
        Start from the weights of the last fit.
    """

    _: KW_ONLY
    warm_start: bool = False
