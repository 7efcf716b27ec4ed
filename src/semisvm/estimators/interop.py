"""Working with scikit-learn: its callbacks, and classifiers of other packages beside ours.

Callbacks (``set_callbacks``, from version 1.9) work beside ``callback=``. A fit is the root task,
and each row of its trace a subtask. The hooks of a subtask get the row as ``metadata``, and
``on_fit_task_end`` stops the fit if it returns True. scikit-learn's module is imported only by
those who set callbacks, since it imports progress bars too.

Most classifiers of other packages treat the marker of unlabelled rows as a class, so they are
fitted to the labelled rows. Those of ``sklearn.semi_supervised`` know -1 as the only marker, so
they are fitted to codes of the classes where labels are texts.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from semisvm.designs import Floats
from semisvm.designs.validation import take_rows
from semisvm.labels.partial import (
    UNLABELED_CODE,
    encode,
    given_labels,
    is_unlabeled,
    label_array,
)
from semisvm.solvers.trace import Callback

SEMI_SUPERVISED = "sklearn.semi_supervised"
INNER = ("estimator", "final_estimator", "base_estimator")
SMALLEST = 1e-12
"""Smallest probability whose logarithm is taken."""


def takes_unlabeled(estimator: Any) -> bool:
    """Return whether an estimator can be fitted to y with unlabelled rows.

    Those of this package can, those of ``sklearn.semi_supervised``, others that have an attribute
    ``takes_unlabeled = True``, and pipelines and meta-estimators that end in such an estimator.
    """
    stated = getattr(estimator, "takes_unlabeled", None)
    if stated is not None:
        return bool(stated)
    return (
        _has_marker(estimator) or needs_codes(estimator) or any(_ends(estimator, takes_unlabeled))
    )


def needs_codes(estimator: Any) -> bool:
    """Return whether unlabelled rows must be -1, as for those of ``sklearn.semi_supervised``."""
    if any(kind.__module__.startswith(SEMI_SUPERVISED) for kind in type(estimator).__mro__):
        return True
    return not _has_marker(estimator) and any(_ends(estimator, needs_codes))


def _has_marker(estimator: Any) -> bool:
    return not hasattr(estimator, "steps") and "unlabeled" in _parameters(estimator)


def _ends(estimator: Any, test: Callable[[Any], bool]) -> Iterator[bool]:
    """Test what a pipeline or a meta-estimator ends in."""
    if hasattr(estimator, "steps"):
        yield test(estimator.steps[-1][1])
        return
    inner = _parameters(estimator)
    yield from (test(inner[name]) for name in INNER if inner.get(name))


def _parameters(estimator: Any) -> dict[str, Any]:
    return estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}


class _OfCodes:
    """A fitted model of codes of classes, which predicts the classes."""

    def __init__(self, model: Any, classes: NDArray[Any]) -> None:
        self.model, self.classes_ = model, classes

    def predict(self, X: Any) -> NDArray[Any]:
        return np.asarray(self.classes_[self.model.predict(X)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "model" not in vars(self):  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.model, name)


def fit_partly(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    unlabeled: Any = -1,
    sample_weight: Floats | None = None,
    evidence: Floats | None = None,
) -> Any:
    """Fit a copy of any estimator: to all rows if it takes unlabelled ones, else to the labelled.

    Parameters
    ----------
    estimator : classifier
    X : n rows
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    unlabeled : scalar, default=-1
    sample_weight : array of shape (n,), optional
    evidence : array of shape (n, m), optional
        For estimators that take it; others are fitted without.

    Returns
    -------
    model : fitted estimator
        Its ``classes_`` do not contain the marker.
    """
    if not takes_unlabeled(estimator):
        rows = np.flatnonzero(~is_unlabeled(y, unlabeled))
        X, y = take_rows(X, rows), given_labels(label_array(y)[rows])
        sample_weight = None if sample_weight is None else sample_weight[rows]
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    if needs_codes(estimator) and not _is_coded(y, unlabeled):
        labels = encode(y, unlabeled)
        return _OfCodes(clone(estimator).fit(X, labels.codes, **given), labels.classes)
    name = evidence_argument(estimator)
    if evidence is not None and name is not None:
        given[name] = evidence
    return clone(estimator).fit(X, y, **given)


def _is_coded(y: ArrayLike, unlabeled: Any) -> bool:
    """Return whether labels are integers, and -1 for unlabelled rows."""
    return unlabeled == UNLABELED_CODE and label_array(y).dtype.kind in "iu"


def evidence_argument(estimator: Any) -> str | None:
    """Return the argument of ``fit`` for evidence about rows; None if there is none.

    That of a pipeline is passed on to its last step.
    """
    if hasattr(estimator, "steps"):
        name, last = estimator.steps[-1]
        if evidence_argument(last) is None:
            return None
        return "evidence" if get_config()["enable_metadata_routing"] else f"{name}__evidence"
    return "evidence" if has_fit_parameter(estimator, "evidence") else None


def require_evidence(estimators: Mapping[str, Any]) -> None:
    """Raise if none of some estimators takes evidence."""
    if all(evidence_argument(estimator) is None for estimator in estimators.values()):
        raise ValueError(
            f"evidence would have no effect: {', '.join(estimators)} cannot use it. "
            "TransductiveSVC, AnnealedSVC, GradientTSVC and the maxent classifiers can."
        )


def scores_of(model: Any, X: Any, smallest: float = SMALLEST) -> Floats:
    """Return scores (n,) or (n, m) of any fitted classifier.

    They are those of ``decision_function``, or else logarithms of probabilities; for two classes
    their difference, the log-odds. Smaller probabilities count as the smallest.
    """
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=np.float64)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has neither decision_function nor predict_proba, so its "
            "predictions cannot be ranked. Use a classifier that has one of them."
        )
    logs = np.log(np.maximum(np.asarray(model.predict_proba(X), dtype=np.float64), smallest))
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


Method = TypeVar("Method", bound=Callable[..., Any])
CONTEXT = "_callback_fit_ctx"
"""Attribute of an estimator during a fit, where scikit-learn keeps the root task."""
WANTED = ("_skl_callbacks", "_parent_callback_ctx")
"""Attributes of an estimator that has callbacks, or is part of another one's tasks."""


class TakesCallbacks:
    """Lets scikit-learn's callbacks be set."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set callbacks of scikit-learn, in place of those that were set before.

        Parameters
        ----------
        *callbacks : callbacks
            As of `sklearn.callback`. Their hooks are called for the fit, and for each row of its
            trace, which they get as ``metadata``.
        """
        return cast(Self, _support().set_callbacks(self, *callbacks))


def _support() -> Any:
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError as error:
        raise ImportError(
            "callbacks of scikit-learn need its version 1.9 or newer; callback= works with all."
        ) from error
    return CallbackSupportMixin


def _is_watched(estimator: Any) -> bool:
    return any(name in vars(estimator) for name in WANTED)


def with_callbacks(fit: Method) -> Method:
    """Tear callbacks down after a fit, however it ends."""

    @wraps(fit)
    def watched(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_watched(estimator):
            return fit(estimator, *args, **kwargs)
        from sklearn.callback import with_callbacks as torn_down

        return torn_down(fit)(estimator, *args, **kwargs)

    return cast(Method, watched)


@contextmanager
def fit_task(estimator: Any) -> Iterator[None]:
    """Begin and end the root task of a fit, if anything listens."""
    if not _is_watched(estimator):
        yield
        return
    context = _support()._init_callback_context(estimator, max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator)
    yield
    context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={})


def subtask_hook(estimator: Any) -> Callable[[str, Any], bool] | None:
    """Return what is called with the name and metadata of each subtask; None if nothing listens."""
    context = vars(estimator).get(CONTEXT)
    if context is None:
        return None

    def called(name: str, metadata: Any) -> bool:
        task = context.subcontext(task_name=name)
        task.call_on_fit_task_begin(estimator=estimator, metadata=metadata)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=metadata))

    return called


def row_hook(estimator: Any) -> Callback | None:
    """Return what is called with each row of the trace of a fit; None if nothing listens."""
    called = subtask_hook(estimator)
    return None if called is None else lambda row: called(row["phase"], row)
