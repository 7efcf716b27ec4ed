"""When to fit, and what is done with a new model; in the background."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from semisvm.estimators.registry import get
from semisvm.labelling.answer_store import AnswerStore
from semisvm.labelling.fits import METHOD, Fitted, HeldOut, choose_method, fit_answers, hold_out
from semisvm.labelling.policy import Centres, Policy, least_certain
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import CLUSTER, SOURCE, UNCERTAIN
from semisvm.labelling.reliability import Training, training_of
from semisvm.labelling.sources import Doubts
from semisvm.tables.errors import in_short

EVERY = 5
"""Answers after which a new model is fitted."""
CANDIDATES = 200
"""Uncertain rows that are kept ready."""
NEW_CENTRES = 10
"""Clusters that are looked for at a time."""
FIT, AUTO, CENTRES, CHECK = "fit", "auto", "centres", "check"


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

    def end(self) -> None:
        """Do no more jobs, and wait for the one that runs."""
        with self._changed:
            self._ended = True
            self._wanted.clear()
            self._changed.notify_all()
        if self._thread is not threading.current_thread():
            self._thread.join()

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


class Learner:
    """Fits models in the background and keeps candidates for the next rows ready.

    Parameters
    ----------
    pool : Pool
    store : AnswerStore
        Read under ``lock``.
    policy : Policy
        Filled under ``lock``.
    lock : RLock
    method : str
    parameters : dict
        Of the estimator.
    seed : int
    every : int
        Answers after which a new model is fitted.
    background : bool
        Whether to work in a thread; otherwise `fit` is the only one that does anything.
    changed : function
        Called under the lock when there is a new model, or a fit has failed.

    Attributes
    ----------
    fitted : Fitted or None
        The last model.
    held_out : HeldOut or None
        Guesses for the answered rows by models that have not seen the answers: of the last model,
        or of one before while it is being checked.
    error : str or None
        Why the last fit failed.
    """

    def __init__(
        self,
        pool: Pool,
        store: AnswerStore,
        policy: Policy,
        lock: Any,
        *,
        method: str = METHOD,
        parameters: dict[str, Any] | None = None,
        seed: int = 0,
        every: int = EVERY,
        background: bool = True,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self._pool, self._store, self._policy, self._lock = pool, store, policy, lock
        self._method, self._parameters = method, dict(parameters or {})
        self._seed, self._every, self._changed = seed, every, changed
        self._rng = np.random.default_rng([seed, 1])  # not the one that draws random rows
        self._centres: Centres | None = None
        self._doubts: Doubts | None = None
        self._one_at_a_time = threading.RLock()
        self._since = 0
        self._choice: dict[str, Any] | None = None
        self.fitted: Fitted | None = None
        self._checked: Fitted | None = None
        self.held_out: HeldOut | None = None
        self.error: str | None = pool.why_no_features
        jobs = {
            CENTRES: self._find_centres,
            AUTO: self._choose,
            FIT: lambda: self._catching(self._fit_now),
            CHECK: self._check,
        }
        self._work = Background(jobs) if background and pool.prepared is not None else None
        if self._work is not None:
            self._work.ask(CENTRES)
            self.answers_changed(0)

    @property
    def is_fitting(self) -> bool:
        """Whether a fit runs or waits."""
        return self._work is not None and self._work.busy(FIT, AUTO)

    @property
    def is_current(self) -> bool:
        """Whether the last model has seen all answers; read under the lock."""
        training = self._training()
        found = None if self.fitted is None else Training(self.fitted.answers, self.fitted.votes)
        return found == training

    def answers_changed(self, n_changes: int) -> None:
        """Count changes of answers, and fit after enough of them; called under the lock."""
        self._since += n_changes
        if self._work is None or not self._can_fit():
            return
        known = set() if self.fitted is None else set(self.fitted.classes)
        new = {name for name, count in self._store.counts.items() if count} != known
        if new or self._since >= self._every:
            self._since = 0
            self._work.ask(FIT)

    def _can_fit(self) -> bool:
        return sum(1 for count in self._store.counts.values() if count) >= 2

    def ask(self, auto: bool) -> None:
        """Have a model fitted in the background."""
        if self._work is not None and self._can_fit():
            self._work.ask(AUTO if auto else FIT)

    def fit(self, auto: bool = False) -> None:
        """Fit now, and return when it is done; what goes wrong is raised."""
        if auto and self._can_fit():
            self._choose_now()
        self._fit_now()

    def find_first_rows(self) -> None:
        """Look for clusters now, if no thread does it."""
        if self._work is None and self._centres is None and self._pool.prepared is not None:
            self._find_centres()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the background; return whether nothing is left to do."""
        return self._work is None or self._work.wait(timeout)

    def end(self) -> None:
        """Stop the background, after the fit that runs."""
        if self._work is not None:
            self._work.end()

    def _choose(self) -> None:
        self._catching(self._choose_now)
        self._catching(self._fit_now)

    def _catching(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            with self._lock:
                self.error = f"The last fit failed: {in_short(error)}"
                self._changed()

    def _training(self) -> Training:
        """Return what to learn from; methods without evidence learn from all answers."""
        with self._lock:
            if get(self._method).takes_evidence:
                return training_of(self._store)
            return Training(self._store.answers())

    def _choose_now(self) -> None:
        assert self._pool.prepared is not None
        with self._lock:
            answers = self._store.answers()
        choice = choose_method(self._pool.prepared, answers, self._seed)
        with self._lock:
            self._method, self._parameters = choice.method, dict(choice.parameters)
            self._choice = choice.to_dict()

    def _fit_now(self) -> None:
        assert self._pool.prepared is not None
        with self._one_at_a_time:
            with self._lock:
                self._since = 0
                training = self._training()
            if len(set(training.labels.values())) < 2:
                return
            about = (self.fitted, self._method, self._parameters, self._choice, training.votes)
            found = fit_answers(self._pool.prepared, training.labels, *about)
            with self._lock:
                self.fitted, self.error = found, None
                if self._policy.doubtful == UNCERTAIN:
                    self._policy.fill(UNCERTAIN, self._uncertain(found))
                self._changed()
            self._find_centres()
        if self._work is not None:
            self._work.ask(CHECK)

    def check(self) -> None:
        """Hold answers out now, if no thread does it after every fit."""
        if self._work is None:
            self._check()

    def _check(self) -> None:
        """Guess answers by models without them; if that fails, the guesses stay as they were."""
        fitted, prepared = self.fitted, self._pool.prepared
        if fitted is None or prepared is None or fitted is self._checked:
            return
        try:
            with self._one_at_a_time:
                found = hold_out(prepared, fitted, self._seed, lambda: self.is_fitting)
        except Exception as error:
            with self._lock:
                self.error = f"Answers could not be checked for mistakes: {in_short(error)}"
            return
        if found is None:
            return  # the next model is checked
        with self._lock:
            self.held_out, self._checked = found, fitted
            self._changed()

    def _uncertain(self, fitted: Fitted) -> list[int]:
        is_open = np.ones(len(self._pool), dtype=bool)
        is_open[list(self._store.marks)] = False
        rows = np.flatnonzero(is_open)
        return least_certain(fitted.margins, rows, CANDIDATES, self._rng).tolist()

    def _find_centres(self) -> None:
        try:
            with self._one_at_a_time:
                rows = self._new_centres()
                doubted = self._new_doubts() if self._pool.weak else []
        except Exception as error:
            with self._lock:
                self.error = f"No clusters were found, so rows are random: {in_short(error)}"
            return
        with self._lock:
            self._policy.fill(CLUSTER, rows)
            if doubted:
                self._policy.fill(SOURCE, doubted)

    def _new_centres(self) -> list[int]:
        assert self._pool.prepared is not None
        if self._centres is None:
            self._centres = Centres(self._pool.prepared.X, self._seed)
        with self._lock:
            marks, answered = dict(self._store.marks), list(self._store.answers())
            several = max(NEW_CENTRES, 2 * len(self._store.classes))
        skipped = [row for row, mark in marks.items() if mark.value is None]
        return self._centres.find(several if answered else 3 * several, answered, skipped)

    def _new_doubts(self) -> list[int]:
        assert self._pool.prepared is not None
        if self._doubts is None:
            self._doubts = Doubts(self._pool.prepared.X, self._pool.weak, self._seed)
        with self._lock:
            closed, answers = list(self._store.marks), self._store.answers()
        return self._doubts.find(NEW_CENTRES, answers, closed)
