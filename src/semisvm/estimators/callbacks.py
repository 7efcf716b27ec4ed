"""Callbacks of scikit-learn (``set_callbacks``, from its version 1.9) beside ``callback=``.

A fit is the root task, and each row of its trace a subtask. The hooks of a subtask get the row as
``metadata``, and ``on_fit_task_end`` stops the fit if it returns True. scikit-learn's module is
imported only by those who set callbacks, since it imports progress bars too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Self, TypeVar, cast

from semisvm.solvers.trace import Callback, TraceRow

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


def row_hook(estimator: Any) -> Callback | None:
    """Return what is called with each row of the trace of a fit; None if nothing listens."""
    context = vars(estimator).get(CONTEXT)
    if context is None:
        return None

    def called(row: TraceRow) -> bool:
        task = context.subcontext(task_name=row["phase"])
        task.call_on_fit_task_begin(estimator=estimator, metadata=row)
        return bool(task.call_on_fit_task_end(estimator=estimator, metadata=row))

    return called
