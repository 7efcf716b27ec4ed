"""What all estimators promise: which are tested, on which rows, and who is excused from what."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from problems import hide
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.estimators import registry
from semisvm.losses import LOSSES
from semisvm.model_selection import AnnealedSVCCV, CalibratedPartialClassifier, TransductiveSVCCV

N_ROWS = 42
"""Rows of the clusters: few, since a mixed-integer program tries labellings of them."""

QUICK = {
    "committee": {"estimators": [("svm", NewtonSVC()), ("tsvm", TransductiveSVC())], "cv": 2},
    "cluster-kernel": {"n_runs": 4, "n_clusters": 4},
    "semiboost": {"n_estimators": 5},
}
"""Parameters that leave out what only takes time."""

WRAPPERS: dict[str, Callable[..., Any]] = {
    "tsvm-search": lambda **more: TransductiveSVCCV(regs=2, cv=2, **more),
    "da-search": lambda **more: AnnealedSVCCV(regs=2, cv=2, **more),
    "calibrated": lambda **more: CalibratedPartialClassifier(cv=2, **more),
}

TWO_CLASSES_SUFFICE = {"mip"}
"""Of these methods, programs that take long, three classes are three fits, as of `vs3vm`."""

LAST_MACHINE = "the means of a class give labels; its machine, another row, gives the weights"
EXCUSED: dict[tuple[str, str], str] = {
    ("order of rows", "cluster-kernel"): "k-means starts from rows that are drawn by number",
    ("order of rows", "committee"): "rows are dealt to the folds by number",
    ("order of rows", "calibrated"): "rows are dealt to the folds by number",
    ("stopping", "means3vm-3"): LAST_MACHINE,
    ("stopping", "means3vm-mkl-3"): LAST_MACHINE,
    ("stopping", "rlp-3"): "the two linear programs of a class are solved to their ends",
    ("order of rows", "da-search-3"): "rows are dealt to the folds by number",
    ("constant column", "fsv-3"): "it uses no more columns than separate the few labels",
    ("late stopping", "committee"): "members that have begun are fitted to their ends",
}
"""Reasons by promise and estimator, perhaps with a number of classes. What is excused must fail."""


@dataclass(frozen=True)
class Candidate:
    """An estimator that is held to the promises, under its name in the registry."""

    name: str

    def make(self, **more: Any) -> Any:
        """Make an estimator with its default parameters, but quick."""
        if self.name in WRAPPERS:
            return WRAPPERS[self.name](**more)
        return registry.get(self.name).make(**QUICK.get(self.name, {}), **more)

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters."""
        return self.make().get_params(deep=False)


CANDIDATES = [Candidate(method.name) for method in registry.methods()]
CANDIDATES += [Candidate(name) for name in WRAPPERS]


EVERY_METHOD = pytest.mark.parametrize("method", registry.methods(), ids=lambda one: one.name)
"""Run a test over all methods of the registry, for tests of what they are by default."""


def quick(method: registry.Method, **more: Any) -> Any:
    """Make a method of the registry without what only takes time."""
    return Candidate(method.name).make(**more)


def _excuse(promise: str, *names: str) -> list[pytest.MarkDecorator]:
    reasons = [EXCUSED[promise, name] for name in names if (promise, name) in EXCUSED]
    return [pytest.mark.xfail(reason=reason, strict=True) for reason in reasons]


def every(promise: str, *needed: str) -> pytest.MarkDecorator:
    """Run a test over all estimators that have some parameters; those excused must fail."""
    requested = [one for one in CANDIDATES if set(needed) <= set(one.parameters)]
    listed = [pytest.param(one, id=one.name, marks=_excuse(promise, one.name)) for one in requested]
    return pytest.mark.parametrize("candidate", listed)


def every_with_classes(promise: str, *needed: str) -> pytest.MarkDecorator:
    """Run a test over all estimators with two and with three classes."""
    requested = [one for one in CANDIDATES if set(needed) <= set(one.parameters)]
    listed = [
        pytest.param(one, m, id=name, marks=_excuse(promise, one.name, name))
        for one in requested
        for m in ((2,) if one.name in TWO_CLASSES_SUFFICE else (2, 3))
        for name in [f"{one.name}-{m}"]
    ]
    return pytest.mark.parametrize(("candidate", "m"), listed)


def losses_by_classes() -> list[tuple[str, int]]:
    """Pair every loss with the numbers of classes, two and three, that it is for."""
    return [(name, m) for name in LOSSES for m in (2, 3) if m == 2 or LOSSES[name].many]


def clusters(m: int, n: int = N_ROWS, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of length one of m classes apart; also all labels, and 12 of them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    X = 1.6 * np.eye(m, 6)[y] + 0.4 * rng.standard_normal((n, 6))
    X[rng.random(X.shape) < 0.1] = 0.0
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, y, hide(y, 12)


@cache
def fitted(candidate: Candidate, m: int = 2) -> Any:
    """A fit of the clusters that tests share, and do not change."""
    X, _, partly = clusters(m)
    return candidate.make().fit(X, partly)


def scores(model: Any, X: Any) -> Any:
    """Scores, or probabilities of the one estimator that has no scores."""
    scored = getattr(model, "decision_function", None) or model.predict_proba
    return np.asarray(scored(X))


def same(value: Any, other: Any) -> bool:
    """Tell whether two parameters are the same; arrays and lists by what is in them."""
    if sparse.issparse(value):
        return (value != other).nnz == 0
    return value is other or bool(np.all(np.asarray(value == other)))
