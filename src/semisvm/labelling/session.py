"""One session: people are asked, answer, and a model learns."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from semisvm.labelling.answer_store import (
    ANSWER,
    CLASS,
    NONE,
    REMOVE,
    SETTLE,
    SKIP,
    UNDO,
    Event,
    class_name,
    class_names,
    said,
)
from semisvm.labelling.assessment import Assessment
from semisvm.labelling.certificates import Certifier
from semisvm.labelling.disagreements import Disagreements
from semisvm.labelling.exchange import Exchange
from semisvm.labelling.fits import METHOD, model_of
from semisvm.labelling.learner import EVERY, Background, Learner
from semisvm.labelling.leases import Leases
from semisvm.labelling.people import People
from semisvm.labelling.policy import Policy
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
from semisvm.labelling.saved_answers import SavedAnswers, write_labelled, write_lines
from semisvm.labelling.views import SessionViews
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.reading import read_to_label

EXPORT_DELAY = 0.5
NO_MODEL = "A model needs answers of two classes or more."


class LabelingSession(Disagreements, Exchange, SessionViews):
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
    overlap : float, optional
        Share of the rows that are given to two people, so that their agreement can be estimated.
        By default that of the journal, or 0.
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
        overlap: float | None = None,
        weak: Sequence[str] = (),
        **parameters: Any,
    ) -> None:
        if overlap is not None and not 0.0 <= overlap <= 1.0:
            raise LabelingError(f"overlap must be between 0 and 1, not {overlap}.")
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
        if overlap is not None:
            self._store.keep_setup(overlap=float(overlap))
        chance = np.random.default_rng([random_state, 2])
        self._queries = Leases(self._policy, self._store, self.overlap, chance)
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

    @property
    def people(self) -> People:
        """Who has a link to this session; without anybody, one person works without a name."""
        return self._store.people

    @property
    def port(self) -> int | None:
        """The port of the last time that links were served at; None if there was none."""
        return self._store.setup.get("port")

    @property
    def overlap(self) -> float:
        """Share of the rows that are given to two people."""
        return float(self._store.setup.get("overlap", 0.0))

    def keep_port(self, port: int) -> None:
        """Keep the port, so that links stay valid the next time."""
        self._store.keep_setup(port=port)

    # asking

    def ask(self, client: str | None = None, *, by: str | None = None) -> Query | None:
        """Return the row to label next; None if all rows have an answer or were skipped.

        Parameters
        ----------
        client : str, optional
            Who asks. The same client is asked for the same row until it is answered or
            skipped; others get other rows meanwhile.
        by : str, optional
            Name of the person, of several.
        """
        self._learner.find_first_rows()
        with self._lock:
            return self._queries.ask(client, by)

    def renew(self, client: str | None = None, *, by: str | None = None) -> None:
        """Keep the row of a client, who was heard of, for longer."""
        with self._lock:
            self._queries.renew(client, by)

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
        by: str | None = None,
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
        by : str, optional
            Name of the person, of several: each has an answer of their own.
        """
        with self._lock:
            self._check_row(row)
            self._check_class(value)
            self._check_version(row, version, by)
            self._check_settled(row, by)
            note = self._note(row, comment, by)
            facts = {**self._facts(row, seen_guess, by), **note, "client": client}
            kind = self._kind_of_answer(row, by)
            return self._record(Event(0, kind, (row,), value, facts=facts, by=by))

    def skip(
        self,
        row: int,
        *,
        client: str | None = None,
        version: int | None = None,
        comment: str | None = None,
        none: bool = False,
        by: str | None = None,
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
        by : str, optional
            As for `answer`.
        """
        with self._lock:
            self._check_row(row)
            self._check_version(row, version, by)
            self._check_settled(row, by)
            if self._has_answer(row, by):
                raise LabelingError("This row has an answer: remove the answer to skip the row.")
            about = {"none": True, "client": client} if none else {"client": client}
            facts = {"reason": self._reason(row, by), **self._note(row, comment, by), **about}
            return self._record(Event(0, SKIP, (row,), facts=facts, by=by))

    def name_the_rest(self, name: str, *, client: str | None = None, by: str | None = None) -> int:
        """Make a class of the rows that belong to none of the others; return how many there are.

        Parameters
        ----------
        name : str
            Of the class, which may be there already.
        client : str, optional
        by : str, optional
            Name of the person, of several, whose rows these are.
        """
        with self._lock:
            wanted, rows = class_name(name), self._store.rejected(by)
            if not rows:
                raise LabelingError("No row was said to belong to none of the classes.")
            if wanted not in self._store.classes:
                self.add_class(wanted, client=client, by=by)
            for row in rows:
                mark = self._store.mark_of(row, by)
                assert mark is not None
                facts = {k: v for k, v in mark.facts.items() if k != "none"} | {"client": client}
                kind = self._kind_of_answer(row, by)
                self._record(Event(0, kind, (row,), wanted, facts=facts, by=by))
            return len(rows)

    def remove(
        self,
        row: int,
        *,
        client: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> Event:
        """Take an answer back, or a skip: the row is open again."""
        with self._lock:
            self._check_row(row)
            self._check_version(row, version, by)
            self._check_settled(row, by)
            if self._store.mark_of(row, by) is None:
                of = "" if by is None else " of yours"
                raise LabelingError(f"This row has no answer{of}.")
            return self._record(Event(0, REMOVE, (row,), facts={"client": client}, by=by))

    def confirm(
        self,
        rows: Iterable[int],
        value: str,
        *,
        client: str | None = None,
        by: str | None = None,
    ) -> Event:
        """Give many rows the same class; rows that have an answer already are an error."""
        with self._lock:
            wanted = tuple(dict.fromkeys(int(row) for row in rows))
            if not wanted:
                raise LabelingError("No rows were chosen.")
            self._check_class(value)
            for row in wanted:
                self._check_row(row)
                if self._has_answer(row, None):
                    raise LabelingError(f"Row {row + 1} has an answer already.")
            facts = {"reason": SURE, "seen_guess": True, "client": client}
            return self._record(Event(0, ANSWER, wanted, value, facts=facts, by=by))

    def settle(
        self,
        row: int,
        value: str,
        *,
        client: str | None = None,
        version: int | None = None,
        by: str | None = None,
    ) -> Event:
        """Decide about a row on which people differ; their answers stay as they are.

        Parameters
        ----------
        row : int
        value : str
            The label of the row from now on, one of the classes; or "none of these".
        client : str, optional
        version : int, optional
            That of the label when it was looked at, as of `disagreements`.
        by : str, optional
            Name of the person who decides.
        """
        with self._lock:
            self._check_row(row)
            is_none = value == NONE and value not in self._store.classes
            if not is_none:
                self._check_class(value)
            self._check_version(row, version)
            if row not in self._store.disputed and self._store.settled(row) is None:
                raise LabelingError("People do not differ about this row.")
            before = self._store.marks[row].facts
            facts = {k: v for k, v in before.items() if k not in ("client", "none")}
            facts |= {"client": client, **({"none": True} if is_none else {})}
            label = None if is_none else value
            return self._record(Event(0, SETTLE, (row,), label, facts=facts, by=by))

    def add_class(self, name: str, *, client: str | None = None, by: str | None = None) -> Event:
        """Add a class."""
        with self._lock:
            wanted = class_name(name)
            if wanted in self._store.classes:
                raise LabelingError(f"There is a class {wanted!r} already.")
            return self._record(Event(0, CLASS, value=wanted, facts={"client": client}, by=by))

    def undo(
        self,
        client: str | None = None,
        number: int | None = None,
        *,
        by: str | None = None,
        request: str | None = None,
    ) -> Event | None:
        """Undo the last change; return it, or None if there is none.

        Parameters
        ----------
        client : str, optional
            Only changes of this client, and those of earlier sessions, whose clients are gone. By
            default the last change of all.
        number : int, optional
            ``seq`` of the change that `last_change` returned: it is undone no matter who made it.
            If another one has been made since, a `ChangedError` is raised.
        by : str, optional
            Only changes of this person, in any case.
        request : str, optional
            Name of the request: under a name that was used, nothing more is undone.
        """
        with self._lock:
            if request is not None and request in self._store.undone:
                return self._store.undone[request]
            last = self._store.last(client, self._earlier, by)
            if number is not None:
                last = self._store.last(by=by)
                if last is None or last.seq != number:
                    raise ChangedError("Another change was made meanwhile, in another window.")
            if last is None:
                return None
            self._store.check_undo(last)
            facts = {"client": client, **({} if request is None else {"request": request})}
            self._record(Event(0, UNDO, of=last.seq, facts=facts, by=by))
            return last

    def last_change(self, *, by: str | None = None) -> Event | None:
        """Return the last change that is not undone: of all, or of a person."""
        with self._lock:
            return self._store.last(by=by)

    def _record(self, event: Event) -> Event:
        kept = self._store.record(event)
        self._learner.answers_changed(max(1, len(event.rows)))
        if self._exports is not None:
            self._exports.ask("export")
        return kept

    def _facts(self, row: int, seen_guess: bool, by: str | None) -> dict[str, Any]:
        before, fitted = self._store.mark_of(row, by), self._learner.fitted
        if before is not None and before.value is not None and before.seq:
            # a test stays a test when its answer is corrected
            return {k: v for k, v in before.facts.items() if k != "client"}
        facts = {"reason": self._reason(row, by), "seen_guess": bool(seen_guess)}
        if fitted is None or fitted.has_seen(row):
            return facts
        return {**facts, **fitted.about(row, with_shares=facts["reason"] == RANDOM)}

    def _kind_of_answer(self, row: int, by: str | None) -> str:
        return ANSWER if by is not None else self._store.kind_of_answer(row)

    def _note(self, row: int, comment: str | None, by: str | None) -> dict[str, str]:
        """Return the comment of a row, as a fact of its answer."""
        mark = self._store.mark_of(row, by)
        before = "" if mark is None else mark.comment
        text = before if comment is None else comment.strip()
        return {"comment": text} if text or before else {}

    def _reason(self, row: int, by: str | None) -> str:
        mark = self._store.mark_of(row, by)
        if mark is not None and mark.value is None:
            return mark.reason
        return self._queries.reason_of(row, by) or CHOSEN

    def _has_answer(self, row: int, by: str | None) -> bool:
        mark = self._store.mark_of(row, by)
        return mark is not None and mark.value is not None

    def _check_settled(self, row: int, by: str | None) -> None:
        mark = self._store.settled(row)
        if mark is not None and by is not None:
            name = self._pool.name_of(row)
            raise LabelingError(f"Row {name} was settled as {said(mark)!r}: its answers stay.")

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
            raise LabelingError(NO_MODEL)

    # showing

    def widget(self, by: str | None = None) -> Any:
        """Return the session as a widget for a notebook; it needs ``semisvm[notebook]``.

        Parameters
        ----------
        by : str, optional
            Name of the person who labels, of several.
        """
        from semisvm.labelling.widget import LabelingWidget

        return LabelingWidget(self, by)

    # leaving

    def model(self) -> Any:
        """Return a `semisvm.Model` that has seen all answers; fits if there is none."""
        with self._lock:
            self._check_classes()
            current = self._learner.is_current
        if not current:
            self._learner.fit()
        fitted, prepared = self._learner.fitted, self._pool.prepared
        if fitted is None:
            raise LabelingError(NO_MODEL)
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
        notes = [*self._assessment.sentences(self.status()), *self.people_sentences()]
        write_report(self.model(), path, title=f"Model of {name}", created=created, notes=notes)

    def export(self, file: str | Path | BinaryIO) -> None:
        """Write all rows with their labels, as CSV; by the name of a file also TSV or JSON lines.

        Rows without an answer have a blank label. Of several people, two more columns have whose
        label it is, and when it was given; comments are in another one, if there are any.
        """
        with self._lock:
            answers, who = self._store.answers(), self._store.who()
            comments = self._store.comments()
        write_labelled(file, self._pool.data, self._pool.label, answers, who, comments)

    def export_single_answers(self, file: str | Path | BinaryIO) -> None:
        """Write what each person has answered, and when, as CSV: a line per person and row."""
        with self._lock:
            lines = self._store.single_lines()
        write_lines(file, lines)

    def _export_answers(self) -> None:
        try:
            self.save_answers()
            self._export_error = None
        except (DataError, LabelingError) as error:
            self._export_error = f"The file of answers was not written: {error}"

    def save_answers(self) -> None:
        """Write the file of answers now; otherwise it follows the answers by a second."""
        with self._lock:
            store = self._store
            version, answers, who = store.version, store.answers(), store.who()
        if version != self._exported:
            self._store.write(answers, version, who)
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
