"""One sitting: a person is asked, answers, and a model learns."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from semisvm.columns import ColumnFeatures
from semisvm.io import DataError
from semisvm.io.reading import read_to_label
from semisvm.labelling.background import Background
from semisvm.labelling.book import ANSWER, CLASS, REMOVE, SKIP, UNDO, Event, Mark
from semisvm.labelling.errors import SittingError
from semisvm.labelling.exporting import write_labelled
from semisvm.labelling.learner import EVERY, Learner
from semisvm.labelling.learning import METHOD, model_of
from semisvm.labelling.outlook import Outlook
from semisvm.labelling.pictures import IMAGE, read_picture
from semisvm.labelling.policy import WORDS, Policy
from semisvm.labelling.pool import make_pool
from semisvm.labelling.records import (
    CHOSEN,
    RANDOM,
    SURE,
    Found,
    FoundRow,
    Guess,
    Picture,
    Query,
    RowView,
    Status,
)
from semisvm.labelling.store import Store

EXPIRES = 600.0
"""Seconds for which a row is kept for the client that was asked for it."""
LONGEST_CLASS = 200
EXPORT_DELAY = 0.5
WHICH = ("all", "answered", "open", "skipped")


class Sitting:
    """Rows to be labelled, the answers so far, and a model that learns from them.

    `ask` returns a row and says why it was picked, `answer` takes its class. After every few
    answers a transductive SVM is fitted in the background, from the weights of the last one. All
    methods can be called from several threads. None but `fit`, `save` and `report` waits for a fit,
    and a change is on the disk when its method returns.

    Parameters
    ----------
    data : Table, dict of columns, data frame, MatrixData or matrix
    label : str, optional
        Label column; labels that are there count as answers. The column may be missing. "label"
        by default.
    classes : iterable of str
        Classes that are known, in the order of their keys; more can be added.
    key : str, optional
        Column that identifies the rows; by default their content does.
    features : ColumnFeatures, optional
        Not fitted; by default one for all columns.
    answers : str or Path, optional
        CSV file of answers, for ``semisvm fit --answers``; the journal is beside it. None keeps
        the answers in memory only.
    method : str, default="tsvm"
        A name of `semisvm.registry`.
    every : int, default=5
        Answers after which a new model is fitted.
    background : bool, default=True
        Whether to fit in the background. Otherwise only `fit` does.
    random_state : int, default=0
    settings : mapping, optional
        How the file was read, to be kept with the model.
    **parameters
        Of the estimator.

    Raises
    ------
    DataError
        If the data cannot be used, or another process has the journal open.

    Examples
    --------
    >>> from semisvm.labelling import Sitting
    >>> texts = ["cheap pills", "lunch on monday", "cheap cheap flights", "monday plan"] * 5
    >>> with Sitting({"text": texts}, classes=["spam", "ham"], background=False) as sitting:
    ...     for _ in range(6):
    ...         query = sitting.ask()
    ...         is_spam = "cheap" in texts[query.row]
    ...         sitting.answer(query.row, "spam" if is_spam else "ham")
    ...     sitting.fit()
    ...     guess = sitting.guess(2)
    >>> guess.value, guess.because[0][0]
    ('spam', 'cheap')
    """

    def __init__(
        self,
        data: Any,
        *,
        label: str | None = None,
        classes: Iterable[str] = (),
        key: str | None = None,
        features: ColumnFeatures | None = None,
        answers: str | Path | None = None,
        method: str = METHOD,
        every: int = EVERY,
        background: bool = True,
        random_state: int = 0,
        settings: Mapping[str, Any] | None = None,
        **parameters: Any,
    ) -> None:
        self._pool = make_pool(data, label, key, features)
        self._store = Store(self._pool, _class_names(classes), answers)
        self._book = self._store.book
        self._lock = threading.RLock()
        self._out: dict[str | None, tuple[Query, float]] = {}
        self._clock: Callable[[], float] = time.monotonic
        self._settings = dict(settings or {})
        self._news = 0
        self._policy = Policy(len(self._pool), np.random.default_rng(random_state))
        self._learner = Learner(
            self._pool,
            self._book,
            self._policy,
            self._lock,
            method=method,
            parameters=parameters,
            seed=random_state,
            every=every,
            background=background,
            changed=self._tell,
        )
        self._outlook = Outlook(self._pool, self._book)
        self._export_error: str | None = None
        self._exported = -1
        self._exports: Background | None = None
        if self._store.is_kept:
            self._exports = Background({"export": self._export_answers}, EXPORT_DELAY)
            self._exports.ask("export")

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        label: str | None = None,
        answers: str | Path | None = None,
        text: Sequence[str] | str | None = None,
        features: ColumnFeatures | None = None,
        reading: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Begin a sitting, or go on with one, on a file.

        Parameters
        ----------
        path : str or Path
        label : str, optional
        answers : str or Path, optional
            By default ``NAME.answers.csv`` beside the file.
        text : str or sequence of str, optional
            Text columns, if ``features`` are not given.
        features : ColumnFeatures, optional
        reading : mapping, optional
            Options of `semisvm.io.read`.
        **options
            As for `Sitting`.
        """
        data = read_to_label(path, label=label, **dict(reading or {})).in_memory()
        if features is None and text is not None:
            features = ColumnFeatures(text=[text] if isinstance(text, str) else list(text))
        place = Path(path).with_suffix(".answers.csv") if answers is None else answers
        kept = {name: (reading or {}).get(name) or None for name in ("unlabeled", "na_is_class")}
        given = {"settings": {"label": label, **kept}, **options}
        return cls(data, label=label, answers=place, features=features, **given)

    # asking

    def ask(self, client: str | None = None) -> Query | None:
        """Return the row to label next; None if all rows have an answer or were skipped.

        Parameters
        ----------
        client : str, optional
            Who asks. The same client is asked for the same row until it is answered or
            skipped; others get other rows meanwhile.
        """
        with self._lock:
            self._forget_old()
            if client in self._out and self._book.is_open(self._out[client][0].row):
                query = self._out[client][0]
            else:
                self._out.pop(client, None)
                found = self._next()
                if found is None:
                    return None
                query = found
            self._out[client] = query, self._clock()
            return query

    def _next(self) -> Query | None:
        waiting = [query for query, _ in self._out.values()]
        taken = {query.row for query in waiting}
        asked = dict(self._book.asked)
        for query in waiting:
            asked[query.reason] = asked.get(query.reason, 0) + 1
        found = self._policy.next(
            asked,
            len(self._book.classes),
            lambda row: row not in taken and self._book.is_open(row),
        )
        if found is None:
            return None
        row, reason = found
        return Query(row, reason, WORDS[reason], len(self._book.marks) + len(waiting) + 1)

    def _forget_old(self) -> None:
        now = self._clock()
        self._out = {
            client: (query, since)
            for client, (query, since) in self._out.items()
            if now - since < EXPIRES and self._book.is_open(query.row)
        }

    # changes

    def answer(
        self, row: int, value: str, *, seen_guess: bool = False, client: str | None = None
    ) -> Event:
        """Give a row its class, or another one than before.

        Parameters
        ----------
        row : int
            From 0.
        value : str
            One of the classes.
        seen_guess : bool, default=False
            Whether the guess of the model was shown first. Such answers do not count for the
            accuracy.
        client : str, optional
        """
        with self._lock:
            self._check_row(row)
            self._check_class(value)
            facts = {**self._facts(row, seen_guess), "client": client}
            return self._record(Event(0, ANSWER, (row,), value, facts=facts))

    def skip(self, row: int, *, client: str | None = None) -> Event:
        """Put a row aside: it is not asked for again, and it stays unlabelled for the model."""
        with self._lock:
            self._check_row(row)
            if self._has_answer(row):
                raise SittingError("This row has an answer: remove the answer to skip the row.")
            facts = {"reason": self._reason(row), "client": client}
            return self._record(Event(0, SKIP, (row,), facts=facts))

    def remove(self, row: int, *, client: str | None = None) -> Event:
        """Take an answer back, or a skip: the row is open again."""
        with self._lock:
            self._check_row(row)
            if self._book.is_open(row):
                raise SittingError("This row has no answer.")
            return self._record(Event(0, REMOVE, (row,), facts={"client": client}))

    def confirm(self, rows: Iterable[int], value: str, *, client: str | None = None) -> Event:
        """Give many rows the same class; rows that have an answer already are an error."""
        with self._lock:
            wanted = tuple(dict.fromkeys(int(row) for row in rows))
            if not wanted:
                raise SittingError("No rows were chosen.")
            self._check_class(value)
            for row in wanted:
                self._check_row(row)
                if self._has_answer(row):
                    raise SittingError(f"Row {row + 1} has an answer already.")
            facts = {"reason": SURE, "seen_guess": True, "client": client}
            return self._record(Event(0, ANSWER, wanted, value, facts=facts))

    def add_class(self, name: str, *, client: str | None = None) -> Event:
        """Add a class."""
        with self._lock:
            wanted = _class_name(name)
            if wanted in self._book.classes:
                raise SittingError(f"There is a class {wanted!r} already.")
            return self._record(Event(0, CLASS, value=wanted, facts={"client": client}))

    def undo(self, client: str | None = None) -> Event | None:
        """Undo the last change, of one client or of all; return it, or None if there is none."""
        with self._lock:
            last = self._book.last(client)
            if last is None:
                return None
            self._book.check_undo(last)
            self._record(Event(0, UNDO, of=last.seq, facts={"client": client}))
            return last

    def _record(self, event: Event) -> Event:
        kept = self._store.record(event)
        self._learner.told(max(1, len(event.rows)))
        if self._exports is not None:
            self._exports.ask("export")
        return kept

    def _facts(self, row: int, seen_guess: bool) -> dict[str, Any]:
        before, fitted = self._book.marks.get(row), self._learner.fitted
        if before is not None and before.value is not None and before.seq:
            # a test stays a test when its answer is corrected
            return {k: v for k, v in before.facts.items() if k != "client"}
        facts = {"reason": self._reason(row), "seen_guess": bool(seen_guess)}
        if fitted is None or row in fitted.answers:
            return facts
        scores = [round(float(score), 4) for score in fitted.scores[row]]
        about: dict[str, Any] = {"model": fitted.number, "labels": fitted.n_labels}
        if facts["reason"] == RANDOM:
            about["guessed"] = {name: round(v, 6) for name, v in fitted.guessed.items()}
        names = {
            "guess": fitted.guess(row),
            "scores": dict(zip(fitted.classes, scores, strict=True)),
        }
        return {**facts, **about, **names}

    def _reason(self, row: int) -> str:
        mark = self._book.marks.get(row)
        if mark is not None and mark.value is None:
            return mark.reason
        waiting = (query.reason for query, _ in self._out.values() if query.row == row)
        return next(waiting, CHOSEN)

    def _has_answer(self, row: int) -> bool:
        mark = self._book.marks.get(row)
        return mark is not None and mark.value is not None

    def _check_row(self, row: int) -> None:
        if not isinstance(row, (int, np.integer)) or not 0 <= row < len(self._pool):
            raise SittingError(f"There is no row {row}: rows are 0 to {len(self._pool) - 1}.")

    def _check_class(self, value: str) -> None:
        if value not in self._book.classes:
            known = ", ".join(self._book.classes) or "none yet"
            raise SittingError(f"There is no class {value!r}; add it first. The classes: {known}.")

    # looking

    def view(self, row: int) -> RowView:
        """Return a row as a person sees it."""
        with self._lock:
            self._check_row(row)
            mark = self._book.marks.get(row)
        about = (self._pool.name_of(row), self._pool.fields(row))
        if mark is None:
            return RowView(int(row), *about)
        return RowView(int(row), *about, mark.value, mark.value is None, mark.reason)

    def picture(self, row: int, name: str) -> Picture:
        """Return a picture of a row.

        Parameters
        ----------
        row : int
        name : str
            Of the column.
        """
        self._check_row(row)
        for found in self._pool.fields(row):
            if found.name == name and found.kind == IMAGE:
                return read_picture(found.value, self._pool.folder)
        raise SittingError(f"The column {name!r} holds no pictures.")

    def guess(self, row: int) -> Guess | None:
        """Return what the model says about a row; None before the first fit."""
        self._check_row(row)
        fitted = self._learner.fitted
        return None if fitted is None else self._outlook.guess(fitted, int(row))

    def search(self, words: str = "", which: str = "all", start: int = 0, count: int = 20) -> Found:
        """Find rows by words, all of which must occur; in any case, in any column.

        Parameters
        ----------
        words : str
        which : {"all", "answered", "open", "skipped"}
        start, count : int
            The piece of the list to return; answered rows come with the latest first.
        """
        if which not in WHICH:
            raise SittingError(f"which must be one of {', '.join(WHICH)}, not {which!r}.")
        found = self._pool.search(words).tolist()
        with self._lock:
            marks = dict(self._book.marks)
        rows = [row for row in found if which in ("all", _place(marks.get(row)))]
        if which in ("answered", "skipped"):
            rows.sort(key=lambda row: -marks[row].seq)
        return self._piece(rows, start, count)

    def sure(self, value: str | None = None, start: int = 0, count: int = 20) -> Found:
        """Return open rows of which the model is sure, the most certain first.

        Parameters
        ----------
        value : str, optional
            Only rows that the model takes for this class.
        start, count : int
            The piece of the list to return.
        """
        with self._lock:
            if value is not None:
                self._check_class(value)
            fitted, marked = self._learner.fitted, list(self._book.marks)
        rows = [] if fitted is None else self._outlook.sure(fitted, marked, value)
        return self._piece(rows, start, count)

    def doubts(self, start: int = 0, count: int = 20) -> Found:
        """Return answers that models which have not seen them contradict, the strongest first.

        They may be mistakes. The guesses that come with them are those of the last model, which
        has seen the answers.
        """
        self._learner.look_for_mistakes()
        with self._lock:
            fitted, doubts = self._learner.fitted, self._learner.doubts
            seen = {} if fitted is None else fitted.answers
            answers = self._book.answers()
        # what was changed since is no longer what was doubted
        rows = [row for row in doubts if row in answers and answers[row] == seen.get(row)]
        return self._piece(sorted(rows, key=lambda row: -doubts[row]), start, count)

    def _piece(self, rows: Sequence[int], start: int, count: int) -> Found:
        piece = rows[max(0, start) : max(0, start) + max(0, count)]
        return Found(len(rows), [self._in_short(int(row)) for row in piece])

    def _in_short(self, row: int) -> FoundRow:
        fitted, mark = self._learner.fitted, self._book.marks.get(row)
        about = (None, False) if mark is None else (mark.value, mark.value is None)
        told: tuple[str | None, float | None] = (None, None)
        if fitted is not None:
            value = fitted.guess(row)
            told = value, self._outlook.probabilities(fitted, row)[value]
        return FoundRow(row, self._pool.name_of(row), self._pool.summary(row), *about, *told)

    def status(self) -> Status:
        """Return how far the sitting is."""
        with self._lock:
            learner = self._learner
            notes = [*self._store.notes, *self._pool_notes()]
            if self._export_error is not None:
                notes.append(self._export_error)
            return self._outlook.status(
                learner.fitted,
                version=self._store.version + self._news,
                fitting=learner.is_fitting,
                fit_error=learner.error,
                saved=self._store.is_kept,
                notes=notes,
            )

    def _pool_notes(self) -> list[str]:
        prepared = self._pool.prepared
        return [] if prepared is None else list(prepared.notes)

    def _tell(self) -> None:
        """Learn that there is a new model."""
        self._news += 1
        fitted = self._learner.fitted
        if fitted is not None:
            self._outlook.see(fitted)

    # learning

    def learn(self, auto: bool = False) -> None:
        """Ask for a fit in the background.

        Parameters
        ----------
        auto : bool, default=False
            Whether to choose the method anew, by held-out labels; later fits keep it.
        """
        with self._lock:
            self._check_classes()
            self._learner.ask(auto)

    def fit(self, auto: bool = False) -> None:
        """Fit to all answers, and return when that is done.

        Without answers of two classes, the first rows to ask for are chosen.

        Parameters
        ----------
        auto : bool, default=False
            As for `learn`.
        """
        self._learner.fit(auto)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for what runs in the background; tell whether nothing is left to do."""
        done = self._learner.wait(timeout)
        return done and (self._exports is None or self._exports.wait(timeout))

    def _check_classes(self) -> None:
        if self._pool.prepared is None:
            raise SittingError(str(self._pool.why_no_features))
        if sum(1 for count in self._book.counts.values() if count) < 2:
            raise SittingError("A model needs answers of two classes or more.")

    # leaving

    def model(self) -> Any:
        """Return a `semisvm.model.Model` that has seen all answers; fits if there is none."""
        with self._lock:
            self._check_classes()
            current = self._learner.is_current
        if not current:
            self._learner.fit()
        fitted, prepared = self._learner.fitted, self._pool.prepared
        assert fitted is not None
        assert prepared is not None
        return model_of(fitted, prepared, self._settings)

    def save(self, path: str | Path | BinaryIO, *, created: str | None = None) -> None:
        """Write the model to a file, fitted to all answers."""
        from semisvm.model_files import save

        save(self.model(), path, created=created)

    def report(self, path: str | Path | BinaryIO, *, created: str | None = None) -> None:
        """Write a report about the model as one HTML file."""
        from semisvm.report import write_report

        name = Path(self._pool.data.path).name if self._pool.data.path else "labelled rows"
        notes = self._outlook.sentences(self.status())
        write_report(self.model(), path, title=f"Model of {name}", created=created, notes=notes)

    def export(self, file: str | Path | BinaryIO) -> None:
        """Write all rows with their labels, as CSV; by the name of a file also TSV or JSON lines.

        Rows without an answer have a blank label.
        """
        with self._lock:
            answers = self._book.answers()
        write_labelled(file, self._pool.data, self._pool.label, answers)

    def _export_answers(self) -> None:
        try:
            self.save_answers()
            self._export_error = None
        except (DataError, SittingError) as error:
            self._export_error = f"The file of answers was not written: {error}"

    def save_answers(self) -> None:
        """Write the file of answers now; otherwise it follows the answers by a second."""
        with self._lock:
            version, answers = self._store.version, self._book.answers()
        if version != self._exported:
            self._store.write(answers)
            self._exported = version

    def close(self) -> None:
        """End the sitting: wait for the fit that runs, write the file of answers, unlock."""
        self._learner.end()
        if self._exports is not None:
            self._exports.end()
            self._exports = None
            self._export_answers()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _place(mark: Mark | None) -> str:
    if mark is None:
        return "open"
    return "skipped" if mark.value is None else "answered"


def _class_names(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(_class_name(name) for name in names))


def _class_name(name: str) -> str:
    wanted = str(name).strip()
    if not wanted or len(wanted) > LONGEST_CLASS or not wanted.isprintable():
        raise SittingError(f"A class needs a name of 1 to {LONGEST_CLASS} printable characters.")
    return wanted
