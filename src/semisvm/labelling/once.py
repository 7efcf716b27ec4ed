"""Requests that are sent twice are done once."""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any


class Once:
    """Results of the last requests, by the name that the page gave them.

    A page that hears nothing after an answer cannot know whether it was kept, and sends it
    again under the same name.

    Parameters
    ----------
    most : int, default=64
        How many results are remembered.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._results: OrderedDict[str, Future[Any]] = OrderedDict()
        self._lock = Lock()

    def run(self, name: str | None, work: Callable[[], Any]) -> Any:
        """Return the result of work, which is not done again under a name that was used.

        Parameters
        ----------
        name : str or None
            None: the work is always done.
        work : callable
            Work that fails is forgotten, and may be tried again.
        """
        if name is None:
            return work()
        with self._lock:
            future, mine = self._results.get(name), Future[Any]()
            if future is None:
                self._results[name] = mine
                while len(self._results) > self._most:
                    self._results.popitem(last=False)
        return self._done(name, mine, work) if future is None else future.result()

    def _done(self, name: str, future: Future[Any], work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except BaseException as error:
            with self._lock:
                self._results.pop(name, None)
            future.set_exception(error)
            raise
        future.set_result(result)
        return result
