"""What a session shows without changing anything."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.answer_store import Mark
from semisvm.labelling.assessment import Assessment
from semisvm.labelling.certificates import CertifiedRows, Certifier
from semisvm.labelling.learner import Learner
from semisvm.labelling.media import AUDIO, IMAGE, read_media
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import (
    ChangedError,
    Found,
    FoundRow,
    Guess,
    LabelingError,
    PersonStatus,
    Picture,
    RowView,
    Status,
)
from semisvm.labelling.saved_answers import SavedAnswers
from semisvm.labelling.sources import about_sources
from semisvm.tables.answers import write_answers

WHICH = ("all", "answered", "open", "skipped")


class SessionViews:
    """Rows, guesses, lists and the status of a session."""

    _lock: Any
    _pool: Pool
    _store: SavedAnswers
    _learner: Learner
    _assessment: Assessment
    _certifier: Certifier
    _news: int
    _export_error: str | None
    people_status: Callable[[], list[PersonStatus]]

    def view(self, row: int, *, by: str | None = None) -> RowView:
        """Return a row as a person sees it: of several people, each with their own answer."""
        with self._lock:
            self._check_row(row)
            mark = self._store.mark_of(row, by)
        about = (self._pool.name_of(row), self._pool.fields(row))
        if mark is None:
            return RowView(int(row), *about)
        skipped = mark.value is None
        return RowView(int(row), *about, mark.value, skipped, mark.reason, mark.seq)

    def picture(self, row: int, name: str) -> Picture:
        """Return a picture or a recording of a row.

        Parameters
        ----------
        row : int
        name : str
            Of the column.
        """
        self._check_row(row)
        for found in self._pool.fields(row):
            if found.name == name and found.kind in (IMAGE, AUDIO):
                return read_media(found.value, self._pool.folder)
        raise LabelingError(f"The column {name!r} holds no pictures or recordings.")

    def guess(self, row: int) -> Guess | None:
        """Return what the model predicts for a row; None before the first fit."""
        self._check_row(row)
        fitted = self._learner.fitted
        return None if fitted is None else self._assessment.guess(fitted, int(row))

    def remark(self, row: int, *, by: str | None = None) -> dict[str, Any]:
        """Return the ``comment`` of a row, and whether it belongs to ``none`` of the classes."""
        self._check_row(row)
        mark = self._store.mark_of(row, by)
        return {"comment": mark.comment if mark else "", "none": bool(mark and mark.is_none)}

    def weak_labels(self, row: int) -> dict[str, str]:
        """Return source -> its weak label of a row, of the sources that have one."""
        self._check_row(row)
        found = self._pool.weak
        return {name: votes[row] for name, votes in found.items() if row in votes}

    def search(
        self,
        words: str = "",
        which: str = "all",
        start: int = 0,
        count: int = 20,
        *,
        by: str | None = None,
    ) -> Found:
        """Find rows by words, all of which must occur; in any case, in any column.

        Parameters
        ----------
        words : str
        which : {"all", "answered", "open", "skipped"}
        start, count : int
            The piece of the list to return; answered rows come with the latest first.
        by : str, optional
            Name of the person whose answers are shown; open rows have none of anybody.
        """
        if which not in WHICH:
            raise LabelingError(f"which must be one of {', '.join(WHICH)}, not {which!r}.")
        found = self._pool.search(words)
        if which == "all":
            return self._piece(found, start, count, by=by)
        with self._lock:
            marks = self._store.marks_of(None if which == "open" else by)
        if which == "open":
            is_open = np.ones(len(self._pool), dtype=bool)
            is_open[list(marks)] = False
            return self._piece(found[is_open[found]], start, count, by=by)
        skipped = which == "skipped"
        latest = sorted(marks, key=lambda row: -marks[row].seq)
        there = set(found.tolist())
        rows = [r for r in latest if r in there and (marks[r].value is None) == skipped]
        return self._piece(rows, start, count, by=by)

    def sure(self, value: str | None = None, start: int = 0, count: int = 20) -> Found:
        """Return open rows whose guess is sure, the most certain first.

        Guesses of a class are sure from the margin on from which at least nine tenths of such
        guesses are right, as answers show that models guessed without seeing them. Where there is
        no such margin, the list is empty; its note has the reason.

        Parameters
        ----------
        value : str, optional
            Only rows that the model takes for this class.
        start, count : int
            The piece of the list to return.
        """
        self._learner.check()
        with self._lock:
            if value is not None:
                self._check_class(value)
            fitted, marked = self._learner.fitted, list(self._store.marks)
            nothing = np.zeros(0, dtype=np.intp)
            rows = nothing if fitted is None else self._assessment.sure(fitted, marked, value)
            note = "" if value is None else self._assessment.why_sure(fitted, value)
        return self._piece(rows, start, count, note)

    def doubts(self, start: int = 0, count: int = 20, *, by: str | None = None) -> Found:
        """Return answers that models which have not seen them contradict, the strongest first.

        Of several people, each sees the own answers.

        They may be mistakes. The guesses that come with them are those of these models. Where the
        models are no better than the most frequent class, the list is empty, with a note.
        """
        self._learner.check()
        with self._lock:
            answers = self._store.answers()
            rows, note = self._assessment.doubts(self._learner.fitted, answers)
            if by is not None:
                rows = [row for row in rows if self._may_change(row, answers[row], by)]
        return self._piece(rows, start, count, note, by)

    def _may_change(self, row: int, label: str, by: str) -> bool:
        """Return whether a label is what a person has answered, and is not settled."""
        mark = self._store.mark_of(row, by)
        return mark is not None and mark.value == label and self._store.settled(row) is None

    def _piece(
        self,
        rows: Sequence[int] | NDArray[np.intp],
        start: int,
        count: int,
        note: str = "",
        by: str | None = None,
    ) -> Found:
        piece = rows[max(0, start) : max(0, start) + max(0, count)]
        return Found(len(rows), [self._in_short(int(row), by) for row in piece], note)

    def _in_short(self, row: int, by: str | None) -> FoundRow:
        mark = self._store.mark_of(row, by)
        about = (None, False) if mark is None else (mark.value, mark.value is None)
        answered = mark is not None and mark.value is not None
        found = self._assessment.held_out_guess(row) if answered else self._open_guess(row)
        guess, probability = (None, None) if found is None else found
        shown = (self._pool.name_of(row), self._pool.summary(row))
        more = (self._version_of(row, by), self._pool.picture_of(row))
        return FoundRow(row, *shown, *about, guess, probability, *more)

    def _open_guess(self, row: int) -> tuple[str, float | None] | None:
        fitted, found = self._learner.fitted, self._assessment
        if fitted is None:
            return None
        value = fitted.guess(row)
        return value, found.probabilities(fitted, row)[value] if found.is_calibrated else None

    def certify(self, error: float = 0.02, confidence: float = 0.95) -> CertifiedRows:
        """Return the rows that may take the label of the model.

        With the given confidence, at most a share ``error`` of the certified rows is predicted
        wrongly. Only rows that were asked for at random show this; they are looked at when there
        are certain numbers of them, so that one may ask for certificates as often as one likes.

        Parameters
        ----------
        error, confidence : float
            Choose them before you see what they certify.
        """
        if not (0 < error < 1 and 0 < confidence < 1):
            raise LabelingError("error and confidence must be above 0 and below 1.")
        with self._lock:
            marks = {row: self._to_certify(row, mark) for row, mark in self._store.marks.items()}
        return self._certifier.certify(marks, error, confidence)

    def _to_certify(self, row: int, mark: Mark) -> Mark:
        if row in self._store.disputed:  # nobody knows its label
            return replace(mark, value=None)
        if self._store.settled(row) is not mark:
            return mark
        # a look is at the answers that were there when its last row was answered, not settled
        singles = self._store.singles(row).values()
        return replace(mark, seq=min((one.seq for one in singles), default=mark.seq))

    def export_certified(
        self, file: str | Path | BinaryIO, error: float = 0.02, confidence: float = 0.95
    ) -> None:
        """Write the labels of certified rows without an answer, as a CSV file of answers."""
        labels, pool = self.certify(error, confidence).labels, self._pool
        write_answers(file, pool.data, labels, {}, label=pool.label, key=pool.key)  # type: ignore[arg-type]

    def status(self, *, by: str | None = None) -> Status:
        """Return how far the session is; ``n_none`` counts the answers of a person, if one asks."""
        with self._lock:
            learner = self._learner
            notes = [*self._store.notes, *self._pool_notes()]
            if self._export_error is not None:
                notes.append(self._export_error)
            found = self._assessment.status(
                learner.fitted,
                version=self._store.version + self._news,
                fitting=learner.is_fitting,
                fit_error=learner.error,
                saved=self._store.is_kept,
                notes=notes,
                people=self.people_status(),
            )
            sources = about_sources(self._pool.weak, self._store.marks.items())
            return replace(found, sources=sources, n_none=len(self._store.rejected(by)))

    def _pool_notes(self) -> list[str]:
        prepared = self._pool.prepared
        return [] if prepared is None else list(prepared.notes)

    def _check_row(self, row: int) -> None:
        if not isinstance(row, (int, np.integer)) or not 0 <= row < len(self._pool):
            raise LabelingError(f"There is no row {row}: rows are 0 to {len(self._pool) - 1}.")

    def _version_of(self, row: int, by: str | None = None) -> int:
        mark = self._store.mark_of(row, by)
        return 0 if mark is None else mark.seq

    def _check_version(self, row: int, version: int | None, by: str | None = None) -> None:
        """Refuse a change of a row that is no longer as it was shown."""
        if version is None or version == self._version_of(row, by):
            return
        mark = self._store.mark_of(row, by)
        now = "has no answer any more" if mark is None else f"was answered {mark.value!r}"
        if mark is not None and mark.value is None:
            now = "was skipped"
        name = self._pool.name_of(row)
        raise ChangedError(f"Row {name} {now} meanwhile, in another window.")

    def _check_class(self, value: str) -> None:
        if value not in self._store.classes:
            known = ", ".join(self._store.classes) or "none yet"
            raise LabelingError(f"There is no class {value!r}; add it first. The classes: {known}.")
