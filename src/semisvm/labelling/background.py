"""Work in a thread of its own, so that requests do not wait for it.

Requests that are sent twice are done once (`Once`).
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Any


class Once:
    """Results of the last requests, by the name that the page gave them.

    A page that gets no reply after an answer cannot determine whether it was kept, and sends it
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


class Background:
    """One thread that does the jobs that were asked for, each once, one after the other.

    A job that is asked for again while it waits is done once; while it runs, once more.

    Parameters
    ----------
    jobs : dict of functions
        By name, the most urgent first. They report their own errors.
    delay : float, default=0
        Seconds to wait before a job, in which more requests may come.
    """

    def __init__(self, jobs: dict[str, Callable[[], None]], delay: float = 0.0) -> None:
        self._jobs = jobs
        self._delay = delay
        self._wanted: set[str] = set()
        self._running: str | None = None
        self._ended = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._work, name="semisvm-session", daemon=True)
        self._thread.start()

    def ask(self, name: str) -> None:
        """Have a job done; return at once."""
        with self._changed:
            self._wanted.add(name)
            self._changed.notify_all()

    def busy(self, *names: str) -> bool:
        """Return whether one of some jobs runs or waits."""
        with self._changed:
            return self._running in names or any(name in self._wanted for name in names)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until nothing is left to do; return whether that is so."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._ended or (not self._wanted and self._running is None), timeout
            )

    def end(self, timeout: float | None = None) -> None:
        """Do no more jobs, and wait for the one that runs."""
        with self._changed:
            self._ended = True
            self._wanted.clear()
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ended or bool(self._wanted))
                if self._delay and not self._ended:
                    self._changed.wait_for(lambda: self._ended, self._delay)
                if self._ended:
                    return
                self._running = next(name for name in self._jobs if name in self._wanted)
                self._wanted.discard(self._running)
            try:
                self._jobs[self._running]()
            finally:
                with self._changed:
                    self._running = None
                    self._changed.notify_all()
