"""Constructors: shared parameters are declared once, and what users may rely on stays."""

import inspect
import pickle
import re
import subprocess
import sys
from dataclasses import KW_ONLY, is_dataclass

import pytest
from sklearn.base import BaseEstimator, clone

import semisvm.estimators
from semisvm import model_selection
from semisvm.estimators.parameters import (
    DECLARED,
    SECTIONS,
    BalanceParameters,
    ClassPriorParameters,
    CommonParameters,
    InterceptParameters,
    KernelParameters,
    LossParameters,
    SolverParameters,
    WarmSolverParameters,
    parameters,
)

POSITIONAL = {
    "AnnealedSVC": "reg unlabeled_weight",
    "AnnealedSVCCV": "regs unlabeled_weights",
    "ClusterKernelSVC": "reg",
    "ClusteredSVC": "mu nu",
    "ConcaveSVC": "mu nu",
    "EntropyRegularizedClassifier": "reg unlabeled_weight",
    "ExpectationConstrainedClassifier": "reg",
    "FeatureSelectionSVC": "mu",
    "GradientTSVC": "reg",
    "LaplacianRLSC": "reg",
    "LaplacianSVC": "reg",
    "LowDensitySeparation": "reg",
    "MeanSVC": "C",
    "MixedIntegerSVC": "mu nu",
    "MultiLabelSVC": "estimator",
    "NewtonSVC": "reg",
    "OneNormSVC": "mu",
    "PosteriorRegularizedClassifier": "reg kl_weight",
    "RobustLPC": "",
    "SemiBoostClassifier": "estimator",
    "SemiSupervisedCommittee": "estimators",
    "TransductiveSVC": "reg unlabeled_weight",
    "TransductiveSVCCV": "regs unlabeled_weights",
}
"""What may be given without a name, in this order: a change breaks the code of users."""

SHARED = (
    *(CommonParameters, KernelParameters, InterceptParameters, SolverParameters),
    *(WarmSolverParameters, LossParameters, ClassPriorParameters, BalanceParameters),
)
NO_KERNEL = {
    *("LowDensitySeparation", "MultiLabelSVC", "SemiBoostClassifier"),
    "SemiSupervisedCommittee",
}
SEARCHES = ["AnnealedSVCCV", "TransductiveSVCCV"]


def estimator(name):
    return getattr(model_selection if name in SEARCHES else semisvm.estimators, name)


every = pytest.mark.parametrize("name", [*semisvm.estimators.__all__, *SEARCHES])


def signature(cls):
    return inspect.signature(cls).parameters


def declared(part):
    return vars(part).get(DECLARED, {})


def entries(section):
    """Split a section of a docstring: names, type and default, text of each entry."""
    listed = re.findall(r"^(\S.*?) : (.*)\n?((?:[ ]+.*\n?)*)", section, re.MULTILINE)
    assert len(listed) == len(re.findall(r"^\S", section, re.MULTILINE)), section
    return listed


def section(docstring, title):
    """Cut a section out of a docstring."""
    return docstring.split(f"\n\n{title}\n{'-' * len(title)}\n")[1].split("\n\n")[0]


def described(part, title):
    """Return the entries that are written for a class itself, by name."""
    return {name: entry for name, *entry in entries(vars(part).get(SECTIONS, {}).get(title, ""))}


@every
def test_positional_parameters_keep_their_order(name):
    found = signature(estimator(name)).values()
    positional = [p.name for p in found if p.kind is not p.KEYWORD_ONLY]
    assert positional == POSITIONAL[name].split()


@every
def test_kernel_parameters_come_from_the_mixin(name):
    cls = estimator(name)
    assert issubclass(cls, KernelParameters) == (name not in NO_KERNEL)
    if name in NO_KERNEL:
        assert not declared(KernelParameters).keys() & signature(cls).keys()
        # a property may give what the kernel of its machines is
        own = {name for name in declared(KernelParameters) if hasattr(cls, name)}
        assert all(isinstance(getattr(cls, name), property) for name in own)


@every
def test_an_inherited_parameter_is_declared_again_only_for_another_default(name):
    lineage = [part for part in estimator(name).__mro__ if declared(part)]
    for i, part in enumerate(lineage):
        for parameter, own in declared(part).items():
            for base in lineage[i + 1 :]:
                if issubclass(part, base) and parameter in declared(base):
                    assert own.default != declared(base)[parameter].default
                    if base in SHARED:
                        assert own.kind == declared(base)[parameter].kind


@every
def test_no_constructor_is_written_by_hand(name):
    for part in estimator(name).__mro__:
        if part.__module__.startswith("semisvm.") and "__init__" in vars(part):
            assert DECLARED in vars(part), part


@every
def test_an_estimator_is_not_a_dataclass(name):
    # Dask would take two models with the same parameters for the same
    assert not is_dataclass(estimator(name))


@every
def test_parameters_are_those_of_the_signature(name):
    cls = estimator(name)
    defaults = {p.name: p.default for p in signature(cls).values()}
    for model in (cls(), clone(cls()), pickle.loads(pickle.dumps(cls()))):
        assert model.get_params(deep=False) == vars(model) == defaults
    assert all(p.annotation is not p.empty for p in signature(cls).values())


@every
def test_every_parameter_is_documented_once_in_order_with_its_default(name):
    cls = estimator(name)
    listed = entries(section(cls.__doc__, "Parameters"))
    assert [parameter for parameter, _, _ in listed] == list(signature(cls))
    for parameter, head, text in listed:
        kind, _, default = head.rpartition(", default=")
        assert kind, parameter
        assert text.strip(), parameter
        assert default.replace('"', "'") == repr(signature(cls)[parameter].default), parameter


@every
def test_fit_documents_its_parameters_and_those_of_its_bases_in_order(name):
    fit = estimator(name).fit
    listed = entries(section(inspect.cleandoc(fit.__doc__), "Parameters"))
    assert [parameter for parameter, _, _ in listed] == list(inspect.signature(fit).parameters)[1:]


@every
def test_every_attribute_is_documented_once(name):
    listed = entries(section(estimator(name).__doc__, "Attributes"))
    names = [one for several, _, _ in listed for one in several.split(", ")]
    assert len(names) == len(set(names))
    assert {"coef_", "intercept_", "classes_", "transduction_", "trace_"} < set(names)
    assert all(kind for _, kind, _ in listed)


@every
def test_what_is_inherited_is_not_described_again(name):
    lineage = estimator(name).__mro__
    for title in ("Parameters", "Attributes"):
        for i, part in enumerate(lineage):
            for entry, text in described(part, title).items():
                above = (described(base, title).get(entry) for base in lineage[i + 1 :])
                assert text != next(filter(None, above), None), (part, entry)


@every
def test_a_docstring_describes_no_parameter_that_the_class_lacks(name):
    for part in estimator(name).__mro__:
        unknown = described(part, "Parameters").keys() - signature(estimator(name)).keys()
        assert not unknown, part


@every
def test_docstrings_are_valid_numpydoc(name):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    found = docscrape.ClassDoc(estimator(name))
    assert [entry.name for entry in found["Parameters"]] == list(signature(estimator(name)))
    assert found["Summary"]
    assert found["Attributes"]
    assert found["Examples"]


def test_estimators_work_without_docstrings():
    """As under ``python -OO``, which would compile all other packages once more as well."""
    code = (
        "from importlib.machinery import SourceFileLoader\n"
        "kept = SourceFileLoader.get_code\n"
        "def get_code(self, name):\n"
        "    if not name.startswith('semisvm'):\n"
        "        return kept(self, name)\n"
        "    source = self.get_data(self.path)\n"
        "    return compile(source, self.path, 'exec', dont_inherit=True, optimize=2)\n"
        "SourceFileLoader.get_code = get_code\n"
        "import semisvm; print(semisvm.TransductiveSVC.__doc__, semisvm.TransductiveSVC(0.1))"
    )
    run = [sys.executable, "-c", code]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert printed == "None TransductiveSVC(reg=0.1)\n"


@parameters
class Documented:
    r"""A base.

    Parameters
    ----------
    a : {"x", "y"}
        Of the base.
    b : int or None
        With a \\ and

        two paragraphs.

    Attributes
    ----------
    a_ : float
    """

    a: str = "x"
    _: KW_ONLY
    b: int | None = None


@parameters
class Heir(Documented):
    """An heir.

    With a text.

    Attributes
    ----------
    b_, c_ : floats
        Its own.

    Parameters
    ----------
    c : float
        First of the keywords.

    Examples
    --------
    >>> 1
    1
    """

    _: KW_ONLY
    c: float = 1e-5
    b: int | None = 2


RENDERED = r"""An heir.

With a text.

Parameters
----------
a : {"x", "y"}, default="x"
    Of the base.
c : float, default=1e-05
    First of the keywords.
b : int or None, default=2
    With a \\ and

    two paragraphs.

Attributes
----------
a_ : float
b_, c_ : floats
    Its own.

Examples
--------
>>> 1
1"""


def test_a_docstring_is_rendered_whole():
    assert Heir.__doc__ == RENDERED
    assert inspect.getdoc(Documented).count("default=") == 2


@parameters
class First:
    a: int = 1
    _: KW_ONLY
    shared: str = "first"
    last: float = 0.0


@parameters
class Second(First):
    b: int = 2
    _: KW_ONLY
    own: int | None = None
    shared: str = "second"


def test_positions_of_bases_first_then_keywords_of_the_class():
    assert list(signature(Second)) == ["a", "b", "own", "shared", "last"]
    assert vars(Second(7, own=3)) == {"a": 7, "b": 2, "own": 3, "shared": "second", "last": 0.0}
    assert First().shared == "first"
    with pytest.raises(TypeError, match=r"Second.__init__\(\) takes from 1 to 3 positional"):
        Second(1, 2, 3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'owned'"):
        Second(owned=3)


def test_a_class_that_declares_nothing_keeps_the_constructor():
    class Third(Second):
        pass

    assert list(signature(Third)) == list(signature(Second))
    assert Third(b=5).b == 5


def test_annotations_of_other_bases_are_not_parameters():
    class Foreign(BaseEstimator):
        note: str = "no parameter"

    @parameters
    class Fourth(First, Foreign):
        c: int = 3

    assert Fourth._get_param_names() == ["a", "c", "last", "shared"]


def test_mutable_defaults_are_refused():
    with pytest.raises(ValueError, match="mutable default"):

        @parameters
        class Fifth:
            values: list[int] = []  # noqa: RUF012
