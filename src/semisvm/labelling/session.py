"""One session: a person is asked, answers, and a model learns."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from semisvm.labelling.answer_store import (
    ANSWER,
    CLASS,
    REMOVE,
    SKIP,
    UNDO,
    Event,
    class_name,
    class_names,
)
from semisvm.labelling.assessment import Assessment
from semisvm.labelling.certificates import Certifier
from semisvm.labelling.fits import METHOD, model_of
from semisvm.labelling.learner import EVERY, Background, Learner
from semisvm.labelling.policy import Policy, Queries
from semisvm.labelling.pool import AddVectors, make_pool
from semisvm.labelling.records import (
    CHOSEN,
    RANDOM,
    SOURCE,
    SURE,
    UNCERTAIN,
    ChangedError,
    LabelingError,
    Query,
)
from semisvm.labelling.saved_answers import SavedAnswers, write_labelled
from semisvm.labelling.views import SessionViews
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.reading import read_to_label

EXPORT_DELAY = 0.5


class LabelingSession(SessionViews):
    """Rows to be labelled, the answers so far, and a model that learns from them.

    `ask` returns a row and why it was picked, `answer` takes its class. After every few
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
        A name of `semisvm.estimators.registry`.
    every : int, default=5
        Answers after which a new model is fitted.
    background : bool, default=True
        Whether to fit in the background. Otherwise only `fit` does.
    random_state : int, default=0
    settings : mapping, optional
        How the file was read, to be kept with the model.
    vectors : (table, features) -> (table, settings), optional
        Adds columns of vectors to learn from, and may change the features, which are not fitted;
        ``settings`` are kept with the model. The rows are shown, and found again, without them.
    weak : sequence of str
        Columns of weak labels, as of a language model. They are guesses to be shown, the models do
        not learn from them, and a fifth of the rows are those whose answer says most about them.
        Their classes are those of the session if none are given.
    **parameters
        Of the estimator.

    Raises
    ------
    DataError
        If the data cannot be used, or another process has the journal open.

    Examples
    --------
    >>> from semisvm.tables import ColumnFeatures
    >>> from semisvm.labelling import LabelingSession
    >>> texts = ["cheap pills", "lunch on monday", "cheap cheap flights", "monday plan"] * 5
    >>> table, words = {"body": texts}, ColumnFeatures(text=["body"])
    >>> session = LabelingSession(table, classes=["spam", "ham"], features=words, background=False)
    >>> for _ in range(6):
    ...     query = session.ask()
    ...     _ = session.answer(query.row, "spam" if "cheap" in texts[query.row] else "ham")
    >>> session.fit()
    >>> guess = session.guess(2)
    >>> guess.value, guess.because[0][0]
    ('spam', 'cheap')
    >>> session.close()
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
        vectors: AddVectors | None = None,
        weak: Sequence[str] = (),
        **parameters: Any,
    ) -> None:
        self._pool = make_pool(data, label, key, features, vectors, weak)
        named = class_names(classes) or self._pool.weak_classes()
        self._store = SavedAnswers(self._pool, named, answers)
        earlier = self._store.last()
        self._earlier = 0 if earlier is None else earlier.seq
        self._lock = threading.RLock()
        self._settings = dict(settings or {})
        self._news = 0
        doubtful = SOURCE if self._pool.weak else UNCERTAIN
        self._policy = Policy(len(self._pool), np.random.default_rng(random_state), doubtful)
        self._queries = Queries(self._policy, self._store)
        self._learner = Learner(
            self._pool,
            self._store,
            self._policy,
            self._lock,
            method=method,
            parameters=parameters,
            seed=random_state,
            every=every,
            background=background,
            changed=self._model_changed,
        )
        self._assessment = Assessment(self._pool, self._store)
        self._certifier = Certifier(self._pool, self._policy, method, parameters)
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
        """Begin a session, or go on with one, on a file.

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
            Options of `semisvm.tables.read`.
        **options
            As for `LabelingSession`.
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
        self._learner.find_first_rows()
        with self._lock:
            return self._queries.ask(client)

    # changes

    def answer(
        self,
        row: int,
        value: str,
        *,
        seen_guess: bool = False,
        client: str | None = None,
        version: int | None = None,
        comment: str | None = None,
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
        version : int, optional
            That of the row when it was looked at. If the row has been changed since, a
            `ChangedError` is raised.
        comment : str, optional
            About the row; None keeps the one that is there.
        """
        with self._lock:
            self._check_row(row)
            self._check_class(value)
            self._check_version(row, version)
            facts = {**self._facts(row, seen_guess), **self._note(row, comment), "client": client}
            return self._record(Event(0, ANSWER, (row,), value, facts=facts))

    def skip(
        self,
        row: int,
        *,
        client: str | None = None,
        version: int | None = None,
        comment: str | None = None,
        none: bool = False,
    ) -> Event:
        """Put a row aside: it is not asked for again, and it stays unlabelled for the model.

        Parameters
        ----------
        row : int
        client : str, optional
        version : int, optional
        comment : str, optional
            As for `answer`.
        none : bool, default=False
            Whether it belongs to none of the classes; `name_the_rest` makes a class of such rows.
        """
        with self._lock:
            self._check_row(row)
            self._check_version(row, version)
            if self._has_answer(row):
                raise LabelingError("This row has an answer: remove the answer to skip the row.")
            facts: dict[str, Any] = {"reason": self._reason(row), **self._note(row, comment)}
            facts |= {"none": True, "client": client} if none else {"client": client}
            return self._record(Event(0, SKIP, (row,), facts=facts))

    def name_the_rest(self, name: str, *, client: str | None = None) -> int:
        """Make a class of the rows that belong to none of the others; return how many there are.

        Parameters
        ----------
        name : str
            Of the class, which may be there already.
        client : str, optional
        """
        with self._lock:
            wanted, rows = class_name(name), self._store.rejected()
            if not rows:
                raise LabelingError("No row was said to belong to none of the classes.")
            if wanted not in self._store.classes:
                self.add_class(wanted, client=client)
            for row in rows:
                facts = {k: v for k, v in self._store.marks[row].facts.items() if k != "none"}
                self._record(Event(0, ANSWER, (row,), wanted, facts={**facts, "client": client}))
            return len(rows)

    def remove(self, row: int, *, client: str | None = None, version: int | None = None) -> Event:
        """Take an answer back, or a skip: the row is open again."""
        with self._lock:
            self._check_row(row)
            self._check_version(row, version)
            if self._store.is_open(row):
                raise LabelingError("This row has no answer.")
            return self._record(Event(0, REMOVE, (row,), facts={"client": client}))

    def confirm(self, rows: Iterable[int], value: str, *, client: str | None = None) -> Event:
        """Give many rows the same class; rows that have an answer already are an error."""
        with self._lock:
            wanted = tuple(dict.fromkeys(int(row) for row in rows))
            if not wanted:
                raise LabelingError("No rows were chosen.")
            self._check_class(value)
            for row in wanted:
                self._check_row(row)
                if self._has_answer(row):
                    raise LabelingError(f"Row {row + 1} has an answer already.")
            facts = {"reason": SURE, "seen_guess": True, "client": client}
            return self._record(Event(0, ANSWER, wanted, value, facts=facts))

    def add_class(self, name: str, *, client: str | None = None) -> Event:
        """Add a class."""
        with self._lock:
            wanted = class_name(name)
            if wanted in self._store.classes:
                raise LabelingError(f"There is a class {wanted!r} already.")
            return self._record(Event(0, CLASS, value=wanted, facts={"client": client}))

    def undo(self, client: str | None = None, number: int | None = None) -> Event | None:
        """Undo the last change; return it, or None if there is none.

        Parameters
        ----------
        client : str, optional
            Only changes of this client, and those of earlier sessions, whose clients are gone. By
            default the last change of all.
        number : int, optional
            ``seq`` of the change that `last_change` returned: it is undone no matter who made it.
            If another one has been made since, a `ChangedError` is raised.
        """
        with self._lock:
            last = self._store.last(client, self._earlier)
            if number is not None:
                last = self._store.last()
                if last is None or last.seq != number:
                    raise ChangedError("Another change was made meanwhile, in another window.")
            if last is None:
                return None
            self._store.check_undo(last)
            self._record(Event(0, UNDO, of=last.seq, facts={"client": client}))
            return last

    def last_change(self) -> Event | None:
        """Return the last change of all that is not undone; None if there is none."""
        with self._lock:
            return self._store.last()

    def _record(self, event: Event) -> Event:
        kept = self._store.record(event)
        self._learner.answers_changed(max(1, len(event.rows)))
        if self._exports is not None:
            self._exports.ask("export")
        return kept

    def _facts(self, row: int, seen_guess: bool) -> dict[str, Any]:
        before, fitted = self._store.marks.get(row), self._learner.fitted
        if before is not None and before.value is not None and before.seq:
            # a test stays a test when its answer is corrected
            return {k: v for k, v in before.facts.items() if k != "client"}
        facts = {"reason": self._reason(row), "seen_guess": bool(seen_guess)}
        if fitted is None or row in fitted.answers:
            return facts
        return {**facts, **fitted.about(row, with_shares=facts["reason"] == RANDOM)}

    def _note(self, row: int, comment: str | None) -> dict[str, str]:
        """Return the comment of a row, as a fact of its answer."""
        mark = self._store.marks.get(row)
        before = "" if mark is None else mark.comment
        text = before if comment is None else comment.strip()
        return {"comment": text} if text or before else {}

    def _reason(self, row: int) -> str:
        mark = self._store.marks.get(row)
        if mark is not None and mark.value is None:
            return mark.reason
        return self._queries.reason_of(row) or CHOSEN

    def _has_answer(self, row: int) -> bool:
        mark = self._store.marks.get(row)
        return mark is not None and mark.value is not None

    def _model_changed(self) -> None:
        """Adjust to a new model."""
        self._news += 1
        fitted = self._learner.fitted
        if fitted is not None:
            self._assessment.update(fitted, self._learner.held_out)

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

        Nothing is fitted before two classes have an answer.

        Parameters
        ----------
        auto : bool, default=False
            As for `learn`.
        """
        if self._pool.prepared is None:
            raise LabelingError(str(self._pool.why_no_features))
        self._learner.fit(auto)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for what runs in the background; return whether nothing is left to do."""
        done = self._learner.wait(timeout)
        return done and (self._exports is None or self._exports.wait(timeout))

    def _check_classes(self) -> None:
        if self._pool.prepared is None:
            raise LabelingError(str(self._pool.why_no_features))
        if sum(1 for count in self._store.counts.values() if count) < 2:
            raise LabelingError("A model needs answers of two classes or more.")

    # leaving

    def model(self) -> Any:
        """Return a `semisvm.Model` that has seen all answers; fits if there is none."""
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
        from semisvm.persistence.model_files import save

        save(self.model(), path, created=created)

    def report(self, path: str | Path | BinaryIO, *, created: str | None = None) -> None:
        """Write a report about the model as one HTML file."""
        from semisvm.reporting.page import write_report

        name = Path(self._pool.data.path).name if self._pool.data.path else "labelled rows"
        notes = self._assessment.sentences(self.status())
        write_report(self.model(), path, title=f"Model of {name}", created=created, notes=notes)

    def export(self, file: str | Path | BinaryIO) -> None:
        """Write all rows with their labels, as CSV; by the name of a file also TSV or JSON lines.

        Rows without an answer have a blank label. Comments are in a column of their own, if there
        are any.
        """
        with self._lock:
            answers, comments = self._store.answers(), self._store.comments()
        write_labelled(file, self._pool.data, self._pool.label, answers, comments)

    def _export_answers(self) -> None:
        try:
            self.save_answers()
            self._export_error = None
        except (DataError, LabelingError) as error:
            self._export_error = f"The file of answers was not written: {error}"

    def save_answers(self) -> None:
        """Write the file of answers now; otherwise it follows the answers by a second."""
        with self._lock:
            version, answers = self._store.version, self._store.answers()
        if version != self._exported:
            self._store.write(answers, version)
            self._exported = version

    def close(self) -> None:
        """End the session: wait for the fit that runs, write the file of answers, unlock."""
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
